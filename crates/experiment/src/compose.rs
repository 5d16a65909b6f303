//! From the file to the Plan.

use std::collections::BTreeMap;

use results::model::{AskedMetric, PlanFacts, VariantFacts};
use units::{Bytes, Seed};

use crate::bounds;
use crate::devices::{self, Devices};
use crate::diagnostic::{Diagnostic, nearest};
use crate::file::{File, Question};
use crate::plan::{CellPlan, DevicePlan, Needs, Plan};
use crate::stacks::{self, Built, VariantStack};
use crate::stages::{self, Stage};
use crate::{ExperimentError, estimate, order};

/// Relative difference that does not matter unless the question says otherwise.
const THRESHOLD: f64 = 0.03;

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
    let stages = stages::read(&parsed, file).unwrap_or_else(|m| {
        mistakes.extend(m);
        Vec::new()
    });
    let at = parsed.repeat_at.clone().filter(|_| choices.repeat.is_none());
    mistakes.extend(bounds::check_cells(variants.len(), repeat(&parsed, choices), at));
    if mistakes.is_empty() {
        mistakes.extend(check_questions(&parsed.question, &stages));
    }
    if !mistakes.is_empty() {
        return Err(fail(mistakes));
    }
    let mut built = Vec::new();
    for variant in &variants {
        let stack = stacks::build(variant, &devices.sizes, &choices.run_tag).map_err(&fail)?;
        let planned = stages::plan(&stages, &stack, &devices, &choices.run_tag).map_err(&fail)?;
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
                target: stack.device.clone(),
                target_bytes: stack.bytes,
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
        questions: file.question.iter().map(asked).collect(),
    }
}

fn asked(question: &Question) -> AskedMetric {
    AskedMetric {
        metric: question.metric.clone(),
        operation: question.operation.clone(),
        threshold: question.threshold.map_or(THRESHOLD, units::Percent::fraction),
    }
}

fn device_plans(
    devices: &Devices,
    built: &[(Built, Vec<crate::StagePlan>)],
) -> BTreeMap<String, DevicePlan> {
    let written = devices.sizes.iter().map(|(role, &size)| {
        let stored = built.iter().map(|(stack, stages)| estimate::stored(stack, stages, size));
        let stored = stored.max().unwrap_or_default();
        (role.clone(), DevicePlan { size, stored, file: None })
    });
    let read = devices.images.iter().map(|(role, image)| {
        let file = Some(image.path.clone());
        (role.clone(), DevicePlan { size: image.size, stored: Bytes(0), file })
    });
    written.chain(read).collect()
}

/// Each question must name a metric of the catalogue and an operation that is measured, and be asked once: each costs the
/// others some of their power.
fn check_questions(questions: &[Question], stages: &[Stage]) -> Vec<Diagnostic> {
    let mut mistakes = Vec::new();
    for (i, question) in questions.iter().enumerate() {
        mistakes.extend(check_question(question, stages));
        let same = |other: &&Question| {
            (&other.metric, &other.operation) == (&question.metric, &question.operation)
        };
        if questions[..i].iter().any(|other| same(&other)) {
            let of = question.operation.as_ref().map_or_else(String::new, |op| format!(" of {op}"));
            mistakes.push(Diagnostic::at(
                question.places.at("metric"),
                format!("'{}'{of} is asked for twice", question.metric),
                "ask once: every question makes the others harder to decide",
            ));
        }
    }
    mistakes
}

fn check_question(asked: &Question, stages: &[Stage]) -> Option<Diagnostic> {
    if !layers::metrics().any(|m| m.id == asked.metric) {
        let near = nearest(&asked.metric, layers::metrics().map(|m| m.id));
        let help = near.map_or_else(
            || "docs/json.md lists the metrics".to_owned(),
            |near| format!("did you mean '{near}'?"),
        );
        let message = format!("There is no metric '{}'", asked.metric);
        return Some(Diagnostic::at(asked.places.at("metric"), message, help));
    }
    let operation = asked.operation.as_ref()?;
    let measured = stages.iter().filter(|s| s.measured);
    let operations: Vec<_> =
        measured.flat_map(|s| s.load().into_iter().flat_map(stages::operations)).collect();
    (!operations.contains(operation)).then(|| {
        Diagnostic::at(
            asked.places.at("operation"),
            format!("No measured stage does '{operation}'"),
            format!("measured operations are: {}", operations.join(", ")),
        )
    })
}
