//! Parsers of dm-thin's status and table lines.

use super::names::{POOL, TABLE, VOLUME_STATUS};
use crate::settings::size_text;
use crate::{ParseError, Parsed};

/// A pool's status line, `TRANSACTION USED/METADATA USED/CHUNKS ROOT MODE DISCARDS FULL CHECK LOW` (the kernel's
/// admin-guide/device-mapper/thin-provisioning); its state as text.
pub(super) fn parse_pool(text: &str) -> Result<Parsed, ParseError> {
    let wrong = |what| ParseError::form(POOL, what, text);
    let (_, rest) = text.split_once(" thin-pool ").ok_or_else(|| wrong("no target 'thin-pool'"))?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [transaction, metadata, data, _, mode, discards, ..] = words[..] else {
        return Err(wrong("fewer than 6 fields, or the pool has failed"));
    };
    let number = |word: &str| word.parse::<u64>().map_err(|_| wrong("no number"));
    let mut parsed = Parsed::default();
    let mut put =
        |name: &str, value: u64| parsed.numbers.insert(name.to_owned(), Some(value as f64));
    put("transactions", number(transaction)?);
    for (part, used, whole) in
        [(metadata, "used_metadata_blocks", "metadata_blocks"), (data, "used_chunks", "chunks")]
    {
        let (some, all) = part.split_once('/').ok_or_else(|| wrong("no 'used/total'"))?;
        put(used, number(some)?);
        put(whole, number(all)?);
    }
    put("out_of_space", u64::from(mode == "out_of_data_space"));
    put("read_only", u64::from(mode == "ro"));
    put("passes_discards", u64::from(discards == "discard_passdown"));
    Ok(parsed)
}

/// A pool's table line, `METADATA DATA CHUNK LOW #FEATURES [FEATURE]...`.
pub(super) fn parse_table(text: &str) -> Result<Parsed, ParseError> {
    let wrong = |what| ParseError::form(TABLE, what, text);
    let (_, rest) = text.split_once(" thin-pool ").ok_or_else(|| wrong("no target 'thin-pool'"))?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [_, _, chunk, _, features @ ..] = &words[..] else {
        return Err(wrong("fewer than 4 words"));
    };
    let chunk = chunk.parse::<u64>().map_err(|_| wrong("no size of a chunk"))? * 512;
    let has = |word: &str| features.contains(&word);
    let discards = match (has("ignore_discard"), has("no_discard_passdown")) {
        (true, _) => "ignore",
        (_, true) => "nopassdown",
        _ => "passdown",
    };
    let mut parsed = Parsed::default();
    parsed.numbers.insert("chunk_bytes".to_owned(), Some(chunk as f64));
    parsed.texts = [
        ("chunk_size", size_text(chunk)),
        ("zero", if has("skip_block_zeroing") { "off" } else { "on" }.to_owned()),
        ("discards", discards.to_owned()),
        ("when_full", if has("error_if_no_space") { "error" } else { "queue" }.to_owned()),
    ]
    .map(|(name, text)| (name.to_owned(), text))
    .into();
    Ok(parsed)
}

/// A thin volume's status line, `SECTORS thin MAPPED HIGHEST`.
pub(super) fn parse_volume(text: &str) -> Result<Parsed, ParseError> {
    let wrong = |what| ParseError::form(VOLUME_STATUS, what, text);
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, sectors, "thin", mapped, ..] = words[..] else { return Err(wrong("no target 'thin'")) };
    let number = |word: &str| word.parse::<u64>().map_err(|_| wrong("no number"));
    let fields = [("sectors", number(sectors)?), ("mapped_sectors", number(mapped)?)];
    let numbers = fields.map(|(name, value)| (name.to_owned(), Some(value as f64))).into();
    Ok(Parsed { numbers, ..Parsed::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_of_pool_table_and_volume_are_read() {
        let pool = "0 2048 thin-pool 2 20/1024 3/16 - out_of_data_space no_discard_passdown queue_if_no_space - 1024";
        let numbers = parse_pool(pool).unwrap().numbers;
        for (field, value) in [
            ("transactions", 2.0),
            ("used_metadata_blocks", 20.0),
            ("chunks", 16.0),
            ("used_chunks", 3.0),
            ("out_of_space", 1.0),
            ("passes_discards", 0.0),
        ] {
            assert_eq!(numbers[field], Some(value), "{field}");
        }
        let table = "0 2048 thin-pool 254:0 254:1 256 0 2 skip_block_zeroing error_if_no_space";
        let texts = parse_table(table).unwrap().texts;
        let found = ["chunk_size", "zero", "discards", "when_full"].map(|key| texts[key].as_str());
        assert_eq!(found, ["128k", "off", "passdown", "error"]);
        let volume = parse_volume("0 4096 thin 128 255").unwrap().numbers;
        assert_eq!((volume["sectors"], volume["mapped_sectors"]), (Some(4096.0), Some(128.0)));
    }

    #[test]
    fn failed_ones_and_other_targets_have_no_figures() {
        for text in ["0 8 thin-pool Fail", "0 8 linear 8:0 2048", "0 8 thin-pool 1 2 3 - rw x"] {
            assert!(parse_pool(text).is_err(), "{text}");
        }
        assert!(parse_volume("0 8 thin Fail").is_err() && parse_table("0 8 thin-pool 1").is_err());
    }
}
