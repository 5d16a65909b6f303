//! Fathom measured against itself and against fio.
//!
//! Each contestant is a program with a command line that a person can type, started as a child of its own and
//! measured by the same code from outside: what it says in its JSON (I/Os, latency), and what the kernel says it
//! cost (CPU time of all its threads, the kernel's io_uring workers included; CPU time of kernel threads meanwhile).
//! Repeats are interleaved, figures are ratios of neighbours, and what the rest of the machine used is kept beside them.
#![forbid(unsafe_code)]

pub mod acceptance;
pub mod case;
pub mod child;
pub mod content;
pub mod contest;
pub mod cpu;
pub mod disks;
pub mod equal;
mod error;
pub mod estimate;
pub mod fathom_contestant;
pub mod fio;
mod floor;
pub mod goal;
mod goal_verdicts;
pub mod guest_comparison;
pub mod outcome;
pub mod proportion;
pub mod record;
pub mod repeats;
mod reported_figures;
pub mod suite;
pub mod target;
pub mod verdicts;
pub mod verified;

pub use error::BenchError;
pub use reported_figures::ReportedFigures;
