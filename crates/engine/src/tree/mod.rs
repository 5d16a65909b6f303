//! Loads of file trees: workers that carry out what a [`tree::Stream`] says, on a directory.
//!
//! The stream decides, and knows what is there after each operation; a worker makes the calls and tells what came of them. Calls that change
//! names are blocking ones, one thread for each worker: a ring hands them to threads of the kernel, which costs more than it saves.

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
