//! `fathom doctor DEVICE --metrics`: counters and findings as OpenMetrics.

use std::time::Duration;

use layers::standing::StandingStack;
use results::model::{Finding, Severity};
use standing::Recorded;
use standing::openmetrics::{Family, MetricType, exposition, families, labels};

pub fn text(
    read: &Recorded,
    stack: &StandingStack,
    findings: &[Finding],
    limit: Duration,
) -> String {
    let mut all = families(read, stack, limit);
    let of_stack = findings.iter().filter(|finding| !doctor::is_about_reading(finding));
    let samples = of_stack.map(|finding| {
        let name = finding.subject.clone().unwrap_or_default();
        let node = stack.nodes.iter().find(|node| node.name == name);
        let mut pairs = node.map_or_else(|| vec![("device", name.clone())], labels);
        pairs.push(("rule", finding.rule.clone()));
        pairs.push(("severity", word(finding.severity).to_owned()));
        (pairs, 1.0)
    });
    let of = |help: &str, values| Family {
        kind: MetricType::Gauge,
        unit: "",
        help: help.to_owned(),
        values,
    };
    let found = of("What fathom doctor found: 1 for each finding.", samples.collect());
    all.insert("fathom_doctor_finding".to_owned(), found);
    let lacks = vec![(Vec::new(), stack.missing.len() as f64)];
    let lacks = of("Things that could not be read: rules that need them were not checked.", lacks);
    all.insert("fathom_doctor_not_read".to_owned(), lacks);
    exposition(&all)
}

fn word(severity: Severity) -> &'static str {
    match severity {
        Severity::Note => "note",
        Severity::Warning => "warning",
        Severity::Error => "error",
    }
}
