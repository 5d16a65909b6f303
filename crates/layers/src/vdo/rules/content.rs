//! Rules about deduplication and compression of the content.

use results::model::Severity;
use units::Unit;

use super::super::geometry::{PACKED_BYTES, PACKED_SLOTS};
use super::cures::never_durable;
use super::figures::stats;
use crate::rule::{
    Check, LayerRule, MeasuredStage, Observation, RuleFacts, Threshold, ThresholdTest, figure,
};

pub(super) const NOT_PACKABLE: LayerRule = LayerRule {
    id: "content_not_packable",
    text: "Content that should compress was stored uncompressed.",
    reads: "compressed fragments of the cell, compared with the compression asked for",
    threshold: Threshold::below(1.0, Unit::Count),
    remedy: "Ask for content = { compress = \"2.1x\" } or more, and keep fsync and O_DSYNC away from writes that should pack.",
    source: "thesis 2.2; dm-vdo's packer",
    check: Check::Cell(not_packable),
};

/// Finds that compression was on and asked for, but not a single fragment was written.
fn not_packable(facts: &RuleFacts, threshold: ThresholdTest) -> Option<Observation> {
    let wanted_saving = facts.asked_content?.lz4_saving_percent.filter(|saving| *saving > 0.0)?;
    let figure_of = |id: &str| facts.figures.get(id).copied().flatten();
    let data = figure_of("data_blocks_used").filter(|blocks| *blocks > 0.0)?;
    let fragments = threshold.passed(figure_of("compressed_fragments")?)?;
    if !compresses(facts) {
        return None;
    }
    let size = facts.achieved.and_then(|achieved| achieved.lz4_size_mean_bytes);
    let mean_size = size.map_or(String::new(), |s| format!(", mean LZ4 size {s:.0} bytes"));
    let mut figures = vec![
        threshold.figure("blocks stored compressed (fragments)", fragments),
        figure("data blocks", data, Unit::Blocks),
        figure("saving by LZ4 that was asked for", wanted_saving, Unit::Percent),
    ];
    figures.extend(size.map(|size| figure("mean LZ4 size", size, Unit::Bytes)));
    Some(Observation {
        severity: Severity::Warning,
        evidence: format!(
            "LZ4 was to save {wanted_saving:.0} %{mean_size}; {data} data blocks written, 0 compressed fragments"
        ),
        figures,
        remedy: Some(format!(
            "VDO packs two or more of at most {PACKED_SLOTS} fragments into {PACKED_BYTES} bytes: ask for \
             content = {{ compress = \"2.1x\" }} or more, and keep fsync and O_DSYNC away from writes that should pack."
        )),
        ..Observation::default()
    })
}

fn compresses(facts: &RuleFacts) -> bool {
    facts.settings.get("compression").is_some_and(|c| c == "on")
}

pub(super) const INDEX_NOT_AS_ASKED: LayerRule = LayerRule {
    id: "index_not_as_asked",
    text: "The deduplication index is not the one that was asked for.",
    reads: "index memory and sparseness as the volume answers to 'config'",
    threshold: None,
    remedy: "Use an lvm2 with the fix of its issue 196, or the default index (256M, dense).",
    source: "lvm2 issue 196",
    check: Check::Cell(index_not_as_asked),
};

/// Finds that the index that was formatted is not the one that was asked for (lvm2 before its fix of issue 196 loses
/// the last option of vdoformat, but still reports what was asked for).
fn index_not_as_asked(facts: &RuleFacts, _: ThresholdTest) -> Option<Observation> {
    let real = |field: &str| facts.facts.get(&format!("{}.config.index.{field}", facts.layer));
    let gib: f64 = real("memorySize")?.parse().ok()?;
    let sparse = real("isSparse")? == "1";
    let wanted = facts.settings.get("index_memory")?.parse::<units::Bytes>().ok()?;
    let wanted_sparse = facts.settings.get("sparse_index").is_some_and(|s| s == "on");
    // dm-vdo prints 0.25, 0.5, 0.75 and whole numbers; all of them are exact in binary.
    let bytes = gib * (1u64 << 30) as f64;
    if bytes as u64 == wanted.0 && sparse == wanted_sparse {
        return None;
    }
    let word = |sparse: bool| if sparse { "sparse" } else { "dense" };
    Some(Observation {
        severity: Severity::Warning,
        evidence: format!(
            "asked {wanted} {}, formatted {gib} GiB {}",
            word(wanted_sparse),
            word(sparse)
        ),
        figures: vec![
            figure("index memory asked for", wanted.0 as f64, Unit::Bytes),
            figure("index memory formatted", bytes, Unit::Bytes),
        ],
        ..Observation::default()
    })
}

pub(super) const SAVING_OF_ZEROS: LayerRule = LayerRule {
    id: "saving_of_zeros",
    text: "A part of the saving is zero blocks, which any thin volume saves.",
    reads: "saving_percent, compared with saving_without_zero_percent",
    threshold: Threshold::above(5.0, Unit::Percent),
    remedy: "Take saving_without_zero_percent.",
    source: "slides on VDO; vdostats counts zero blocks as saved",
    check: Check::Cell(saving_of_zeros),
};

fn saving_of_zeros(facts: &RuleFacts, threshold: ThresholdTest) -> Option<Observation> {
    let of = |id: &str| facts.figures.get(id).copied().flatten();
    let (all, without) = (of("saving_percent")?, of("saving_without_zero_percent")?);
    let difference = threshold.passed(all - without)?;
    Some(Observation {
        figures: vec![
            figure("saving", all, Unit::Percent),
            figure("saving without zero blocks", without, Unit::Percent),
            threshold.figure("difference", difference),
        ],
        ..Observation::default()
    })
}

pub(super) const DUPLICATES_IN_FLIGHT: LayerRule = LayerRule {
    id: "duplicates_in_flight",
    text: "Most duplicates were found among writes in flight, not by the index: they are too close to each other.",
    reads: "hashLock.concurrentDataMatches, compared with hashLock.dedupeAdviceValid",
    threshold: Threshold::above(50.0, Unit::Percent),
    remedy: "Let duplicates reach back farther than what is in flight: content = { dedupe = \"50%\", distance = \"10000..100000=100\" }.",
    source: "articles on testing deduplication; fio repeats neighbours by default",
    check: Check::Stage(duplicates_in_flight),
};

fn duplicates_in_flight(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    /// Share of the writes below which duplicates are chance.
    const SOME: f64 = 0.01;
    facts.settings.get("dedupe").filter(|dedupe| *dedupe == "on")?;
    let stats = stats(facts, stage)?;
    let near = stats.counted("hashLock.concurrentDataMatches")?;
    let found = near + stats.counted("hashLock.dedupeAdviceValid")?;
    if found <= SOME * stats.counted("biosIn.write")? {
        return None;
    }
    let share = threshold.passed(100.0 * near / found)?;
    Some(Observation {
        remedy: stage.of_command(
            "Mention it with the figures: the command writes duplicates close together, so that the index was hardly used.",
        ),
        figures: vec![
            threshold.figure("duplicates found without the index", share),
            figure("duplicates found", found, Unit::Blocks),
        ],
        ..Observation::default()
    })
}

pub(super) const MATCHES_WITHOUT_DEDUPE: LayerRule = LayerRule {
    id: "matches_without_dedupe",
    text: "Deduplication is off, but duplicates were stored once all the same: VDO notices equal data in writes that are in flight together.",
    reads: "hashLock.concurrentDataMatches as a share of biosIn.write, where deduplication is off",
    threshold: Threshold::above(1.0, Unit::Percent),
    remedy: "Do not take it for compression: to see compression alone, write content without duplicates (content = { dedupe = \"0%\" }), or let them reach back farther than what is in flight (content = { dedupe = \"50%\", distance = \"10000..100000=100\" }).",
    source: "dm-vdo: dedupe.c joins equal data in a hash lock, whether the index is asked or not",
    check: Check::Stage(matches_without_dedupe),
};

fn matches_without_dedupe(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    facts.settings.get("dedupe").filter(|dedupe| *dedupe == "off")?;
    let stats = stats(facts, stage)?;
    let matches = stats.counted("hashLock.concurrentDataMatches")?;
    let writes = stats.counted("biosIn.write").filter(|n| *n > 0.0)?;
    let share = threshold.passed(100.0 * matches / writes)?;
    Some(Observation {
        severity: Severity::Warning,
        remedy: stage.of_command(
            "Do not take it for compression: to see compression alone, use files without duplicates.",
        ),
        figures: vec![
            threshold.figure("writes that share a block with another in flight", share),
            figure("duplicates written together (concurrent matches)", matches, Unit::Count),
        ],
        ..Observation::default()
    })
}

pub(super) const LESS_FOUND: LayerRule = LayerRule {
    id: "less_found_than_written",
    text: "VDO found fewer duplicates than were written.",
    reads: "hashLock.dedupeAdviceValid and concurrentDataMatches for each write, compared with the duplicates that were measured in what was written",
    threshold: Threshold::above(5.0, Unit::Percent),
    remedy: "Compare how far duplicates reach back (distance, window) with what the index remembers (index_memory, sparse_index), and look at how often a content is repeated: VDO refers to a block 254 times at most.",
    source: "articles on testing deduplication: compare the layer's own ratio with what was asked for",
    check: Check::Stage(less_found),
};

fn less_found(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    facts.settings.get("dedupe").filter(|dedupe| *dedupe == "on")?;
    let achieved = stage.stage.load.as_ref()?.achieved.as_ref()?;
    let written = achieved.duplicate_percent?;
    let stats = stats(facts, stage)?;
    let writes = stats.counted("biosIn.write").filter(|n| *n > 0.0)?;
    let found = stats.counted("hashLock.dedupeAdviceValid")?
        + stats.counted("hashLock.concurrentDataMatches")?;
    let found = 100.0 * found / writes;
    // The error of a small sample may be as large as this.
    let sampled = 3.0 * achieved.duplicate_error_points.unwrap_or(0.0);
    let missing = threshold.passed(written - found - sampled)?;
    Some(Observation {
        severity: Severity::Warning,
        figures: vec![
            threshold.figure("duplicates that VDO did not find, of all writes", missing),
            figure("duplicates written", written, Unit::Percent),
            figure("duplicates found", found, Unit::Percent),
        ],
        ..Observation::default()
    })
}

pub(super) const PACKER_IDLE: LayerRule = LayerRule {
    id: "packer_idle",
    text: "Flushes forced blocks out before they were packed: compression was lost.",
    reads: "share of compressed fragments in all new blocks, where the content can be packed and there were flushes or FUA writes",
    threshold: Threshold::below(90.0, Unit::Percent),
    remedy: "Make writes durable less often (sync = \"fsync:1000\"; O_DSYNC and FUA are never packed), or set compression = false and save its CPU.",
    source: "thesis 5.5; dm-vdo: data-vio.c never packs FUA, a flush empties the packer",
    check: Check::Stage(packer_idle),
};

fn packer_idle(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let stats = stats(facts, stage)?;
    let packs = stage.planned?.load.as_ref()?.fragments_per_block? > 1;
    let flushes = super::writes::flushes(&stats)?;
    if !packs || !compresses(facts) || flushes <= 0.0 {
        return None;
    }
    let fragments = stats.counted("packer.compressedFragmentsWritten")?;
    let blocks = stats.counted("packer.compressedBlocksWritten")?;
    let alone = (stats.counted("biosOutCompleted.write")? - blocks).max(0.0);
    if fragments + alone <= 0.0 {
        return None;
    }
    let share = threshold.passed(100.0 * fragments / (fragments + alone))?;
    let of_load = never_durable(stage);
    // Where the flushes come from a layer above, the only remedy is to save the CPU time of compression.
    let changes = match &*of_load {
        [] => vec![("compression", "false".into())],
        _ => Vec::new(),
    };
    Some(Observation {
        figures: vec![
            threshold.figure("new blocks that were packed", share),
            figure("blocks stored compressed (fragments)", fragments, Unit::Count),
            figure("blocks stored whole", alone, Unit::Blocks),
            figure("flushes and FUA writes", flushes, Unit::Count),
        ],
        explains_percent: Some(100.0 - share),
        changes,
        of_load,
        ..Observation::default()
    })
}

pub(super) const ADVICE_LATE: LayerRule = LayerRule {
    id: "advice_late",
    text: "The index answered too late: duplicates among such blocks were stored again.",
    reads: "dedupeAdviceTimeouts for each write",
    threshold: Threshold::above(1.0, Unit::Percent),
    remedy: "Put the index on a faster device, or set dedupe = false where speed counts.",
    source: "dm-vdo: dedupe.c gives the index 5 s",
    check: Check::Stage(advice_late),
};

fn advice_late(
    facts: &RuleFacts,
    stage: &MeasuredStage,
    threshold: ThresholdTest,
) -> Option<Observation> {
    let stats = stats(facts, stage)?;
    let written = stats.counted("biosIn.write").filter(|n| *n > 0.0)?;
    let late = stats.counted("dedupeAdviceTimeouts")?;
    let share = threshold.passed(100.0 * late / written)?;
    Some(Observation {
        severity: Severity::Warning,
        figures: vec![
            threshold.figure("writes without an answer", share),
            figure("answers that came too late", late, Unit::Count),
        ],
        explains_percent: Some(share.min(100.0)),
        changes: vec![("dedupe", "false".into())],
        ..Observation::default()
    })
}
