//! Rules about the work of a volume while it was watched.

use results::model::Severity;
use units::Unit;

use crate::rule::{Observation, StandingRule, Threshold, figure};

pub(super) const MISSES: StandingRule = StandingRule {
    id: "vdo_map_misses",
    text: "The block map cache is too small for the present work: I/Os wait for pages of the block map.",
    reads: "blockMap.pagesLoaded for each read and write (dmsetup message NODE 0 stats), while it was watched, of at least 1,000 I/Os",
    threshold: Threshold::above(5.0, Unit::Percent),
    remedy: "A larger block_map_cache: 4 KiB for each 3.2 MiB that I/Os go over (lvchange --vdosettings 'block_map_cache_size_mb=N' with the pool down). Where the volume has just been started, it may be the first time that pages are needed: watch again.",
    source: "thesis 5.3; the rule block_map_misses",
    check: |facts, threshold| {
        let ios = facts.node.number("biosIn.read")? + facts.node.number("biosIn.write")?;
        let ios = (ios >= facts.least(10_000.0)).then_some(ios)?;
        let loaded = facts.node.number("blockMap.pagesLoaded")?;
        let miss = threshold.passed(100.0 * loaded / ios)?;
        let figures = vec![
            threshold.figure("I/Os that loaded a page", miss),
            figure("I/Os", ios, Unit::Count),
        ];
        Some(Observation { severity: Severity::Warning, figures, ..Observation::default() })
    },
};
