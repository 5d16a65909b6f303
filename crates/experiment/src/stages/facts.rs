//! What results keep of a stage, and what people read of it.

use layers::step::show_argv;
use results::model::StageFacts;
use workload::LoadSpec;

use crate::fill;
use crate::plan::{Aim, CommandPlan, StagePlan, Task};
use crate::state;

/// The stage as results keep it.
pub(crate) fn facts(stage: &StagePlan) -> StageFacts {
    let json = |load: &LoadSpec| serde_json::to_value(load).ok();
    let rounds = stage.driven().filter(|_| stage.load().is_none());
    let room: u64 = stage.aims.iter().map(|aim| aim.room(None)).sum();
    StageFacts {
        kind: stage.kind.clone(),
        name: stage.name.clone(),
        measured: stage.measured,
        about: describe(stage),
        load: stage.load().and_then(json).unwrap_or_default(),
        rounds: rounds.and_then(json).unwrap_or_default(),
        target_bytes: (room > 0).then_some(room),
        io_bytes: stage.bytes.map(|bytes| bytes.0),
        synced: stage.command().map(|command| command.sync),
        sweep: stage.sweep.clone(),
        figures: stage.command().map(CommandPlan::picked).unwrap_or_default(),
    }
}

/// What a stage does, in words.
pub(crate) fn describe(stage: &StagePlan) -> String {
    let proven = stage.state.as_ref().map(|plan| format!("; {}", state::describe(plan)));
    format!("{}{}", done(stage), proven.unwrap_or_default())
}

fn done(stage: &StagePlan) -> String {
    match &stage.task {
        Task::Load(load) => format!("{}{}", load.describe(), driven(&stage.aims)),
        Task::Fill(fill) => fill::describe(fill, stage.deadline),
        Task::Copy(copy) => {
            format!("{} of {}, writes of {}", copy.bytes, copy.role, copy.block)
        }
        Task::Command(command) => {
            let sync = if command.sync { ", then a sync" } else { "" };
            format!("{}{sync}, at most {}", show_argv(&command.argv), command.time_limit)
        }
        Task::Steps(steps) if steps.is_empty() => "the layers are read".into(),
        Task::Steps(steps) => {
            steps.iter().map(|step| step.action.show()).collect::<Vec<_>>().join("; ")
        }
    }
}

/// What a load drives, in words, where it is more than one block device.
fn driven(aims: &[Aim]) -> String {
    let one = |aim: &Aim| match &aim.files {
        None => aim.target.name.clone(),
        Some(files) => {
            let number =
                if files.count == 1 { "a file".into() } else { format!("{} files", files.count) };
            format!("{number} of {} in {}", files.size, aim.target.name)
        }
    };
    match aims {
        [] | [Aim { files: None, .. }] => String::new(),
        [aim] => format!(", on {}", one(aim)),
        several => {
            let shown: Vec<_> =
                several.iter().map(|aim| format!("{} to {}", aim.share, one(aim))).collect();
            format!(", {}", shown.join(", "))
        }
    }
}
