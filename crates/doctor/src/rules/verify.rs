//! Findings of verification: wrong blocks, and loads that it could not check.

use std::collections::BTreeMap;

use analysis::Analysis;
use results::model::{Finding, Severity, StageFacts, VerifyFigures};
use results::read::ResultSet;

use super::load::loads;

/// Largest number of wrong blocks that a finding describes.
const DESCRIBED: usize = 3;

/// Blocks did not hold what was written to them.
pub(crate) fn wrong(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let mut found: BTreeMap<(&str, &str), (VerifyFigures, Vec<String>)> = BTreeMap::new();
    for (variant, repeat, stage, load) in loads(result) {
        let Some(verify) = load.verify.as_ref().filter(|v| v.wrong_blocks() > 0) else { continue };
        let (sum, first) = found.entry((variant, stage.name.as_str())).or_default();
        sum.add_counts(verify);
        first.extend(verify.first.iter().map(|text| format!("repeat {repeat}: {text}")));
    }
    let finding = |((variant, stage), (sum, first)): (
        (&str, &str),
        (VerifyFigures, Vec<String>),
    )| {
        let first: Vec<_> = first.into_iter().take(DESCRIBED).collect();
        Finding {
            rule: "wrong_blocks".into(),
            severity: Severity::Error,
            subject: Some(variant.to_owned()),
            message: format!(
                "In stage {stage} of {variant}, {}.",
                sum.accusation().unwrap_or_default()
            ),
            evidence: format!("{sum}. {}", first.join("; ")).trim_end().to_owned(),
            remedy: "Nothing else may write to the devices of a run. If nothing did, the stack loses or \
                     spoils data: look at the kernel log, and keep anything you need off it."
                .into(),
 ..Finding::default()
}
    };
    found.into_iter().map(finding).collect()
}

/// Verification was asked for, and checked nothing.
pub(crate) fn checked_nothing(result: &ResultSet, _: &Analysis) -> Vec<Finding> {
    let mut unchecked: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    for (variant, repeat, stage, load) in loads(result) {
        let checked = load.verify.as_ref().is_some_and(|verify| verify.checked > 0);
        if !checked && planned(result, variant, &stage.name).is_some_and(asks) {
            let runs = unchecked.entry((variant, stage.name.as_str())).or_default();
            runs.push(repeat.to_string());
        }
    }
    let finding = |((variant, stage), runs): ((&str, &str), Vec<String>)| {
        Finding {
        rule: "not_verified".into(),
        severity: Severity::Warning,
        subject: Some(variant.to_owned()),
        message: format!(
            "Stage {stage} of {variant} was to be verified, and no block was checked."
        ),
        evidence: format!("Checked blocks of repeat {}: none.", runs.join(", ")),
        remedy:
            "Read its notices. Only blocks are checked that this load, or an earlier stage of its cell, has written, and that are read \
                 in sizes that are multiples of the content's block."
                .into(),
        ..Finding::default()
    }
    };
    unchecked.into_iter().map(finding).collect()
}

fn planned<'a>(result: &'a ResultSet, variant: &str, stage: &str) -> Option<&'a StageFacts> {
    let variants = &result.manifest.plan.variants;
    variants.iter().find(|v| v.name == variant)?.stages.iter().find(|s| s.name == stage)
}

/// Tells whether the stage's load is to be verified.
fn asks(stage: &StageFacts) -> bool {
    stage.load.get("verify").and_then(|v| v.as_str()).is_some_and(|verify| verify != "off")
}
