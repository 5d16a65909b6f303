//! `do = "allocate"`: the loads by which layers allocate what they would allocate on the first write.

use layers::Allocate;
use results::model::StageData;
use units::{Bytes, Percent};
use workload::LoadSpec;

use crate::kinds::targets::{self, WrittenTarget};
use crate::planned::estimate;
use crate::stages::{KindFacts, Planner, StageHead, StageKind, StageTask, WorksOn};
use crate::written::diagnostic::Diagnostic;
use plan::{Aim, StagePlan, Target, Task};

pub(crate) const KIND: StageKind = StageKind {
    facts: KindFacts {
        instead: Some("the load that follows"),
        wants_device: "it works where no file system stands over the layer: leave the stage out, for all variants alike; or name another layer: target = \"...\"",
        ..KindFacts::new("allocate", "An allocation", WorksOn::One, StageData::Allocation)
    },
    read: |table, _| table.finish().map(|()| Box::new(Allocation) as Box<dyn StageTask>),
};

/// An allocation as written.
#[derive(Clone)]
pub(crate) struct Allocation;

impl StageTask for Allocation {
    /// Plans one load for each layer that allocates lazily, on the device above it; if the stage names a layer, only for that layer and those below
    /// it. Without such layers nothing is planned.
    fn plan(&self, stage: &StageHead, on: &mut Planner) -> Result<Vec<StagePlan>, Diagnostic> {
        let stack = &on.stack;
        let upper = targets::of(stage, stack)?.name;
        let named = matches!(stage.target, WrittenTarget::Layer(_));
        let wanted = stack.allocate.iter().filter(|layer| !named || stack.reaches(layer, &upper));
        let mut planned = Vec::new();
        for layer in wanted {
            let Some(need) = on.running.allocates(layer) else { continue };
            if let Some(error) = need.refused {
                let at = stage.places.at("do");
                return Err(Diagnostic::at(at, error.message, error.help).if_rest_is_right());
            }
            planned.push(one(layer, &need, stage, targets::over(layer, stage, stack)?));
        }
        if planned.is_empty() && !stack.allocate.is_empty() {
            let message =
                format!("Neither '{upper}' nor what is under it has anything to allocate");
            let help = format!("leave target out, or name one of: {}", stack.allocate.join(", "));
            return Err(Diagnostic::at(stage.places.at("target"), message, help).if_rest_is_right());
        }
        Ok(planned)
    }
}

/// Returns a load with one write of zeros, which take no data blocks, into every unit that the layer allocates lazily.
fn one(layer: &str, need: &Allocate, stage: &StageHead, target: Target) -> StagePlan {
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
    let amount = load.plan(target.offer.bytes());
    let ios = amount.map(|amount| amount.ios);
    StagePlan {
        name: format!("allocate {layer}"),
        settle: false,
        ios,
        bytes: amount.map(|amount| Bytes(amount.bytes)),
        about: estimate::allocation(ios.unwrap_or_default()),
        aims: vec![Aim::alone(target.clone())],
        ..stage.planned(Task::Load(Box::new(load)), target)
    }
}
