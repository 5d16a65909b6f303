//! Bytes in flight as so many I/Os.

use analysis::Split;
use units::show;

/// `8 of 64 KiB`: the fastest split.
pub fn split_parts(split: &Split) -> String {
    parts(split, split.best.depth)
}

/// `one`, or `4 of 128 KiB` where one I/O was not swept: the whole that splits are held against.
pub fn split_whole(split: &Split) -> String {
    match split.whole.depth {
        1 => "one".to_owned(),
        depth => parts(split, depth),
    }
}

fn parts(split: &Split, depth: u64) -> String {
    format!("{depth} of {}", show::bytes(split.outstanding as f64 / depth as f64))
}
