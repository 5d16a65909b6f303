//! Stages made ready for a stack: what each works on, what it does there, about how long it takes.

use std::collections::BTreeMap;

use super::{Planner, Stage, StageHead};
use crate::checked::bounds;
use crate::kinds::change::RunningLayers;
use crate::kinds::crash;
use crate::planned::devices::Devices;
use crate::planned::graph::StackPlan;
use crate::written::corpora::Corpora;
use crate::written::diagnostic::Diagnostic;
use crate::written::variants::Variant;
use plan::StagePlan;

/// The stages for one stack.
pub(crate) fn plan(
    stages: &[Stage],
    variant: &Variant,
    stack: &StackPlan,
    (devices, corpora): (&Devices, &Corpora),
    run_tag: &str,
) -> Result<Vec<StagePlan>, Vec<Diagnostic>> {
    let mut planner = Planner {
        stack: stack.clone(),
        running: RunningLayers::new(stack, run_tag),
        devices,
        corpora,
        layouts: BTreeMap::new(),
    };
    let mut planned = Vec::new();
    let mine = |stage: &&Stage| {
        stage.head.only.is_empty() || stage.head.only.iter().any(|v| variant.is(v))
    };
    for stage in stages.iter().filter(mine) {
        let before = planner.running.change(&stage.head).map_err(|mistake| vec![mistake])?;
        let first = planned.len();
        planned
            .extend(stage.task.plan(&stage.head, &mut planner).map_err(|mistake| vec![mistake])?);
        crash::check(&stage.head, &planned, first).map_err(|mistake| vec![mistake])?;
        if let Some(last) = planned.last_mut() {
            last.settle |= stage.head.settle;
        }
        match planned.get_mut(first) {
            Some(stage) => stage.before = before,
            None if before.is_empty() => {}
            None => return Err(vec![nowhere(&stage.head)]),
        }
    }
    let last = stages.iter().rfind(|stage| !stage.task.points().is_empty());
    if let (true, Some(last)) = (planned.len() > bounds::PLANNED, last) {
        let (count, most) = (planned.len(), bounds::PLANNED);
        let message = format!("With the points of its sweeps a cell has {count} stages");
        let help = format!("at most {most} are possible: sweep fewer values");
        return Err(vec![Diagnostic::at(last.head.places.at("sweep"), message, help)]);
    }
    Ok(planned)
}

/// Returns the mistake for a stage that changes settings but does nothing on this stack: its changes would be lost.
fn nowhere(stage: &StageHead) -> Diagnostic {
    Diagnostic::at(
        stage.places.at("set"),
        format!(
            "Nothing is done in stage '{}' of this stack, so it changes no setting",
            stage.name
        ),
        "give the setting to the stage that follows",
    )
    .if_rest_is_right()
}
