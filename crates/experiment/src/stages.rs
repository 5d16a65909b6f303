//! The stages of an experiment: read from the file, and planned for a stack.

use std::collections::BTreeMap;
use std::ops::Range;
use std::path::Path;

use results::model::StageFacts;
use serde::Deserialize;
use toml::{Table, Value};
use units::{Bytes, Nanos, Percent};
use workload::LoadSpec;

use crate::change::{self, Running};
use crate::copy::Copy;
use crate::devices::Devices;
use crate::diagnostic::{Diagnostic, key_span, nearest, table_span};
use crate::estimate;
use crate::file::File;
use crate::plan::StagePlan;
use crate::stacks::Built;

/// What a stage can do.
const KINDS: [&str; 3] = ["allocate", "load", "copy"];

/// One `[[stage]]` as written.
pub(crate) struct Stage {
    pub kind: String,
    pub name: String,
    pub measured: bool,
    /// Whether the stack is brought to rest, and read, before the next stage.
    pub settle: bool,
    /// Settings of running layers that change before it, by `layer.key`.
    pub set: BTreeMap<String, Value>,
    pub task: Task,
    pub span: Range<usize>,
}

/// What a stage does.
pub(crate) enum Task {
    /// What the layers need.
    Allocate,
    Load(Box<LoadSpec>),
    Copy(Copy),
}

impl Stage {
    /// The load that it measures, if it is one.
    pub fn load(&self) -> Option<&LoadSpec> {
        match &self.task {
            Task::Load(spec) => Some(spec),
            _ => None,
        }
    }
}

/// Reads every stage; all mistakes at once.
pub(crate) fn read(file: &File, name: &str, text: &str) -> Result<Vec<Stage>, Vec<Diagnostic>> {
    let mut mistakes = Vec::new();
    let mut stages: Vec<Stage> = Vec::new();
    for entry in &file.stage {
        match stage(entry.get_ref(), table_span(text, &entry.span()), name, text) {
            Ok(stage) => stages.push(stage),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if mistakes.is_empty() && !stages.iter().any(|s| s.measured) {
        mistakes.push(Diagnostic {
            message: "No stage is measured".into(),
            span: stages.last().map(|s| s.span.clone()),
            help: Some("add a [[stage]] with do = \"load\" and measure = true".into()),
        });
    }
    for (i, stage) in stages.iter().enumerate() {
        if stages[..i].iter().any(|other| other.name == stage.name) {
            mistakes.push(Diagnostic::at(
                stage.span.clone(),
                format!("Two stages are called '{}'", stage.name),
                "give one of them a name of its own: name = \"...\"",
            ));
        }
    }
    if mistakes.is_empty() { Ok(stages) } else { Err(mistakes) }
}

fn stage(table: &Table, span: Range<usize>, file: &str, text: &str) -> Result<Stage, Diagnostic> {
    let mut table = table.clone();
    let kind = match table.remove("do") {
        Some(Value::String(kind)) => kind,
        _ => {
            return Err(Diagnostic::at(
                span.start..span.start + "[[stage]]".len(),
                "A stage does not say what it does",
                format!("add do = ...; there are: {}", KINDS.join(", ")),
            ));
        }
    };
    if !KINDS.contains(&kind.as_str()) {
        let near = nearest(&kind, KINDS).map_or(String::new(), |n| format!("did you mean '{n}'? "));
        return Err(Diagnostic::at(
            key_span(text, &span, "do"),
            format!("There is no stage '{kind}'"),
            format!("{near}There are: {}", KINDS.join(", ")),
        ));
    }
    let name = match table.remove("name") {
        Some(Value::String(name)) => name,
        _ => kind.clone(),
    };
    let measured = flag(&mut table, "measure", &span, text)?;
    let settle = flag(&mut table, "settle", &span, text)?;
    let set = change::read(&mut table, &span, text)?;
    let task = match kind.as_str() {
        "load" => Task::Load(Box::new(load(table, &span, file, text)?)),
        "copy" => Task::Copy(Copy::read(table, measured, &span, text)?),
        _ => {
            refuse_keys(&table, &kind, &span, text)?;
            Task::Allocate
        }
    };
    Ok(Stage { kind, name, measured, settle, set, task, span })
}

/// Takes a key that is true or false, false unless given.
fn flag(table: &mut Table, key: &str, span: &Range<usize>, text: &str) -> Result<bool, Diagnostic> {
    match table.remove(key) {
        None => Ok(false),
        Some(Value::Boolean(flag)) => Ok(flag),
        Some(other) => Err(Diagnostic::at(
            key_span(text, span, key),
            format!("{key} is '{other}', not true or false"),
            format!("write {key} = true"),
        )),
    }
}

fn load(table: Table, span: &Range<usize>, file: &str, text: &str) -> Result<LoadSpec, Diagnostic> {
    let mut spec = LoadSpec::deserialize(Value::Table(table)).map_err(|error| {
        let mut mistake = Diagnostic::from_toml(&error);
        let quoted = error.message().split('`').nth(1).unwrap_or_default().to_owned();
        mistake.span = Some(key_span(text, span, &quoted));
        mistake
    })?;
    // A profile stands beside the file, and travels with the plan.
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    spec.content
        .load_profile(folder)
        .map_err(|error| workload_mistake(&error.into(), span, text))?;
    spec.validate().map_err(|error| workload_mistake(&error, span, text))?;
    Ok(spec)
}

fn workload_mistake(
    error: &workload::WorkloadError,
    span: &Range<usize>,
    text: &str,
) -> Diagnostic {
    Diagnostic {
        message: error.to_string(),
        span: Some(key_span(text, span, error.key())),
        help: Some(error.help()),
    }
}

fn refuse_keys(
    table: &Table,
    kind: &str,
    span: &Range<usize>,
    text: &str,
) -> Result<(), Diagnostic> {
    match table.keys().next() {
        None => Ok(()),
        Some(key) => Err(Diagnostic::at(
            key_span(text, span, key),
            format!("A stage '{kind}' has no key '{key}'"),
            "allowed here: do, name, measure, settle, set",
        )),
    }
}

/// The stages for one stack: `allocate` becomes the loads that its layers need.
pub(crate) fn plan(
    stages: &[Stage],
    stack: &Built,
    devices: &Devices,
    run_tag: &str,
    text: &str,
) -> Result<Vec<StagePlan>, Vec<Diagnostic>> {
    let mut planned = Vec::new();
    let mut running = Running::new(stack, run_tag);
    for stage in stages {
        let before = running.change(stage, text).map_err(|mistake| vec![mistake])?;
        let first = planned.len();
        match &stage.task {
            Task::Allocate => {
                let needs = stack.allocate.iter();
                planned.extend(needs.map(|(layer, need)| allocation(layer, need, stack)));
            }
            Task::Load(spec) => planned.push(fitted(stage, spec, stack, text)?),
            Task::Copy(copy) => {
                let (spec, from) = copy.plan(devices, stage, text).map_err(|m| vec![m])?;
                let fitted = fitted(stage, &spec, stack, text)?;
                planned.push(StagePlan { copy: Some(from), ..fitted });
            }
        }
        if let Some(last) = planned.last_mut() {
            last.settle |= stage.settle;
        }
        match planned.get_mut(first) {
            Some(stage) => stage.before = before,
            None if before.is_empty() => {}
            None => return Err(vec![nowhere(stage, text)]),
        }
    }
    Ok(planned)
}

/// A stage that does nothing on this stack cannot change anything either.
fn nowhere(stage: &Stage, text: &str) -> Diagnostic {
    Diagnostic::at(
        key_span(text, &stage.span, "set"),
        format!(
            "Nothing is done in stage '{}' of this stack, so it changes no setting",
            stage.name
        ),
        "give the setting to the stage that follows",
    )
}

/// A load on this stack.
fn fitted(
    stage: &Stage,
    spec: &LoadSpec,
    stack: &Built,
    text: &str,
) -> Result<StagePlan, Vec<Diagnostic>> {
    spec.check_target(stack.bytes.0, 512)
        .map_err(|error| vec![workload_mistake(&error, &stage.span, text)])?;
    Ok(StagePlan {
        kind: stage.kind.clone(),
        name: stage.name.clone(),
        measured: stage.measured,
        settle: stage.settle,
        before: Vec::new(),
        ios: spec.plan(stack.bytes.0).map(|amount| amount.ios),
        bytes: spec.plan(stack.bytes.0).map(|amount| Bytes(amount.bytes)),
        about: estimate::load(spec, stack.bytes),
        load: spec.clone(),
        copy: None,
    })
}

/// One write into every unit that the layer allocates lazily, of zeros: they take no data blocks.
fn allocation(layer: &str, need: &layers::Allocate, stack: &Built) -> StagePlan {
    let load = LoadSpec {
        ops: workload::Ops::only(workload::OpName::Write),
        pattern: Some(workload::Pattern::Strided {
            blocks: need.stride_bytes / need.block_bytes,
            shift: false,
        }),
        block_size: Bytes(need.block_bytes).into(),
        passes: Some(1),
        last_block: need.last_block,
        content: content::ContentSpec { zero: Percent(100.0), ..Default::default() },
        ..Default::default()
    };
    StagePlan {
        kind: "allocate".into(),
        name: format!("allocate {layer}"),
        measured: false,
        settle: false,
        before: Vec::new(),
        copy: None,
        ios: load.plan(stack.bytes.0).map(|amount| amount.ios),
        bytes: load.plan(stack.bytes.0).map(|amount| Bytes(amount.bytes)),
        about: Nanos::from_secs(3),
        load,
    }
}

/// The stage as results keep it.
pub(crate) fn facts(stage: &StagePlan) -> StageFacts {
    StageFacts {
        kind: stage.kind.clone(),
        name: stage.name.clone(),
        measured: stage.measured,
        about: describe(stage),
        load: serde_json::to_value(&stage.load).unwrap_or_default(),
    }
}

/// What a stage does, in words.
pub(crate) fn describe(stage: &StagePlan) -> String {
    match &stage.copy {
        Some(copy) => format!("{} of {}, writes of {}", copy.bytes, copy.role, copy.block),
        None => stage.load.describe(),
    }
}

/// Names of the operations of a load.
pub(crate) fn operations(spec: &LoadSpec) -> Vec<String> {
    spec.operations().map(|name| name.to_string()).collect()
}
