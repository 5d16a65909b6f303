//! The share of its blocks that a profile lets them have in common, so that generated data packs in long records as the original does.

use content::{BLOCK, ContentSpec, Profile, ProfileSource, Source, Texture};
use units::Seed;

use crate::compare::{RECORD, ZSTD_LEVEL};

/// Records that are made to measure the saving of zstd: those of two strata of sizes.
const RECORDS: usize = 64;
/// Attempts.
const TRIED: usize = 6;
/// The most that is shared, percent.
const MAX_SHARED_PERCENT: f64 = 99.0;

/// Sets in `profile` the part of a block that comes from the vocabulary that all blocks share, such that zstd saves `saving` percent on
/// records of 128 KiB. A profile without a texture stays as it is.
pub fn share_vocabulary(profile: &mut Profile, saving: f64) {
    let (mut low, mut high) = (0.0, MAX_SHARED_PERCENT);
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

/// Returns the saving of zstd on data made from the profile, percent, with sizes rounded up to 4 KiB.
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
