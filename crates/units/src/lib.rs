//! Quantities, their parsing and printing; the description of a metric and of a key that people write; seeds, and
//! permutations that follow from them.
//!
//! Everything here is a value with a unit. A quantity is written by people as text (`4k`, `1.5G`,
//! `90s`, `50%`) and stored by programs as a number in its base unit (bytes, nanoseconds, percent).
#![forbid(unsafe_code)]

mod bytes;
mod key;
mod metric;
mod nanos;
mod percent;
mod permutation;
mod printable;
mod quantity;
mod seed;
pub mod show;

pub use bytes::Bytes;
pub use key::{Key, key};
pub use metric::{Basis, Better, Metric, Test, Unit};
pub use nanos::Nanos;
pub use percent::Percent;
pub use permutation::Permutation;
pub use printable::{is_obeyed, printable};
pub use quantity::QuantityError;
pub use seed::{Seed, SplitMix64};
