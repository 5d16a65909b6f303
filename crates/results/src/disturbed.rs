//! Detects the cells that something else on the machine disturbed.

use crate::model::MachineLoad;
use crate::read::CellData;

/// CPU time taken by other programs or by the machine's host (steal) from which a cell counts as disturbed, percent of all CPUs.
const TAKEN_PERCENT: f64 = 5.0;
/// Time spent waiting for memory from which a cell counts as disturbed, percent.
const MEMORY_PERCENT: f64 = 5.0;

/// Returns what disturbed a cell, each in a few words; empty if nothing did, and `None` if nobody looked: what others took of the CPUs is not known.
pub fn disturbances(cell: &CellData) -> Option<Vec<String>> {
    let of_cell = cell.record.as_ref().and_then(|record| record.machine.as_ref());
    let mut loads = cell.entry.host.iter().chain(of_cell);
    let looked =
        cell.entry.disturbed_percent.is_some() || loads.any(|load| load.others_percent.is_some());
    let mut all = Vec::new();
    if let Some(percent) = cell.entry.disturbed_percent {
        all.push(format!("others took {} of the CPUs when it began", shown(percent)));
    }
    let in_guest = cell.entry.host.is_some();
    if let Some(host) = &cell.entry.host {
        all.extend(of_machine(host).map(|text| format!("{text} on the host")));
    }
    if let Some(machine) = of_cell {
        let place = if in_guest { " in the guest" } else { "" };
        all.extend(of_machine(machine).map(|text| format!("{text}{place}")));
    }
    (looked || !all.is_empty()).then_some(all)
}

fn of_machine(load: &MachineLoad) -> impl Iterator<Item = String> {
    let (others, steal) = (load.others_percent.unwrap_or(0.0), load.steal_percent.unwrap_or(0.0));
    let taken = match (others + steal >= TAKEN_PERCENT, steal >= others) {
        (false, _) => None,
        (true, false) => Some(format!("others took {} of the CPUs", shown(others))),
        (true, true) => Some(format!("its own host took {} of the CPUs (steal)", shown(steal))),
    };
    let memory = load.memory_pressure_percent.filter(|percent| *percent >= MEMORY_PERCENT);
    let memory =
        memory.map(|percent| format!("threads waited for memory {} of the time", shown(percent)));
    [taken, memory].into_iter().flatten()
}

fn shown(percent: f64) -> String {
    format!("{} %", units::show::significant(percent, 2))
}
