//! Rules about the surroundings of a volume in a plan: the tools that make it, the disk under its journal, the file system on it.

use results::model::LayerFacts;
use units::Bytes;

use super::super::{DATA, TAIL};
use crate::planned::OperationKind;
use crate::rule::{Check, LayerRule, Observation, PlannedFacts, ThresholdTest};

pub(super) const INDEX_BY_LVM: LayerRule = LayerRule {
    id: "index_by_lvm",
    text: "The plan asks for an index other than the default, and many versions of lvm2 lose the options for it.",
    reads: "index_memory and sparse_index of a volume that lvm2 makes",
    threshold: None,
    remedy: "Take via = \"table\", which passes the options to vdoformat itself; after the run the rule index_not_as_asked says what was formatted.",
    source: "lvm2 issue 196",
    check: Check::Plan(index_by_lvm),
};

/// Finds an index that lvm2 does not make: the last option that it gives to `vdoformat` is lost, so that a sparse index becomes dense, and without
/// `sparse_index` the memory becomes 256 MiB.
fn index_by_lvm(facts: &PlannedFacts, _: ThresholdTest) -> Option<Observation> {
    const USUAL: Bytes = Bytes(256 << 20);
    facts.settings.get("via").filter(|via| *via == "lvm")?;
    let memory = facts.settings.get("index_memory")?.parse::<Bytes>().ok()?;
    let sparse = facts.settings.get("sparse_index").is_some_and(|sparse| sparse == "on");
    (memory != USUAL || sparse).then(|| Observation {
        evidence: format!("Asked: {memory}, {}.", if sparse { "sparse" } else { "dense" }),
        ..Observation::default()
    })
}

pub(super) const JOURNAL_ON_DISK: LayerRule = LayerRule {
    id: "journal_on_disk",
    text: "The journal lies at the end of the hard disk that holds the data: each of its writes moves the heads there and back.",
    reads: "the model of the volume's device, where a measured load writes and the volume has no tail",
    threshold: None,
    remedy: "Put it on another device with via = \"table\" and on = { data = \"data\", tail = \"journal\" } with a [devices.journal], unless that is the question.",
    source: "thesis 5.6; the journal is the last 128.25 MiB of the pool",
    check: Check::Plan(journal_on_disk),
};

fn journal_on_disk(facts: &PlannedFacts, _: ThresholdTest) -> Option<Observation> {
    let on = &facts.stack.iter().find(|layer| layer.name == facts.layer)?.on;
    let data = on.get(DATA).filter(|_| !on.contains_key(TAIL))?;
    let disk = facts.stack.iter().find(|layer| layer.layer == "device" && layer.name == *data)?;
    let like = disk.settings.get("like").filter(|like| like.contains("hdd"))?;
    let writes = |load: &crate::planned::PlannedLoad| load.does(OperationKind::Writes);
    let mut measured = facts.stages.iter().filter(|stage| stage.measured);
    let stage = measured.find(|stage| stage.load.as_ref().is_some_and(writes))?;
    Some(Observation {
        evidence: format!("Stage {} writes, and {data} is like {like}.", stage.name),
        ..Observation::default()
    })
}

pub(super) const ONLINE_DISCARD: LayerRule = LayerRule {
    id: "online_discard",
    text: "The file system on the volume discards freed blocks immediately: VDO journals each of these blocks while other I/Os wait.",
    reads: "the setting 'discard' of file systems on a volume, where something is measured",
    threshold: None,
    remedy: "Leave discard off and run fstrim in a separate stage, unless that is the question.",
    source: "slides on VDO: mount without discard",
    check: Check::Plan(online_discard),
};

fn online_discard(facts: &PlannedFacts, _: ThresholdTest) -> Option<Observation> {
    facts.stages.iter().find(|stage| stage.measured)?;
    let above = |layer: &LayerFacts| layer.on.values().any(|below| below == facts.layer);
    let discards = |layer: &LayerFacts| layer.settings.get("discard").is_some_and(|d| d == "on");
    let found = facts.stack.iter().find(|layer| above(layer) && discards(layer))?;
    Some(Observation {
        evidence: format!("{} stands on {} with discard = true.", found.name, facts.layer),
        ..Observation::default()
    })
}
