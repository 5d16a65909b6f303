//! What a machine did beside the run.

use serde::{Deserialize, Serialize};

/// What a machine did while a cell ran that was not for the cell; `None` where the machine does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineLoad {
    /// CPU time of programs that are not the run's, percent of all CPUs.
    pub others_percent: Option<f64>,
    /// CPU time that the machine's own host took from it, percent of all CPUs.
    pub steal_percent: Option<f64>,
    /// How long some thread waited for a CPU (PSI), percent of the time; the run's own threads among them.
    pub cpu_pressure_percent: Option<f64>,
    /// How long some thread waited for memory.
    pub memory_pressure_percent: Option<f64>,
    /// How long some thread waited for I/O.
    pub io_pressure_percent: Option<f64>,
    /// Mean frequency of the CPUs at both ends of the cell, MHz.
    pub frequency_mhz: Option<f64>,
}
