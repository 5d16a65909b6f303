//! From the file to the Plan.

use std::collections::BTreeMap;

use results::model::{ExpectedFigure, PlanFacts, VariantFacts};
use units::{Bytes, Seed};

use crate::bounds;
use crate::devices::{self, Devices};
use crate::diagnostic::Diagnostic;
use crate::file::File;
use crate::graph::{self, Built};
use crate::plan::{CellPlan, DevicePlan, Needs, Plan};
use crate::stacks::{self, VariantStack};
use crate::questions::{self, Question};
use crate::stages;
use crate::{ExperimentError, estimate, order};

/// What the caller chooses, beside the file.
#[derive(Debug, Clone, PartialEq)]
pub struct Choices {
    /// The seed of the run.
    pub seed: Seed,
    /// Eight hexadecimal digits, unique to the run.
    pub run_tag: String,
    /// Repeats instead of the file's.
    pub repeat: Option<u32>,
    /// Sizes of the real devices by role, instead of the file's.
    pub sizes: BTreeMap<String, Bytes>,
}

/// Reads, checks and plans the experiment in `text`; `file` names it in errors.
pub fn compose(file: &str, text: &str, choices: &Choices) -> Result<Plan, ExperimentError> {
    let fail = |mistakes: Vec<Diagnostic>| ExperimentError {
        file: file.to_owned(),
        text: text.to_owned(),
        mistakes,
    };
    let (parsed, mut mistakes) = File::read(text).map_err(|m| fail(vec![m]))?;
    let devices = devices::read(&parsed, file, choices).unwrap_or_else(|m| {
        mistakes.extend(m);
        Devices::default()
    });
    let variants = stacks::resolve(&parsed).unwrap_or_else(|m| {
        mistakes.extend(m);
        Vec::new()
    });
    let stages = stages::read(&parsed, file, &variants).unwrap_or_else(|m| {
        mistakes.extend(m);
        Vec::new()
    });
    let at = parsed.repeat_at.clone().filter(|_| choices.repeat.is_none());
    mistakes.extend(bounds::check_cells(variants.len(), repeat(&parsed, choices), at));
    if mistakes.is_empty() {
        mistakes.extend(questions::check(&parsed.question, &stages, &variants));
        mistakes.extend(parsed.expect.iter().flat_map(|e| e.check(&stages, &variants)));
    }
    if !mistakes.is_empty() {
        return Err(fail(mistakes));
    }
    let mut built = Vec::new();
    for variant in &variants {
        let stack = graph::build(variant, &devices.sizes, &choices.run_tag).map_err(&fail)?;
        let planned = stages::plan(&stages, &variant.name, &stack, &devices, &choices.run_tag)
            .map_err(&fail)?;
        built.push((stack, planned));
    }
    let unused = devices::unused(&parsed, &variants, &stages);
    if !unused.is_empty() {
        return Err(fail(unused));
    }
    Ok(assemble(&parsed, choices, &devices, &variants, &built))
}

/// How often each variant is run.
fn repeat(file: &File, choices: &Choices) -> u32 {
    choices.repeat.unwrap_or(file.repeat)
}

fn assemble(
    file: &File,
    choices: &Choices,
    devices: &Devices,
    variants: &[VariantStack],
    built: &[(Built, Vec<crate::StagePlan>)],
) -> Plan {
    let repeat = repeat(file, choices);
    let cells = order::interleaved(variants.len(), repeat)
        .into_iter()
        .enumerate()
        .map(|(index, (v, repeat))| {
            let (stack, stages) = &built[v];
            CellPlan {
                index,
                variant: variants[v].name.clone(),
                repeat,
                seed: choices.seed.derive(&format!("repeat {repeat}")),
                stack: stack.layers.clone(),
                up: stack.up.clone(),
                ready: stack.ready.clone(),
                stages: stages.clone(),
                settle: stack.settle.clone(),
                probes: stack.probes.clone(),
                target: stack.top.clone(),
                about: estimate::cell(stages),
            }
        })
        .collect();
    let needs = built.iter().fold(Needs::default(), |all, (stack, _)| all.beside(&stack.needs));
    Plan {
        run_tag: choices.run_tag.clone(),
        seed: choices.seed,
        facts: facts(file, repeat, variants, built),
        devices: device_plans(devices, built),
        needs,
        cells,
    }
}

fn facts(
    file: &File,
    repeat: u32,
    variants: &[VariantStack],
    built: &[(Built, Vec<crate::StagePlan>)],
) -> PlanFacts {
    PlanFacts {
        experiment: file.name.get_ref().clone(),
        about: file.about.clone(),
        source: file.source.clone(),
        repeat,
        variants: variants
            .iter()
            .zip(built)
            .map(|(variant, (stack, stages))| VariantFacts {
                name: variant.name.clone(),
                stack: stack.facts.clone(),
                stages: stages.iter().map(stages::facts).collect(),
            })
            .collect(),
        questions: file.question.iter().map(Question::facts).collect(),
        expectations: expectations(file, variants),
    }
}

/// What is expected, of the last variant unless it names one.
fn expectations(file: &File, variants: &[VariantStack]) -> Vec<ExpectedFigure> {
    let last = variants.last().map_or("", |variant| variant.name.as_str());
    file.expect.iter().map(|expected| expected.facts(last)).collect()
}

fn device_plans(
    devices: &Devices,
    built: &[(Built, Vec<crate::StagePlan>)],
) -> BTreeMap<String, DevicePlan> {
    let written = devices.sizes.iter().map(|(role, &size)| {
        let stored = built.iter().map(|(_, stages)| estimate::stored(stages, size));
        let stored = stored.max().unwrap_or_default();
        (role.clone(), DevicePlan { size, stored, file: None })
    });
    let read = devices.images.iter().map(|(role, image)| {
        let file = Some(image.path.clone());
        (role.clone(), DevicePlan { size: image.size, stored: Bytes(0), file })
    });
    written.chain(read).collect()
}
