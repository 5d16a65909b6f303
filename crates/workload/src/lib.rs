//! Operations, mixes, patterns and stop rules: what comes next. A [`LoadSpec`] says what is asked for, a [`Stream`]
//! what one job of it does, I/O after I/O, from a seed alone.
#![forbid(unsafe_code)]

mod deck;
mod describe;
mod error;
mod op;
mod ops;
mod order;
mod pattern;
mod range;
mod spec;
mod stream;

pub use error::WorkloadError;
pub use op::OpName;
pub use ops::Ops;
pub use pattern::Pattern;
pub use range::Range;
pub use spec::LoadSpec;
pub use stream::{Io, Stream};
