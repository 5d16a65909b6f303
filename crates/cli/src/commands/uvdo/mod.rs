//! `fathom uvdo`: a volume of our own.

mod ask;
mod check;
mod create;
mod grow;
mod rebuild;
mod start;

pub use ask::{policy, stats, status, stop};
pub use check::run as check;
pub use create::run as create;
pub use grow::run as grow;
pub use rebuild::run as rebuild;
pub use start::run as start;
