//! `do = "allocate"`: the loads by which layers allocate what they would allocate on the first write.

use layers::Allocate;
use results::model::{StageData, StageTraits};
use units::{Bytes, Percent};
use workload::LoadSpec;

use crate::change::RunningLayers;
use crate::diagnostic::Diagnostic;
use crate::estimate;
use crate::graph::StackPlan;
use crate::plan::{Aim, StagePlan, Target, Task};
use crate::stages::StageHead;
use crate::targets::{self, WrittenTarget};

/// Returns what the layers of this stack need by now, each driven at the device that stands over it; where the stage names a layer, what it
/// and those under it need. A stack that needs nothing gives no stage.
pub(crate) fn plan(
    stage: &StageHead,
    stack: &StackPlan,
    running: &RunningLayers,
) -> Result<Vec<StagePlan>, Diagnostic> {
    let upper = targets::of(stage, stack)?.name;
    let named = matches!(stage.target, WrittenTarget::Layer(_));
    let wanted = stack.allocate.iter().filter(|layer| !named || stack.reaches(layer, &upper));
    let mut planned = Vec::new();
    for layer in wanted {
        let Some(need) = running.allocates(layer) else { continue };
        if let Some(error) = need.refused {
            return Err(Diagnostic::at(stage.places.at("do"), error.message, error.help).resting());
        }
        let target = targets::over(layer, stage, stack)?;
        planned.push(StagePlan { deadline: stage.deadline, ..one(layer, &need, &target) });
    }
    if planned.is_empty() && !stack.allocate.is_empty() {
        let message = format!("Neither '{upper}' nor what is under it has anything to allocate");
        let help = format!("leave target out, or name one of: {}", stack.allocate.join(", "));
        return Err(Diagnostic::at(stage.places.at("target"), message, help).resting());
    }
    Ok(planned)
}

/// One write into every unit that the layer allocates lazily, of zeros: they take no data blocks.
fn one(layer: &str, need: &Allocate, target: &Target) -> StagePlan {
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
    let ios = load.plan(target.offer.bytes()).map(|amount| amount.ios);
    StagePlan {
        kind: "allocate".into(),
        traits: StageTraits::of(StageData::Allocation),
        name: format!("allocate {layer}"),
        measured: false,
        settle: false,
        before: Vec::new(),
        sweep: None,
        loses: false,
        state: None,
        ios,
        bytes: load.plan(target.offer.bytes()).map(|amount| Bytes(amount.bytes)),
        about: estimate::allocation(ios.unwrap_or_default()),
        target: target.clone(),
        aims: vec![Aim::alone(target.clone())],
        deadline: None,
        task: Task::Load(Box::new(load)),
        fresh_places: false,
    }
}
