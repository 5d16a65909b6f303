//! Findings as lines.

use results::model::{Change, Finding, ProofOutcome, Severity, plain_and_raw};

use crate::terminal::{Style, Text};

/// Returns what a result suffers from, then what limits it.
pub fn of_result(findings: &[Finding], all: bool, style: Style) -> Text {
    if findings.is_empty() {
        return "Nothing found: the figures mean what they say.".into();
    }
    let mut text = Text::new();
    for finding in findings.iter().filter(|finding| finding.explains_percent.is_none()) {
        add_finding(&mut text, finding, style);
    }
    let limits = doctor::limits(findings);
    if limits.first.is_empty() {
        return text;
    }
    text.line(
        "What limits it, by the share of a limit that was used, or of the I/Os that were affected:",
    );
    for finding in &limits.first {
        add_finding(&mut text, finding, style);
    }
    if all {
        limits.others.iter().for_each(|finding| add_finding(&mut text, finding, style));
    } else if !limits.others.is_empty() {
        let more = format!("{} more with --all, other variants among them", limits.others.len());
        text.line(style.dim(&more));
    }
    text
}

/// Returns what a plan cannot show.
pub fn of_plan(findings: &[Finding], style: Style) -> Text {
    if findings.is_empty() {
        return "Nothing found: the plan can show what it asks.".into();
    }
    let mut text = Text::new();
    for finding in findings {
        add_finding(&mut text, finding, style);
    }
    text
}

/// Adds a finding.
pub fn add_finding(text: &mut Text, finding: &Finding, style: Style) {
    let score = finding.explains_percent.map(|percent| format!("{percent:>4.0} %"));
    let word = match (finding.severity, score) {
        (Severity::Error, _) => style.bad("error"),
        (Severity::Warning, None) => style.note("warning"),
        (Severity::Warning, Some(score)) => style.note(&score),
        (Severity::Note, None) => style.dim("note"),
        (Severity::Note, Some(score)) => style.dim(&score),
    };
    let (evidence, raw) = plain_and_raw(&finding.evidence);
    let more = raw.map_or("", |_| " (--json has the words of QEMU or the kernel)");
    let subject = finding.subject.as_ref().map_or_else(String::new, |s| format!("[{s}] "));
    text.line(word.and(format!("{subject}{} ({})", finding.message, finding.rule)));
    text.line(format!("  evidence: {evidence}{more}"));
    if let Some(place) = &finding.place {
        text.line(format!("  when: {place}"));
    }
    text.line(format!("  do: {}", finding.remedy));
    let changes: Vec<_> = finding.changes.iter().map(ToString::to_string).collect();
    if !changes.is_empty() {
        text.line(format!("  {}:", Change::places(&finding.changes)));
        finding.changes.iter().for_each(|change| text.line(format!("    {}", change.line())));
    }
    if !finding.commands.is_empty() {
        text.line(format!("  on a volume of your own: {}", finding.commands.join("; ")));
    }
    if let Some(proof) = &finding.proof {
        let word = match proof.outcome {
            ProofOutcome::Confirmed => style.good("confirmed"),
            ProofOutcome::Refuted => style.bad("refuted"),
            ProofOutcome::Unclear => style.note("unclear"),
        };
        text.line(word.and(format!("with {}: {}", changes.join(", "), proof.describe())));
    }
}
