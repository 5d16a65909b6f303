//! Parsers of VDO's texts about itself: statistics, configuration, status line.

use std::collections::BTreeMap;

use super::names::{CONFIG, INSTANCE, STATS, STATUS, TABLE};
use super::tables;
use super::texts::{self, Leaf};
use crate::{ParseError, Parsed};

fn leaves(parser: &'static str, text: &str) -> Result<Vec<Leaf>, ParseError> {
    texts::read(text).map_err(|(what, near)| ParseError::form(parser, what, near))
}

/// The answer to `stats`: every number as a field, every word as a text; a field with an empty value has no number.
pub(crate) fn parse_stats(text: &str) -> Result<Parsed, ParseError> {
    let mut parsed = Parsed::default();
    for (name, value) in leaves(STATS, text)? {
        match value.parse::<f64>() {
            Ok(number) if number.is_finite() => drop(parsed.numbers.insert(name, Some(number))),
            _ if value.is_empty() => drop(parsed.numbers.insert(name, None)),
            _ => drop(parsed.texts.insert(name, value)),
        }
    }
    Ok(parsed)
}

/// The answer to `config`: every field as text, for facts.
pub(crate) fn parse_config(text: &str) -> Result<Parsed, ParseError> {
    let texts = leaves(CONFIG, text)?.into_iter().collect();
    Ok(Parsed { texts, ..Parsed::default() })
}

/// The answer to `stats`: the instance's number only, for the names of threads.
pub(crate) fn parse_instance(text: &str) -> Result<Parsed, ParseError> {
    let all = leaves(INSTANCE, text)?;
    let found = all.into_iter().find(|(name, value)| name == "instance" && !value.is_empty());
    let (name, value) =
        found.ok_or_else(|| ParseError::form(INSTANCE, "no field 'instance'", text))?;
    Ok(Parsed { texts: BTreeMap::from([(name, value)]), ..Parsed::default() })
}

/// The line of its table: each setting in it as text.
pub(crate) fn parse_table(text: &str) -> Result<Parsed, ParseError> {
    let settings = tables::settings(text)
        .ok_or_else(|| ParseError::form(TABLE, "no table of a vdo target", text))?;
    let texts = settings.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    Ok(Parsed { texts, ..Parsed::default() })
}

/// The status line: `start length vdo device mode recovery index compression used total`.
pub(crate) fn parse_status(text: &str) -> Result<Parsed, ParseError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let [_, _, "vdo", _, mode, recovery, index, compression, used, total, ..] = words[..] else {
        return Err(ParseError::form(STATUS, "no status line of a vdo target", text));
    };
    let texts =
        [("mode", mode), ("recovery", recovery), ("index", index), ("compression", compression)];
    let blocks = |word: &str| {
        word.parse::<f64>().map_err(|_| ParseError::form(STATUS, "no number of blocks", word))
    };
    Ok(Parsed {
        numbers: [("used_blocks", blocks(used)?), ("total_blocks", blocks(total)?)]
            .map(|(name, number)| (name.to_owned(), Some(number)))
            .into(),
        texts: texts.map(|(name, word)| (name.to_owned(), word.to_owned())).into(),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Made by hand in the kernel's syntax; the field that nobody knows is on purpose.
    const SYNTHETIC: &str = "{ version : 36, dataBlocksUsed : 1234, mode : normal, inRecoveryMode : 0, \
        packer : { compressedFragmentsWritten : 14, compressedBlocksWritten : 1, }, \
        journal : { diskFull : 0, entries : { started : 7, written : 7, committed : 6, }, }, \
        instance : 3, fieldOfTheFuture : { depth : 2, }, }";

    #[test]
    fn statistics_are_flattened_and_unknown_fields_kept() {
        let parsed = parse_stats(SYNTHETIC).unwrap();
        assert_eq!(parsed.numbers["dataBlocksUsed"], Some(1234.0));
        assert_eq!(parsed.numbers["packer.compressedFragmentsWritten"], Some(14.0));
        assert_eq!(parsed.numbers["journal.entries.committed"], Some(6.0));
        assert_eq!(parsed.numbers["fieldOfTheFuture.depth"], Some(2.0));
        assert_eq!(parsed.texts, BTreeMap::from([("mode".to_owned(), "normal".to_owned())]));
        assert_eq!(parse_instance(SYNTHETIC).unwrap().texts["instance"], "3");
    }

    /// The statistics message as dm-vdo printed it (Debian's kernel 6.12, target v9.1.0), after 20,000 writes; every second one was a duplicate, and
    /// each block had 1500 random bytes and then zeros.
    const REAL: &str = include_str!("stats-6.12.txt");

    #[test]
    fn real_statistics_are_read_to_the_last_field() {
        let parsed = parse_stats(REAL).unwrap();
        assert_eq!(parsed.numbers.len(), 155);
        assert_eq!(parsed.texts["mode"], "normal");
        for (field, value) in [
            ("dataBlocksUsed", 5144.0),
            ("packer.compressedFragmentsWritten", 9712.0),
            ("hashLock.dedupeAdviceValid", 9171.0),
            ("journal.entries.committed", 20827.0),
            ("biosMetaCompleted.write", 1781.0),
            ("index.entriesDiscarded", 0.0),
        ] {
            assert_eq!(parsed.numbers[field], Some(value), "{field}");
        }
        assert_eq!(parse_instance(REAL).unwrap().texts["instance"], "0");
    }

    #[test]
    fn words_that_float_parsers_like_are_not_numbers() {
        let parsed = parse_stats("{ a : nan, b : inf, c : infinity, d : }").unwrap();
        assert_eq!(parsed.texts.len(), 3);
        assert_eq!(parsed.numbers["d"], None);
    }

    /// The configuration message as dm-vdo printed it (target v9.1.0).
    #[test]
    fn the_configuration_becomes_facts() {
        let text = "{ version : 1, physicalSize : 10737418240, logicalSize : 21474836480, \
                    slabSize : 524288, index :  { memorySize : 0.25, isSparse : 0, }, }";
        let texts = parse_config(text).unwrap().texts;
        assert_eq!(texts["index.memorySize"], "0.25");
        assert_eq!(texts["slabSize"], "524288");
        assert!(parse_instance(text).is_err());
    }

    /// The status line as dm-vdo printed it (target v9.1.0).
    #[test]
    fn the_status_line_says_mode_index_and_blocks() {
        let text = "0 41943040 vdo /dev/vdd normal - online offline 1049638 2621440";
        let parsed = parse_status(text).unwrap();
        assert_eq!(parsed.texts["index"], "online");
        assert_eq!(parsed.texts["compression"], "offline");
        assert_eq!(parsed.numbers["used_blocks"], Some(1_049_638.0));
        for wrong in ["", "0 41943040 linear 253:0 0", "0 1 vdo /dev/x normal - online offline a b"]
        {
            assert!(parse_status(wrong).is_err(), "{wrong}");
        }
    }
}
