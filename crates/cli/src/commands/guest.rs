//! Process 1 of the lab's guest: the guest's half of a run.

use std::process::ExitCode;

/// Never returns in a guest: the machine is off when the mission is done.
pub fn main() -> ExitCode {
    ExitCode::FAILURE
}
