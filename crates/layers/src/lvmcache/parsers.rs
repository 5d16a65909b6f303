//! Parser of dm-cache's status line.

use super::names::STATUS;
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

/// A status line of dm-cache; of `used/total` become `used_NAME` and `NAME`.
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
    Ok(parsed)
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
