//! The stages of an experiment: read from the file, and planned for a stack.

use std::path::Path;

use layers::step::{Action, Step};
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
use crate::graph::Built;
use crate::names;
use crate::plan::{self, StagePlan, Target};
use crate::stacks::VariantStack;
use crate::targets::{self, TARGET};

/// What a stage can do.
const KINDS: [&str; 6] = ["allocate", "load", "copy", "drop_caches", "wait", "read"];

const DO: Key = Key { name: "do", takes: "what the stage does", example: "\"load\"" };
const NAME: Key =
    Key { name: "name", takes: "a text of 1 to 64 characters", example: "\"random-write\"" };
const MEASURE: Key = Key { name: "measure", takes: "true or false", example: "true" };
const SETTLE: Key = Key { name: "settle", takes: "true or false", example: "true" };
const ONLY: Key = Key { name: "only", takes: "names of variants", example: "[\"lvmcache, junk\"]" };
const PLACES: Key =
    Key { name: "places", takes: "same (as in other stages) or fresh", example: "\"fresh\"" };
const DURATION: Key = Key { name: "duration", takes: "a time", example: "\"30s\"" };
/// The longest pause.
const LONGEST_WAIT: Nanos = Nanos::from_secs(24 * 3600);

/// One `[[stage]]` as written.
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
pub(crate) enum Task {
    /// What the layers need.
    Allocate,
    Load(Box<LoadSpec>),
    Copy(Copy),
    /// What the kernel keeps of files in memory is written out and forgotten.
    DropCaches,
    Wait(Nanos),
    /// Nothing is done; the layers are read.
    Read,
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
pub(crate) fn read(
    file: &File,
    name: &str,
    variants: &[VariantStack],
) -> Result<Vec<Stage>, Vec<Diagnostic>> {
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
    let known = |name: &&String| variants.iter().any(|variant| variant.name == **name);
    for stage in stages.iter().filter(|_| !variants.is_empty()) {
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
        "wait" => {
            table.is("A wait");
            let duration = table.need::<Nanos>(&DURATION)?;
            if *duration.get_ref() > LONGEST_WAIT {
                let message = format!("A wait of {} is too long", duration.get_ref());
                return Err(Diagnostic::at(duration.span(), message, "wait at most 24h"));
            }
            table.finish()?;
            Task::Wait(duration.into_inner())
        }
        "drop_caches" | "read" => {
            let drops = kind == "drop_caches";
            table.is(if drops { "Dropping caches" } else { "A read" });
            table.finish()?;
            if drops { Task::DropCaches } else { Task::Read }
        }
        _ => {
            table.is("An allocation");
            table.finish()?;
            Task::Allocate
        }
    };
    Ok(Stage { kind, name, measured, settle, only, target, set, task, fresh_places, places })
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
    variant: &str,
    stack: &Built,
    devices: &Devices,
    run_tag: &str,
) -> Result<Vec<StagePlan>, Vec<Diagnostic>> {
    let mut planned = Vec::new();
    let mut running = Running::new(stack, run_tag);
    let mine = |stage: &&Stage| stage.only.is_empty() || stage.only.iter().any(|v| v == variant);
    for stage in stages.iter().filter(mine) {
        let before = running.change(stage).map_err(|mistake| vec![mistake])?;
        let first = planned.len();
        match &stage.task {
            Task::Allocate => {
                if !stack.allocate.is_empty() {
                    let target = targets::block(stage, stack).map_err(|m| vec![m])?;
                    let needs = stack.allocate.iter();
                    planned.extend(needs.map(|(layer, need)| allocation(layer, need, &target)));
                }
            }
            Task::Load(spec) => planned.push(fitted(stage, spec, stack)?),
            Task::Copy(copy) => {
                let (spec, from) = copy.plan(devices, stage).map_err(|m| vec![m])?;
                let fitted = fitted(stage, &spec, stack)?;
                planned.push(StagePlan { task: plan::Task::Copy(from), ios: None, ..fitted });
            }
            Task::DropCaches => planned.push(steps(stage, stack, drop_caches(), Nanos::default())?),
            Task::Wait(time) => planned.push(steps(stage, stack, vec![pause(*time)], *time)?),
            Task::Read => planned.push(steps(stage, stack, Vec::new(), Nanos::default())?),
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
    let target = targets::block(stage, stack).map_err(|mistake| vec![mistake])?;
    let bytes = target.offer.bytes();
    spec.check_target(bytes, 512).map_err(|error| vec![workload_mistake(&error, &stage.places)])?;
    Ok(StagePlan {
        kind: stage.kind.clone(),
        name: stage.name.clone(),
        measured: stage.measured,
        settle: stage.settle,
        before: Vec::new(),
        ios: spec.plan(bytes).map(|amount| amount.ios),
        bytes: spec.plan(bytes).map(|amount| Bytes(amount.bytes)),
        about: estimate::load(spec, Bytes(bytes)),
        target,
        task: plan::Task::Load(Box::new(spec.clone())),
        fresh_places: stage.fresh_places,
    })
}

/// A stage that is nothing but steps.
fn steps(
    stage: &Stage,
    stack: &Built,
    steps: Vec<Step>,
    about: Nanos,
) -> Result<StagePlan, Vec<Diagnostic>> {
    Ok(StagePlan {
        kind: stage.kind.clone(),
        name: stage.name.clone(),
        measured: stage.measured,
        settle: stage.settle,
        before: Vec::new(),
        target: targets::of(stage, stack).map_err(|mistake| vec![mistake])?,
        task: plan::Task::Steps(steps),
        fresh_places: false,
        ios: None,
        bytes: None,
        about,
    })
}

fn pause(time: Nanos) -> Step {
    Step {
        about: format!("wait {time}"),
        action: Action::Pause { ms: time.0 / 1_000_000 },
        undo: Vec::new(),
        deadline_s: time.0 / Nanos::PER_SECOND + 60,
    }
}

/// Dirty pages are written out first: only clean ones can be dropped (the kernel's admin-guide/sysctl/vm, drop_caches).
fn drop_caches() -> Vec<Step> {
    let step = |about: &str, action| Step {
        about: about.to_owned(),
        action,
        undo: Vec::new(),
        deadline_s: 600,
    };
    let forget =
        Action::Write { path: "/proc/sys/vm/drop_caches".into(), value: "3".into(), reads: None };
    vec![
        step("write out what the kernel holds of files in memory", Action::Sync),
        step("let the kernel forget what it holds of files in memory", forget),
    ]
}

/// One write into every unit that the layer allocates lazily, of zeros: they take no data blocks.
fn allocation(layer: &str, need: &layers::Allocate, target: &Target) -> StagePlan {
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
        ios: load.plan(target.offer.bytes()).map(|amount| amount.ios),
        bytes: load.plan(target.offer.bytes()).map(|amount| Bytes(amount.bytes)),
        about: estimate::load(&load, Bytes(target.offer.bytes())).max(Nanos::from_secs(1)),
        target: target.clone(),
        task: plan::Task::Load(Box::new(load)),
        fresh_places: false,
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
    }
}

/// What a stage does, in words.
pub(crate) fn describe(stage: &StagePlan) -> String {
    match &stage.task {
        plan::Task::Load(load) => load.describe(),
        plan::Task::Copy(copy) => {
            format!("{} of {}, writes of {}", copy.bytes, copy.role, copy.block)
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
