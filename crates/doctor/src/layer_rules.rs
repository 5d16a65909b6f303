//! The layers' own rules, run on every cell that has the layer, and put together per variant.

use std::collections::BTreeMap;

use results::model::{CellRecord, Finding, LayerFacts, LayerFigures, Row, SampleRow};
use results::read::{CellData, ResultSet};

/// What the layers' rules find, one finding per variant, layer and rule.
pub(crate) fn run(result: &ResultSet) -> Vec<Finding> {
    let mut findings = Vec::new();
    for variant in &result.manifest.plan.variants {
        let cells: Vec<_> = result.cells_of(&variant.name).collect();
        let mut found: BTreeMap<(String, Option<String>), Vec<Finding>> = BTreeMap::new();
        let mut looked = 0;
        for (cell, record) in cells.iter().filter_map(|c| Some((*c, c.record.as_ref()?))) {
            looked += 1;
            for finding in of_cell(&variant.stack, cell, record) {
                let key = (finding.rule.clone(), finding.subject.clone());
                found.entry(key).or_default().push(finding);
            }
        }
        findings.extend(found.into_values().filter_map(|same| merge(same, &variant.name, looked)));
    }
    findings
}

/// Findings of the layers of one cell; each rule once per subject.
fn of_cell(stack: &[LayerFacts], cell: &CellData, record: &CellRecord) -> Vec<Finding> {
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
    for layer in stack {
        let Some(kind) = layers::kind(&layer.layer) else { continue };
        findings.extend((kind.rules)(&layers::RuleFacts {
            layer: &layer.name,
            settings: &layer.settings,
            samples: &samples,
            figures: record.layers.get(&layer.name).unwrap_or(&none),
            asked: written.asked.as_ref(),
            achieved: written.achieved.as_ref(),
            facts: &record.facts,
        }));
    }
    let mut seen = std::collections::BTreeSet::new();
    findings
        .retain(|finding: &Finding| seen.insert((finding.rule.clone(), finding.subject.clone())));
    findings
}

/// One finding for the runs of a variant: the worst of them, with how many had it.
fn merge(same: Vec<Finding>, variant: &str, looked: usize) -> Option<Finding> {
    let had = same.len();
    let mut finding = same
        .into_iter()
        .reduce(|worst, next| if next.severity > worst.severity { next } else { worst })?;
    finding.evidence =
        format!("{} (in {had} of {looked} runs)", finding.evidence.trim_end_matches('.'));
    finding.subject = Some(match finding.subject {
        Some(subject) if subject != variant => format!("{variant}: {subject}"),
        _ => variant.to_owned(),
    });
    Some(finding)
}
