//! The layers' own rules, run on every cell that has the layer, and put together per variant; those for plans on every variant.

use std::collections::BTreeMap;

use layers::{Kind, PlannedStage};
use results::model::{
    CellRecord, Change, Finding, LayerFacts, LayerFigures, Row, SampleRow, VariantFacts,
};
use results::read::{CellData, ResultSet};

use crate::planned;
use crate::share::Share;

/// Returns the findings of the layers' rules, one per variant, layer and rule.
pub(crate) fn run(result: &ResultSet) -> Vec<Finding> {
    let mut findings = Vec::new();
    for variant in &result.manifest.plan.variants {
        let cells: Vec<_> = result.cells_of(&variant.name).collect();
        let stages = planned::stages(variant);
        let mut found: BTreeMap<_, Vec<(&CellData, Finding)>> = BTreeMap::new();
        let looked: Vec<_> =
            cells.iter().filter_map(|cell| Some((*cell, cell.record.as_ref()?))).collect();
        for &(cell, record) in &looked {
            for finding in of_cell(variant, &stages, cell, record) {
                let key = (finding.rule.clone(), finding.subject.clone());
                found.entry(key).or_default().push((cell, finding));
            }
        }
        for same in found.into_values() {
            let mut share = Share::default();
            for (cell, _) in &looked {
                share.count(cell, same.iter().any(|(had, _)| had.entry.index == cell.entry.index));
            }
            let same = same.into_iter().map(|(_, finding)| finding);
            findings.extend(merge(same, &variant.name, share));
        }
    }
    findings
}

/// Returns the findings of the layers' rules in a plan; one that several variants share is reported once, for the first of them.
pub(crate) fn check_plan(variants: &[(&VariantFacts, Vec<PlannedStage>)]) -> Vec<Finding> {
    let kinds_of = |variant: &VariantFacts| variant.stack.iter().map(|l| l.layer.clone()).collect();
    let names: Vec<Vec<String>> = variants.iter().map(|(variant, _)| kinds_of(variant)).collect();
    let kinds: Vec<Vec<&str>> =
        names.iter().map(|stack| stack.iter().map(String::as_str).collect()).collect();
    let reduces = layers::kinds().iter().filter(|kind| kind.reduces);
    let reducing: Vec<&str> = reduces.map(|kind| kind.name).collect();
    let mut findings: Vec<Finding> = Vec::new();
    for (variant, stages) in variants {
        for layer in &variant.stack {
            let Some(kind) = layers::kind(&layer.layer) else { continue };
            let facts = layers::PlannedFacts {
                layer: &layer.name,
                kind: kind.name,
                settings: &layer.settings,
                stack: &variant.stack,
                below_files: below_files(&layer.name, &variant.stack),
                stages,
                variants: &kinds,
                reducing: &reducing,
            };
            for mut finding in kind.rules.iter().filter_map(|rule| rule.check_plan(&facts)) {
                finding.subject = subject(finding.subject, &variant.name);
                let same = |other: &Finding| {
                    (&other.rule, &other.message, &other.evidence)
                        == (&finding.rule, &finding.message, &finding.evidence)
                };
                if !findings.iter().any(same) {
                    findings.push(finding);
                }
            }
        }
    }
    findings
}

/// Tells whether a file system stands over `layer`, so that nothing is written to it directly.
fn below_files(layer: &str, stack: &[LayerFacts]) -> bool {
    let mut over = vec![layer];
    stack.iter().any(|above| {
        let stands = above.on.values().any(|below| over.contains(&below.as_str()));
        over.extend(stands.then_some(above.name.as_str()));
        stands && layers::kind(&above.layer).is_some_and(|kind| kind.offers_files)
    })
}

/// Returns the variant, with the layer where that has another name.
fn subject(layer: Option<String>, variant: &str) -> Option<String> {
    Some(match layer {
        Some(layer) if layer != variant => format!("{variant}: {layer}"),
        _ => variant.to_owned(),
    })
}

/// Findings of the layers of one cell.
fn of_cell(
    variant: &VariantFacts,
    planned: &[PlannedStage],
    cell: &CellData,
    record: &CellRecord,
) -> Vec<Finding> {
    let samples: Vec<SampleRow> = cell
        .rows
        .iter()
        .filter_map(|row| match row {
            Row::Sample(sample) => Some(sample.clone()),
            _ => None,
        })
        .collect();
    let written = record.content_of_growth();
    let none = LayerFigures::new();
    let mut findings = Vec::new();
    for layer in &variant.stack {
        let Some(kind) = layers::kind(&layer.layer) else { continue };
        let facts = layers::RuleFacts {
            layer: &layer.name,
            cell: cell.entry.index,
            settings: &layer.settings,
            stack: &variant.stack,
            below_files: below_files(&layer.name, &variant.stack),
            samples: &samples,
            stages: &record.stages,
            planned,
            figures: record.layers.get(&layer.name).unwrap_or(&none),
            asked_content: written.asked.as_ref(),
            achieved: written.achieved.as_ref(),
            facts: &record.facts,
        };
        let found = kind.rules.iter().filter_map(|rule| rule.examine(&facts));
        findings.extend(found.map(|finding| with_commands(finding, layer, kind)));
    }
    findings
}

/// The finding with the commands that make its changes, where all of them are changes to the layer.
fn with_commands(mut finding: Finding, layer: &LayerFacts, kind: &Kind) -> Finding {
    let of_layer = |change: &'_ Change| {
        let key = change.key.strip_prefix(&*layer.name)?.strip_prefix('.')?;
        Some((key.to_owned(), change.value.clone()))
    };
    let changes: Option<Vec<_>> = finding.changes.iter().map(of_layer).collect();
    let changes = changes.unwrap_or_default();
    let changed: Vec<_> = changes.iter().map(|(key, value)| (&**key, &**value)).collect();
    finding.commands = (kind.commands)(&layer.settings, &changed);
    finding
}

/// One finding for the runs of a variant: the worst of them, with how many had it.
fn merge(same: impl Iterator<Item = Finding>, variant: &str, share: Share) -> Option<Finding> {
    let rank = |f: &Finding| (f.severity, f.explains_percent.unwrap_or(0.0));
    let mut finding =
        same.reduce(|worst, next| if rank(&next) > rank(&worst) { next } else { worst })?;
    finding.evidence =
        format!("{} (in {})", finding.evidence.trim_end_matches('.'), share.text("runs"));
    finding.subject = subject(finding.subject, variant);
    Some(finding)
}
