//! The stages of an experiment: read from the file, and planned for a stack.

use std::path::Path;

use results::model::StageFacts;
use toml::Value;
use units::{Bytes, Key, Nanos, Percent};
use workload::LoadSpec;

use crate::change::Running;
use crate::copy::Copy;
use crate::devices::Devices;
use crate::diagnostic::{Diagnostic, nearest};
use crate::document::{Named, Places, Table};
use crate::estimate;
use crate::file::{File, SET};
use crate::names;
use crate::plan::StagePlan;
use crate::stacks::Built;

/// What a stage can do.
const KINDS: [&str; 3] = ["allocate", "load", "copy"];

const DO: Key = Key { name: "do", takes: "what the stage does", example: "\"load\"" };
const NAME: Key =
    Key { name: "name", takes: "a text of 1 to 64 characters", example: "\"random-write\"" };
const MEASURE: Key = Key { name: "measure", takes: "true or false", example: "true" };
const SETTLE: Key = Key { name: "settle", takes: "true or false", example: "true" };

/// One `[[stage]]` as written.
pub(crate) struct Stage {
    pub kind: String,
    pub name: String,
    pub measured: bool,
    /// Whether the stack is brought to rest, and read, before the next stage.
    pub settle: bool,
    /// Settings of running layers that change before it, by `layer.key`.
    pub set: Vec<Named<Value>>,
    pub task: Task,
    pub places: Places,
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

    /// The role of the device that it copies from, if it is a copy.
    pub fn copies_from(&self) -> Option<&str> {
        match &self.task {
            Task::Copy(copy) => Some(copy.role()),
            _ => None,
        }
    }
}

/// Reads every stage; all mistakes at once.
pub(crate) fn read(file: &File, name: &str) -> Result<Vec<Stage>, Vec<Diagnostic>> {
    let mut mistakes = Vec::new();
    let mut stages: Vec<Stage> = Vec::new();
    for entry in &file.stage {
        match stage(entry.clone(), name) {
            Ok(stage) => stages.push(stage),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    if mistakes.is_empty() && !stages.iter().any(|s| s.measured) {
        mistakes.push(Diagnostic {
            message: "No stage is measured".into(),
            span: stages.last().map(|s| s.places.at("name")),
            help: Some("add a [[stage]] with do = \"load\" and measure = true".into()),
        });
    }
    for (i, stage) in stages.iter().enumerate() {
        if stages[..i].iter().any(|other| other.name == stage.name) {
            mistakes.push(Diagnostic::at(
                stage.places.at("name"),
                format!("Two stages are called '{}'", stage.name),
                "give one of them a name of its own: name = \"...\"",
            ));
        }
    }
    if mistakes.is_empty() { Ok(stages) } else { Err(mistakes) }
}

fn stage(mut table: Table, file: &str) -> Result<Stage, Diagnostic> {
    let places = table.places();
    let Some(kind) = table.take::<String>(&DO)? else {
        return Err(Diagnostic::at(
            table.at(),
            "A stage does not say what it does",
            format!("add do = ...; there are: {}", KINDS.join(", ")),
        ));
    };
    let kind = kind.into_inner();
    if !KINDS.contains(&kind.as_str()) {
        let near = nearest(&kind, KINDS).map_or(String::new(), |n| format!("did you mean '{n}'? "));
        return Err(Diagnostic::at(
            places.at("do"),
            format!("There is no stage '{kind}'"),
            format!("{near}There are: {}", KINDS.join(", ")),
        ));
    }
    let name = table.take::<String>(&NAME)?.map_or_else(|| kind.clone(), toml::Spanned::into_inner);
    if let Some(mistake) = names::check("a stage", &name, &places.at("name")) {
        return Err(mistake);
    }
    let measured = table.take(&MEASURE)?.is_some_and(toml::Spanned::into_inner);
    let settle = table.take(&SETTLE)?.is_some_and(toml::Spanned::into_inner);
    let set = table.table(&SET, "set")?.map(Table::values).transpose()?.unwrap_or_default();
    let task = match kind.as_str() {
        "load" => {
            table.is("A load");
            Task::Load(Box::new(load(table, &places, file)?))
        }
        "copy" => {
            table.is("A copy");
            if measured {
                return Err(Diagnostic::at(
                    places.at("measure"),
                    "A copy has no figures of its own, so it cannot be measured",
                    "measure a load; settle = true reads all layers after the copy",
                ));
            }
            Task::Copy(Copy::read(table)?)
        }
        _ => {
            table.is("An allocation");
            table.finish()?;
            Task::Allocate
        }
    };
    Ok(Stage { kind, name, measured, settle, set, task, places })
}

fn load(table: Table, places: &Places, file: &str) -> Result<LoadSpec, Diagnostic> {
    let mut spec: LoadSpec = table.read(LoadSpec::key)?;
    // A profile stands beside the file, and travels with the plan.
    let folder = Path::new(file).parent().unwrap_or(Path::new(""));
    spec.content.load_profile(folder).map_err(|error| workload_mistake(&error.into(), places))?;
    spec.validate().map_err(|error| workload_mistake(&error, places))?;
    Ok(spec)
}

fn workload_mistake(error: &workload::WorkloadError, places: &Places) -> Diagnostic {
    Diagnostic::at(places.at(&error.path()), error.to_string(), error.help())
}

/// The stages for one stack: `allocate` becomes the loads that its layers need.
pub(crate) fn plan(
    stages: &[Stage],
    stack: &Built,
    devices: &Devices,
    run_tag: &str,
) -> Result<Vec<StagePlan>, Vec<Diagnostic>> {
    let mut planned = Vec::new();
    let mut running = Running::new(stack, run_tag);
    for stage in stages {
        let before = running.change(stage).map_err(|mistake| vec![mistake])?;
        let first = planned.len();
        match &stage.task {
            Task::Allocate => {
                let needs = stack.allocate.iter();
                planned.extend(needs.map(|(layer, need)| allocation(layer, need, stack)));
            }
            Task::Load(spec) => planned.push(fitted(stage, spec, stack)?),
            Task::Copy(copy) => {
                let (spec, from) = copy.plan(devices, stage).map_err(|m| vec![m])?;
                let fitted = fitted(stage, &spec, stack)?;
                planned.push(StagePlan { copy: Some(from), ..fitted });
            }
        }
        if let Some(last) = planned.last_mut() {
            last.settle |= stage.settle;
        }
        match planned.get_mut(first) {
            Some(stage) => stage.before = before,
            None if before.is_empty() => {}
            None => return Err(vec![nowhere(stage)]),
        }
    }
    Ok(planned)
}

/// A stage that does nothing on this stack cannot change anything either.
fn nowhere(stage: &Stage) -> Diagnostic {
    Diagnostic::at(
        stage.places.at("set"),
        format!(
            "Nothing is done in stage '{}' of this stack, so it changes no setting",
            stage.name
        ),
        "give the setting to the stage that follows",
    )
}

/// A load on this stack.
fn fitted(stage: &Stage, spec: &LoadSpec, stack: &Built) -> Result<StagePlan, Vec<Diagnostic>> {
    spec.check_target(stack.bytes.0, 512)
        .map_err(|error| vec![workload_mistake(&error, &stage.places)])?;
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
