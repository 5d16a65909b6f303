//! The sequence of operations of a file-tree load. A [`TreeSpec`] describes the load; a [`Stream`] yields the operations of one worker from a seed
//! alone, and keeps track of what exists after each of them. Nothing here touches a file, a thread or a clock.
//!
//! The names of the tree come from a range of indices, and each worker owns every n-th of them. So no two workers ever touch the same file, nothing
//! is locked, and the final state (names, sizes, bytes) follows from seed, workers and operations.
#![forbid(unsafe_code)]

mod bits;
mod books;
mod distribution;
mod equilibrium;
mod error;
mod files;
mod layout;
mod log;
mod mix;
mod op;
mod plan;
mod rest_watch;
mod size;
mod spec;
mod step;
mod stream;
mod table;

pub use books::Books;
pub use distribution::Distribution;
pub use equilibrium::{Equilibrium, Never, Settles};
pub use error::TreeError;
pub use layout::{Layout, Name, NameKind};
pub use log::Log;
pub use mix::Mix;
pub use op::TreeOp;
pub use rest_watch::RestWatch;
pub use size::Size;
pub use spec::{Pick, TreeSpec};
pub use step::{Expectation, Request, Requests, Skip, Step, StepOutcome, Sync, Verdict, errno};
pub use stream::Stream;
pub use table::LONGEST_TABLE;
