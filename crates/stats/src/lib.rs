//! Statistics: summaries, quantiles, intervals, tests, verdicts.
//!
//! The inputs are one number per *run on a fresh stack*, except for [`Spread`] and [`effective_sample_size`], which describe the intervals within
//! one run. Everything here is a pure function of its arguments: random numbers are seeded from the data, so the same data give the same answer
//! on every machine. Numbers that are not finite are not measurements: each function drops them and counts the rest. `docs/method.md` explains
//! and justifies the method.
#![forbid(unsafe_code)]

mod apart;
mod autocorrelation;
pub mod bisect;
mod bootstrap;
mod brunner_munzel;
mod change_point;
mod comparison;
mod evidence;
pub mod factorial;
mod family;
mod figure;
mod fisher;
mod holm;
mod mann_whitney;
mod order;
mod quantile;
mod ranks;
mod ratio;
#[cfg(test)]
mod scipy;
mod sequential;
pub mod simulated_looks;
pub mod simulated_tails;
pub mod simulation;
mod spread;
mod steady;
mod student;
mod trend;
mod verdict;

pub use apart::Apart;
pub use autocorrelation::effective_sample_size;
pub use change_point::{
    Course, Gradual, Growth, LEAST_CHANGE, LEAST_VALUES, Step, course, growth, warm_up,
};
pub use comparison::{Comparison, Difference, compare, compare_to, judge};
pub use family::{claims_of, judge_after_looks, judge_together};
pub use figure::{Figure, Interval, RANGE_BELOW, figure};
pub use fisher::{Groups, deviation_interval, groups};
pub use holm::holm;
pub use order::draw_orders;
pub use quantile::{Sorted, quantile};
pub use ratio::ratio_of_medians;
pub use sequential::{AtLooks, LOOKS, compare_at_looks};
pub use spread::{Spread, spread};
pub use steady::{SteadyRule, Window, window};
pub use student::{mean_interval, repeats_for};
pub use trend::{LEAST_RESULTS, LevelShift, MOST_RESULTS, Trend, trend};
pub use verdict::{LEAST_REPEATS, Verdict, unseen_percent};
