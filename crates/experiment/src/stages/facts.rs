//! Facts that results keep of a stage, and its description for people.

use layers::step::show_argv;
use results::model::{StageFacts, TargetFacts};
use units::Nanos;
use workload::LoadSpec;

use crate::checked::cache_bounds;
use crate::kinds::state;
use crate::planned::devices::Devices;
use crate::planned::graph::StackPlan;
use plan::{AgeingPlan, Aim, CommandPlan, FillPlan, Rounds, StagePlan, Task};

/// The stage as results keep it, of this stack on these devices.
pub(crate) fn facts(stage: &StagePlan, stack: &StackPlan, devices: &Devices) -> StageFacts {
    let json = |load: &LoadSpec| serde_json::to_value(load).ok();
    let rounds = stage.driven().filter(|_| stage.load().is_none());
    let room: u64 = stage.aims.iter().map(|aim| aim.room(None)).sum();
    StageFacts {
        kind: stage.kind.clone(),
        traits: Some(stage.traits),
        name: stage.name.clone(),
        measured: stage.measured,
        about: describe(stage, stack),
        load: stage.load().and_then(json).unwrap_or_default(),
        rounds: rounds.and_then(json).unwrap_or_default(),
        targets: targets(stage),
        target_bytes: (room > 0).then_some(room),
        io_bytes: stage.bytes.map(|bytes| bytes.0),
        synced: stage.command().map(|command| command.sync),
        sweep: stage.sweep.clone(),
        figures: stage.command().map(CommandPlan::picked).unwrap_or_default(),
        caches: cache_bounds::of(stage, stack, devices),
    }
}

/// Returns the targets that a stage works on.
fn targets(stage: &StagePlan) -> Vec<TargetFacts> {
    let aim = |aim: &Aim| TargetFacts {
        name: aim.target.name.clone(),
        files: aim.files.as_ref().map(|files| files.count),
        share_percent: aim.share.0,
    };
    if !stage.aims.is_empty() {
        return stage.aims.iter().map(aim).collect();
    }
    let whole =
        || TargetFacts { name: stage.target.name.clone(), files: None, share_percent: 100.0 };
    Vec::from_iter(stage.traits.on_layer.then(whole))
}

/// Returns what a stage does, in words. A target is named unless it is the only one that there can be.
fn describe(stage: &StagePlan, stack: &StackPlan) -> String {
    let alone = stage.target.name == stack.top.name && stack.tops().count() == 1;
    let on = if alone { String::new() } else { format!(", on {}", stage.target.name) };
    let proven = stage.state.as_ref().map(|plan| format!("; {}", state::describe(plan)));
    format!("{}{}", done(stage, &on), proven.unwrap_or_default())
}

/// Returns what a stage does, in words; `on` names the layer that it works on, where that has to be named.
fn done(stage: &StagePlan, on: &str) -> String {
    match &stage.task {
        Task::Load(load) => format!("{}{}", load.describe(), driven(&stage.aims, on)),
        Task::Fill(fill) => {
            format!("{}{}", filled(fill, stage.deadline), driven(&stage.aims, on))
        }
        Task::Tree(plan) => {
            format!("{} on a tree of {} names{on}", plan.spec.ops, plan.spec.files)
        }
        Task::Age(plan) => format!("{}{on}", aged(plan)),
        Task::Copy(copy) => {
            format!("{} of {}, writes of {}{on}", copy.bytes, copy.role, copy.block)
        }
        Task::Command(command) => {
            let sync = if command.sync { ", then a sync" } else { "" };
            format!("{}{on}{sync}, at most {}", show_argv(&command.argv), command.time_limit)
        }
        Task::Steps(steps) if steps.is_empty() => "the layers are read".into(),
        Task::Steps(steps) => {
            steps.iter().map(|step| step.action.show()).collect::<Vec<_>>().join("; ")
        }
    }
}

/// Returns what an ageing does, in words.
fn aged(plan: &AgeingPlan) -> String {
    let ends = [
        plan.runs_per_file.map(|runs| format!("{runs} runs a file")),
        plan.bytes.map(|bytes| bytes.to_string()),
        plan.duration.map(|time| time.to_string()),
    ];
    let ends: Vec<_> = ends.into_iter().flatten().collect();
    let ends = if ends.is_empty() { String::new() } else { format!(" (or {})", ends.join(", ")) };
    let thinned = if plan.thin_out { ", then every second is removed" } else { "" };
    let filled = plan.fill_percent.map_or(String::new(), |percent| {
        format!(", then files of {} until {percent} % are used", plan.fill_file)
    });
    format!(
        "{} files grow by {} in turn, {} rounds{ends} with a flush each{thinned}{filled}; whole files of about {} of each are read, before of fresh ones",
        plan.files, plan.append, plan.rounds, plan.read
    )
}

/// Returns what a fill does, in words.
fn filled(fill: &FillPlan, deadline: Option<Nanos>) -> String {
    let value = layers::metric(&fill.metric)
        .map_or_else(|| fill.at_least.to_string(), |metric| metric.unit.show(fill.at_least));
    let round = match fill.rounds {
        Rounds::Time(time) => format!("rounds of {time}"),
        Rounds::Parts { bytes, .. } => format!("parts of {bytes}"),
        Rounds::Files(bytes) => format!("files of {bytes}"),
    };
    format!(
        "{round}: {}; until {} of {} is at least {value}{}",
        fill.by.describe(),
        fill.metric,
        fill.layer,
        deadline.map_or(String::new(), |deadline| format!(", for at most {deadline}"))
    )
}

/// Returns the targets of a load, in words; for a single block device that is `on`.
fn driven(aims: &[Aim], on: &str) -> String {
    let one = |aim: &Aim| match &aim.files {
        None => aim.target.name.clone(),
        Some(files) => {
            let number =
                if files.count == 1 { "a file".into() } else { format!("{} files", files.count) };
            format!("{number} of {} in {}", files.size, aim.target.name)
        }
    };
    match aims {
        [] | [Aim { files: None, .. }] => on.to_owned(),
        [aim] => format!(", on {}", one(aim)),
        several => {
            let shown: Vec<_> =
                several.iter().map(|aim| format!("{} to {}", aim.share, one(aim))).collect();
            format!(", {}", shown.join(", "))
        }
    }
}
