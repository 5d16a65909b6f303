//! The generator against real dm-vdo: one volume, a stretch of it for each ask, written once, the volume brought to rest and its
//! statistics read after each.

use results::ResultSet;
use results::model::{CellState, Row, SampleRow};
use serde::{Deserialize, Serialize};

use crate::content::grid::Ask;

/// Marks of the readings at rest: before the first stage, and after each.
const ALLOCATED: &str = "allocated";
const SETTLED: &str = "stage_settled";

/// The blocks that VDO stored for one ask, and the shares that follow.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// The ask.
    pub ask: Ask,
    /// Blocks written.
    pub written_blocks: f64,
    /// Physical blocks that VDO used for them: growth of `dataBlocksUsed`.
    pub data_blocks: f64,
    /// Fragments that the packer wrote.
    pub fragments: f64,
    /// Blocks that the packer filled with them.
    pub packed_blocks: f64,
    /// Duplicates, percent of the written blocks: those that were stored neither whole nor as a fragment.
    pub duplicate_percent: f64,
    /// Saving of the packer on the others, percent.
    pub packer_percent: f64,
    /// Saving of VDO on all that was written, percent.
    pub saving_percent: f64,
    /// The largest distance from what was asked for, percentage points: of duplicates, of the packer's saving less its tail,
    /// of the whole saving.
    pub error_points: f64,
}

/// The experiment: for each ask enough bytes that `distinct` blocks are not duplicates, in stages of one cell.
pub fn experiment(asks: &[Ask], distinct: u64) -> String {
    let all: u64 = asks.iter().map(|ask| ask.bytes(distinct)).sum();
    let gib = all.div_ceil(1 << 30);
    let mut text = format!(
        "name = \"generator-on-vdo\"\n\
         about = \"What dm-vdo stores of content with a known share of duplicates and a known saving of the packer\"\n\
         repeat = 1\n\
         [devices.data]\nsize = \"{}G\"\n\
         [[stack]]\nlayer = \"vdo\"\non = \"data\"\nlogical_size = \"{gib}G\"\n\
         [[stage]]\ndo = \"allocate\"\n",
        gib + 6
    );
    let mut offset = 0;
    for (n, ask) in asks.iter().enumerate() {
        let bytes = ask.bytes(distinct);
        text.push_str(&format!(
            "[[stage]]\ndo = \"load\"\nname = \"{}\"\nmeasure = true\nsettle = true\n\
             ops = {{ write = 100 }}\nblock_size = \"64k\"\ndepth = 8\npasses = 1\n\
             offset = {offset}\nsize = {bytes}\n\
             content = {{ dedupe = \"{}%\", vdo_saving = \"{}%\" }}\n",
            name(n, *ask),
            ask.duplicate_percent,
            ask.packer_percent,
        ));
        offset += bytes;
    }
    text
}

fn name(n: usize, ask: Ask) -> String {
    format!("{n:02}-d{}-p{}", ask.duplicate_percent, ask.packer_percent)
}

/// Reads from the result of [`experiment()`] what VDO stored for each ask.
///
/// # Errors
/// When a part of the result is missing; the error names it.
pub fn stored(result: &ResultSet, asks: &[Ask], distinct: u64) -> Result<Vec<Stored>, String> {
    let cell = result.cells.first().ok_or("the result holds no cell")?;
    let record = cell.record.as_ref().ok_or("the cell was never recorded")?;
    if record.state != CellState::Done {
        let reason = record.reason.as_deref().unwrap_or("no reason is known");
        return Err(format!("the cell is not done: {reason}"));
    }
    let rest: Vec<&SampleRow> = cell
        .rows
        .iter()
        .filter_map(|row| match row {
            Row::Sample(sample) => Some(sample),
            _ => None,
        })
        .filter(|s| s.source == "vdo.stats")
        .filter(|s| s.mark.as_deref().is_some_and(|mark| [ALLOCATED, SETTLED].contains(&mark)))
        .collect();
    if rest.len() != asks.len() + 1 {
        return Err(format!("VDO was read {} times, not {}", rest.len(), asks.len() + 1));
    }
    let pairs = asks.iter().zip(rest.windows(2));
    pairs.map(|(&ask, pair)| growth(ask, pair[0], pair[1], ask.bytes(distinct))).collect()
}

fn growth(ask: Ask, before: &SampleRow, after: &SampleRow, bytes: u64) -> Result<Stored, String> {
    let grown = |field: &str| {
        let get = |row: &SampleRow| row.fields.get(field).copied().flatten();
        get(after)
            .zip(get(before))
            .map(|(after, before)| after - before)
            .ok_or_else(|| format!("VDO's statistics do not hold {field}"))
    };
    let written_blocks = (bytes / reduce::BLOCK as u64) as f64;
    let data_blocks = grown("dataBlocksUsed")?;
    let fragments = grown("packer.compressedFragmentsWritten")?;
    let packed_blocks = grown("packer.compressedBlocksWritten")?;
    let unique = data_blocks - packed_blocks + fragments;
    let saved = |left: f64, of: f64| 100.0 * (1.0 - left / of);
    let duplicate_percent = saved(unique, written_blocks);
    let packer_percent = saved(data_blocks, unique);
    let saving_percent = saved(data_blocks, written_blocks);
    // No packer can save the tail: the last flush finds a bin half full, which takes one physical block.
    let tail_points = 100.0 / unique.max(1.0);
    let expected = saved(ask.expected_blocks(written_blocks), written_blocks);
    let error_points = (duplicate_percent - ask.duplicate_percent)
        .abs()
        .max((packer_percent - ask.packer_percent).abs() - tail_points)
        .max((saving_percent - expected).abs());
    Ok(Stored {
        ask,
        written_blocks,
        data_blocks,
        fragments,
        packed_blocks,
        duplicate_percent,
        packer_percent,
        saving_percent,
        error_points,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::content::grid::{DUPLICATES, SAVINGS, grid};

    fn stored(data: f64, fragments: f64, packed: f64) -> Stored {
        let ask = Ask { duplicate_percent: 50.0, packer_percent: 50.0 };
        let row = |values: [f64; 3]| SampleRow {
            at_ns: 0,
            source: "vdo.stats".into(),
            cost_ns: 0,
            cost_cpu_ns: 0,
            mark: None,
            fields: [
                "dataBlocksUsed",
                "packer.compressedFragmentsWritten",
                "packer.compressedBlocksWritten",
            ]
            .map(str::to_owned)
            .into_iter()
            .zip(values.map(Some))
            .collect(),
            error: None,
        };
        let (before, after) =
            (row([5.0, 6.0, 7.0]), row([5.0 + data, 6.0 + fragments, 7.0 + packed]));
        growth(ask, &before, &after, 1000 * 4096).unwrap()
    }

    #[test]
    fn what_vdo_keeps_is_taken_apart_into_duplicates_and_packing() {
        let exact = stored(250.0, 500.0, 250.0);
        assert_eq!((exact.duplicate_percent, exact.packer_percent), (50.0, 50.0));
        assert_eq!(exact.saving_percent, 75.0);
        assert_eq!(exact.error_points, 0.0);
        // Two blocks at the end found no company.
        assert!(stored(251.0, 498.0, 249.0).error_points < 0.15);
        // VDO missed a tenth of the duplicates, or the packer could not pack a tenth of the blocks.
        assert!(stored(275.0, 550.0, 275.0).error_points > 2.0);
        assert!(stored(275.0, 450.0, 225.0).error_points > 2.0);
    }

    #[test]
    fn the_experiment_has_a_stretch_of_the_volume_for_each_ask() {
        let text = experiment(&grid(&DUPLICATES, &SAVINGS), 8192);
        assert_eq!(text.matches("do = \"load\"").count(), 30);
        // 32, 48, 64, 128 and 320 MiB for the shares of duplicates.
        assert!(text.contains("logical_size = \"4G\""), "{text}");
        let last = (6u64 * (32 + 48 + 64 + 128) + 5 * 320) << 20;
        assert!(text.contains(&format!("offset = {last}\nsize = {}\n", 320 << 20)), "{text}");
    }
}
