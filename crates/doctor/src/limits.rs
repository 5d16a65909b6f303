//! The choice of the findings that are shown first, and of those that are shown together.

use std::collections::BTreeSet;

use results::model::{Finding, plain_and_raw};

/// Number of limits that are shown unless all are asked for.
pub const SHOWN: usize = 5;

/// The limits among findings, as they are shown: of each rule the one that explains most.
#[derive(Debug, Clone, PartialEq)]
pub struct Limits<'a> {
    /// The first of them.
    pub first: Vec<&'a Finding>,
    /// All others.
    pub others: Vec<&'a Finding>,
}

/// The limits among `findings`, which come ranked.
pub fn limits(findings: &[Finding]) -> Limits<'_> {
    let mut rules = BTreeSet::new();
    let all = findings.iter().filter(|finding| finding.explains_percent.is_some());
    let (mut first, others): (Vec<_>, Vec<_>) =
        all.partition(|finding| rules.insert(finding.rule.as_str()));
    let rest = first.split_off(first.len().min(SHOWN));
    Limits { first, others: rest.into_iter().chain(others).collect() }
}

/// Joins findings of one rule and severity: each first finding comes with the others, which say the same about something else.
pub fn joined<'a>(
    findings: impl Iterator<Item = &'a Finding>,
) -> Vec<(&'a Finding, Vec<&'a Finding>)> {
    let mut joined: Vec<(&Finding, Vec<&Finding>)> = Vec::new();
    for finding in findings {
        let same = |of: &Finding| of.rule == finding.rule && of.severity == finding.severity;
        match joined.iter_mut().find(|(first, _)| same(first)) {
            Some((_, others)) => others.push(finding),
            None => joined.push((finding, Vec::new())),
        }
    }
    joined
}

/// Returns message and evidence of another finding of the same rule, each only if it differs from that of the first by more than the name of
/// the subject; "the same" if neither does.
pub fn also(first: &Finding, other: &Finding) -> String {
    let of = |finding: &Finding| match finding.subject.as_deref() {
        Some(subject) if !subject.is_empty() => finding.message.replace(subject, ""),
        _ => finding.message.clone(),
    };
    let message = Some(other.message.as_str()).filter(|_| of(other) != of(first));
    let evidence = plain_and_raw(&other.evidence).0;
    let evidence = Some(evidence).filter(|evidence| *evidence != plain_and_raw(&first.evidence).0);
    match (message, evidence) {
        (None, None) => "the same".to_owned(),
        (message, evidence) => message.into_iter().chain(evidence).collect::<Vec<_>>().join(" "),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rule_is_told_once_with_all_that_it_is_of() {
        let finding = |(rule, subject): (&str, &str)| Finding {
            rule: rule.into(),
            subject: Some(subject.into()),
            ..Finding::default()
        };
        let findings = [("a", "plain"), ("b", "plain"), ("a", "vdo")].map(finding);
        let joined = joined(findings.iter());
        assert_eq!((joined.len(), joined[0].1.len(), joined[1].1.len()), (2, 1, 0));
        assert_eq!(joined[0].1[0].subject.as_deref(), Some("vdo"));
    }

    #[test]
    fn what_differs_in_its_name_alone_is_not_said_again() {
        let finding = |subject: &str, evidence: &str| Finding {
            message: format!("Throughput of {subject} did not keep one level."),
            evidence: evidence.into(),
            subject: Some(subject.into()),
            ..Finding::default()
        };
        let first = finding("plain", "37 %");
        assert_eq!(also(&first, &finding("vdo", "37 %")), "the same");
        assert_eq!(also(&first, &finding("vdo", "40 %")), "40 %");
        let other = Finding { message: "Throughput fell.".into(), ..finding("vdo", "40 %") };
        assert_eq!(also(&first, &other), "Throughput fell. 40 %");
    }

    #[test]
    fn of_each_rule_the_worst_is_first_and_no_more_than_five_of_them() {
        let finding = |(rule, percent): (&str, f64)| Finding {
            rule: rule.into(),
            explains_percent: Some(percent),
            ..Finding::default()
        };
        let named = [("a", 90.0), ("a", 80.0), ("b", 70.0), ("c", 60.0), ("d", 50.0), ("e", 40.0)];
        let mut findings: Vec<_> = named.into_iter().chain([("f", 30.0)]).map(finding).collect();
        findings.push(Finding { rule: "no_limit".into(), ..Finding::default() });
        let limits = limits(&findings);
        let seen = |of: &[&Finding]| of.iter().map(|f| f.rule.clone()).collect::<String>();
        assert_eq!((seen(&limits.first), seen(&limits.others)), ("abcde".into(), "fa".into()));
        assert_eq!(limits.first[0].explains_percent, Some(90.0));
    }
}
