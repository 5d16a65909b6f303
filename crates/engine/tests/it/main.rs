//! The engine on real devices and files, and in virtual time, through its public interface only.

// Clippy's own exception for tests covers functions marked as tests only, not what they call.
#![allow(clippy::unwrap_used, clippy::print_stdout)]

mod allocation;
mod carried;
mod device;
mod faults;
mod file;
mod jobs;
mod live;
mod modes;
mod page_cache;
mod recording;
mod simulated;
mod stalls;
mod states;
mod support;
mod tree;
mod tree_attacks;
mod verify;
