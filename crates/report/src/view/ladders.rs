//! Latency by layer: a ladder for each measured stage of each variant.

use analysis::{Analysis, StageLadder};

/// The ladder of a measured stage of a variant.
#[derive(Debug, Clone, PartialEq)]
pub struct LadderRow {
    /// The ladder that the analysis built.
    pub stage_ladder: StageLadder,
    /// The variant, and the stage where there are several.
    pub name: String,
    /// The layer that made the 99th percentile, or why none is named, in a sentence.
    pub text: String,
}

/// Returns all ladders.
pub fn ladders(analysis: &Analysis) -> Vec<LadderRow> {
    let row = |of: &StageLadder| {
        let variant = analysis.variants.get(of.variant).map_or("", |v| v.name.as_str());
        let name = match analysis.stages.len() {
            0 | 1 => variant.to_owned(),
            _ => format!("{variant}, {}", of.stage),
        };
        LadderRow { text: format!("{name}: {}.", of.ladder.says()), name, stage_ladder: of.clone() }
    };
    analysis.ladders.iter().map(row).collect()
}
