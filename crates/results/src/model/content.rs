//! Figures of content, which tell how far it dedupes and compresses: asked values, achieved values, and their names.

use serde::{Deserialize, Serialize};

/// Content that was asked for; `None` for every figure that was not asked for.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AskedContent {
    /// Share of duplicates among all written blocks, percent; `None` where duplicates were asked for among the blocks that addresses hold (below).
    pub duplicate_percent: Option<f64>,
    /// Saving of LZ4 that was asked for on distinct blocks that are not zero, percent.
    pub lz4_saving_percent: Option<f64>,
    /// Share of zero blocks among all written blocks, percent.
    pub zero_percent: Option<f64>,
    /// LZ4 size of a distinct block, bytes; `None` where sizes differ.
    pub lz4_size_mean_bytes: Option<f64>,
    /// Saving that VDO's packer reaches with the asked content on distinct blocks that are not zero, without flushes, percent.
    #[serde(default)]
    pub packer_saving_percent: Option<f64>,
    /// Duplicates among all blocks that addresses hold, percent.
    #[serde(default)]
    pub live_duplicate_percent: Option<f64>,
}

/// Content that was achieved, measured from the bytes handed to the kernel.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct AchievedContent {
    /// Share of duplicates among all written blocks, percent.
    pub duplicate_percent: Option<f64>,
    /// Saving of LZ4 on distinct blocks that are not zero, percent.
    pub lz4_saving_percent: Option<f64>,
    /// Share of zero blocks among all written blocks, percent.
    pub zero_percent: Option<f64>,
    /// Blocks of content that were written.
    pub blocks: Option<u64>,
    /// Blocks of content in the sample that the figures rest on.
    pub blocks_sampled: Option<u64>,
    /// Standard error of `duplicate_percent`, points; 0 when every block was seen.
    pub duplicate_error_points: Option<f64>,
    /// Mean LZ4 size of a distinct block, bytes.
    pub lz4_size_mean_bytes: Option<f64>,
    /// Smallest LZ4 size of a distinct block, bytes.
    #[serde(default)]
    pub lz4_size_min_bytes: Option<u64>,
    /// Largest LZ4 size of a distinct block, bytes.
    #[serde(default)]
    pub lz4_size_max_bytes: Option<u64>,
    /// Saving of VDO's packer on distinct blocks that are not zero, without flushes, percent.
    #[serde(default)]
    pub packer_saving_percent: Option<f64>,
    /// Standard error of `lz4_saving_percent`, points; 0 when the sizes of all contents were taken.
    #[serde(default)]
    pub lz4_saving_error_points: Option<f64>,
    /// Standard error of `packer_saving_percent`, points; 0 when the sizes of all contents were taken.
    #[serde(default)]
    pub packer_saving_error_points: Option<f64>,
    /// Distinct blocks in the sample.
    #[serde(default)]
    pub distinct_blocks: Option<u64>,
    /// Share of duplicates among the blocks that the load wrote and that addresses hold at its end, percent; `None` where that is not known.
    #[serde(default)]
    pub live_duplicate_percent: Option<f64>,
    /// Standard error of `live_duplicate_percent`, points; 0 when every block was seen.
    #[serde(default)]
    pub live_duplicate_error_points: Option<f64>,
    /// Blocks of the load that addresses hold at its end, zero blocks among them.
    #[serde(default)]
    pub live_blocks: Option<u64>,
}

/// One figure of content: its names, and how it is read from the asked and the achieved content.
#[derive(Debug, Clone, Copy)]
pub struct ContentFigure {
    /// Its key in JSON.
    pub id: &'static str,
    /// Its name within a sentence.
    pub name: &'static str,
    /// Its name as a heading.
    pub title: &'static str,
    /// Its name in a line with others.
    pub short: &'static str,
    /// Returns the asked value; `None` for most figures, because they cannot be asked for.
    pub asked: fn(&AskedContent) -> Option<f64>,
    /// Returns the achieved value.
    pub achieved: fn(&AchievedContent) -> Option<f64>,
    /// Its standard error, where it is estimated from a sample of blocks.
    pub error: Option<&'static ContentFigure>,
    /// Half of its 95 % interval, in standard errors.
    errors_of_half: f64,
}

/// Half of a 95 % interval in standard errors, by the normal distribution.
const NORMAL: f64 = 1.96;
/// Half of a 95 % interval in standard errors, by Student's t with 15 degrees of freedom: the saving of VDO's packer is estimated from
/// 16 parts.
const OF_SIXTEEN: f64 = 2.13;

impl ContentFigure {
    /// Returns half of its 95 % interval, from its standard error.
    pub fn half_interval(&self, standard_error: f64) -> f64 {
        standard_error * self.errors_of_half
    }
}

/// Makes a figure that cannot be asked for.
const fn measured_only(
    id: &'static str,
    name: &'static str,
    achieved: fn(&AchievedContent) -> Option<f64>,
) -> ContentFigure {
    let never: fn(&AskedContent) -> Option<f64> = |_| None;
    ContentFigure {
        id,
        name,
        title: name,
        short: name,
        asked: never,
        achieved,
        error: None,
        errors_of_half: NORMAL,
    }
}

const DUPLICATE_ERROR: ContentFigure =
    measured_only("duplicate_error_points", "standard error of the duplicates", |c| {
        c.duplicate_error_points
    });
const LIVE_ERROR: ContentFigure =
    measured_only("live_duplicate_error_points", "standard error of the live duplicates", |c| {
        c.live_duplicate_error_points
    });
const LZ4_ERROR: ContentFigure =
    measured_only("lz4_saving_error_points", "standard error of LZ4's saving", |c| {
        c.lz4_saving_error_points
    });
const PACKER_ERROR: ContentFigure =
    measured_only("packer_saving_error_points", "standard error of the packer's saving", |c| {
        c.packer_saving_error_points
    });

/// The shares, in the order in which they are shown: the figures that can be asked for.
pub const CONTENT_SHARES: [ContentFigure; 5] = [
    ContentFigure {
        id: "duplicate_percent",
        name: "share of duplicates",
        title: "Duplicates among all blocks written",
        short: "duplicates written",
        asked: |c| c.duplicate_percent,
        achieved: |c| c.duplicate_percent,
        error: Some(&DUPLICATE_ERROR),
        errors_of_half: NORMAL,
    },
    ContentFigure {
        id: "live_duplicate_percent",
        name: "share of live duplicates",
        title: "Duplicates among blocks that the addresses hold at the end",
        short: "live",
        asked: |c| c.live_duplicate_percent,
        achieved: |c| c.live_duplicate_percent,
        error: Some(&LIVE_ERROR),
        errors_of_half: NORMAL,
    },
    ContentFigure {
        id: "lz4_saving_percent",
        name: "saving of LZ4",
        title: "Saved by LZ4 on distinct blocks",
        short: "LZ4 saving",
        asked: |c| c.lz4_saving_percent,
        achieved: |c| c.lz4_saving_percent,
        error: Some(&LZ4_ERROR),
        errors_of_half: NORMAL,
    },
    ContentFigure {
        id: "zero_percent",
        name: "share of zero blocks",
        title: "Zero blocks",
        short: "zero",
        asked: |c| c.zero_percent,
        achieved: |c| c.zero_percent,
        error: None,
        errors_of_half: NORMAL,
    },
    ContentFigure {
        id: "packer_saving_percent",
        name: "saving of VDO's packer",
        title: "Saved by VDO's packer on distinct blocks",
        short: "VDO packer's saving",
        asked: |c| c.packer_saving_percent,
        achieved: |c| c.packer_saving_percent,
        error: Some(&PACKER_ERROR),
        errors_of_half: OF_SIXTEEN,
    },
];

/// The figures other than shares: sizes, and the numbers of blocks that the shares rest on, with standard errors.
const BESIDE: [ContentFigure; 8] = [
    ContentFigure {
        id: "lz4_size_mean_bytes",
        name: "mean LZ4 size of a block",
        title: "Mean LZ4 size of a block",
        short: "LZ4 size",
        asked: |c| c.lz4_size_mean_bytes,
        achieved: |c| c.lz4_size_mean_bytes,
        error: None,
        errors_of_half: NORMAL,
    },
    measured_only("blocks", "blocks written", |c| c.blocks.map(|n| n as f64)),
    measured_only("blocks_sampled", "blocks in the sample", |c| c.blocks_sampled.map(|n| n as f64)),
    DUPLICATE_ERROR,
    LZ4_ERROR,
    PACKER_ERROR,
    LIVE_ERROR,
    measured_only("live_blocks", "blocks that the addresses hold", |c| {
        c.live_blocks.map(|n| n as f64)
    }),
];

/// Returns every figure of content that is summarised over repeats.
pub fn content_figures() -> impl Iterator<Item = &'static ContentFigure> {
    CONTENT_SHARES.iter().chain(&BESIDE)
}

/// The figure with this id.
pub fn content_figure(id: &str) -> Option<&'static ContentFigure> {
    content_figures().find(|figure| figure.id == id)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_figure_is_found_under_the_key_that_results_have() {
        let mut seen = std::collections::BTreeSet::new();
        for figure in content_figures() {
            let one = format!("{{\"{}\": 7}}", figure.id);
            let achieved: AchievedContent = serde_json::from_str(&one).unwrap();
            assert_eq!((figure.achieved)(&achieved), Some(7.0), "{}", figure.id);
            let requested: AskedContent = serde_json::from_str(&one).unwrap();
            let takes = serde_json::to_value(AskedContent::default()).unwrap();
            let takes = takes.get(figure.id).is_some();
            assert_eq!((figure.asked)(&requested), takes.then_some(7.0), "{}", figure.id);
            assert!(seen.insert(figure.id), "{} twice", figure.id);
            let error = figure.error.map(|error| error.id);
            assert!(error.is_none_or(|id| content_figure(id).is_some()), "{}", figure.id);
        }
    }

    #[test]
    fn results_that_told_asked_and_achieved_by_one_type_are_read() {
        let old = r#"{"duplicate_percent": 50.0, "lz4_saving_percent": 60.0, "zero_percent": 0.0, "blocks": null,
                      "blocks_sampled": null, "duplicate_error_points": null, "lz4_size_mean_bytes": 1638.0}"#;
        let requested: AskedContent = serde_json::from_str(old).unwrap();
        assert_eq!(requested.duplicate_percent, Some(50.0));
        assert_eq!(requested.packer_saving_percent, None);
        let achieved: AchievedContent = serde_json::from_str(old).unwrap();
        assert_eq!((achieved.zero_percent, achieved.blocks), (Some(0.0), None));
    }
}
