//! From the file to the Plan.

use std::collections::BTreeMap;

use results::model::{AskedMetric, PlanFacts, VariantFacts};
use units::{Bytes, Seed};

use crate::devices::{self, Devices};
use crate::diagnostic::{Diagnostic, key_span, nearest, table_span};
use crate::file::{File, Question};
use crate::plan::{CellPlan, DevicePlan, Needs, Plan};
use crate::stacks::{self, Built, VariantStack};
use crate::stages::{self, Stage};
use crate::{ExperimentError, estimate, order};

/// Relative difference that does not matter unless the question says otherwise.
const THRESHOLD: f64 = 0.03;
/// More questions than this could not be decided with five repeats a side (Holm's correction).
const QUESTIONS: usize = 6;

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
    let parsed: File = toml::from_str(text).map_err(|e| fail(vec![Diagnostic::from_toml(&e)]))?;
    let mut mistakes = check_frame(&parsed);
    let devices = devices::read(&parsed, file, text, choices).unwrap_or_else(|m| {
        mistakes.extend(m);
        Devices::default()
    });
    let variants = stacks::resolve(&parsed, text).unwrap_or_else(|m| {
        mistakes.extend(m);
        Vec::new()
    });
    let stages = stages::read(&parsed, file, text).unwrap_or_else(|m| {
        mistakes.extend(m);
        Vec::new()
    });
    mistakes.extend(too_many_questions(&parsed));
    if mistakes.is_empty() {
        for question in &parsed.question {
            mistakes.extend(check_question(question, &stages, text));
        }
    }
    if !mistakes.is_empty() {
        return Err(fail(mistakes));
    }
    let mut built = Vec::new();
    for variant in &variants {
        let stack =
            stacks::build(variant, &devices.sizes, &choices.run_tag, text).map_err(&fail)?;
        let planned =
            stages::plan(&stages, &stack, &devices, &choices.run_tag, text).map_err(&fail)?;
        built.push((stack, planned));
    }
    Ok(assemble(&parsed, choices, &devices, &variants, &built))
}

fn assemble(
    file: &File,
    choices: &Choices,
    devices: &Devices,
    variants: &[VariantStack],
    built: &[(Built, Vec<crate::StagePlan>)],
) -> Plan {
    let repeat = choices.repeat.unwrap_or(*file.repeat.get_ref());
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
        questions: file.question.iter().map(|q| asked(q.get_ref())).collect(),
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

/// Checks what needs neither layers nor stages.
fn check_frame(file: &File) -> Vec<Diagnostic> {
    let mut mistakes = Vec::new();
    let name = file.name.get_ref();
    let plain = |c: char| c.is_ascii_alphanumeric() || c == '-' || c == '_' || c == '.';
    if name.is_empty() || name.starts_with('.') || !name.chars().all(plain) {
        mistakes.push(Diagnostic::at(
            file.name.span(),
            format!("The experiment's name '{name}' cannot name a folder"),
            "use letters, digits, '-', '_' and '.'",
        ));
    }
    if *file.repeat.get_ref() == 0 {
        mistakes.push(Diagnostic::at(
            file.repeat.span(),
            "The experiment repeats 0 times",
            "set repeat to 5 for a verdict, or 1 for a first look",
        ));
    }
    if file.devices.get_ref().is_empty() {
        mistakes.push(Diagnostic::at(
            file.devices.span(),
            "The experiment has no device",
            "name one: [devices.data] with size = \"12G\"",
        ));
    }
    mistakes
}

fn too_many_questions(file: &File) -> Option<Diagnostic> {
    let extra = file.question.get(QUESTIONS)?;
    Some(Diagnostic::at(
        extra.span(),
        format!("{} questions are asked", file.question.len()),
        format!("ask at most {QUESTIONS}: with Holm's correction more could never be decided"),
    ))
}

/// A question must name a metric of the catalogue and an operation that is measured.
fn check_question(
    question: &toml::Spanned<Question>,
    stages: &[Stage],
    text: &str,
) -> Option<Diagnostic> {
    let span = table_span(text, &question.span());
    let asked = question.get_ref();
    if !layers::metrics().any(|m| m.id == asked.metric) {
        let near = nearest(&asked.metric, layers::metrics().map(|m| m.id));
        let help = near.map_or_else(
            || "docs/json.md lists the metrics".to_owned(),
            |near| format!("did you mean '{near}'?"),
        );
        let message = format!("There is no metric '{}'", asked.metric);
        return Some(Diagnostic::at(key_span(text, &span, "metric"), message, help));
    }
    let operation = asked.operation.as_ref()?;
    let measured = stages.iter().filter(|s| s.measured);
    let operations: Vec<_> =
        measured.flat_map(|s| s.load().into_iter().flat_map(stages::operations)).collect();
    (!operations.contains(operation)).then(|| {
        Diagnostic::at(
            key_span(text, &span, "operation"),
            format!("No measured stage does '{operation}'"),
            format!("measured operations are: {}", operations.join(", ")),
        )
    })
}
