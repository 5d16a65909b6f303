//! `do = "crash"`: the machine stops between two instructions, and its stack is brought up again from what is left on the disks.

use layers::step::MachineEnd;
use results::model::StageData;
use serde::Deserialize;
use units::{Key, key};

use crate::kinds::reboot::{ABOUT, boot};
use crate::kinds::restart::{self, Way};
use crate::stages::{KindFacts, Planner, StageHead, StageKind, StageTask, WorksOn};
use crate::written::diagnostic::Diagnostic;
use plan::StagePlan;

const POWER: Key = key(
    "power",
    "\"kept\" (disks keep what they took) or \"cut\" (what was in volatile caches is lost in part)",
    "\"cut\"",
);

const DURING_LOAD: Key = key(
    "during_load",
    "true (at a random moment of the load before it) or false (after it)",
    "true",
);

pub(crate) const KIND: StageKind = StageKind {
    facts: KindFacts::new("crash", "A crash", WorksOn::Nothing, StageData::Nothing).timed().down(),
    read: |mut table, _| {
        let power =
            table.take::<Power>(&POWER)?.map(|power| power.into_inner()).unwrap_or_default();
        let during = table.take::<bool>(&DURING_LOAD)?;
        let cuts_load = during.is_some_and(|during| during.into_inner());
        table.finish().map(|()| Box::new(Crash { power, cuts_load }) as Box<dyn StageTask>)
    },
};

/// The power of the disks.
#[derive(Debug, Clone, Copy, Default, Deserialize)]
#[serde(rename_all = "snake_case")]
enum Power {
    #[default]
    Kept,
    Cut,
}

/// A crash of the machine.
#[derive(Clone)]
struct Crash {
    power: Power,
    cuts_load: bool,
}

/// Refuses a crash during a stage that is not a load, during a load of unknown length, and during a measured load.
pub(crate) fn check(
    stage: &StageHead,
    planned: &[StagePlan],
    first: usize,
) -> Result<(), Diagnostic> {
    if !planned.get(first).is_some_and(|crash| crash.cuts_load) {
        return Ok(());
    }
    let before = first.checked_sub(1).and_then(|before| planned.get(before));
    let timed = before.filter(|before| before.load().is_some_and(|load| load.duration.is_some()));
    let (why, help) = match timed {
        None => (
            "the stage before it is not a load with a duration",
            "put a load with duration = \"5s\" right before it",
        ),
        Some(load) if load.measured => {
            ("the load before it is measured, and never ends", "leave measure = true out there")
        }
        Some(_) => return Ok(()),
    };
    let message = format!("Stage '{}' is to come during a load, but {why}", stage.name);
    Err(Diagnostic::at(stage.places.at("during_load"), message, help).if_rest_is_right())
}

impl StageTask for Crash {
    fn plan(&self, stage: &StageHead, on: &mut Planner) -> Result<Vec<StagePlan>, Diagnostic> {
        let steps = match self.power {
            Power::Kept => boot(on, MachineEnd::Killed, "kill the machine and boot it anew"),
            Power::Cut => {
                let has_model = |role: &&String| on.stack.stands_on(role).is_some();
                if !on.devices.models.keys().any(|role| has_model(&role)) {
                    let message = format!(
                        "Stage '{}' cuts the power of disks that have no volatile cache: none of the stack is a modelled one",
                        stage.name
                    );
                    let help = "model a disk, such as [devices.data] like = \"ssd\" and destage = \"at_flush\"; or leave power = \"cut\" out";
                    return Err(
                        Diagnostic::at(stage.places.at("do"), message, help).if_rest_is_right()
                    );
                }
                boot(on, MachineEnd::PowerCut, "cut the power, and boot the machine anew")
            }
        };
        let planned = restart::plan(stage, on, (Way::Gone, steps), ABOUT)?;
        let crash = |stage| StagePlan { loses: true, cuts_load: self.cuts_load, ..stage };
        Ok(planned.into_iter().map(crash).collect())
    }
}
