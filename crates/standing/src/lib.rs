//! Stacks that exist on machines: texts about them are gathered from this machine ([`live`]) or from a sosreport ([`sos`]), and the layers' own
//! parsers turn them into a stack of nodes ([`stack`]). No block device is opened, and nothing is written; `/dev/mapper/control` is asked for tables,
//! status and statistics.
#![forbid(unsafe_code)]

mod archive;
mod draw;
pub mod live;
mod looks;
mod lsblk;
mod mount;
mod node;
pub mod openmetrics;
mod owners;
mod procfs;
mod recorded;
pub mod sos;
mod stack;
mod watch;

pub use draw::{drawing, to_paste};
pub use mount::Mount;
pub use recorded::{Block, Recorded, Text, Top};
pub use stack::stack;
pub use watch::{Ended, Watch, Watching, watch};
