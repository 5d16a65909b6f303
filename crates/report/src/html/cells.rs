//! The cells in the order they ran, with the exact commands.

use maud::{Markup, html};
use results::model::{MachineLoad, plain_and_raw};
use units::Unit;

use super::folds::folded;
use super::inline::dot;
use super::parts::why;
use crate::view::{Cell, View};
use crate::wording::NONE;

/// Returns every cell: its figures, and the steps that set up and took down its stack.
pub fn cells(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    let names: Vec<_> = view.cells.iter().map(|c| c.figures.iter().map(|f| &f.0).collect()).fold(
        Vec::new(),
        |longest: Vec<&String>, names: Vec<&String>| {
            if names.len() > longest.len() { names } else { longest }
        },
    );
    let host = view.cells.iter().any(|cell| cell.host.is_some());
    let known = view.cells.iter().any(|cell| cell.machine.is_some());
    let machines = [
        ("Machine", known && !host, machine as Of),
        ("Guest", known && host, machine),
        ("Host", host, of_host),
    ];
    let machines: Vec<_> =
        machines.into_iter().filter(|one| one.1).map(|(name, _, of)| (name, of)).collect();
    let body = html! {
        p.reading { "Each cell is one variant at one repeat on a fresh stack, in the order they ran. Drift or an effect of the order would show \
                     here as a trend down the rows." }
        div.scroll tabindex="0" role="region" aria-label="Cells" { table {
            thead { tr { th scope="col" { "#" } th.text scope="col" { "Variant" } th scope="col" { "Repeat" } th.text scope="col" { "State" }
                @for (name, _) in &machines { th scope="col" title=(MACHINE) { (name) } }
                @for name in &names { th scope="col" { (name) } } } }
            tbody { @for (index, cell) in view.cells.iter().enumerate() { tr {
                td { (index + 1) }
                td.text { @if let Some(v) = cell.variant { (dot(v)) } (cell.name) }
                td { (cell.repeat) }
                td.wrap { (cell.state) @if let Some(what) = cell.disturbed.as_ref().filter(|what| !what.is_empty()) { ", " b { "disturbed" } ": " (what.join(", ")) } @if let Some(reason) = &cell.reason {
                    @let (plain, raw) = plain_and_raw(reason);
                    ": " (plain) (why(raw)) } }
                @for (_, of) in &machines { td.wrap { (of(cell).map_or_else(|| NONE.to_owned(), |load| meanwhile(&load))) } }
                @for name in &names {
                    td { (cell.figures.iter().find(|f| f.0 == **name).map_or(NONE, |f| f.1.as_str())) }
                }
            } } }
        } }
        h3 { "Commands" }
        p.reading { "What was done to the machine, step by step, as a person would type it. Lines with # say what a step is for or wait for." }
        @for (index, cell) in view.cells.iter().enumerate() { @if !cell.steps.is_empty() { (commands(index, cell)) } }
    };
    folded(&id("cells"), "Cells and commands", &body)
}

/// The meaning of the columns about the machine.
const MACHINE: &str = "While the cell ran: CPU time that other programs took of all CPUs, what the machine's own host took from it (steal), and how \
    much of the time some thread waited for a CPU, for memory or for I/O (pressure stall information; the load's own threads among them)";

type Of = fn(&Cell) -> Option<MachineLoad>;

fn machine(cell: &Cell) -> Option<MachineLoad> {
    cell.machine
}

fn of_host(cell: &Cell) -> Option<MachineLoad> {
    cell.host
}

/// `others 0.4 %; waited: CPU 66 %, I/O 23 %`.
fn meanwhile(load: &MachineLoad) -> String {
    let shown =
        |name: &str, percent: Option<f64>| Some(format!("{name} {}", Unit::Percent.show(percent?)));
    let waits = [
        shown("CPU", load.cpu_pressure_percent),
        shown("memory", load.memory_pressure_percent.filter(|percent| *percent > 0.0)),
        shown("I/O", load.io_pressure_percent),
    ];
    let waits: Vec<_> = waits.into_iter().flatten().collect();
    let waits = (!waits.is_empty()).then(|| format!("waited: {}", waits.join(", ")));
    let parts = [
        shown("others", load.others_percent),
        shown("steal", load.steal_percent.filter(|percent| *percent > 0.0)),
        load.frequency_mhz.map(|mhz| format!("{mhz:.0} MHz")),
        waits,
    ];
    let parts: Vec<_> = parts.into_iter().flatten().collect();
    if parts.is_empty() { NONE.to_owned() } else { parts.join("; ") }
}

fn commands(index: usize, cell: &Cell) -> Markup {
    let text = cell
        .steps
        .iter()
        .map(|step| {
            let failed =
                step.error.as_ref().map(|e| format!("\n# failed: {e}")).unwrap_or_default();
            let time = units::show::nanos(step.duration_ns as f64);
            format!("# {} ({time})\n{}{failed}", one_line(&step.about), one_line(&step.command))
        })
        .collect::<Vec<_>>()
        .join("\n");
    html! {
        details.cell { summary { "Cell " (index + 1) ": " (cell.name) ", repeat " (cell.repeat) " (" (cell.steps.len()) " steps)" }
            div.copy { pre tabindex="0" { (text) } } }
    }
}

/// A line break in a name must not turn the rest of a comment into a command.
fn one_line(text: &str) -> String {
    text.replace(['\n', '\r'], " ")
}
