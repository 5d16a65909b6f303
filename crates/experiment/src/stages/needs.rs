//! Requirements of stages on a machine.

use std::collections::BTreeMap;

use super::{Stage, StageTask};
use crate::plan::{Corpus, Needs};
use crate::steps::Steps;

/// Returns what all stages need.
pub(crate) fn needs(stages: &[Stage], corpora: &BTreeMap<String, Corpus>) -> Needs {
    of_commands(stages, corpora).beside(&of_steps(stages))
}

/// Returns what the commands of all stages need of a machine.
fn of_commands(stages: &[Stage], corpora: &BTreeMap<String, Corpus>) -> Needs {
    let commands = stages.iter().filter_map(Stage::command);
    let needs = commands.fold(Needs::default(), |all, command| all.beside(&command.needs()));
    Needs { corpora: corpora.clone(), ..needs }
}

/// Returns what stages that are nothing but steps need.
fn of_steps(stages: &[Stage]) -> Needs {
    let trims = stages.iter().any(|stage| match &stage.task {
        StageTask::Steps(steps) => *steps == Steps::Trim,
        StageTask::State(state) => state.trims(),
        _ => false,
    });
    let own = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect();
    if !trims {
        return Needs::default();
    }
    let tools = own(&["blkdiscard", "fstrim"]);
    Needs { packages: own(&["util-linux"]), tools, ..Needs::default() }
}
