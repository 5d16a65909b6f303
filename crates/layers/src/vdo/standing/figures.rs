//! Figures of a volume that several rules read, from whichever text contains them.

use crate::standing::Node;

/// Space used as a share of what metadata leave, percent: from the statistics, else from the status line or vdostats, which count metadata as used.
pub(super) fn used_percent(node: &Node) -> Option<f64> {
    let counted = || {
        let overhead = node.number("overheadBlocksUsed")?;
        let room = node.number("physicalBlocks")? - overhead;
        (room > 0.0).then_some(100.0 * node.number("dataBlocksUsed")? / room)
    };
    counted()
        .or_else(|| node.percent("used_blocks", "total_blocks"))
        .or_else(|| node.number("use_percent"))
}

/// Space saved as a share of what is stored, percent; zero blocks count, as in vdostats.
pub(super) fn saving_percent(node: &Node) -> Option<f64> {
    let counted = || {
        let logical = node.number("logicalBlocksUsed").filter(|blocks| *blocks > 0.0)?;
        Some(100.0 * (logical - node.number("dataBlocksUsed")?) / logical)
    };
    counted().or_else(|| node.number("saving_percent"))
}

/// The setting of a number of threads of one kind; 0 where the table does not name it and the kernel's default is none.
pub(super) fn threads(node: &Node, key: &str) -> Option<f64> {
    node.setting("logical_size")?;
    node.count(key).or(match key {
        "bio_threads" => Some(4.0),
        "cpu_threads" | "ack_threads" => Some(1.0),
        _ => Some(0.0),
    })
}
