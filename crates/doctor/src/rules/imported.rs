//! Results that were made from the output of another program, which says how each load was driven: they were not composed as one experiment.

use std::collections::{BTreeMap, BTreeSet};

use analysis::Analysis;
use results::model::{Finding, Severity, VariantFacts};
use results::read::ResultSet;

/// The value of `ended_by` for a load that another program ran.
pub(crate) const ELSEWHERE: &str = "fio";
/// Options that name the target of a variant.
const TARGETS: [&str; 2] = ["directory", "filename"];
/// Largest number of differences of a variant that are reported.
const LISTED: usize = 6;

/// Tells whether the figures of a result come from another program.
pub(crate) fn is(result: &ResultSet) -> bool {
    let records = result.cells.iter().filter_map(|cell| cell.record.as_ref());
    let mut loads = records.flat_map(|record| &record.stages).filter_map(|s| s.load.as_ref());
    loads.any(|load| load.ended_by == ELSEWHERE)
}

/// Variants were driven by other options than the first, which makes them other loads.
pub(crate) fn other_options(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let Some((base, others)) = result.manifest.plan.variants.split_first() else { return vec![] };
    if !is(result) {
        return Vec::new();
    }
    let finding = |variant: &VariantFacts| {
        let differ = differing(base, variant);
        let more = match differ.len().saturating_sub(LISTED) {
            0 => String::new(),
            n => format!("; and {n} more"),
        };
        (!differ.is_empty()).then(|| Finding {
            rule: "other_options".into(),
            severity: Severity::Warning,
            subject: Some(variant.name.clone()),
            message: format!(
                "{} was driven with other options than {}: a difference between them may come from the load.",
                variant.name, base.name
            ),
            evidence: format!("{}{more}.", differ[..differ.len().min(LISTED)].join("; ")),
            remedy: "Run both with the same options for a verdict, or read it as one on these options."
                .into(),
            ..Finding::default()
        })
    };
    others.iter().filter_map(finding).collect()
}

/// Returns the options in which two variants differ, with the values of both.
fn differing(base: &VariantFacts, other: &VariantFacts) -> Vec<String> {
    let all = |variant: &VariantFacts| -> BTreeMap<String, String> {
        variant.stack.iter().flat_map(|layer| layer.settings.clone()).collect()
    };
    let (was, is) = (all(base), all(other));
    let names: BTreeSet<&String> = was.keys().chain(is.keys()).collect();
    let target = |name: &str| name.rsplit('.').next().is_some_and(|last| TARGETS.contains(&last));
    let names = names.into_iter().filter(|name| !target(name) && was.get(*name) != is.get(*name));
    let value = |of: &BTreeMap<String, String>, name: &str| {
        of.get(name).cloned().unwrap_or_else(|| "by default".to_owned())
    };
    names.map(|name| format!("{name}: {}, {}", value(&was, name), value(&is, name))).collect()
}
