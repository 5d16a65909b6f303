//! Tests of the developers' program.

#[cfg(test)]
mod commands;
#[cfg(test)]
mod corpora;
#[cfg(test)]
mod lab;
// Both programs are run alike; not each is tested with everything.
#[allow(dead_code)]
#[cfg(test)]
#[path = "../../../cli/tests/it/loop_device.rs"]
mod loop_device;
#[allow(dead_code)]
#[cfg(test)]
#[path = "../../../cli/tests/it/program.rs"]
mod program;
#[cfg(test)]
mod stopped;
#[cfg(test)]
mod verdicts;

/// The program under test.
#[cfg(test)]
const PROGRAM: &str = env!("CARGO_BIN_EXE_fathom-bench");
