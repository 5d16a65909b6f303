//! Safe wrappers around the kernel, the clock, and the interrupt.
//!
//! Everything that other crates need from the kernel beyond the standard library is here, behind safe functions: block-device ioctls, CPU time, ties
//! between the lives of a parent and a child. The clock and the interrupt are here too, because everything that waits needs both.

pub mod block;
pub mod cached;
pub mod causes;
pub mod clock;
pub mod cpu;
pub mod denied;
pub mod dm;
pub mod extents;
pub mod free_space;
pub mod identity;
pub mod input;
pub mod interrupt;
pub mod keeper;
pub mod kernel_log;
pub mod lifeline;
pub mod locks;
pub mod made;
pub mod meant;
pub mod memory;
pub mod new_file;
pub mod passing;
pub mod priority;
pub mod reap;
pub mod stamps;
pub mod task;
pub mod ticks;
mod tsc;
pub mod usage;
