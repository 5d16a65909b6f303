//! Every kind of stage, one entry each: its name, what it works on, and what reads the keys that are its own.

use results::model::{StageData, StageTraits};
use units::Key;

use super::StageTask;
use crate::action::Act;
use crate::command::Command;
use crate::copy::CopyStage;
use crate::diagnostic::{Diagnostic, Mend, among, nearest};
use crate::document::{Places, Table};
use crate::fill::Fill;
use crate::layout::Layout;
use crate::load;
use crate::state::StateStage;
use crate::steps::{self, Steps};
use crate::sweep::{self, SWEEP};

const DO: Key = Key { name: "do", takes: "what the stage does", example: "\"load\"" };

/// A kind of stage.
pub(super) struct StageKind {
    /// The word in `do = "..."`.
    pub name: &'static str,
    /// Name of a stage of this kind in mistakes: `A load`.
    pub what: &'static str,
    /// Targets that it works on.
    pub works_on: WorksOn,
    /// What others must know of what it does.
    pub traits: StageTraits,
    /// Name of the stage to measure instead, for a kind that has no figures of its own.
    pub instead: Option<&'static str>,
    /// Reads the keys that are left.
    read: fn(Table, &Around) -> Result<StageTask, Diagnostic>,
}

/// Targets that a kind of stage works on.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum WorksOn {
    /// No layer: it has no target.
    Nothing,
    /// One layer.
    One,
    /// A load: one layer, several with shares, or files; and hot places.
    Load,
    /// The same without hot places of its own.
    Rounds,
}

/// Facts of a stage that are known when its own keys are read.
pub(super) struct Around<'a> {
    pub name: &'a str,
    pub measured: bool,
    /// Tells whether it changes settings of running layers.
    pub sets: bool,
    pub places: &'a Places,
    /// The experiment's file.
    pub file: &'a str,
}

use WorksOn::{Load, Nothing, One, Rounds};

/// A kind that brings `data`, and whose figures are its own, where it is measured.
const fn kind(
    name: &'static str,
    what: &'static str,
    works_on: WorksOn,
    data: StageData,
    read: fn(Table, &Around) -> Result<StageTask, Diagnostic>,
) -> StageKind {
    let traits = StageTraits { on_layer: !matches!(works_on, Nothing), ..StageTraits::of(data) };
    StageKind { name, what, works_on, traits, instead: None, read }
}

impl StageKind {
    /// The same kind, of which the time is a figure.
    const fn timed(mut self) -> Self {
        self.traits.timed = true;
        self
    }

    /// The same kind, which takes layers down meanwhile.
    const fn down(mut self) -> Self {
        self.traits.down = true;
        self
    }
}

const KINDS: &[StageKind] = &[
    kind("allocate", "An allocation", One, StageData::Allocation, |table, _| {
        only(table, StageTask::Allocate)
    }),
    kind("layout", "A layout", One, StageData::Load, |table, around| {
        Ok(StageTask::Layout(Box::new(Layout::read(table, around.file)?)))
    }),
    kind("load", "A load", Load, StageData::Load, load),
    StageKind {
        instead: Some("the load that follows"),
        ..kind("fill", "A fill", Rounds, StageData::Rounds, |table, around| {
            Ok(StageTask::Fill(Box::new(Fill::read(table, around.file)?)))
        })
    },
    StageKind {
        instead: Some("the load that follows"),
        ..kind("state", "A state", One, StageData::State, |table, around| {
            Ok(StageTask::State(Box::new(StateStage::read(table, around.file)?)))
        })
    },
    StageKind {
        instead: Some("a load"),
        ..kind("copy", "A copy", One, StageData::Foreign, |table, _| {
            Ok(StageTask::Copy(CopyStage::read(table)?))
        })
    },
    kind("command", "A command", One, StageData::Unknown, |table, _| {
        Ok(StageTask::Command(Command::read(table)?))
    }),
    kind("layer", "What a layer does", One, StageData::Nothing, |table, _| {
        Ok(StageTask::Layer(Act::read(table)?))
    })
    .timed()
    .down(),
    kind("drop_caches", "Dropping caches", Nothing, StageData::Nothing, |table, _| {
        only(table, StageTask::Steps(Steps::DropCaches))
    }),
    kind("wait", "A wait", Nothing, StageData::Nothing, |mut table, _| {
        let time = steps::wait(&mut table)?;
        only(table, StageTask::Steps(Steps::Wait(time)))
    }),
    kind("read", "A read", Nothing, StageData::Nothing, |table, _| {
        only(table, StageTask::Steps(Steps::Read))
    }),
    kind("set", "A change of settings", Nothing, StageData::Nothing, set),
    kind("trim", "A trim", One, StageData::Nothing, |table, _| {
        only(table, StageTask::Steps(Steps::Trim))
    })
    .timed(),
    kind("remount", "A remount", One, StageData::Nothing, |table, _| {
        only(table, StageTask::Steps(Steps::Remount))
    })
    .timed(),
];

impl StageKind {
    /// Takes `do` out of a stage: the kind that it names.
    pub(super) fn take(table: &mut Table) -> Result<&'static Self, Diagnostic> {
        let names = || KINDS.iter().map(|kind| kind.name);
        let Some(written) = table.take::<String>(&DO)? else {
            if let Some(misspelt) = table.misspelt(&DO) {
                return Err(misspelt);
            }
            let help = format!("add do = ...; {}", among("", names()));
            return Err(Diagnostic::at(table.at(), "A stage does not say what it does", help));
        };
        let known = KINDS.iter().find(|kind| kind.name == written.get_ref());
        known.ok_or_else(|| {
            let message = format!("There is no stage '{}'", written.get_ref());
            let word = written.get_ref();
            let instead = nearest(word, names()).map(|near| Mend::With(format!("{near:?}").into()));
            let mistake = Diagnostic::at(written.span(), message, among(word, names()));
            Diagnostic { instead, ..mistake }
        })
    }

    /// Reads the keys that are left.
    pub(super) fn read(&self, mut table: Table, around: &Around) -> Result<StageTask, Diagnostic> {
        table.is(self.what);
        (self.read)(table, around)
    }
}

/// Returns the traits of the kind called `name`.
pub(super) fn traits(name: &str) -> Option<StageTraits> {
    KINDS.iter().find(|kind| kind.name == name).map(|kind| kind.traits)
}

/// A stage without keys of its own.
fn only(table: Table, task: StageTask) -> Result<StageTask, Diagnostic> {
    table.finish().map(|()| task)
}

fn load(mut table: Table, around: &Around) -> Result<StageTask, Diagnostic> {
    match table.table(&SWEEP, "sweep")? {
        Some(keys) => {
            let stage = (around.name, around.measured);
            Ok(StageTask::Sweep(sweep::read(stage, keys, table, around.file)?))
        }
        None => {
            sweep::needless(&table)?;
            Ok(StageTask::Load(Box::new(load::read(table, around.places, around.file)?)))
        }
    }
}

fn set(table: Table, around: &Around) -> Result<StageTask, Diagnostic> {
    let at = table.at();
    if around.sets {
        return only(table, StageTask::Steps(Steps::Set));
    }
    table.finish()?;
    let help = "write what changes: set.\"vdo.dedupe\" = false";
    Err(Diagnostic::at(at, "A change of settings changes nothing", help))
}

#[cfg(test)]
mod tests {
    use results::model::StageFacts;

    use super::*;

    #[test]
    fn results_of_earlier_versions_are_read_as_kinds_are_today() {
        for kind in KINDS {
            let json = serde_json::json!({
                "kind": kind.name, "name": "", "measured": false, "about": "", "load": null,
            });
            let old: StageFacts = serde_json::from_value(json).unwrap();
            assert_eq!(old.traits(), kind.traits, "{}", kind.name);
        }
    }
}
