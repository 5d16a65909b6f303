//! Parsers of dm-raid's status and table lines.

use crate::members::count_health;
use crate::settings::{on_off, size_text};
use crate::{ParseError, Parsed};

/// Parser of its status line: numbers of members and sectors, text `in_sync`.
pub(super) const STATUS: &str = "raid1.status";
/// Parser of its table line: texts `region_size`, `sync` and `write_mostly`.
pub(super) const TABLE: &str = "raid1.table";

/// A status line, `START SECTORS raid raid1 N HEALTH SYNCED/ALL ACTION MISMATCHES ...`.
pub(super) fn parse_status(text: &str) -> Result<Parsed, ParseError> {
    let wrong = |what| ParseError::form(STATUS, what, text);
    let (_, rest) = text.split_once(" raid raid1 ").ok_or_else(|| wrong("no target 'raid1'"))?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [_, health, progress, action, mismatches, ..] = &words[..] else {
        return Err(wrong("fewer than 5 words"));
    };
    let mut parsed = Parsed::default();
    if !count_health(&mut parsed, health) {
        return Err(wrong("no letter of health for each member"));
    }
    let number = |word: &str| word.parse::<u64>().map_err(|_| wrong("no number"));
    let (synced, all) = progress.split_once('/').ok_or_else(|| wrong("no progress"))?;
    let (synced, all) = (number(synced)?, number(all)?);
    let numbers =
        [("synced_sectors", synced), ("sectors", all), ("mismatches", number(mismatches)?)];
    for (field, value) in numbers {
        parsed.numbers.insert(field.to_owned(), Some(value as f64));
    }
    let in_sync = synced == all && health.chars().all(|letter| letter != 'a');
    parsed.texts.insert("in_sync".to_owned(), if in_sync { "yes" } else { "no" }.to_owned());
    parsed.texts.insert("action".to_owned(), (*action).to_owned());
    Ok(parsed)
}

/// A table line, `START SECTORS raid raid1 #ARGUMENTS CHUNK [sync | nosync | WORD VALUE]... #DEVICES [META DATA]...`.
pub(super) fn parse_table(text: &str) -> Result<Parsed, ParseError> {
    let wrong = |what| ParseError::form(TABLE, what, text);
    let (_, rest) = text.split_once(" raid raid1 ").ok_or_else(|| wrong("no target 'raid1'"))?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let count = words.first().and_then(|word| word.parse::<usize>().ok());
    let arguments = count.and_then(|count| words.get(2..=count));
    let mut arguments = arguments.ok_or_else(|| wrong("fewer arguments than it says"))?.iter();
    let (mut sync, mut region, mut mostly) = (true, None, Vec::new());
    while let Some(word) = arguments.next() {
        match *word {
            "sync" => {}
            "nosync" => sync = false,
            key => {
                let value = arguments.next().and_then(|value| value.parse::<u64>().ok());
                match key {
                    "region_size" => region = value,
                    "write_mostly" => mostly.extend(value.map(|at| format!("member{}", at + 1))),
                    _ => {}
                }
            }
        }
    }
    let mut parsed = Parsed::default();
    let mut put = |name: &str, text: String| parsed.texts.insert(name.to_owned(), text);
    put("sync", on_off(sync));
    put("write_mostly", if mostly.is_empty() { "none".to_owned() } else { mostly.join(",") });
    if let Some(sectors) = region {
        put("region_size", size_text(sectors * crate::dm::SECTOR));
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn members_that_are_behind_and_those_that_failed_are_no_mirror_in_sync() {
        let of = |line: &str| parse_status(line).unwrap();
        let copying = of("0 8 raid raid1 2 aa 40/800 resync 0 0 -");
        assert_eq!(copying.texts["in_sync"], "no");
        assert_eq!(copying.numbers["synced_sectors"], Some(40.0));
        let whole = of("0 8 raid raid1 3 AAD 800/800 idle 12 0 -");
        assert_eq!((&*whole.texts["in_sync"], &*whole.texts["action"]), ("yes", "idle"));
        assert_eq!(whole.numbers["failed_members"], Some(1.0));
        assert_eq!(whole.numbers["mismatches"], Some(12.0));
        for text in ["", "0 8 raid raid5_ls 3 AAA 8/8 idle 0", "0 8 raid raid1 2 AA 8 idle 0"] {
            assert!(parse_status(text).is_err(), "{text}");
        }
    }

    #[test]
    fn settings_of_a_table_are_read_with_and_without_values() {
        let line =
            "0 8 raid raid1 6 0 nosync region_size 1024 write_mostly 1 2 254:2 254:3 254:4 254:5";
        let texts = parse_table(line).unwrap().texts;
        let found = ["sync", "region_size", "write_mostly"].map(|key| texts[key].as_str());
        assert_eq!(found, ["off", "512k", "member2"]);
        let usual = parse_table("0 8 raid raid1 3 0 region_size 4096 2 254:2 254:3 254:4 254:5");
        let texts = usual.unwrap().texts;
        assert_eq!((&*texts["sync"], &*texts["write_mostly"]), ("on", "none"));
        assert!(parse_table("0 8 raid raid1 9 0 sync").is_err());
    }
}
