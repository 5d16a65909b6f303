//! The share of its blocks that they have in common, so that what a profile makes packs in long records as the data does.

use content::{BLOCK, ContentSpec, Profile, ProfileSource, Source, Texture};
use units::Seed;

use crate::compare::{RECORD, ZSTD_LEVEL};

/// Records that are made to see what zstd saves on them: those of two strata of sizes.
const RECORDS: usize = 64;
/// Attempts.
const TRIED: usize = 6;
/// The most that is shared, percent.
const MOST: f64 = 99.0;

/// Finds for `profile` how much of a block is of the vocabulary that all blocks share: as much as makes zstd save `saving` percent on
/// records of 128 KiB. A profile without a texture stays as it is.
pub fn share_vocabulary(profile: &mut Profile, saving: f64) {
    let (mut low, mut high) = (0.0, MOST);
    for tried in 0..TRIED {
        let Some(texture) = &mut profile.texture else { return };
        let share = if tried == 0 { 0.0 } else { f64::midpoint(low, high) };
        texture.shared_percent = share;
        let Some(saved) = saved(profile) else { return };
        if saved > saving {
            high = share;
        } else {
            low = share;
        }
        if tried == 0 && saved > saving {
            return;
        }
    }
    if let Some(texture) = &mut profile.texture {
        texture.shared_percent = (10.0 * f64::midpoint(low, high)).round() / 10.0;
    }
}

/// Returns what zstd saves on what the profile makes, percent, sizes rounded up to 4 KiB.
fn saved(profile: &Profile) -> Option<f64> {
    let spec = ContentSpec {
        profile: Some(ProfileSource::Loaded(Box::new(profile.clone()))),
        texture: Some(Texture::Natural),
        ..ContentSpec::default()
    };
    let mut source = Source::new(&spec, Seed(1), 0, 1);
    let mut zstd = zstd::bulk::Compressor::new(ZSTD_LEVEL).ok()?;
    let (mut record, mut blocks) = (vec![0; RECORD], 0);
    for _ in 0..RECORDS {
        source.fill_next(&mut record);
        blocks += zstd.compress(&record).ok()?.len().div_ceil(BLOCK).min(RECORD / BLOCK);
    }
    Some(100.0 * (1.0 - blocks as f64 / (RECORDS * RECORD / BLOCK) as f64))
}
