//! Parsers of dm-stripe's status and table lines.

use crate::members::count_health;
use crate::settings::size_text;
use crate::{ParseError, Parsed};

/// Parser of its status line: numbers `members` and `failed_members`.
pub(super) const STATUS: &str = "striped.status";
/// Parser of its table line: texts `stripes` and `chunk_size`.
pub(super) const TABLE: &str = "striped.table";

/// A status line, `START SECTORS striped N DEVICE... 1 HEALTH`.
pub(super) fn parse_status(text: &str) -> Result<Parsed, ParseError> {
    let wrong = |what| ParseError::form(STATUS, what, text);
    let (_, rest) = text.split_once(" striped ").ok_or_else(|| wrong("no target 'striped'"))?;
    let mut parsed = Parsed::default();
    let health = rest.split_whitespace().next_back().unwrap_or_default();
    match count_health(&mut parsed, health) {
        true => Ok(parsed),
        false => Err(wrong("no letter of health for each member")),
    }
}

/// A table line, `START SECTORS striped N CHUNK [DEVICE OFFSET]...`, the chunk in sectors.
pub(super) fn parse_table(text: &str) -> Result<Parsed, ParseError> {
    let wrong = |what| ParseError::form(TABLE, what, text);
    let (_, rest) = text.split_once(" striped ").ok_or_else(|| wrong("no target 'striped'"))?;
    let mut words = rest.split_whitespace();
    let (stripes, chunk) = (words.next(), words.next().and_then(|word| word.parse::<u64>().ok()));
    let (Some(stripes), Some(chunk)) = (stripes, chunk) else {
        return Err(wrong("no size of a chunk"));
    };
    let mut parsed = Parsed::default();
    parsed.texts.insert("stripes".to_owned(), stripes.to_owned());
    parsed.texts.insert("chunk_size".to_owned(), size_text(chunk * crate::dm::SECTOR));
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn health_and_chunk_are_read_and_other_lines_are_refused() {
        let status = parse_status("0 8 striped 3 254:0 254:1 254:2 1 ADA").unwrap().numbers;
        assert_eq!((status["members"], status["failed_members"]), (Some(3.0), Some(1.0)));
        let texts = parse_table("0 8 striped 2 512 254:0 2048 254:1 2048").unwrap().texts;
        assert_eq!((&*texts["stripes"], &*texts["chunk_size"]), ("2", "256k"));
        for text in ["", "0 8 linear 8:0 2048", "0 8 striped 2 254:0 254:1 1 7"] {
            assert!(parse_status(text).is_err(), "{text}");
        }
        assert!(parse_table("0 8 striped 2").is_err());
    }
}
