//! Parser of the number of times that an event of the kernel occurred: `events N`, or `absent: WHY`.

use super::ids::TRACE;
use crate::{ABSENT, ParseError, Parsed};

/// The number `events`; where it is not known, `None` with the reason under [`ABSENT`].
pub(crate) fn parse_trace(text: &str) -> Result<Parsed, ParseError> {
    let mut parsed = Parsed::default();
    let line = text.trim();
    let number = match line.strip_prefix("absent: ") {
        Some(why) => {
            parsed.texts.insert(ABSENT.to_owned(), why.to_owned());
            None
        }
        None => {
            let number = line.strip_prefix("events ").and_then(|n| n.parse::<u64>().ok());
            Some(number.ok_or_else(|| ParseError::form(TRACE, "not 'events N'", line))? as f64)
        }
    };
    parsed.numbers.insert("events".to_owned(), number);
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_count_is_a_number_and_an_absent_one_is_none_with_its_reason() {
        assert_eq!(parse_trace("events 12\n").unwrap().numbers["events"], Some(12.0));
        let absent = parse_trace("absent: tracefs is not mounted\n").unwrap();
        assert_eq!(absent.numbers["events"], None);
        assert_eq!(absent.texts[ABSENT], "tracefs is not mounted");
        for text in ["", "events", "events many", "12"] {
            assert!(parse_trace(text).is_err(), "{text}");
        }
    }
}
