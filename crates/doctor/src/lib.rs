//! Rules: facts of a result in, findings out, worst first. Rules common to all layers stand here, one small
//! file for each thing they look at; a layer's own come from the registry and are run on every cell that has
//! the layer. Each finding carries its evidence and what to do.
#![forbid(unsafe_code)]

mod layer_rules;
mod rules;

use analysis::Analysis;
use results::model::Finding;
use results::read::ResultSet;

/// A rule: what it finds in a result.
type Rule = fn(&ResultSet, &Analysis) -> Vec<Finding>;

/// Every common rule. Within one severity, findings keep this order.
const RULES: [Rule; 23] = [
    rules::run::changed,
    rules::figures::contradictory,
    rules::run::simulated,
    rules::run::incomplete,
    rules::verify::wrong,
    rules::cells::failed,
    rules::load::errors,
    rules::content::off_asked,
    rules::content::not_measured,
    rules::run::guest_clock,
    rules::run::late_disks,
    rules::run::emulated_cpu,
    rules::run::too_few_repeats,
    rules::verify::nothing,
    rules::load::page_cache,
    rules::cells::leftovers,
    rules::cells::notices,
    rules::sampling::failed,
    rules::load::notices,
    rules::content::several,
    rules::repeats::uneven,
    rules::run::order_not_drawn,
    rules::run::unsealed,
];

/// Everything that the rules find in `result`, worst first.
pub fn examine(result: &ResultSet, analysis: &Analysis) -> Vec<Finding> {
    let mut findings: Vec<Finding> = RULES.iter().flat_map(|rule| rule(result, analysis)).collect();
    findings.extend(layer_rules::run(result));
    findings.extend(rules::sampling::expensive(result));
    findings.sort_by_key(|finding| std::cmp::Reverse(finding.severity));
    findings
}
