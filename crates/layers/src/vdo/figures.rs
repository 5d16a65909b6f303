//! The figures of a VDO volume from its samples.

use results::model::{AchievedContent, LayerFigures};

use super::threads;
use crate::figures::{Endpoints, FigureFacts, Followed, ratio};

/// Figures that are the growth of what a volume holds, which a restart of the volume keeps.
const HELD: [(&str, &str); 3] = [
    ("data_blocks_used", "dataBlocksUsed"),
    ("logical_blocks_used", "logicalBlocksUsed"),
    ("overhead_blocks_used", "overheadBlocksUsed"),
];
/// Figures that are the growth of a counter; a restart of the volume resets counters.
const COUNTED: [(&str, &str); 16] = [
    ("compressed_fragments", "packer.compressedFragmentsWritten"),
    ("compressed_blocks", "packer.compressedBlocksWritten"),
    ("dedupe_advice_valid", "hashLock.dedupeAdviceValid"),
    ("dedupe_advice_stale", "hashLock.dedupeAdviceStale"),
    ("concurrent_data_matches", "hashLock.concurrentDataMatches"),
    ("dedupe_timeouts", "dedupeAdviceTimeouts"),
    ("bios_in_write", "biosIn.write"),
    ("bios_in_discard", "biosIn.discard"),
    ("bios_out_write", "biosOutCompleted.write"),
    ("bios_meta_write", "biosMetaCompleted.write"),
    ("bios_journal_write", "biosJournalCompleted.write"),
    ("block_map_pages_loaded", "blockMap.pagesLoaded"),
    ("slabs_opened", "allocator.slabsOpened"),
    ("slabs_reopened", "allocator.slabsReopened"),
    ("no_space_errors", "errors.noSpaceErrorCount"),
    ("journal_entries", "journal.entries.committed"),
];

/// Blocks of metadata, whose values between marks are needed, too.
pub(super) const METADATA: Followed = Followed { what: "stats", field: "overheadBlocksUsed" };

/// Share of the growth of metadata in a stage at which the block map counts as allocated: the last pages come one by one.
const MOST_GROWN: f64 = 0.95;

/// Every figure of the catalogue; all `None` when one of the two marked samples is missing.
pub(super) fn figures(facts: &FigureFacts) -> LayerFigures {
    let stats = facts.ends("stats");
    let growth = |field: &str| stats.and_then(|s| s.growth(field));
    let counted = |field: &str| counted(&stats?, field);
    let held = HELD.iter().map(|(id, field)| ((*id).to_owned(), growth(field)));
    let counters = COUNTED.iter().map(|(id, field)| ((*id).to_owned(), counted(field)));
    let mut figures: LayerFigures = held.chain(counters).collect();
    let get = |figures: &LayerFigures, id: &str| figures.get(id).copied().flatten();
    let sum = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
    let data = get(&figures, "data_blocks_used");
    // Where no load wrote and nothing is stored, the logical blocks are the zeros that allocated the map: no data was saved.
    let stored = data.filter(|data| *data > 0.0 || facts.achieved.is_some());
    let logical = get(&figures, "logical_blocks_used");
    let written = get(&figures, "bios_in_write");
    let meta = get(&figures, "bios_meta_write");
    let out = sum(get(&figures, "bios_out_write"), meta);
    let found = sum(get(&figures, "dedupe_advice_valid"), get(&figures, "concurrent_data_matches"));
    let not_zero = not_zero_share(facts.achieved);
    let of = |whole: Option<f64>| Some(whole? * not_zero?);
    let loaded = get(&figures, "block_map_pages_loaded");
    let fragments = get(&figures, "compressed_fragments");
    let packed = get(&figures, "compressed_blocks");
    let percent = |share: Option<f64>| share.map(|s| 100.0 * s);
    let derived = [
        ("saving_percent", saving(stored, logical)),
        ("saving_without_zero_percent", saving(stored, of(logical))),
        ("fragments_per_block", ratio(fragments, packed)),
        ("duplicates_found", found),
        ("duplicates_found_percent", percent(ratio(found, of(written)))),
        ("write_amplification", ratio(out, written)),
        ("metadata_writes_per_write", ratio(meta, written)),
        ("block_map_miss_percent", percent(ratio(loaded, written))),
        ("vdo_cpu_s", cpu(facts)),
        ("vdo_cpu_per_io_us", ratio(cpu(facts).map(|s| s * 1e6), facts.ios.map(|ios| ios as f64))),
        ("allocation_time_s", facts.seconds_until(&METADATA, MOST_GROWN)),
        ("in_flight_max", stats.and_then(|stats| stats.end("maxVIOs"))),
        ("memory_bytes", stats.and_then(|stats| stats.end("memoryUsage.bytesUsed"))),
        ("metadata_blocks", stats.and_then(|stats| stats.end("overheadBlocksUsed"))),
        ("index_entries", stats.and_then(|stats| stats.end("index.entriesIndexed"))),
        ("physical_used_percent", percent(physical_used(stats))),
        ("logical_used_percent", percent(level_ratio(stats, "logicalBlocksUsed", "logicalBlocks"))),
    ];
    figures.extend(derived.map(|(id, value)| (id.to_owned(), value)));
    figures.extend(threads::figures(facts));
    figures
}

/// Returns the growth of a counter; `None` if the volume was restarted in between.
pub(super) fn counted(stats: &Endpoints, field: &str) -> Option<f64> {
    stats.growth(field).filter(|growth| *growth >= 0.0 && !restarted(stats))
}

/// Tells whether the volume was restarted in between: a counter fell, or its instance number changed.
fn restarted(stats: &Endpoints) -> bool {
    let shrank =
        COUNTED.iter().any(|(_, field)| stats.growth(field).is_some_and(|grew| grew < 0.0));
    shrank || stats.growth("instance").is_some_and(|other| other != 0.0)
}

/// Data blocks, as a share of the physical blocks that metadata leaves.
fn physical_used(stats: Option<Endpoints>) -> Option<f64> {
    let stats = stats?;
    let room = stats.end("physicalBlocks")? - stats.end("overheadBlocksUsed")?;
    ratio(stats.end("dataBlocksUsed"), Some(room))
}

/// One field of the statistics at the end, as a share of another.
fn level_ratio(stats: Option<Endpoints>, part: &str, whole: &str) -> Option<f64> {
    let stats = stats?;
    ratio(stats.end(part), stats.end(whole))
}

/// Growth of data blocks divided by growth of logical blocks: above this number the writes replaced blocks that were there before.
const MORE_DATA: f64 = 1.002;

/// 100 x (1 - data / logical), percent; `None` if data grew more than logical blocks or shrank (earlier blocks were replaced), or if
/// nothing grew (only discards).
fn saving(data: Option<f64>, logical: Option<f64>) -> Option<f64> {
    let logical = logical.filter(|logical| *logical > 0.0);
    let share = ratio(data, logical).filter(|share| (0.0..=MORE_DATA).contains(share));
    share.map(|share| 100.0 * (1.0 - share.min(1.0)))
}

/// Share of written blocks that are not zero. VDO maps zero blocks without storing them and does not count
/// them separately, so that their number can come from the written content only.
fn not_zero_share(achieved: Option<&AchievedContent>) -> Option<f64> {
    Some(1.0 - achieved?.zero_percent? / 100.0)
}

/// CPU seconds of all threads between the marks; `None` if the time of one is not known.
fn cpu(facts: &FigureFacts) -> Option<f64> {
    let ends = facts.ends("threads")?;
    // The CPU time of threads begins at 0 after a restart of the volume.
    let grown =
        threads::grown(&ends, |_| true).filter(|all| all.iter().all(|grew| *grew >= 0.0))?;
    (!grown.is_empty()).then(|| grown.iter().sum())
}

#[cfg(test)]
mod tests {
    use results::model::SampleRow;

    use super::*;
    use crate::figures::given::sample;
    use crate::figures::{ALLOCATED, SETTLED, Window};

    const S: u64 = 1_000_000_000;

    /// 1000 blocks, 10 % zero, half of the rest duplicates, three fragments to a block.
    fn rows() -> Vec<SampleRow> {
        let before = [
            ("dataBlocksUsed", 5.0),
            ("logicalBlocksUsed", 100.0),
            ("packer.compressedFragmentsWritten", 0.0),
            ("packer.compressedBlocksWritten", 0.0),
            ("hashLock.dedupeAdviceValid", 0.0),
            ("hashLock.concurrentDataMatches", 0.0),
            ("biosIn.write", 100.0),
            ("biosOutCompleted.write", 0.0),
            ("biosMetaCompleted.write", 50.0),
        ];
        let after = [
            ("dataBlocksUsed", 155.0),
            ("logicalBlocksUsed", 1100.0),
            ("packer.compressedFragmentsWritten", 450.0),
            ("packer.compressedBlocksWritten", 150.0),
            ("hashLock.dedupeAdviceValid", 400.0),
            ("hashLock.concurrentDataMatches", 50.0),
            ("biosIn.write", 1100.0),
            ("biosOutCompleted.write", 150.0),
            ("biosMetaCompleted.write", 150.0),
        ];
        vec![
            sample(S, "vdo.stats", ALLOCATED, &before),
            sample(S, "vdo.threads", ALLOCATED, &[("journalQ", 1.0), ("logQ0", 2.0)]),
            sample(9 * S, "vdo.stats", SETTLED, &after),
            sample(9 * S, "vdo.threads", SETTLED, &[("journalQ", 1.5), ("logQ0", 2.25)]),
        ]
    }

    fn of(rows: &[SampleRow], achieved: Option<&AchievedContent>) -> LayerFigures {
        figures(&FigureFacts {
            layer: "vdo",
            window: &Window::of_cell(rows),
            achieved,
            ios: Some(250_000),
        })
    }

    #[test]
    fn the_saving_is_of_growth_and_a_second_one_leaves_zeros_out() {
        let achieved = AchievedContent { zero_percent: Some(10.0), ..AchievedContent::default() };
        let figures = of(&rows(), Some(&achieved));
        let near = |id: &str, want: f64| {
            let value = figures[id].unwrap();
            assert!((value - want).abs() < 1e-9 * want.max(1.0), "{id}: {value}");
        };
        near("saving_percent", 85.0);
        near("saving_without_zero_percent", 100.0 * (1.0 - 150.0 / 900.0));
        near("fragments_per_block", 3.0);
        near("duplicates_found", 450.0);
        near("duplicates_found_percent", 50.0);
        near("write_amplification", 0.25);
        near("vdo_cpu_s", 0.75);
        near("vdo_cpu_per_io_us", 3.0);
        near("journal_thread_percent", 100.0 * 0.5 / 8.0);
        near("busiest_thread_percent", 100.0 * 0.5 / 8.0);
        near("logical_thread_percent", 100.0 * 0.25 / 8.0);
        assert_eq!(figures["hash_thread_percent"], None, "no such thread is there");
    }

    #[test]
    fn a_thread_that_was_born_meanwhile_counts_whole_and_one_that_is_gone_leaves_no_sum() {
        let mut born = rows();
        born[3].fields.insert("indexW".into(), Some(0.5));
        let figures = of(&born, None);
        assert_eq!(figures["vdo_cpu_s"], Some(1.25));
        assert_eq!(figures["index_thread_percent"], Some(100.0 * 0.5 / 8.0));
        let mut gone = rows();
        gone[1].fields.insert("indexW".into(), Some(0.5));
        let figures = of(&gone, None);
        assert_eq!(figures["vdo_cpu_s"], None);
        assert_eq!(figures["index_thread_percent"], None);
        assert_eq!(figures["journal_thread_percent"], Some(100.0 * 0.5 / 8.0));
        let mut unread = rows();
        unread[1].fields.clear();
        assert_eq!(of(&unread, None)["vdo_cpu_s"], None, "nobody saw where they began");
    }

    #[test]
    fn discards_save_nothing_and_what_is_stored_as_it_is_saves_0_percent() {
        assert_eq!(saving(Some(-8192.0), Some(-8192.0)), None);
        assert_eq!(saving(Some(0.0), Some(-8192.0)), None);
        assert_eq!(saving(Some(0.0), Some(0.0)), None);
        assert_eq!(saving(Some(8193.0), Some(8192.0)), Some(0.0));
        assert_eq!(saving(Some(9000.0), Some(100.0)), None);
    }

    #[test]
    fn a_volume_that_was_brought_up_anew_keeps_its_saving_and_counts_nothing() {
        let mut rows = rows();
        rows[2].fields.insert("biosIn.write".into(), Some(3.0));
        let figures = of(&rows, None);
        assert_eq!(figures["saving_percent"], Some(85.0));
        assert_eq!(figures["bios_out_write"], None);
        assert_eq!(figures["write_amplification"], None);
    }

    #[test]
    fn how_full_it_is_leaves_metadata_out() {
        let mut rows = rows();
        for (field, value) in
            [("physicalBlocks", 1000.0), ("overheadBlocksUsed", 690.0), ("logicalBlocks", 4400.0)]
        {
            rows[2].fields.insert(field.into(), Some(value));
        }
        let figures = of(&rows, None);
        assert_eq!(figures["physical_used_percent"], Some(50.0));
        assert_eq!(figures["logical_used_percent"], Some(25.0));
    }

    #[test]
    fn allocation_has_taken_as_long_as_metadata_grew() {
        let mut rows = rows();
        for (row, blocks) in [(0, 1000.0), (2, 1400.0)] {
            rows[row].fields.insert("overheadBlocksUsed".into(), Some(blocks));
        }
        let grown = of(&rows, None)["allocation_time_s"].unwrap();
        // Evenly over the 8 s between the only two samples.
        assert!((grown - 0.95 * 8.0).abs() < 1e-9, "{grown}");
        rows[2].fields.insert("overheadBlocksUsed".into(), Some(1000.0));
        assert_eq!(of(&rows, None)["allocation_time_s"], None);
    }

    #[test]
    fn what_cannot_be_known_is_none_and_never_zero() {
        let figures = of(&rows(), None);
        assert_eq!(figures["saving_without_zero_percent"], None, "nobody counted the zeros");
        assert_eq!(figures["slabs_reopened"], None, "the field was not there");
        let half = of(&rows()[..2], None);
        assert!(half.values().all(Option::is_none));
    }

    #[test]
    fn growth_of_data_beyond_that_of_logical_blocks_tells_no_saving() {
        for (data, known) in [(1005.0, true), (1006.0, true), (1010.0, false), (4.0, false)] {
            let mut rows = rows();
            rows[2].fields.insert("dataBlocksUsed".into(), Some(data));
            let saving = of(&rows, None)["saving_percent"];
            assert_eq!(saving.is_some(), known, "{data}: {saving:?}");
        }
    }

    #[test]
    fn zeros_are_saved_where_they_were_written_and_a_volume_without_data_tells_nothing() {
        let mut rows = rows();
        rows[2].fields.insert("dataBlocksUsed".into(), Some(5.0));
        assert_eq!(of(&rows, None)["saving_percent"], None);
        let zeros = AchievedContent { zero_percent: Some(100.0), ..AchievedContent::default() };
        assert_eq!(of(&rows, Some(&zeros))["saving_percent"], Some(100.0));
    }

    #[test]
    fn nothing_packed_has_no_fragments_per_block() {
        let mut rows = rows();
        let last = &mut rows[2].fields;
        last.insert("packer.compressedFragmentsWritten".into(), Some(0.0));
        last.insert("packer.compressedBlocksWritten".into(), Some(0.0));
        let figures = of(&rows, None);
        assert_eq!(figures["compressed_fragments"], Some(0.0));
        assert_eq!(figures["fragments_per_block"], None);
    }
}
