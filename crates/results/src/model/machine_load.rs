//! The load of a machine by others than a cell, while the cell ran.

use serde::{Deserialize, Serialize};

/// The load of a machine by others than the cell that it ran; `None` for every figure that the machine does not tell.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineLoad {
    /// CPU time of programs that are not the run's, percent of all CPUs.
    pub others_percent: Option<f64>,
    /// CPU time that the machine's own host took from it, percent of all CPUs.
    pub steal_percent: Option<f64>,
    /// Share of the time in which some thread waited for a CPU (PSI), percent; the run's own threads among them.
    pub cpu_pressure_percent: Option<f64>,
    /// Share of the time in which some thread waited for memory, percent.
    pub memory_pressure_percent: Option<f64>,
    /// Share of the time in which some thread waited for I/O, percent.
    pub io_pressure_percent: Option<f64>,
    /// Mean frequency of the CPUs at both ends of the cell, MHz.
    pub frequency_mhz: Option<f64>,
}
