//! Which cells something else on the machine disturbed.

use crate::model::MachineLoad;
use crate::read::{CellData, ResultSet};

/// CPU time of others and of the machine's own host, percent of all CPUs, that disturbs a cell.
const TAKEN_PERCENT: f64 = 5.0;
/// Waiting for memory, percent of the time, that disturbs a cell.
const MEMORY_PERCENT: f64 = 5.0;
/// A cell on CPUs slower than this share of the usual of all cells is disturbed.
const SLOW_SHARE: f64 = 0.9;

/// What disturbed a cell, each in a few words; nothing where nothing did, or where nobody looked.
pub fn disturbances(set: &ResultSet, cell: &CellData) -> Vec<String> {
    let mut all = Vec::new();
    if let Some(percent) = cell.entry.disturbed_percent {
        all.push(format!("others took {} of the CPUs when it began", shown(percent)));
    }
    let in_guest = cell.entry.host.is_some();
    let usual = |of: fn(&CellData) -> Option<MachineLoad>| {
        let mut all: Vec<f64> =
            set.cells.iter().filter_map(|cell| of(cell)?.frequency_mhz).collect();
        all.sort_by(f64::total_cmp);
        all.get(all.len() / 2).copied()
    };
    if let Some(host) = of_host(cell) {
        all.extend(of_machine(&host, usual(of_host)).map(|text| format!("{text} on the host")));
    }
    if let Some(machine) = of_cell(cell) {
        let place = if in_guest { " in the guest" } else { "" };
        all.extend(of_machine(&machine, usual(of_cell)).map(|text| format!("{text}{place}")));
    }
    all
}

fn of_host(cell: &CellData) -> Option<MachineLoad> {
    cell.entry.host
}

fn of_cell(cell: &CellData) -> Option<MachineLoad> {
    cell.record.as_ref()?.machine
}

fn of_machine(load: &MachineLoad, usual_mhz: Option<f64>) -> impl Iterator<Item = String> {
    let (others, steal) = (load.others_percent.unwrap_or(0.0), load.steal_percent.unwrap_or(0.0));
    let taken = match (others + steal >= TAKEN_PERCENT, steal >= others) {
        (false, _) => None,
        (true, false) => Some(format!("others took {} of the CPUs", shown(others))),
        (true, true) => Some(format!("its own host took {} of the CPUs (steal)", shown(steal))),
    };
    let memory = load.memory_pressure_percent.filter(|percent| *percent >= MEMORY_PERCENT);
    let memory =
        memory.map(|percent| format!("threads waited for memory {} of the time", shown(percent)));
    let slow = load.frequency_mhz.zip(usual_mhz).filter(|(own, usual)| *own < SLOW_SHARE * usual);
    let slow =
        slow.map(|(own, usual)| format!("the CPUs ran at {own:.0} MHz in place of {usual:.0}"));
    [taken, memory, slow].into_iter().flatten()
}

fn shown(percent: f64) -> String {
    format!("{} %", units::show::significant(percent, 2))
}
