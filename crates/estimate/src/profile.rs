//! The profile of data: how far it dedupes and compresses, and nothing of its bytes.

use content::{
    Profile, ProfileBlocks, ProfileReuse, ProfileSequences, ProfileSize, ProfileTexture,
};
use reduce::{BLOCK, Figures};

use crate::answer::Blocks;
use crate::neighbours::Neighbours;

/// LZ4 sizes are told apart in steps of this many bytes: finer than the packer's own steps, coarser than a fingerprint of
/// the data would be.
const STEP: usize = 4;

/// The profile of what was found; `None` when there were no blocks.
pub fn profile(
    figures: &Figures,
    blocks: &Blocks,
    mut neighbours: Neighbours,
    packer_saving_percent: Option<f64>,
    sequences: Vec<ProfileSequences>,
) -> Option<Profile> {
    (blocks.total > 0).then(|| Profile {
        fathom_profile: Profile::VERSION,
        block_bytes: BLOCK as u64,
        blocks: ProfileBlocks {
            total: blocks.total,
            zero: blocks.zero,
            duplicate: blocks.duplicate,
            unique: blocks.unique,
        },
        sizes: sizes(figures, &neighbours.near, blocks.unique),
        neighbours: neighbours.classes(),
        reuse: reuse(figures, blocks),
        packer_saving_percent,
        texture: (!sequences.is_empty())
            .then(|| ProfileTexture { sequences, ..ProfileTexture::default() }),
    })
}

/// Returns the sizes, scaled to `unique` blocks.
fn sizes(figures: &Figures, near: &[f64], unique: u64) -> Vec<ProfileSize> {
    let sized: f64 = figures.sizes.iter().sum();
    if sized == 0.0 {
        return Vec::new();
    }
    let mut rows = Vec::new();
    let (mut before, mut written) = (0.0, 0);
    for (bar, (counts, near)) in figures.sizes.chunks(STEP).zip(near.chunks(STEP)).enumerate() {
        let here: f64 = counts.iter().sum();
        let bytes: f64 =
            counts.iter().enumerate().map(|(at, n)| (bar * STEP + at) as f64 * n).sum();
        before += here;
        // Rounding the sums, not the parts, keeps the total exact.
        let upto = (unique as f64 * before / sized).round() as u64;
        if upto > written {
            let lz4_bytes = ((bytes / here).round() as u32).clamp(1, BLOCK as u32);
            let near = (unique as f64 * near.iter().sum::<f64>() / sized).round() as u64;
            rows.push(ProfileSize {
                lz4_bytes,
                blocks: upto - written,
                near: near.min(upto - written),
            });
            written = upto;
        }
    }
    rows
}

/// Returns how often contents came again, and how far apart, scaled to the number of duplicates in `blocks`.
fn reuse(figures: &Figures, blocks: &Blocks) -> Vec<ProfileReuse> {
    let all: f64 = figures.reuse.iter().map(|row| row.duplicates).sum();
    if all == 0.0 {
        return Vec::new();
    }
    let factor = blocks.duplicate as f64 / all;
    let mut rows = Vec::new();
    let (mut before, mut written) = (0.0, 0);
    for row in &figures.reuse {
        before += row.duplicates;
        let upto = (blocks.duplicate as f64 * before / all).round() as u64;
        let contents = (row.contents * factor).round() as u64;
        if upto > written {
            rows.push(ProfileReuse {
                copies_from: 1 << row.copies_log2,
                copies_to: (2u64 << row.copies_log2) - 1,
                distance_from: 1 << row.distance_log2,
                distance_to: (2u64 << row.distance_log2) - 1,
                contents: contents.clamp(1, upto - written),
                duplicates: upto - written,
            });
            written = upto;
        }
    }
    rows
}
