//! What a set of numbers says: summaries, quantiles, bootstrap intervals, rank tests, verdicts.
//!
//! The numbers are one per *run on a fresh stack*, except for [`Spread`] and
//! [`effective_sample_size`], which describe the intervals within one run. Everything here is a
//! pure function of its arguments: what is random takes its seed from the data, so the same data
//! give the same answer on every machine. Numbers that are not finite are no measurements: each
//! function drops them and counts what is left. The method is argued in `docs/method.md`.
#![forbid(unsafe_code)]

mod autocorrelation;
mod bootstrap;
mod comparison;
mod figure;
mod holm;
mod normal;
mod quantile;
mod rank;
mod ratio;
mod spread;
mod steady;
mod verdict;

pub use autocorrelation::effective_sample_size;
pub use comparison::{Comparison, compare};
pub use figure::{Figure, Interval, RANGE_BELOW, figure};
pub use holm::holm;
pub use quantile::{Sorted, quantile};
pub use rank::{RankTest, rank_test};
pub use ratio::ratio_of_medians;
pub use spread::{Spread, spread};
pub use steady::{SteadyRule, Window, window};
pub use verdict::{LEAST_REPEATS, Verdict, decide};
