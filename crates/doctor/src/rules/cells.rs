//! Rules about cells: how they ended, and what they left behind.

use std::collections::BTreeMap;

use analysis::Analysis;
use results::model::{
    Accelerator, CellEntry, CellState, Finding, MachineLoad, Severity, plain_and_raw,
};
use results::read::{CellData, ResultSet};
use results::transcript::CLEANED;
use stats::Sorted;
use units::show::significant;

use crate::share::Share;

/// Runs of a variant failed.
pub(crate) fn failed(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let variants = &result.manifest.plan.variants;
    variants.iter().filter_map(|variant| of_variant(result, &variant.name)).collect()
}

/// Cells ran on different kernels though their variants ask for the same machine. A variant that names its kernel is not compared with others.
pub(crate) fn kernels(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let mut of_machines: BTreeMap<_, BTreeMap<&str, Vec<&CellEntry>>> = BTreeMap::new();
    for variant in &result.manifest.plan.variants {
        for cell in result.cells_of(&variant.name) {
            let Some(record) = cell.record.as_ref().filter(|_| cell.done()) else { continue };
            if let Some(kernel) = record.ran_on.0.get("kernel") {
                let kernels = of_machines.entry(variant.machine.get("kernel")).or_default();
                kernels.entry(kernel).or_default().push(&cell.entry);
            }
        }
    }
    let of = |kernels: BTreeMap<&str, Vec<&CellEntry>>| {
        let numbers = |cells: &[&CellEntry]| {
            let numbers: Vec<_> = cells.iter().map(|cell| (cell.index + 1).to_string()).collect();
            numbers.join(", ")
        };
        let list =
            kernels.iter().map(|(kernel, cells)| format!("{kernel}: cell {}", numbers(cells)));
        let list = list.collect::<Vec<_>>().join("; ");
        (kernels.len() > 1).then(|| Finding {
            rule: "kernels_differ".into(),
            severity: Severity::Warning,
            message: format!(
                "Cells ran on {} kernels, which the experiment does not ask for: differences may be the kernels'.",
                kernels.len()
            ),
            evidence: format!("{list}."),
            remedy: "Run the experiment again, on one kernel from beginning to end.".into(),
            ..Finding::default()
        })
    };
    of_machines.into_values().filter_map(of).collect()
}

fn of_variant(result: &ResultSet, name: &str) -> Option<Finding> {
    let begun = |cell: &&CellData| cell.state() != CellState::Skipped;
    let cells: Vec<&CellData> = result.cells_of(name).filter(begun).collect();
    let mut others_words: Vec<&str> = Vec::new();
    let mut failed: Vec<String> = Vec::new();
    for cell in cells.iter().filter(|cell| cell.state() == CellState::Failed) {
        let (why, raw) = plain_and_raw(cell.reason().unwrap_or("no reason is recorded"));
        failed.push(format!("repeat {}: {why}", cell.entry.repeat));
        others_words.extend(raw.filter(|raw| !others_words.contains(raw)));
    }
    let message = match failed.len() {
        0 => return None,
        n => format!("{n} of {} runs of {name} failed and give no figures.", cells.len()),
    };
    let mut remedy = format!("Look at {}.", whereabouts(result));
    let outside = failed.iter().filter(|why| why.contains(FROM_OUTSIDE)).count();
    match (outside, failed.len() - outside) {
        (0, _) => remedy.push_str(" Runs that fail under load are part of what a layer does."),
        (_, 0) => remedy.push_str(" That says nothing about the layer: --resume runs such cells again."),
        _ => remedy.push_str(
            " Guests that were ended from outside say nothing about the layer, the others may: --resume runs all of them again.",
        ),
    }
    let panicked = others_words.iter().any(|words| words.contains("Kernel panic"));
    if panicked && result.manifest.accelerator == Accelerator::Tcg {
        remedy.push_str(
            " An emulated CPU now and then crashes a guest that did nothing wrong: --resume runs such cells again.",
        );
    }
    // The messages of QEMU and of the guest's kernel follow the description, each text once.
    let raw: Vec<String> = others_words.iter().map(|raw| format!(": {raw}")).collect();
    Some(Finding {
        rule: "failed_cells".into(),
        severity: Severity::Error,
        subject: Some(name.to_owned()),
        message,
        evidence: failed.join("; ") + &raw.join(""),
        remedy,
        ..Finding::default()
    })
}

/// The lab's words for a guest that was ended neither by itself nor by Fathom.
const FROM_OUTSIDE: &str = "ended from outside";

/// Names the files of the result that describe what happened: those that exist.
fn whereabouts(result: &ResultSet) -> String {
    let logs = result.lab_files.keys().filter(|name| name.ends_with(".log"));
    let mut files: Vec<String> = logs.map(|name| format!("lab/{name}")).collect();
    if !result.transcript.is_empty() {
        files.insert(0, results::writer::TRANSCRIPT.to_owned());
    }
    match files.split_last() {
        None => {
            "the reason above: the result holds neither a transcript nor logs of a guest".into()
        }
        Some((one, [])) => format!("{one} in the result"),
        Some((last, rest)) => format!("{} and {last} in the result", rest.join(", ")),
    }
}

/// Number of disturbed cells that are named; the tables and pictures mark each.
const NAMED: usize = 5;

/// Something else on the machine took CPU time or memory that cells needed.
pub(crate) fn disturbed(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let mut share = Share::default();
    let mut cells = Vec::new();
    for cell in result.cells.iter().filter(|cell| cell.state() != CellState::Skipped) {
        let why = results::disturbances(cell).unwrap_or_default();
        share.count(cell, !why.is_empty());
        let CellEntry { variant, repeat, .. } = &cell.entry;
        if !why.is_empty() {
            cells.push(format!("{variant} repeat {repeat}: {}", why.join(", ")));
        }
    }
    let (first, more) = cells.split_at(cells.len().min(NAMED));
    let more = if more.is_empty() { String::new() } else { format!("; and {} more", more.len()) };
    let percent = significant(share.percent(), 2);
    let finding = Finding {
        rule: "disturbed_cells".into(),
        severity: Severity::Warning,
        subject: None,
        message: format!(
            "Something else disturbed {}: their figures are those of a machine that was shared.",
            share.text(&format!("cells ({percent} %)")),
        ),
        evidence: format!("{}{more}.", first.join("; ")),
        remedy: "Run again on a machine that does nothing else; with --quiet 5%, run and lab run wait before each cell until others leave it alone."
            .into(),
        ..Finding::default()
    };
    Vec::from_iter((!cells.is_empty()).then_some(finding))
}

/// Share of the usual frequency, percent, below which the CPUs of a cell ran slower.
pub(crate) const SLOW_PERCENT: f64 = 90.0;

/// CPUs ran slower in some cells. This is a note, because the frequency is read at only two instants, and a governor that follows the load keeps it
/// low in any cell that was idle just then.
pub(crate) fn slow_cpus(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let of_host = slower(result, |cell| cell.entry.host.as_ref());
    let of_cell = slower(result, |cell| cell.record.as_ref()?.machine.as_ref());
    let cells: Vec<String> = of_host.into_iter().chain(of_cell).collect();
    let (first, more) = cells.split_at(cells.len().min(NAMED));
    let more = if more.is_empty() { String::new() } else { format!("; and {} more", more.len()) };
    let finding = Finding {
        rule: "slow_cpus".into(),
        severity: Severity::Note,
        subject: None,
        message: format!("CPUs ran at a lower frequency in {} cells than in the others.", cells.len()),
        evidence: format!("At both ends of the cell, {}{more}.", first.join("; ")),
        remedy: "Take the governor 'performance' (cpupower frequency-set -g performance), and see whether the machine is warm; with another governor, CPUs that are idle when they are read look slow, too."
            .into(),
        ..Finding::default()
    };
    Vec::from_iter((!cells.is_empty()).then_some(finding))
}

/// Describes the cells whose machine ran at a lower frequency than usual, which is the median of all cells.
fn slower(result: &ResultSet, of: fn(&CellData) -> Option<&MachineLoad>) -> Vec<String> {
    let mhz = |cell: &CellData| of(cell)?.frequency_mhz;
    let all: Sorted = result.cells.iter().filter_map(mhz).collect();
    let Some(usual) = all.median() else { return Vec::new() };
    let name = |cell: &CellData| {
        let speed = mhz(cell).filter(|speed| 100.0 * speed < SLOW_PERCENT * usual)?;
        let CellEntry { variant, repeat, .. } = &cell.entry;
        Some(format!("{variant} repeat {repeat}: {speed:.0} MHz instead of {usual:.0}"))
    };
    result.cells.iter().filter_map(name).collect()
}

/// Teardown left something behind that has not been taken down since.
pub(crate) fn leftovers(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let mut findings = Vec::new();
    let cleaned = result.transcript.iter().rfind(|entry| entry.about == CLEANED);
    if cleaned.is_some_and(|entry| entry.error.is_none()) {
        return findings;
    }
    for cell in &result.cells {
        let left = cell.record.as_ref().and_then(|record| record.leftovers.as_ref());
        let Some(left) = left.filter(|left| !left.is_empty()) else { continue };
        findings.push(Finding {
            rule: "leftovers".into(),
            severity: Severity::Warning,
            subject: Some(cell.entry.folder.clone()),
            message: format!(
                "Teardown of {} repeat {} left something behind.",
                cell.entry.variant, cell.entry.repeat
            ),
            evidence: format!("Left: {}.", left.join(", ")),
            remedy: format!("fathom clean {}", result.path.display()),
            ..Finding::default()
        });
    }
    findings
}

/// Cells gave notices about themselves.
pub(crate) fn notices(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let mut findings = Vec::new();
    for variant in &result.manifest.plan.variants {
        let cells: Vec<_> = result.cells_of(&variant.name).collect();
        let lines: Vec<String> = cells
            .iter()
            .filter_map(|cell| Some((cell.entry.repeat, cell.record.as_ref()?)))
            .flat_map(|(repeat, record)| {
                record.notices.iter().map(move |text| format!("repeat {repeat}: {text}"))
            })
            .collect();
        if lines.is_empty() {
            continue;
        }
        findings.push(Finding {
            rule: "cell_notices".into(),
            severity: Severity::Warning,
            subject: Some(variant.name.clone()),
            message: format!("Not everything of {} was recorded as planned.", variant.name),
            evidence: format!("{}.", lines.join("; ")),
            remedy:
                "Charts and figures that need it are missing; mend what is named and run again."
                    .into(),
            ..Finding::default()
        });
    }
    findings
}
