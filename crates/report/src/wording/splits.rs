//! Wording of splits: an amount of bytes in flight as a number of I/Os.

use analysis::Split;
use units::show;

/// Returns the fastest split in words: `8 of 64 KiB`.
pub fn split_parts(split: &Split) -> String {
    parts(split, split.best.depth)
}

/// Returns the fewest I/Os that were swept, with which splits are compared: `one`, or `4 of 128 KiB`.
pub fn split_whole(split: &Split) -> String {
    match split.whole.depth {
        1 => "one".to_owned(),
        depth => parts(split, depth),
    }
}

fn parts(split: &Split, depth: u64) -> String {
    format!("{depth} of {}", show::bytes(split.outstanding as f64 / depth as f64))
}
