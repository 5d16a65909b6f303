//! The commands, one file each.

mod content;
mod disks;
mod engine;
mod engine_record;
mod equal;
mod estimate;
mod estimate_on_vdo;
mod floor;
mod goal;
pub mod in_guest;
mod in_lab;
mod lab;
mod show;
mod table;
mod tables;
mod turns;
mod verdicts;

pub use content::content;
pub use disks::disks;
pub use engine::engine;
pub use estimate::estimate;
pub use floor::floor;
pub use lab::lab;
pub use show::show;
pub use turns::turns;
pub use verdicts::verdicts;
