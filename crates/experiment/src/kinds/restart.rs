//! `do = "restart"`: the whole stack is taken down, the uppermost layer first, and what is there is brought up again.

use layers::step::Step;
use layers::{PartEffect, Place};
use results::model::StageData;
use units::Nanos;

use crate::kinds::change::RunningLayers;
use crate::stages::{KindFacts, Planner, StageHead, StageKind, StageTask, WorksOn};
use crate::written::diagnostic::{Diagnostic, with_article};
use plan::StagePlan;

pub(crate) const KIND: StageKind = StageKind {
    facts: KindFacts::new("restart", "A restart", WorksOn::Nothing, StageData::Nothing)
        .timed()
        .down(),
    read: |table, _| table.finish().map(|()| Box::new(Restart) as Box<dyn StageTask>),
};

/// A restart of the whole stack on this machine.
#[derive(Clone)]
struct Restart;

impl StageTask for Restart {
    fn plan(&self, stage: &StageHead, on: &mut Planner) -> Result<Vec<StagePlan>, Diagnostic> {
        plan(stage, on, (Way::Down, Vec::new()), Nanos::from_secs(5))
    }
}

/// The way in which layers are gone before they are brought up again.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Way {
    /// They are taken down, the uppermost first.
    Down,
    /// The machine under them is gone.
    Gone,
}

/// Returns the stage that takes all layers down, unless they are gone with their machine, does the steps `between`, and brings the layers up
/// again, with the settings and sizes that they have at that point.
pub(crate) fn plan(
    stage: &StageHead,
    on: &mut Planner,
    (way, between): (Way, Vec<Step>),
    about: Nanos,
) -> Result<Vec<StagePlan>, Diagnostic> {
    let (mut down, mut up) = (Vec::new(), Vec::new());
    for name in on.running.names() {
        let layers::Restart { down: steps, up: again, renews } =
            of_layer(&name, stage, &mut on.running)?;
        if way == Way::Down {
            down.splice(0..0, steps);
        }
        up.extend(again);
        if let Some(part) = renews {
            let wrong = |why| Diagnostic::at(stage.places.at("do"), why, "leave the stage out");
            on.running
                .part(&name, PartEffect::Renews(part), &stage.name)
                .map_err(|why| wrong(why).if_rest_is_right())?;
        }
    }
    let steps = [down, between, up].concat();
    Ok(vec![stage.doing(steps, on.stack.top.clone(), about)?])
}

/// Returns the way in which a layer is restarted; the mistake names a layer that has none.
fn of_layer(
    name: &str,
    stage: &StageHead,
    running: &mut RunningLayers,
) -> Result<layers::Restart, Diagnostic> {
    let at = stage.places.at("do");
    let cannot = |what: &str| {
        let message = format!("'{name}'{what} cannot be brought up again with what is on it");
        let help = "name the variants that can: only = [\"...\"]; or leave the stage out";
        Diagnostic::at(at.clone(), message, help).if_rest_is_right()
    };
    let Some((layer, kind, run_tag)) = running.layer(name) else { return Err(cannot("")) };
    let wrong = |error: layers::SettingError| Diagnostic::of_setting(at.clone(), &error, kind);
    let parsed = (kind.parse)(&layer.settings).map_err(wrong)?;
    let place = Place { name: &layer.name, run_tag, inputs: &layer.inputs };
    let what = format!(", {},", with_article(kind.name));
    parsed.restart(&place).ok_or_else(|| cannot(&what))
}
