//! Which limits are seen first.

use std::collections::BTreeSet;

use results::model::Finding;

/// Limits that are shown unless all are asked for.
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

#[cfg(test)]
mod tests {
    use super::*;

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
