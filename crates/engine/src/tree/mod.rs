//! Loads of file trees: workers that carry out the operations of a [`tree::Stream`] in a directory.
//!
//! The stream chooses the operations and keeps track of what exists after each of them; a worker makes the system calls and reports their outcome.
//! Calls that change names are blocking ones, with one thread per worker: a ring would hand them to threads of the kernel, which costs more than it
//! saves.

mod ageing;
mod calls;
mod ends;
mod leaves;
mod load;
mod ours;
mod place;
mod rest;
mod run;
mod worker;
mod writer;

pub use ageing::{AgeingBounds, AgeingEnd, AgeingGround, OwnFiles, ReadRate};
pub use load::{TreeLoad, TreeStop};
pub use place::examine;
pub use rest::foretold;
pub use run::run;
