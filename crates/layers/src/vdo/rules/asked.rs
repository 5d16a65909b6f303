//! What the kernel runs beside what was asked for.

use results::model::Severity;

use super::super::geometry::BLOCK;
use super::size;
use crate::rule::{Bar, Check, LayerRule, Noticed, RuleFacts};

pub(super) const TABLE_NOT_AS_ASKED: LayerRule = LayerRule {
    id: "table_not_as_asked",
    text: "The volume does not run with the settings that were asked for.",
    reads: "threads, block map cache and period in the table that the kernel runs",
    threshold: None,
    remedy: "Take via = \"table\", which hands every setting to the kernel itself, or a newer lvm2.",
    source: "dm-vdo's table; lvm2 writes it from its metadata",
    check: Check::Cell(table_not_as_asked),
};

/// Settings by the words of the table.
const KEYS: [(&str, &str); 7] = [
    ("ack", "ack_threads"),
    ("bio", "bio_threads"),
    ("bioRotationInterval", "bio_rotation"),
    ("cpu", "cpu_threads"),
    ("hash", "hash_zone_threads"),
    ("logical", "logical_threads"),
    ("physical", "physical_threads"),
];

/// `0 LENGTH vdo V4 DEVICE BLOCKS IO-SIZE CACHE PERIOD [KEY VALUE]...`, as the kernel keeps it.
fn table_not_as_asked(facts: &RuleFacts, _: Bar) -> Option<Noticed> {
    // A volume that came up anew with other settings runs with those.
    if facts.planned.iter().any(|stage| stage.kind == "layer") {
        return None;
    }
    let table = facts.facts.get(&format!("{}.table", facts.layer))?;
    let words: Vec<&str> = table.split_whitespace().collect();
    let (fixed, pairs) = words.split_at_checked(9)?;
    let asked = |key: &str| facts.settings.get(key).map(String::as_str);
    let mut wrong = Vec::new();
    let mut compare = |key: &str, runs: &str| {
        if let Some(asked) = asked(key).filter(|asked| *asked != runs) {
            wrong.push(format!("{key}: asked {asked}, runs {runs}"));
        }
    };
    compare("minimum_io_size", fixed[6]);
    compare("block_map_period", fixed[8]);
    for [word, runs] in pairs.chunks_exact(2).filter_map(|pair| pair.first_chunk()) {
        if let Some((_, key)) = KEYS.iter().find(|(own, _)| own == word) {
            compare(key, runs);
        }
    }
    let cache = fixed[7].parse::<u64>().ok()?.saturating_mul(BLOCK);
    if let Some(asked) = size(facts.settings, "block_map_cache").filter(|asked| *asked != cache) {
        wrong.push(format!("block_map_cache: asked {asked} B, runs {cache} B"));
    }
    (!wrong.is_empty()).then(|| Noticed {
        severity: Severity::Warning,
        evidence: wrong.join("; "),
        ..Noticed::default()
    })
}
