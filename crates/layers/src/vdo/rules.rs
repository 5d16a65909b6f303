//! What the doctor knows about VDO: figures that mean less than they seem to.

use results::model::{Finding, SampleRow, Severity};

use super::geometry::{PACKED_BYTES, PACKED_SLOTS};
use crate::figures::{Ends, STAGE_END, STAGE_START};
use crate::kind::RuleFacts;

/// Findings of one cell.
pub(super) fn rules(facts: &RuleFacts) -> Vec<Finding> {
    let rules = [map_unallocated, content_not_packable, index_not_as_asked, out_of_space];
    rules.iter().filter_map(|rule| rule(facts)).collect()
}

fn finding(facts: &RuleFacts, rule: &str, severity: Severity) -> Finding {
    Finding {
        rule: rule.to_owned(),
        severity,
        subject: Some(facts.layer.to_owned()),
        message: String::new(),
        evidence: String::new(),
        remedy: String::new(),
    }
}

/// The statistics at the start and at the end of the last stage that has both.
fn last_stage<'a>(facts: &RuleFacts<'a>) -> Option<Ends<'a>> {
    let source = format!("{}.stats", facts.layer);
    let marked = |row: &&SampleRow, mark: &str| {
        row.source == source && row.error.is_none() && row.mark.as_deref() == Some(mark)
    };
    let end = facts.samples.iter().rposition(|row| marked(&row, STAGE_END))?;
    let start = facts.samples[..end].iter().rfind(|row| marked(row, STAGE_START))?;
    Some(Ends { before: &start.fields, after: &facts.samples[end].fields })
}

/// Overhead that grows while it is measured: pages of the block map were allocated then.
fn map_unallocated(facts: &RuleFacts) -> Option<Finding> {
    let stage = last_stage(facts)?;
    let grown = stage.growth("overheadBlocksUsed")?;
    let written = stage.growth("biosIn.write")?;
    if grown <= 0.0 {
        return None;
    }
    // One untouched branch costs four pages; some of them are a gap of the allocation, no lack of it.
    let severity = if grown > 16.0 { Severity::Warning } else { Severity::Note };
    Some(Finding {
        message: "The block map was being allocated while the load was measured.".into(),
        evidence: format!("overhead grew by {grown} blocks during {written} writes"),
        remedy: "Put a stage do = \"allocate\" before the measured one.".into(),
        ..finding(facts, "map_unallocated", severity)
    })
}

/// Compression was on and asked for, and not one fragment was written.
fn content_not_packable(facts: &RuleFacts) -> Option<Finding> {
    let on = facts.settings.get("compression").is_some_and(|c| c == "on");
    let asked = facts.asked?.lz4_saving_percent.filter(|saving| *saving > 0.0)?;
    let figure = |id: &str| facts.figures.get(id).copied().flatten();
    let data = figure("data_blocks_used").filter(|blocks| *blocks > 0.0)?;
    if !on || figure("compressed_fragments")? > 0.0 {
        return None;
    }
    let size = facts.achieved.and_then(|achieved| achieved.lz4_size_mean_bytes);
    let size = size.map_or(String::new(), |s| format!(", mean LZ4 size {s:.0} bytes"));
    Some(Finding {
        message: "Content that should compress was stored uncompressed.".into(),
        evidence: format!(
            "LZ4 was to save {asked:.0} %{size}; {data} data blocks written, 0 compressed fragments"
        ),
        remedy: format!(
            "VDO packs two or more of at most {PACKED_SLOTS} fragments into {PACKED_BYTES} bytes: ask for \
             compress = \"2.1x\" or more, and keep fsync and O_DSYNC away from writes that should pack."
        ),
        ..finding(facts, "content_not_packable", Severity::Warning)
    })
}

/// The index that was formatted is not the one that was asked for (lvm2 before its fix of issue 196 loses
/// the last option of vdoformat and goes on reporting what was asked).
fn index_not_as_asked(facts: &RuleFacts) -> Option<Finding> {
    let real = |field: &str| facts.facts.get(&format!("{}.config.index.{field}", facts.layer));
    let gib: f64 = real("memorySize")?.parse().ok()?;
    let sparse = real("isSparse")? == "1";
    let asked = facts.settings.get("index_memory")?.parse::<units::Bytes>().ok()?;
    let asked_sparse = facts.settings.get("sparse_index").is_some_and(|s| s == "on");
    // dm-vdo prints 0.25, 0.5, 0.75 and whole numbers; all of them are exact in binary.
    let same = (gib * (1u64 << 30) as f64) as u64 == asked.0;
    if same && sparse == asked_sparse {
        return None;
    }
    let word = |sparse: bool| if sparse { "sparse" } else { "dense" };
    Some(Finding {
        message: "The deduplication index is not the one that was asked for.".into(),
        evidence: format!(
            "asked {asked} {}, formatted {gib} GiB {}",
            word(asked_sparse),
            word(sparse)
        ),
        remedy: "Use an lvm2 with the fix of its issue 196, or the default index (256M, dense)."
            .into(),
        ..finding(facts, "index_not_as_asked", Severity::Warning)
    })
}

/// Writes failed because the pool was full.
fn out_of_space(facts: &RuleFacts) -> Option<Finding> {
    let stage = last_stage(facts)?;
    let failed = stage.growth("errors.noSpaceErrorCount").filter(|n| *n > 0.0)?;
    let used = stage.end("dataBlocksUsed").unwrap_or(0.0);
    Some(Finding {
        message: "The pool ran out of space.".into(),
        evidence: format!("{failed} writes failed for lack of space; {used} data blocks used"),
        remedy: "Take a larger device, write less, or content that dedupes and compresses further."
            .into(),
        ..finding(facts, "out_of_space", Severity::Error)
    })
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use results::model::{AskedContent, Fields, LayerFigures};

    use super::*;

    struct Case {
        settings: BTreeMap<String, String>,
        samples: Vec<SampleRow>,
        figures: LayerFigures,
        asked: AskedContent,
        facts: BTreeMap<String, String>,
    }

    impl Case {
        /// A cell that has nothing to find: allocated first, then written and packed.
        fn healthy() -> Self {
            let layer = (super::super::KIND.parse)(&toml::Table::new()).unwrap();
            let row = |at_ns, mark: &str, overhead: f64, written: f64| SampleRow {
                at_ns,
                source: "vdo.stats".into(),
                cost_ns: 0,
                cost_cpu_ns: 0,
                mark: Some(mark.into()),
                fields: Fields::from([
                    ("overheadBlocksUsed".into(), Some(overhead)),
                    ("biosIn.write".into(), Some(written)),
                    ("errors.noSpaceErrorCount".into(), Some(0.0)),
                ]),
                error: None,
            };
            let text = |k: &str, v: &str| (k.to_owned(), v.to_owned());
            Self {
                settings: layer.settings(),
                samples: vec![
                    row(0, STAGE_START, 100.0, 0.0),
                    row(1, STAGE_END, 600.0, 400.0),
                    row(2, STAGE_START, 600.0, 400.0),
                    row(3, STAGE_END, 600.0, 9000.0),
                ],
                figures: LayerFigures::from([
                    ("data_blocks_used".into(), Some(4000.0)),
                    ("compressed_fragments".into(), Some(8000.0)),
                ]),
                asked: AskedContent { lz4_saving_percent: Some(60.0), ..Default::default() },
                facts: BTreeMap::from([
                    text("vdo.config.index.memorySize", "0.25"),
                    text("vdo.config.index.isSparse", "0"),
                ]),
            }
        }

        fn found(&self) -> Vec<(String, Severity)> {
            let facts = RuleFacts {
                layer: "vdo",
                settings: &self.settings,
                samples: &self.samples,
                figures: &self.figures,
                asked: Some(&self.asked),
                achieved: None,
                facts: &self.facts,
            };
            rules(&facts).into_iter().map(|f| (f.rule, f.severity)).collect()
        }
    }

    #[test]
    fn a_healthy_cell_has_no_findings_although_allocation_grew_the_overhead() {
        assert_eq!(Case::healthy().found(), []);
    }

    #[test]
    fn overhead_that_grows_while_measured_is_found() {
        let mut case = Case::healthy();
        case.samples[3].fields.insert("overheadBlocksUsed".into(), Some(1100.0));
        assert_eq!(case.found(), [("map_unallocated".into(), Severity::Warning)]);
        case.samples[3].fields.insert("overheadBlocksUsed".into(), Some(604.0));
        assert_eq!(case.found(), [("map_unallocated".into(), Severity::Note)]);
    }

    #[test]
    fn content_that_no_packer_can_use_is_found_only_where_compression_was_wanted() {
        let mut case = Case::healthy();
        case.figures.insert("compressed_fragments".into(), Some(0.0));
        assert_eq!(case.found(), [("content_not_packable".into(), Severity::Warning)]);
        case.settings.insert("compression".into(), "off".into());
        assert_eq!(case.found(), []);
        case.settings.insert("compression".into(), "on".into());
        case.asked.lz4_saving_percent = Some(0.0);
        assert_eq!(case.found(), []);
        case.asked.lz4_saving_percent = Some(60.0);
        case.figures.insert("compressed_fragments".into(), None);
        assert_eq!(case.found(), [], "not known is not 0");
    }

    #[test]
    fn an_index_that_lvm_made_smaller_is_found() {
        let mut case = Case::healthy();
        case.settings.insert("index_memory".into(), "512M".into());
        assert_eq!(case.found(), [("index_not_as_asked".into(), Severity::Warning)]);
        case.facts.insert("vdo.config.index.memorySize".into(), "0.5".into());
        assert_eq!(case.found(), []);
        case.settings.insert("sparse_index".into(), "on".into());
        assert_eq!(case.found(), [("index_not_as_asked".into(), Severity::Warning)]);
    }

    #[test]
    fn a_full_pool_is_found() {
        let mut case = Case::healthy();
        case.samples[3].fields.insert("errors.noSpaceErrorCount".into(), Some(3.0));
        assert_eq!(case.found(), [("out_of_space".into(), Severity::Error)]);
    }
}
