//! Parser of vdostats' output about one volume, as reports on machines contain it.

use super::names::REPORT;
use crate::{ParseError, Parsed};

/// Labels of `vdostats --verbose`, with the fields of the statistics message that they stand for.
const LABELS: [(&str, &str); 21] = [
    ("data blocks used", "dataBlocksUsed"),
    ("overhead blocks used", "overheadBlocksUsed"),
    ("logical blocks used", "logicalBlocksUsed"),
    ("physical blocks", "physicalBlocks"),
    ("logical blocks", "logicalBlocks"),
    ("saving percent", "saving_percent"),
    ("used percent", "use_percent"),
    ("slab count", "allocator.slabCount"),
    ("slabs opened", "allocator.slabsOpened"),
    ("slabs reopened", "allocator.slabsReopened"),
    ("bios in read", "biosIn.read"),
    ("bios in write", "biosIn.write"),
    ("bios in discard", "biosIn.discard"),
    ("bios in flush", "biosIn.flush"),
    ("bios in fua", "biosIn.fua"),
    ("bios in partial write", "biosInPartial.write"),
    ("no space error count", "errors.noSpaceErrorCount"),
    ("dedupe advice valid", "hashLock.dedupeAdviceValid"),
    ("dedupe advice timeouts", "dedupeAdviceTimeouts"),
    ("block map cache size", "blockMapCacheSize"),
    ("KVDO module bytes used", "memoryUsage.bytesUsed"),
];

/// Reads the line of the volume in the table (`NAME SIZE USED AVAILABLE 42% 17%`), or its list (`data blocks used : 5`).
pub(super) fn parse(text: &str) -> Result<Parsed, ParseError> {
    let mut parsed = Parsed::default();
    for line in text.lines() {
        if let Some((label, value)) = line.split_once(" : ") {
            let label = label.trim();
            let known = LABELS.iter().find(|(known, _)| *known == label);
            if let (Some((_, field)), Ok(value)) = (known, value.trim().parse::<f64>()) {
                parsed.numbers.insert((*field).to_owned(), Some(value));
            }
            continue;
        }
        let percent = |word: &&str| word.strip_suffix('%')?.parse::<f64>().ok();
        let words: Vec<f64> =
            line.split_whitespace().collect::<Vec<_>>().iter().filter_map(percent).collect();
        if let [used, saving] = words[..] {
            parsed.numbers.insert("use_percent".to_owned(), Some(used));
            parsed.numbers.insert("saving_percent".to_owned(), Some(saving));
        }
    }
    if parsed.numbers.is_empty() {
        return Err(ParseError::form(REPORT, "neither table nor list of vdostats", text));
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_forms_of_vdostats_are_read_and_other_texts_refused() {
        let table = parse("/dev/mapper/vg-vpool 50.0G 47.1G 2.9G 94% 3%").unwrap().numbers;
        assert_eq!((table["use_percent"], table["saving_percent"]), (Some(94.0), Some(3.0)));
        let list =
            "  data blocks used  : 12\n  KVDO module bytes used : 5\n  operating mode : normal";
        let numbers = parse(list).unwrap().numbers;
        assert_eq!(numbers["dataBlocksUsed"], Some(12.0));
        assert_eq!(numbers["memoryUsage.bytesUsed"], Some(5.0));
        assert_eq!(numbers.len(), 2);
        assert!(parse("").is_err() && parse("vg-vpool 50.0G 47.1G N/A N/A N/A").is_err());
    }
}
