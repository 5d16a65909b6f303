//! Parsers of dm-writecache's status and table lines.

use super::names::{STATUS, TABLE};
use crate::settings::size_text;
use crate::{ParseError, Parsed};

/// Fields of the status line after the word `writecache`, in their order (the kernel's admin-guide/device-mapper/writecache).
pub(super) const FIELDS: [&str; 14] = [
    "error",
    "blocks",
    "free_blocks",
    "writeback_blocks",
    "reads",
    "read_hits",
    "writes",
    "write_hits_uncommitted",
    "write_hits_committed",
    "writes_around",
    "writes_allocated",
    "writes_blocked",
    "flushes",
    "discards",
];

/// A status line of dm-writecache.
pub(super) fn parse_status(text: &str) -> Result<Parsed, ParseError> {
    let wrong = |what| ParseError::form(STATUS, what, text);
    let (_, rest) =
        text.split_once(" writecache ").ok_or_else(|| wrong("no target 'writecache'"))?;
    let mut words = rest.split_whitespace();
    let mut parsed = Parsed::default();
    for field in FIELDS {
        let word = words.next().ok_or_else(|| wrong("fewer than 14 fields"))?;
        let number = word.parse::<i64>().map_err(|_| wrong("no number"))?;
        parsed.numbers.insert(field.to_owned(), Some(number as f64));
    }
    Ok(parsed)
}

/// A table line of dm-writecache, `s ORIGIN CACHE BLOCK #ARGUMENTS [WORD [VALUE]]...`: each setting that stands in it as text, and the size of
/// a block as number `block_bytes`.
pub(super) fn parse_table(text: &str) -> Result<Parsed, ParseError> {
    let wrong = |what| ParseError::form(TABLE, what, text);
    let (_, rest) =
        text.split_once(" writecache ").ok_or_else(|| wrong("no target 'writecache'"))?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [_, _, _, block, _, arguments @ ..] = &words[..] else {
        return Err(wrong("fewer than 5 words"));
    };
    let block: u64 = block.parse().map_err(|_| wrong("no size of a block"))?;
    let mut parsed = Parsed::default();
    parsed.numbers.insert("block_bytes".to_owned(), Some(block as f64));
    parsed.texts.insert("block_size".to_owned(), size_text(block));
    let mut arguments = arguments.iter().peekable();
    while let Some(word) = arguments.next() {
        // A word without a value is a switch.
        let value = arguments.next_if(|next| next.bytes().all(|byte| byte.is_ascii_digit()));
        parsed.texts.insert((*word).to_owned(), value.map_or("on", |value| value).to_owned());
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_fields_of_a_status_line_are_read() {
        let line = "0 8 writecache 0 100 40 3 7 5 90 10 20 11 60 2 4 1";
        let numbers = parse_status(line).unwrap().numbers;
        assert_eq!(numbers.len(), FIELDS.len());
        assert_eq!((numbers["blocks"], numbers["discards"]), (Some(100.0), Some(1.0)));
        for text in ["", "0 8 linear 8:0 2048", "0 8 writecache 0 1", "0 8 writecache a"] {
            assert!(parse_status(text).is_err(), "{text}");
        }
    }

    #[test]
    fn settings_of_a_table_are_read_with_and_without_values() {
        let line = "0 8 writecache s 254:1 254:0 512 5 high_watermark 60 cleaner max_age 500";
        let parsed = parse_table(line).unwrap();
        assert_eq!(parsed.numbers["block_bytes"], Some(512.0));
        let texts: Vec<_> = parsed.texts.iter().map(|(k, v)| (k.as_str(), v.as_str())).collect();
        assert_eq!(
            texts,
            [
                ("block_size", "512"),
                ("cleaner", "on"),
                ("high_watermark", "60"),
                ("max_age", "500")
            ]
        );
        assert!(parse_table("0 8 writecache s 254:1").is_err());
    }
}
