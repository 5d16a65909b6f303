//! Operations, mixes, patterns, arrivals and stop rules. A [`LoadSpec`] describes a load; a [`Stream`] yields the I/Os of one of its jobs in order,
//! computed from the seed alone.
#![forbid(unsafe_code)]

mod amount;
mod arrivals;
mod best_hits;
mod block_size;
#[cfg(test)]
mod chi;
mod choices;
mod cpus;
mod deck;
mod describe;
mod distribution;
#[cfg(test)]
mod distribution_tests;
mod divide;
mod each;
mod error;
mod exact_time;
mod fio;
mod grid;
mod io;
mod io_generator;
mod keys;
mod limiter;
mod math;
mod meaning;
mod normal;
mod offset_stream;
mod op;
mod ops;
mod order;
mod pattern;
mod pauses;
mod pieces;
mod portion;
mod range;
mod rate;
mod seeds;
mod sizes;
mod spec;
mod steady;
mod stream;
mod target_check;
mod text;
mod validate;
mod walk;
mod window;
mod zipf;
mod zones;

pub use amount::Amount;
pub use arrivals::Arrivals;
pub use best_hits::BestHits;
pub use block_size::BlockSize;
pub use choices::{Arrival, Backend, DepthUnit, Hot, Share, Verify};
pub use cpus::Cpus;
pub use divide::divided;
pub use each::{OperationOverride, PerOperation};
pub use error::WorkloadError;
pub use fio::fio_option;
pub use io::Io;
pub use limiter::{Limiter, ThinkTimes};
pub use math::exp2;
pub use normal::Ziggurat;
pub use op::{OpKind, OpName};
pub use ops::Ops;
pub use pattern::Pattern;
pub use pauses::{SyncMethod, SyncPolicy, Think};
pub use portion::Portion;
pub use range::Range;
pub use rate::{Limit, Rate};
pub use seeds::nth as nth_seed;
pub use spec::LoadSpec;
pub use steady::{Steady, SteadyMetric};
pub use stream::Stream;
pub use zipf::Zipf;
pub use zones::{Zone, ZoneSize, Zones};

/// I/Os that a stream generates at a time.
pub const BATCH: usize = 64;
