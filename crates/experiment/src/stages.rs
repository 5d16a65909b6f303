//! The stages of an experiment: read from the file, and planned for a stack.

use std::ops::Range;
use std::path::Path;

use results::model::StageFacts;
use serde::Deserialize;
use toml::{Table, Value};
use units::{Bytes, Nanos, Percent};
use workload::LoadSpec;

use crate::diagnostic::{Diagnostic, key_span, nearest, table_span};
use crate::estimate;
use crate::file::File;
use crate::plan::StagePlan;
use crate::stacks::Built;

/// What a stage can do.
const KINDS: [&str; 2] = ["allocate", "load"];

/// One `[[stage]]` as written.
pub(crate) struct Stage {
    pub kind: String,
    pub name: String,
    pub measured: bool,
    /// Whether the stack is brought to rest, and read, before the next stage.
    pub settle: bool,
    /// The load; `None` for `allocate`, which the layers define.
    pub load: Option<LoadSpec>,
    pub span: Range<usize>,
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
    let load = if kind == "load" {
        Some(load(table, &span, file, text)?)
    } else {
        refuse_keys(&table, &kind, &span, text)?;
        None
    };
    Ok(Stage { kind, name, measured, settle, load, span })
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
            "allowed here: do, name, measure, settle",
        )),
    }
}

/// The stages for one stack: `allocate` becomes the loads that its layers need.
pub(crate) fn plan(
    stages: &[Stage],
    stack: &Built,
    text: &str,
) -> Result<Vec<StagePlan>, Vec<Diagnostic>> {
    let mut planned = Vec::new();
    for stage in stages {
        let Some(spec) = &stage.load else {
            planned
                .extend(stack.allocate.iter().map(|(layer, need)| allocation(layer, need, stack)));
            if let Some(last) = planned.last_mut() {
                last.settle |= stage.settle;
            }
            continue;
        };
        spec.check_target(stack.bytes.0, 512)
            .map_err(|error| vec![workload_mistake(&error, &stage.span, text)])?;
        planned.push(StagePlan {
            kind: stage.kind.clone(),
            name: stage.name.clone(),
            measured: stage.measured,
            settle: stage.settle,
            ios: spec.plan(stack.bytes.0).map(|amount| amount.ios),
            bytes: spec.plan(stack.bytes.0).map(|amount| Bytes(amount.bytes)),
            about: estimate::load(spec, stack.bytes),
            load: spec.clone(),
        });
    }
    Ok(planned)
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
        about: stage.load.describe(),
        load: serde_json::to_value(&stage.load).unwrap_or_default(),
    }
}

/// Names of the operations of a load.
pub(crate) fn operations(spec: &LoadSpec) -> Vec<String> {
    spec.operations().map(|name| name.to_string()).collect()
}
