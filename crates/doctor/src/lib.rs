//! Rules: facts of a result in, findings out, worst first; and before a run, facts of its plan in. Rules common to all layers stand
//! here, one small file for each thing they look at; a layer's own come from the registry and are run on every cell, or plan of a
//! variant, that has the layer. Each finding carries its evidence and what to do. Every rule is data ([`rules`]).
#![forbid(unsafe_code)]

mod before;
mod catalogue;
mod common;
mod layer_rules;
mod limits;
mod planned;
mod rules;
mod share;
mod sorted;
mod standing;
mod trial;

use analysis::Analysis;
use layers::Rule;
use results::model::{Finding, PlanFacts, TimeRange};
use results::read::ResultSet;
use units::Nanos;

use sorted::sort;

pub use catalogue::{RuleAbout, When, rules};
pub use limits::{Limits, SHOWN, also, joined, limits};
pub use standing::{alarming, examine_standing, is_about_reading};
pub use trial::{MOST_ROUNDS, Next, Suspect, next, round, suspects};

/// Everything that the rules find in `result`: worst first, bottlenecks by how much they explain.
pub fn examine(result: &ResultSet, analysis: &Analysis) -> Vec<Finding> {
    let common = common::RULES.iter().flat_map(|rule| (rule.check)(result, analysis));
    let mut findings: Vec<Finding> = common.collect();
    findings.extend(layer_rules::run(result));
    for finding in &mut findings {
        finding.place = finding.range.and_then(|range| place(result, range));
        let kept = result.proofs.iter().find(|kept| kept.is_of(finding));
        finding.proof = kept.map(|kept| kept.proof.clone());
    }
    sort(&mut findings);
    findings
}

/// Everything that the rules find in a plan, worst first.
pub fn check_plan(plan: &PlanFacts) -> Vec<Finding> {
    let variants = plan.variants.iter();
    let variants: Vec<_> = variants.map(|variant| (variant, planned::stages(variant))).collect();
    let view = before::Plan { facts: plan, variants: &variants };
    let common = before::RULES.iter().flat_map(|rule| {
        let observations = (rule.check)(&view, rule.threshold_test()).into_iter();
        observations.map(|(subject, noticed)| of_plan(rule, subject, noticed))
    });
    let mut findings: Vec<Finding> = common.collect();
    findings.extend(layer_rules::check_plan(&variants));
    sort(&mut findings);
    findings
}

/// Describes the place in the run where something was observed; cells are numbered as a run numbers them.
fn place(result: &ResultSet, range: TimeRange) -> Option<String> {
    let cell = result.cells.iter().find(|cell| cell.entry.index == range.cell)?;
    let record = cell.record.as_ref()?;
    let mut stages = record.stages.iter();
    let stage = stages.find(|stage| stage.measured && stage.start_ns == range.start_ns);
    let stage = stage.map_or_else(String::new, |stage| format!(", stage {}", stage.name));
    // Guests have clocks of their own, so times count from the beginning of each cell.
    let [start, end] =
        [range.start_ns, range.end_ns].map(|ns| Nanos(ns.saturating_sub(record.start_ns)));
    let (number, entry) = (range.cell + 1, &cell.entry);
    let (variant, repeat) = (&entry.variant, entry.repeat);
    Some(format!("cell {number} ({variant} r{repeat}){stage}, from {start} to {end} of the cell"))
}

fn of_plan<C>(rule: &Rule<C>, subject: Option<String>, noticed: layers::Observation) -> Finding {
    Finding { subject, ..rule.finding("", noticed) }
}
