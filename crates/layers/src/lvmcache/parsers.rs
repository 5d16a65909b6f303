//! Parser of dm-cache's status line.

use std::collections::BTreeMap;

use super::names::STATUS;
use super::setup::MODES;
use crate::settings::size_text;
use crate::{ParseError, Parsed};

/// Fields of the status line after the word `cache`, in their order (the kernel's admin-guide/device-mapper/cache).
const FIELDS: [&str; 11] = [
    "metadata_block_sectors",
    "metadata_blocks",
    "chunk_sectors",
    "chunks",
    "read_hits",
    "read_misses",
    "write_hits",
    "write_misses",
    "demotions",
    "promotions",
    "dirty_chunks",
];

/// Reads a status line of dm-cache; a field `used/total` becomes the two numbers `used_NAME` and `NAME`.
pub(super) fn parse_status(text: &str) -> Result<Parsed, ParseError> {
    let wrong = |what| ParseError::form(STATUS, what, text);
    let (_, rest) = text.split_once(" cache ").ok_or_else(|| wrong("no target 'cache'"))?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    if words.first() == Some(&"Fail") {
        return Err(wrong("the cache has failed"));
    }
    let mut parsed = Parsed::default();
    for (position, field) in FIELDS.iter().enumerate() {
        let word = words.get(position).ok_or_else(|| wrong("fewer than 11 fields"))?;
        let number = |word: &str| word.parse::<u64>().map_err(|_| wrong("no number"));
        let (used, whole) = word.split_once('/').map_or((None, *word), |(u, w)| (Some(u), w));
        if let Some(used) = used {
            parsed.numbers.insert(format!("used_{field}"), Some(number(used)? as f64));
        }
        parsed.numbers.insert((*field).to_owned(), Some(number(whole)? as f64));
    }
    parsed.texts = settings(&words[FIELDS.len()..], &parsed).ok_or_else(|| wrong("no settings"))?;
    Ok(parsed)
}

/// The settings that follow the counters: features, core arguments, the policy; each list begins with its length.
fn settings(words: &[&str], parsed: &Parsed) -> Option<BTreeMap<String, String>> {
    let list = |words: &'_ [&str]| words.first()?.parse::<usize>().ok();
    let features = list(words)?;
    let (features, rest) = words.get(1..)?.split_at_checked(features)?;
    let arguments = list(rest)?;
    let (arguments, rest) = rest.get(1..)?.split_at_checked(arguments)?;
    let mode = features.iter().find(|word| MODES.contains(word))?;
    let threshold = arguments.chunks_exact(2).find(|pair| pair[0] == "migration_threshold")?;
    let chunk = parsed.numbers.get("chunk_sectors").copied().flatten()? as u64 * 512;
    // lvm uses the old name `mq` for the policy of a cachevol; the kernel runs smq under it.
    let policy = if *rest.first()? == "mq" { "smq" } else { rest[0] };
    let texts = [
        ("chunk_size", size_text(chunk)),
        ("mode", (*mode).to_owned()),
        ("policy", policy.to_owned()),
        ("migration_threshold", threshold[1].to_owned()),
    ];
    Some(texts.map(|(name, text)| (name.to_owned(), text)).into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_status_line_of_the_kernel_is_read() {
        let text = "0 1843200 cache 8 63/4096 128 1024/960 9 64 5 33 2 31 7 2 metadata2 writethrough 2 migration_threshold 2048 smq 0 rw -";
        let numbers = parse_status(text).unwrap().numbers;
        assert_eq!(numbers["read_hits"], Some(9.0));
        assert_eq!(numbers["write_misses"], Some(33.0));
        assert_eq!(numbers["promotions"], Some(31.0));
        assert_eq!(numbers["dirty_chunks"], Some(7.0));
        let texts = parse_status(text).unwrap().texts;
        assert_eq!((&*texts["mode"], &*texts["policy"]), ("writethrough", "smq"));
        assert_eq!((&*texts["chunk_size"], &*texts["migration_threshold"]), ("64k", "2048"));
        assert_eq!((numbers["used_chunks"], numbers["chunks"]), (Some(1024.0), Some(960.0)));
    }

    #[test]
    fn a_failed_cache_and_other_targets_have_no_figures() {
        for text in ["0 8 cache Fail", "0 8 linear 8:0 2048", "0 8 cache 8 1/2 128", "0 8 cache a"]
        {
            assert!(parse_status(text).is_err(), "{text}");
        }
    }
}
