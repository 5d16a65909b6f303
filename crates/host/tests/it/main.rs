//! The host room as others use it: executor, samplers and claims, on twins and on loop devices.
#![allow(clippy::unwrap_used, clippy::panic, clippy::print_stdout)]

mod claims;
mod environment;
mod executor;
mod file_systems;
mod locks;
mod loop_device;
mod samplers;
mod stacks;
mod trace;
