//! The generator against real dm-vdo: one volume, a stretch of it for each ask, written once, the volume brought to rest and its
//! statistics read after each.

use results::ResultSet;
use results::model::{CellState, Row, SampleRow};
use serde::{Deserialize, Serialize};

use crate::content::grid::Ask;

/// What VDO made of one ask.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// What was asked for.
    pub ask: Ask,
    /// Blocks written.
    pub written_blocks: f64,
    /// Physical blocks that VDO used for them: growth of `dataBlocksUsed`.
    pub data_blocks: f64,
    /// Fragments that the packer wrote.
    pub fragments: f64,
    /// Blocks that the packer filled with them.
    pub packed_blocks: f64,
    /// Duplicates, percent of what was written: what was stored neither whole nor as a fragment.
    pub duplicate_percent: f64,
    /// What the packer saved on the others, percent.
    pub packer_percent: f64,
    /// What VDO saved of all that was written, percent.
    pub saving_percent: f64,
}

impl Stored {
    /// The largest distance from what was asked for, percentage points: of duplicates, of the packer's saving less its tail,
    /// of the whole saving.
    ///
    /// The *tail* is what no packer saves: bins that the last flush finds half full, one physical block of each size at most.
    pub fn error_points(&self) -> f64 {
        let unique = self.written_blocks * (1.0 - self.ask.duplicate_percent / 100.0);
        let tail_points = 100.0 / unique.max(1.0);
        let duplicates = (self.duplicate_percent - self.ask.duplicate_percent).abs();
        let packer = (self.packer_percent - self.ask.packer_percent).abs() - tail_points;
        let whole = 100.0 * (1.0 - self.ask.expected_blocks(1.0)) - self.saving_percent;
        duplicates.max(packer).max(whole.abs())
    }
}

/// The experiment: `bytes` for each ask, in stages of one cell.
pub fn experiment(asks: &[Ask], bytes: u64) -> String {
    let gib = (bytes * asks.len() as u64).div_ceil(1 << 30);
    let mut text = format!(
        "name = \"generator-on-vdo\"\n\
         about = \"What dm-vdo stores of content with a known share of duplicates and a known saving of the packer\"\n\
         repeat = 1\n\
         [devices.data]\nsize = \"{}G\"\n\
         [[stack]]\nlayer = \"vdo\"\non = \"data\"\nlogical_size = \"{gib}G\"\n\
         [[stage]]\ndo = \"allocate\"\nsettle = true\n",
        gib + 6
    );
    for (n, ask) in asks.iter().enumerate() {
        text.push_str(&format!(
            "[[stage]]\ndo = \"load\"\nname = \"{}\"\nmeasure = true\nsettle = true\n\
             ops = {{ write = 100 }}\nblock_size = \"64k\"\ndepth = 8\npasses = 1\n\
             offset = {}\nsize = {bytes}\n\
             content = {{ dedupe = \"{}%\", compress = \"{}\" }}\n",
            name(n, *ask),
            n as u64 * bytes,
            ask.duplicate_percent,
            ratio(ask.packer_percent),
        ));
    }
    text
}

/// The ratio at which the packer saves this much.
fn ratio(percent: f64) -> String {
    let k = (1.0 / (1.0 - percent / 100.0)).round();
    if k < 2.0 { "none".into() } else { format!("{:.2}x", 4096.0 / (4060.0 / k).floor() + 0.01) }
}

fn name(n: usize, ask: Ask) -> String {
    format!("{n:02}-d{}-p{}", ask.duplicate_percent, ask.packer_percent)
}

/// Reads what VDO stored of each ask from the result of [`experiment`].
///
/// # Errors
/// Which part of the result is missing.
pub fn stored(result: &ResultSet, asks: &[Ask], bytes: u64) -> Result<Vec<Stored>, String> {
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
        .filter(|s| s.source == "vdo.stats" && s.mark.as_deref() == Some("stage_settled"))
        .collect();
    if rest.len() != asks.len() + 1 {
        return Err(format!("VDO was read {} times, not {}", rest.len(), asks.len() + 1));
    }
    let pairs = asks.iter().zip(rest.windows(2));
    pairs.map(|(&ask, pair)| growth(ask, pair[0], pair[1], bytes)).collect()
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
    Ok(Stored {
        ask,
        written_blocks,
        data_blocks,
        fragments,
        packed_blocks,
        duplicate_percent: 100.0 * (1.0 - unique / written_blocks),
        packer_percent: 100.0 * (1.0 - data_blocks / unique),
        saving_percent: 100.0 * (1.0 - data_blocks / written_blocks),
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
        assert_eq!(exact.error_points(), 0.0);
        // Two blocks at the end found no company.
        assert!(stored(251.0, 498.0, 249.0).error_points() < 0.15);
        // VDO missed a tenth of the duplicates, or the packer could not pack a tenth of the blocks.
        assert!(stored(275.0, 550.0, 275.0).error_points() > 2.0);
        assert!(stored(275.0, 450.0, 225.0).error_points() > 2.0);
    }

    #[test]
    fn the_experiment_has_a_stretch_of_the_volume_for_each_ask() {
        let text = experiment(&grid(&DUPLICATES, &SAVINGS), 64 << 20);
        assert_eq!(text.matches("do = \"load\"").count(), 30);
        assert!(text.contains("logical_size = \"2G\""), "{text}");
        let last = 29u64 * (64 << 20);
        assert!(text.contains(&format!("offset = {last}\n")));
    }
}
