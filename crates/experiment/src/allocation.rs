//! `do = "allocate"`: the loads by which layers allocate what they would allocate on the first write.

use units::{Bytes, Percent};
use workload::LoadSpec;

use crate::estimate;
use crate::plan::{Aim, StagePlan, Target, Task};

/// One write into every unit that the layer allocates lazily, of zeros: they take no data blocks.
pub(crate) fn plan(layer: &str, need: &layers::Allocate, target: &Target) -> StagePlan {
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
        name: format!("allocate {layer}"),
        measured: false,
        settle: false,
        before: Vec::new(),
        sweep: None,
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
