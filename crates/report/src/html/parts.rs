//! The parts of a page that are words: navigation, findings, run card, machine, glossary.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use results::model::Severity;
use units::Better;

use crate::view::View;
use crate::wording::NONE;

/// Links to the parts of one result.
pub fn navigation(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    let findings = format!("Findings ({})", view.findings.len());
    let parts = [
        ("findings", findings.as_str()),
        ("run", "Run"),
        ("stacks", "Stacks"),
        ("figures", "Figures"),
        ("load", "Load"),
        ("layers", "Layers"),
        ("machine", "Machine"),
        ("content", "Content"),
        ("cost", "Cost"),
        ("cells", "Cells and commands"),
        ("glossary", "Glossary"),
    ];
    html! {
        nav.parts aria-label="Parts of this result" { ul {
            @for (part, name) in parts { li { a href={ "#" (id(part)) } { (name) } } }
        } }
    }
}

/// What the doctor noticed, worst first.
pub fn findings(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    html! {
        h2 id=(id("findings")) { "Findings" }
        @if view.findings.is_empty() { p { "The doctor noticed nothing that takes from these figures." } }
        @for finding in &view.findings {
            @let severity = severity(finding.severity);
            div.finding.(severity) {
                p.what { span.sev { (severity) } (finding.message) }
                @if !finding.evidence.is_empty() { p.soft { (finding.evidence) } }
                @if !finding.remedy.is_empty() { p.soft { "What to do: " (finding.remedy) } }
                p.faint { code { (finding.rule) } @if let Some(subject) = &finding.subject { " · " (subject) } }
            }
        }
    }
}

/// The word for a severity, as on the terminal and in JSON.
pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// Longer values are folded away: QEMU's command line would bury the rest.
const FOLDED: usize = 240;

/// How the run was made, and on what.
pub fn run_card(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    html! {
        h2 id=(id("run")) { "Run and machine" }
        dl.card { @for (name, value) in view.run.iter().chain(&view.driven) {
            dt { (name) }
            dd { @if value.len() > FOLDED { details { summary { "show" } code { (value) } } } @else { (value) } }
        } }
        p.downloads { "This result for programs: "
            a download={ (file_name(&view.experiment)) ".json" } href=(data_url("application/json", &crate::json::json(view).to_string())) { "JSON" }
            " · "
            a download={ (file_name(&view.experiment)) ".csv" } href=(data_url("text/csv", &crate::csv::csv(view))) { "CSV of the figures" }
        }
        (machine(view))
    }
}

/// What measuring cost, and where the time went.
pub fn cost(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    html! {
        h2 id=(id("cost")) { "Cost of measuring" }
        @if view.samplers.is_empty() { p.soft { "No samples were taken." } } @else { (samplers(view)) }
        @if !view.lab_times.is_empty() { h3 { "Where the lab's time went" } (lab_times(view)) }
    }
}

fn machine(view: &View) -> Markup {
    let guest = view.machine.iter().any(|row| row.guest.is_some());
    let cell = |text: &Option<String>| text.clone().unwrap_or_else(|| NONE.to_owned());
    html! {
        div.scroll tabindex="0" role="region" aria-label="Machine" { table {
            caption { "The machine that ran the program"
                @if guest { " (host) and the virtual machine that the layers ran in (guest)" } "." }
            thead { tr { th scope="col" { "Fact" } th.text scope="col" { "Host" } @if guest { th.text scope="col" { "Guest" } } } }
            tbody { @for row in &view.machine { tr {
                th scope="row" { (row.name) }
                td.wrap { (cell(&row.host)) }
                @if guest { td.wrap { (cell(&row.guest)) } }
            } } }
        } }
    }
}

fn lab_times(view: &View) -> Markup {
    html! {
        div.scroll tabindex="0" role="region" aria-label="Where the lab's time went" { table {
            caption { "Time from the start of the lab (of the command, for what came before it) to each moment." }
            thead { tr { th scope="col" { "Moment" } th scope="col" { "After" } } }
            tbody { @for (what, seconds) in &view.lab_times { tr {
                th scope="row" { (what) } td { (units::show::nanos(seconds * 1e9)) }
            } } }
        } }
    }
}

fn samplers(view: &View) -> Markup {
    let nanos = |value: Option<f64>| value.map_or(NONE.to_owned(), units::show::nanos);
    html! {
        div.scroll tabindex="0" role="region" aria-label="What sampling cost" { table {
            caption { "Each sample's cost is measured as it is taken. Samplers' threads are not counted as the load's CPU." }
            thead { tr { th scope="col" { "Sampler" } th scope="col" { "Samples" } th scope="col" { "Failed" }
                th scope="col" { "Wall time of one" } th scope="col" { "CPU time of one" } th scope="col" { "Share of one CPU" } } }
            tbody { @for row in &view.samplers { tr {
                th scope="row" { code { (row.source) } }
                td { (row.samples) } td { (row.failed) } td { (nanos(row.wall_ns)) } td { (nanos(row.cpu_ns)) }
                td { (row.cpu_percent.map_or(NONE.to_owned(), |p| units::Unit::Percent.show(p))) }
            } } }
        } }
    }
}

/// What the figures mean.
pub fn glossary(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    html! {
        h2 id=(id("glossary")) { "Glossary" }
        p { "The replicate is one run on a fresh stack, not one second of a run. A figure is the median over the repeats with the 95 % \
             bootstrap interval of that median, which with two to four repeats is no more than their range; a ratio is one variant's median over the base's. Only what the experiment asks about gets a \
             verdict: better, worse, same (the interval lies within the threshold), or unclear (more repeats are needed)." }
        dl.terms { @for metric in &view.glossary {
            dt { (metric.name) " " span.faint { code { (metric.id) } } }
            dd { (metric.help)
                @match metric.better { Better::Higher => " More is better.", Better::Lower => " Less is better.", Better::Neither => {} } }
        } }
    }
}

fn data_url(kind: &str, text: &str) -> String {
    format!("data:{kind};charset=utf-8;base64,{}", STANDARD.encode(text))
}

/// A name that every file system takes.
fn file_name(experiment: &str) -> String {
    experiment
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
        .collect()
}
