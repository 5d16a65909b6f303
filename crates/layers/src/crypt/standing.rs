//! Encrypted devices of a machine: what is read of them, and the rules that need no run.

use results::model::Severity;
use units::{Bytes, Unit};

use super::names::TABLE;
use crate::rule::{Observation, StandingRule, Threshold, ThresholdTest};
use crate::standing::{Keeps, ReadFrom, Recognised, Standing, StandingFacts, StandingRead};

/// A device of dm-crypt, whose table holds the key.
pub(super) const FORMS: &[Standing] = &[Standing {
    is: Recognised::Target("crypt"),
    parts: &[("data", 3)],
    secret: Some(1),
    reads: &[StandingRead { from: ReadFrom::Table, parser: TABLE, value: None }],
    keeps_writes: Keeps::Never,
    threads: &[],
}];

/// Every rule that needs no run.
pub(super) const RULES: &[StandingRule] = &[OVER_REDUCTION, SMALL_SECTORS];

const OVER_REDUCTION: StandingRule = StandingRule {
    id: "encrypted_above",
    text: "Encryption stands above a layer that dedupes and compresses: no two blocks are alike, and none compresses, so that nothing is saved.",
    reads: "what the encrypted device stands on",
    threshold: None,
    remedy: "Encrypt below: VDO on the encrypted device sees the data, and what it stores is encrypted. The data have to be copied to a stack that is built this way.",
    source: "dm-crypt encrypts each sector by its place; slides on VDO",
    check: over_reduction,
};

fn over_reduction(facts: &StandingFacts, _: ThresholdTest) -> Option<Observation> {
    let below = facts.stack.below(facts.node, None);
    let reducing = below.iter().find(|node| node.reduces)?;
    let saving = reducing.number("saving_percent");
    let saved = saving.map_or_else(String::new, |saving| format!(", which saves {saving} %"));
    let evidence = format!("its table leads to {} ({}){saved}", reducing.name, reducing.kind);
    Some(Observation { severity: Severity::Error, evidence, ..Observation::default() })
}

const SMALL_SECTORS: StandingRule = StandingRule {
    id: "encrypted_small_sectors",
    text: "Encryption works in sectors of 512 bytes over disks with blocks of 4 KiB: eight times as many calls of the cipher as needed.",
    reads: "sector_size in the table line, and physical_block_size of the disks",
    threshold: Threshold::below(4096.0, Unit::Bytes),
    remedy: "cryptsetup reencrypt --sector-size 4096 (LUKS2), if everything above it works with blocks of 4 KiB; it rewrites all data.",
    source: "cryptsetup(8)",
    check: |facts, threshold| {
        let sector = threshold.passed(facts.node.setting("sector_size")?.parse().ok()?)?;
        let disks = facts.stack.disks(facts.node, None);
        let large =
            |disk: &&crate::standing::Node| disk.limit("physical_block_size") >= Some(4096.0);
        let all = !disks.is_empty() && disks.iter().all(large);
        let evidence = format!(
            "sector_size {} in its table, and physical_block_size of {} is 4096",
            Bytes(sector as u64),
            disks.first()?.name
        );
        all.then(|| Observation { evidence, ..Observation::default() })
    },
};
