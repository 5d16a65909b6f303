//! The load on a machine that did not come from the cell, while the cell ran.

use serde::{Deserialize, Serialize};

/// The load on a machine that did not come from the cell it ran; `None` for every figure that the machine does not report.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct MachineLoad {
    /// CPU time of programs that do not belong to the run, percent of all CPUs.
    pub others_percent: Option<f64>,
    /// CPU time that the machine's own host took from it, percent of all CPUs.
    pub steal_percent: Option<f64>,
    /// Share of the time in which some thread, of the run or another, waited for a CPU (PSI), percent.
    pub cpu_pressure_percent: Option<f64>,
    /// Share of the time in which some thread waited for memory, percent.
    pub memory_pressure_percent: Option<f64>,
    /// Share of the time in which some thread waited for I/O, percent.
    pub io_pressure_percent: Option<f64>,
    /// Mean frequency of the CPUs at both ends of the cell, MHz.
    pub frequency_mhz: Option<f64>,
}

impl MachineLoad {
    /// Combines the load of two periods, each with its length; a figure that one of them lacks is missing from the result.
    pub fn over([(one, first), (other, second)]: [(Self, u64); 2]) -> Self {
        let share = first as f64 / (first + second).max(1) as f64;
        let mean =
            |of: fn(&Self) -> Option<f64>| Some(of(&one)? * share + of(&other)? * (1.0 - share));
        Self {
            others_percent: mean(|load| load.others_percent),
            steal_percent: mean(|load| load.steal_percent),
            cpu_pressure_percent: mean(|load| load.cpu_pressure_percent),
            memory_pressure_percent: mean(|load| load.memory_pressure_percent),
            io_pressure_percent: mean(|load| load.io_pressure_percent),
            frequency_mhz: mean(|load| load.frequency_mhz),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn two_times_count_by_their_lengths_and_what_one_lacks_is_missing() {
        let load = |others, mhz| MachineLoad {
            others_percent: Some(others),
            frequency_mhz: mhz,
            ..MachineLoad::default()
        };
        let both = MachineLoad::over([(load(10.0, Some(900.0)), 3), (load(50.0, None), 1)]);
        assert_eq!((both.others_percent, both.frequency_mhz), (Some(20.0), None));
    }
}
