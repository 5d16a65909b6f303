//! The stages of an experiment: read from the file, and planned for a stack.

use std::path::Path;

use layers::step::show_argv;
use results::model::{StageFacts, SweepFacts};
use toml::Value;
use units::{Bytes, Key, Nanos};
use workload::LoadSpec;

use crate::allocation;
use crate::bounds;
use crate::change::Running;
use crate::command::{self, Command};
use crate::copy::Copy;
use crate::devices::Devices;
use crate::diagnostic::{Diagnostic, nearest};
use crate::document::{Named, Places, Table};
use crate::estimate;
use crate::file::SET;
use crate::fill::{self, Fill};
use crate::graph::Built;
use crate::names;
use crate::plan::{self, StagePlan, Target};
use crate::steps::{self, Steps};
use crate::sweep::{self, Point, SWEEP};
use crate::targets::{self, TARGET};
use crate::trees::Trees;
use crate::variants::Variant;

/// What a stage can do.
const KINDS: [&str; 5] = ["allocate", "load", "fill", "copy", "command"];

/// Every kind of stage.
fn kinds() -> impl Iterator<Item = &'static str> {
    KINDS.into_iter().chain(steps::KINDS)
}

const DO: Key = Key { name: "do", takes: "what the stage does", example: "\"load\"" };
const NAME: Key =
    Key { name: "name", takes: "a text of 1 to 64 characters", example: "\"random-write\"" };
const MEASURE: Key = Key { name: "measure", takes: "true or false", example: "true" };
const SETTLE: Key = Key { name: "settle", takes: "true or false", example: "true" };
const ONLY: Key = Key { name: "only", takes: "names of variants", example: "[\"lvmcache, junk\"]" };
const PLACES: Key =
    Key { name: "places", takes: "same (as in other stages) or fresh", example: "\"fresh\"" };

/// One `[[stage]]` as written.
#[derive(Clone)]
pub(crate) struct Stage {
    pub kind: String,
    pub name: String,
    pub measured: bool,
    /// Whether the stack is brought to rest, and read, before the next stage.
    pub settle: bool,
    /// The variants that it is for; empty for all.
    pub only: Vec<String>,
    /// Name of the layer that it works on, when it is not the top.
    pub target: Option<String>,
    /// Settings of running layers that change before it, by `layer.key`.
    pub set: Vec<Named<Value>>,
    pub task: Task,
    /// Whether a load draws hot places of its own.
    pub fresh_places: bool,
    pub places: Places,
}

/// What a stage does.
#[derive(Clone)]
pub(crate) enum Task {
    /// What the layers need.
    Allocate,
    Load(Box<LoadSpec>),
    /// Loads that differ in some keys, one after another.
    Sweep(Vec<Point>),
    Fill(Box<Fill>),
    Copy(Copy),
    Command(Command),
    Steps(Steps),
}

impl Stage {
    /// The load that it measures, if it is one.
    pub fn load(&self) -> Option<&LoadSpec> {
        match &self.task {
            Task::Load(spec) => Some(spec),
            Task::Sweep(points) => points.first().map(|point| &point.spec),
            _ => None,
        }
    }

    /// Its command, if it is one.
    pub fn command(&self) -> Option<&Command> {
        match &self.task {
            Task::Command(command) => Some(command),
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

/// Reads every stage of a variant; all mistakes at once. `variants` are those of the experiment.
pub(crate) fn read(
    variant: &Variant,
    name: &str,
    variants: &[Variant],
) -> Result<Vec<Stage>, Vec<Diagnostic>> {
    let mut mistakes = Vec::new();
    let mut stages: Vec<Stage> = Vec::new();
    for entry in &variant.stage {
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
    let known = |name: &&String| variants.iter().any(|variant| variant.is(name));
    for stage in &stages {
        let strange = stage.only.iter().find(|name| !known(name));
        mistakes.extend(strange.map(|name| {
            let names: Vec<_> = variants.iter().map(|v| v.name.as_str()).collect();
            let message =
                format!("Stage '{}' is for a variant '{name}', which there is not", stage.name);
            let help = format!("there are: {}", names.join("; "));
            Diagnostic::at(stage.places.at("only"), message, help)
        }));
    }
    if mistakes.is_empty() { Ok(stages) } else { Err(mistakes) }
}

fn stage(mut table: Table, file: &str) -> Result<Stage, Diagnostic> {
    let places = table.places();
    let Some(kind) = table.take::<String>(&DO)? else {
        return Err(Diagnostic::at(
            table.at(),
            "A stage does not say what it does",
            format!("add do = ...; there are: {}", kinds().collect::<Vec<_>>().join(", ")),
        ));
    };
    let kind = kind.into_inner();
    if !kinds().any(|known| known == kind) {
        let near =
            nearest(&kind, kinds()).map_or(String::new(), |n| format!("did you mean '{n}'? "));
        return Err(Diagnostic::at(
            places.at("do"),
            format!("There is no stage '{kind}'"),
            format!("{near}There are: {}", kinds().collect::<Vec<_>>().join(", ")),
        ));
    }
    let name = table.take::<String>(&NAME)?.map_or_else(|| kind.clone(), toml::Spanned::into_inner);
    if let Some(mistake) = names::check("a stage", &name, &places.at("name")) {
        return Err(mistake);
    }
    let measured = table.take(&MEASURE)?.is_some_and(toml::Spanned::into_inner);
    // What is measured means what it says only when the stack has come to rest.
    let settle = table.take(&SETTLE)?.map_or(measured, toml::Spanned::into_inner);
    let only = table.take(&ONLY)?.map(toml::Spanned::into_inner).unwrap_or_default();
    let target = table.take(&TARGET)?.map(toml::Spanned::into_inner);
    let set = table.table(&SET, "set")?.map(Table::values).transpose()?.unwrap_or_default();
    let mut fresh_places = false;
    let task = match kind.as_str() {
        "load" => {
            table.is("A load");
            fresh_places = places_of(&mut table)?;
            match table.table(&SWEEP, "sweep")? {
                None => Task::Load(Box::new(load(table, &places, file)?)),
                Some(keys) => Task::Sweep(sweep::read((&name, measured), keys, table, file)?),
            }
        }
        "fill" => {
            table.is("A fill");
            unmeasured(measured, &places, "A fill", "the load that follows")?;
            Task::Fill(Box::new(Fill::read(table, file)?))
        }
        "copy" => {
            table.is("A copy");
            unmeasured(measured, &places, "A copy", "a load")?;
            Task::Copy(Copy::read(table)?)
        }
        "command" => {
            table.is("A command");
            Task::Command(Command::read(table)?)
        }
        "allocate" => {
            table.is("An allocation");
            table.finish()?;
            Task::Allocate
        }
        _ => Task::Steps(Steps::read(&kind, table, !set.is_empty())?),
    };
    Ok(Stage { kind, name, measured, settle, only, target, set, task, fresh_places, places })
}

/// Refuses to measure what has no figures of its own.
fn unmeasured(
    measured: bool,
    places: &Places,
    what: &str,
    instead: &str,
) -> Result<(), Diagnostic> {
    if !measured {
        return Ok(());
    }
    let message = format!("{what} has no figures of its own, so it cannot be measured");
    let help = format!("measure {instead}; settle = true reads all layers after this stage");
    Err(Diagnostic::at(places.at("measure"), message, help))
}

/// Whether a load draws hot places of its own.
fn places_of(table: &mut Table) -> Result<bool, Diagnostic> {
    let Some(word) = table.take::<String>(&PLACES)? else { return Ok(false) };
    match word.get_ref().as_str() {
        "fresh" => Ok(true),
        "same" => Ok(false),
        other => {
            let message = format!("places cannot be '{other}'");
            Err(Diagnostic::at(word.span(), message, PLACES.help(PLACES.name)))
        }
    }
}

pub(crate) fn load(table: Table, places: &Places, file: &str) -> Result<LoadSpec, Diagnostic> {
    checked(table.read(LoadSpec::key)?, places, file)
}

/// A load whose keys stand at `places`, if it can be driven.
pub(crate) fn checked(
    mut spec: LoadSpec,
    places: &Places,
    file: &str,
) -> Result<LoadSpec, Diagnostic> {
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
    variant: &Variant,
    stack: &Built,
    (devices, trees): (&Devices, &Trees),
    run_tag: &str,
) -> Result<Vec<StagePlan>, Vec<Diagnostic>> {
    let mut planned = Vec::new();
    let mut running = Running::new(stack, run_tag);
    let mine = |stage: &&Stage| stage.only.is_empty() || stage.only.iter().any(|v| variant.is(v));
    for stage in stages.iter().filter(mine) {
        let before = running.change(stage).map_err(|mistake| vec![mistake])?;
        let first = planned.len();
        match &stage.task {
            Task::Allocate => {
                if !stack.allocate.is_empty() {
                    let target = targets::block(stage, stack).map_err(|m| vec![m])?;
                    let needs = stack.allocate.iter();
                    planned
                        .extend(needs.map(|(layer, need)| allocation::plan(layer, need, &target)));
                }
            }
            Task::Load(spec) => planned.push(fitted(stage, spec, stack)?),
            Task::Sweep(points) => planned.extend(swept(stage, points, stack)?),
            Task::Fill(fill) => planned.push(filled(stage, fill, stack)?),
            Task::Copy(copy) => {
                let (spec, from) = copy.plan(devices, stage).map_err(|m| vec![m])?;
                let fitted = fitted(stage, &spec, stack)?;
                planned.push(StagePlan { task: plan::Task::Copy(from), ios: None, ..fitted });
            }
            Task::Command(command) => {
                let (task, target) = command.plan(stage, stack, trees).map_err(|m| vec![m])?;
                let about = command::ASSUMED.min(task.time_limit);
                let task = plan::Task::Command(task);
                planned.push(StagePlan { about, ..other(stage, task, target) });
            }
            Task::Steps(steps) => {
                let (steps, target, about) = steps.plan(stage, stack).map_err(|m| vec![m])?;
                let task = plan::Task::Steps(steps);
                planned.push(StagePlan { about, ..other(stage, task, target) });
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
    let last = stages.iter().rfind(|stage| matches!(stage.task, Task::Sweep(_)));
    if let (true, Some(last)) = (planned.len() > bounds::PLANNED, last) {
        let (count, most) = (planned.len(), bounds::PLANNED);
        let message = format!("With the points of its sweeps a cell has {count} stages");
        let help = format!("at most {most} are possible: sweep fewer values");
        return Err(vec![Diagnostic::at(last.places.at("sweep"), message, help)]);
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

/// The points of a sweep on this stack, in the order of the file.
fn swept(
    stage: &Stage,
    points: &[Point],
    stack: &Built,
) -> Result<Vec<StagePlan>, Vec<Diagnostic>> {
    let point = |point: &Point| {
        let sweep = Some(SweepFacts { stage: stage.name.clone(), point: point.at.clone() });
        let (name, places) = (point.name.clone(), point.places.clone());
        let one = Stage { name, places, task: Task::Steps(Steps::Read), ..stage.clone() };
        Ok(StagePlan { sweep, ..fitted(&one, &point.spec, stack)? })
    };
    points.iter().map(point).collect()
}

/// A fill on this stack.
fn filled(stage: &Stage, fill: &Fill, stack: &Built) -> Result<StagePlan, Vec<Diagnostic>> {
    // The load's own keys stand inside of `by`, the target does not.
    targets::block(stage, stack).map_err(|mistake| vec![mistake])?;
    let task = plan::Task::Fill(fill.plan(stage, stack).map_err(|mistake| vec![mistake])?);
    let (round, places) = fill.round();
    let by = Stage { places: places.clone(), ..stage.clone() };
    Ok(StagePlan {
        task,
        ios: None,
        bytes: None,
        about: fill.about(),
        ..fitted(&by, round, stack)?
    })
}

/// A load on this stack.
fn fitted(stage: &Stage, spec: &LoadSpec, stack: &Built) -> Result<StagePlan, Vec<Diagnostic>> {
    let target = targets::block(stage, stack).map_err(|mistake| vec![mistake])?;
    let bytes = target.offer.bytes();
    spec.check_target(bytes, 512).map_err(|error| vec![workload_mistake(&error, &stage.places)])?;
    Ok(StagePlan {
        kind: stage.kind.clone(),
        name: stage.name.clone(),
        measured: stage.measured,
        settle: stage.settle,
        before: Vec::new(),
        sweep: None,
        ios: spec.plan(bytes).map(|amount| amount.ios),
        bytes: spec.plan(bytes).map(|amount| Bytes(amount.bytes)),
        about: estimate::load(spec, Bytes(bytes)),
        target,
        task: plan::Task::Load(Box::new(spec.clone())),
        fresh_places: stage.fresh_places,
    })
}

/// A stage that drives no load.
fn other(stage: &Stage, task: plan::Task, target: Target) -> StagePlan {
    StagePlan {
        kind: stage.kind.clone(),
        name: stage.name.clone(),
        measured: stage.measured,
        settle: stage.settle,
        before: Vec::new(),
        sweep: None,
        target,
        task,
        fresh_places: false,
        ios: None,
        bytes: None,
        about: Nanos::default(),
    }
}

/// The stage as results keep it.
pub(crate) fn facts(stage: &StagePlan) -> StageFacts {
    StageFacts {
        kind: stage.kind.clone(),
        name: stage.name.clone(),
        measured: stage.measured,
        about: describe(stage),
        load: stage.load().and_then(|load| serde_json::to_value(load).ok()).unwrap_or_default(),
        sweep: stage.sweep.clone(),
    }
}

/// What a stage does, in words.
pub(crate) fn describe(stage: &StagePlan) -> String {
    match &stage.task {
        plan::Task::Load(load) => load.describe(),
        plan::Task::Fill(fill) => fill::describe(fill),
        plan::Task::Copy(copy) => {
            format!("{} of {}, writes of {}", copy.bytes, copy.role, copy.block)
        }
        plan::Task::Command(command) => {
            let sync = if command.sync { ", then a sync" } else { "" };
            format!("{}{sync}, at most {}", show_argv(&command.argv), command.time_limit)
        }
        plan::Task::Steps(steps) if steps.is_empty() => "the layers are read".into(),
        plan::Task::Steps(steps) => {
            steps.iter().map(|step| step.action.show()).collect::<Vec<_>>().join("; ")
        }
    }
}

/// Names of the operations of a load.
pub(crate) fn operations(spec: &LoadSpec) -> Vec<String> {
    spec.operations().map(|name| name.to_string()).collect()
}
