//! The commands, one file each.

pub mod content;
pub mod curve;
pub mod disks;
pub mod engine;
mod engine_record;
mod equal;
pub mod estimate;
mod estimate_on_vdo;
pub mod floor;
mod goal;
pub mod in_guest;
mod in_lab;
pub mod lab;
pub mod show;
mod table;
mod tables;
pub mod turns;
pub mod verdicts;
