//! Rules that need no run, for a stack that a machine has; and a list of what was examined and what was not, so that the absence of findings means
//! something.

mod over_time;
mod rules;

use layers::StandingRule;
use layers::standing::{Node, StandingFacts, StandingStack};
use results::model::{Finding, Severity};

use crate::sorted::sort;

pub use rules::alarming;

/// The rules about any node.
pub(crate) const RULES: &[StandingRule] = rules::RULES;
/// The rules about any node that was watched.
pub(crate) const WATCH_RULES: &[StandingRule] = over_time::RULES;
/// The ids of the two findings that list what was examined and what was not.
pub(crate) const LOOKED_AT: &str = "looked_at";
pub(crate) const NOT_READ: &str = "not_read";

/// Returns everything that the rules find in a stack that stands, worst first; then what was looked at, and what could not be read. `of` names the
/// machine.
pub fn examine_standing(stack: &StandingStack, of: &str) -> Vec<Finding> {
    let mut findings: Vec<Finding> = Vec::new();
    for node in &stack.nodes {
        let facts = StandingFacts { node, stack, watched: false };
        let kind_rules = layers::kind(&node.kind).map_or(&[][..], |kind| kind.standing_rules);
        let found: Vec<Finding> =
            kind_rules.iter().chain(RULES).filter_map(|rule| check(rule, &facts)).collect();
        let now = watched(node, stack);
        // A finding about the present says more than one about the time since the device came up.
        let is_current = |finding: &Finding| now.iter().any(|other| other.rule == finding.rule);
        findings.extend(found.into_iter().filter(|finding| !is_current(finding)));
        findings.extend(now);
    }
    sort(&mut findings);
    findings.push(looked_at(stack, of, own_rules(stack)));
    if !stack.missing.is_empty() {
        findings.push(not_read(stack));
    }
    findings
}

/// Returns the findings about a node's activity while it was watched; none where it was not watched.
fn watched(node: &Node, stack: &StandingStack) -> Vec<Finding> {
    let Some(over) = node.over_watch() else { return Vec::new() };
    let facts = StandingFacts { node: &over, stack, watched: true };
    let kind_rules = layers::kind(&node.kind).map_or(&[][..], |kind| kind.watch_rules);
    let found = kind_rules.iter().chain(WATCH_RULES).filter_map(|rule| check(rule, &facts));
    let seconds = node.watched.as_ref().map_or(0.0, |watched| watched.seconds);
    let place = format!("in the {seconds:.0} s that were watched");
    found.map(|finding| Finding { place: Some(place.clone()), ..finding }).collect()
}

/// Tells whether a finding is about what was or was not examined, and not about the stack itself.
pub fn is_about_reading(finding: &Finding) -> bool {
    [LOOKED_AT, NOT_READ].contains(&finding.rule.as_str())
}

fn check(rule: &StandingRule, facts: &StandingFacts) -> Option<Finding> {
    let noticed = (rule.check)(facts, rule.threshold_test())?;
    let mut finding = rule.finding(&facts.node.name, noticed);
    finding.evidence = format!("{} (read: {})", finding.evidence, rule.reads);
    Some(finding)
}

/// Returns the number of rules that the stack was checked against.
fn own_rules(stack: &StandingStack) -> usize {
    let of = |node: &Node| {
        let kind = layers::kind(&node.kind);
        let over_time = |count: usize| if node.watched.is_some() { count } else { 0 };
        RULES.len()
            + kind.map_or(0, |kind| kind.standing_rules.len())
            + over_time(WATCH_RULES.len() + kind.map_or(0, |kind| kind.watch_rules.len()))
    };
    stack.nodes.iter().map(of).sum()
}

fn looked_at(stack: &StandingStack, of: &str, rules: usize) -> Finding {
    let nodes = stack.nodes.iter().map(|node| format!("{} ({})", node.name, node.kind));
    Finding {
        rule: LOOKED_AT.to_owned(),
        severity: Severity::Note,
        message: format!(
            "Looked at: {} of {of}, by {rules} checks that need no run.",
            counted(stack.nodes.len(), "node")
        ),
        evidence: nodes.collect::<Vec<_>>().join(", "),
        remedy: "Some limits show only under load: an experiment finds them; fathom catalogue lists experiments."
            .to_owned(),
        ..Finding::default()
    }
}

fn not_read(stack: &StandingStack) -> Finding {
    let takes_root = stack.missing.iter().any(|why| why.contains("root"));
    let remedy = if takes_root {
        "Try it as root: rules that need what is missing were not checked."
    } else {
        "Rules that need what is missing were not checked."
    };
    Finding {
        rule: NOT_READ.to_owned(),
        severity: Severity::Note,
        message: format!("Not read: {}.", counted(stack.missing.len(), "thing")),
        evidence: stack.missing.join("; "),
        remedy: remedy.to_owned(),
        ..Finding::default()
    }
}

/// A number of things.
fn counted(number: usize, word: &str) -> String {
    if number == 1 { format!("1 {word}") } else { format!("{number} {word}s") }
}
