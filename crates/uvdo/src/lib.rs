//! The server of a volume: requests of NBD clients go into the volume, its operations go to a backing file or device, and a second
//! socket answers questions and takes the command to stop.
//!
//! One thread owns the volume. Other threads read requests of clients, do operations of the device and serve the control socket; they
//! send it events.
#![forbid(unsafe_code)]

mod backing;
mod control;
mod error;
mod format;
mod nbd;
mod place;
mod requests;
mod server;
mod statistics;
mod status;
mod turns;
mod wish;

pub use backing::Backing;
pub use control::ask;
pub use error::{Error, ErrorKind, is_misnamed};
pub use format::{
    CreateOptions, GrowOptions, check, create, grow, layout, rebuild, sizes, whole_blocks,
};
pub use place::Place;
pub use server::{Ended, Server, StartOptions};
