//! The parts of a page that are text: navigation, findings, and the folded parts: run, machine, QEMU, cost, glossary.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use maud::{Markup, html};
use results::model::{Change, Finding, Severity, plain_and_raw};
use units::Better;
use units::show::names;

use super::folds::folded;
use super::{charts, figures};
use crate::view::{Part, View, apart};
use crate::wording::NONE;

/// Returns links to the parts of one result.
pub fn navigation(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    let findings = format!("Findings ({})", findings_of(view));
    let parts = [
        ("why", "Why"),
        ("answer", "Picture"),
        ("findings", findings.as_str()),
        ("expected", "Expected"),
        ("reported", "Source"),
        ("effects", "Factors"),
        ("figures", "Figures"),
        ("ladders", "Latency by layer"),
        ("states", "States"),
        ("load", "Load"),
        ("stacks", "Stacks"),
        ("layers", "Layers"),
        ("cpu", "CPU and devices"),
        ("content", "Content"),
        ("run", "Run"),
        ("machine", "Machine"),
        ("qemu", "QEMU"),
        ("cells", "Cells and commands"),
        ("cost", "Cost"),
        ("glossary", "Glossary"),
    ];
    let there = |part: &str| match part {
        "why" => view.why.is_some(),
        "answer" => !view.answers.is_empty(),
        "expected" => !view.expectations.is_empty(),
        "reported" => !view.reported.is_empty(),
        "effects" => !view.effects.is_empty(),
        "ladders" => !view.ladders.is_empty(),
        "states" => !view.states.is_empty(),
        "load" => charts::has(view, Part::Load),
        "layers" => charts::has(view, Part::Layers),
        "content" => figures::has_content(view),
        "qemu" => in_lab(view),
        _ => true,
    };
    html! {
        nav.parts aria-label="Parts of this result" { ul {
            @for (part, name) in parts.iter().filter(|(part, _)| there(part)) { li { a href={ "#" (id(part)) } { (name) } } }
        } }
    }
}

/// The number of findings and limits, those of one rule counted once.
pub fn findings_of(view: &View) -> usize {
    let (limits, rest): (Vec<_>, Vec<_>) = view.findings.iter().partition(|f| is_limit(f));
    doctor::joined(rest.into_iter()).len() + doctor::joined(limits.into_iter()).len()
}

fn is_limit(finding: &Finding) -> bool {
    finding.explains_percent.is_some()
}

/// Returns the doctor's findings, worst first, then the limits of the layers. They are unfolded if there is an error that no box on top of the page
/// mentions.
pub fn findings(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    let wrong = |finding: &Finding| finding.severity == Severity::Error && !apart(&finding.rule);
    let (limits, rest): (Vec<_>, Vec<_>) = view.findings.iter().partition(|f| is_limit(f));
    let limits = doctor::joined(limits.into_iter());
    let (first, others) = limits.split_at(limits.len().min(doctor::SHOWN));
    html! {
        details.part.findings id=(id("findings")) open[view.findings.iter().any(wrong)] {
            summary { h2 { (findings_title(view)) } }
            @if view.findings.is_empty() { p.soft { (view.trust.text) } }
            @for (finding, also) in doctor::joined(rest.into_iter()) { (one(finding, &also)) }
            @if !first.is_empty() {
                h3 { "What limits it" }
                p.soft { "The share of a limit that was used, or of the I/Os that it touched. A limit that is nearly reached need not be the one \
                    that slows things down: " code { "fathom doctor RESULT --prove" } " tests those that a setting would remove." }
                @for (finding, also) in first { (one(finding, also)) }
            }
            @if !others.is_empty() {
                details.long { summary { (others.len()) " more" } @for (finding, also) in others { (one(finding, also)) } }
            }
        }
    }
}

/// `Findings: 4 warnings, 2 notes, 3 limits`.
fn findings_title(view: &View) -> String {
    let (limits, rest): (Vec<_>, Vec<_>) = view.findings.iter().partition(|f| is_limit(f));
    let of = |severity: Severity| {
        doctor::joined(rest.iter().copied().filter(|finding| finding.severity == severity)).len()
    };
    let limits = doctor::joined(limits.into_iter()).len();
    let kinds = [
        (of(Severity::Error), "error"),
        (of(Severity::Warning), "warning"),
        (of(Severity::Note), "note"),
        (limits, "limit"),
    ];
    let kinds = kinds.into_iter().filter(|(n, _)| *n > 0);
    let counts: Vec<_> =
        kinds.map(|(n, word)| format!("{n} {word}{}", if n == 1 { "" } else { "s" })).collect();
    if counts.is_empty() {
        "Findings: none".to_owned()
    } else {
        format!("Findings: {}", counts.join(", "))
    }
}

/// Returns the other subjects for which the same finding was made, each once.
fn others_named<'a>(finding: &'a Finding, also: &[&'a Finding]) -> Vec<&'a str> {
    let mut named: Vec<&str> = Vec::new();
    for subject in also.iter().filter_map(|other| other.subject.as_deref()) {
        if finding.subject.as_deref() != Some(subject) && !named.contains(&subject) {
            named.push(subject);
        }
    }
    named
}

/// Returns a finding, with the same findings about other subjects in it.
fn one(finding: &Finding, also: &[&Finding]) -> Markup {
    let severity = severity(finding.severity);
    let (evidence, raw) = plain_and_raw(&finding.evidence);
    html! {
        details.finding.(severity) open[finding.severity == Severity::Error] {
            summary {
                @match finding.explains_percent {
                    Some(percent) => span.share { (share(percent, also)) },
                    None => span.sev { (severity) },
                }
                (finding.message) @if let Some(subject) = &finding.subject { " " span.faint { (subjects(subject, &others_named(finding, also))) } }
            }
            @if finding.figures.is_empty() { @if !evidence.is_empty() { p.soft { (evidence) } } }
            @else { (figures_of(finding)) }
            (why(raw))
            @if !finding.remedy.is_empty() { p.soft { "What to do: " (finding.remedy) } }
            @if !finding.changes.is_empty() { p.soft { "What to write " (Change::places(&finding.changes)) ":" } pre { (finding.changes.iter().map(Change::line).collect::<Vec<_>>().join("\n")) } }
            @if !finding.commands.is_empty() { p.soft { "On a volume of your own:" } pre { (finding.commands.join("\n")) } }
            @if also.len() > NAMED { details.long { summary { (also.len()) " more" } (each(finding, also)) } } @else { (each(finding, also)) }
            @if let Some(proof) = &finding.proof { p { strong { (proof.outcome.word()) } ": " (proof.describe()) } }
            p.faint { code { (finding.rule) } }
        }
    }
}

/// Most further subjects of a finding that are shown at once; more of them are counted, and shown on a click.
const NAMED: usize = 4;

/// Returns the subjects of a finding: all by name, or the first and how many more.
fn subjects(first: &str, others: &[&str]) -> String {
    if others.len() > NAMED {
        return format!("{first} and {} more", others.len());
    }
    names(&[&[first][..], others].concat())
}

/// Returns the findings that say the same about other subjects.
fn each(first: &Finding, also: &[&Finding]) -> Markup {
    html! { @for other in also {
        p.soft { b { (other.subject.as_deref().unwrap_or_default()) } ": " (doctor::also(first, other)) }
    } }
}

/// Returns the share of a limit; for several subjects the range, from the least to the most.
fn share(most: f64, also: &[&Finding]) -> String {
    let least = also.iter().filter_map(|other| other.explains_percent).fold(most, f64::min);
    let [least, most] = [least, most].map(|percent| format!("{percent:.0}"));
    if least == most { format!("{most} %") } else { format!("{least} to {most} %") }
}

/// Returns the evidence of a finding as numbers, each with its threshold, and the period in which it was observed.
fn figures_of(finding: &Finding) -> Markup {
    html! {
        table.evidence {
            @for figure in &finding.figures {
                tr {
                    th scope="row" { (figure.name) }
                    td.num { (figure.unit.show(figure.value)) }
                    td.soft { @if let Some(threshold) = figure.threshold { "threshold " (figure.unit.show(threshold)) } }
                }
            }
        }
        @if let Some(place) = &finding.place {
            p.faint { (place) @if let Some(runs) = runs(&finding.evidence) { " (" (runs) ")" } }
        }
    }
}

/// Extracts from the end of the evidence in how many runs it was observed.
fn runs(evidence: &str) -> Option<&str> {
    evidence.strip_suffix(')').and_then(|text| text.rsplit_once(" (")).map(|(_, runs)| runs)
}

/// Returns the message of QEMU or the guest's kernel, folded behind "why"; nothing where there is none.
pub fn why(raw: Option<&str>) -> Markup {
    html! { @if let Some(raw) = raw { " " details.why { summary { "why" } pre { (raw) } } } }
}

/// Returns the word for a severity, as on the terminal and in JSON.
pub fn severity(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}

/// Longest value that is not folded, characters: QEMU's command line would bury the rest.
const FOLDED: usize = 240;

/// Returns links that download this result as files for programs.
pub fn downloads(view: &View) -> Markup {
    html! {
        p.downloads { "This result for programs: "
            a download={ (file_name(&view.experiment)) ".json" } href=(data_url("application/json", &crate::json::json(view).to_string())) { "JSON" }
            " · "
            a download={ (file_name(&view.experiment)) ".csv" } href=(data_url("text/csv", &crate::csv::csv(view))) { "CSV of the figures" }
        }
    }
}

fn card(rows: &[(String, String)]) -> Markup {
    html! {
        dl.card { @for (name, value) in rows {
            dt { (name) }
            dd { @if value.len() > FOLDED { details.long { summary { "show" } code { (value) } } } @else { (value) } }
        } }
    }
}

/// Returns the facts of the run, of its machines, and of the virtual machine.
pub fn run(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    let rows: Vec<_> = view.run.iter().chain(&view.driven).cloned().collect();
    html! {
        (folded(&id("run"), "Run", &card(&rows)))
        (folded(&id("machine"), "Machine", &machine(view)))
        @if in_lab(view) { (folded(&id("qemu"), "Virtual machine (QEMU)", &html! {
            (card(&view.lab))
            @if !view.lab_times.is_empty() { h3 { "Where the lab's time went" } (lab_times(view)) }
        })) }
    }
}

fn in_lab(view: &View) -> bool {
    !view.lab.is_empty() || !view.lab_times.is_empty()
}

/// Returns the cost of measuring.
pub fn cost(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    let body = html! {
        @if view.samplers.is_empty() { p.soft { "No samples were taken." } } @else { (samplers(view)) }
    };
    folded(&id("cost"), "Cost of measuring", &body)
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

/// Returns the meaning of the figures.
pub fn glossary(id: &dyn Fn(&str) -> String, view: &View) -> Markup {
    let body = html! {
        p { "The replicate is one run on a fresh stack, not one second of a run. A figure is the median over the repeats with the 95 % \
             interval of that median, which with two to four repeats is no more than their range. Two variants are compared repeat by repeat or by \
             ranks. Only what the experiment asks about gets a verdict: better, worse, same (the 95 % interval lies within the threshold), differs (neither more nor less is good), or \
             unclear (more repeats are needed). " (crate::wording::TESTS) }
        dl.terms { @for metric in &view.glossary {
            dt { (metric.name) " " span.faint { code { (metric.id) } } }
            dd { (metric.help)
                @match metric.better { Better::Higher => " More is better.", Better::Lower => " Less is better.", Better::Neither => {} } }
        } }
    };
    folded(&id("glossary"), "Glossary", &body)
}

fn data_url(kind: &str, text: &str) -> String {
    format!("data:{kind};charset=utf-8;base64,{}", STANDARD.encode(text))
}

/// Returns a file name that every file system accepts.
fn file_name(experiment: &str) -> String {
    experiment
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() || c == '-' { c } else { '_' })
        .collect()
}
