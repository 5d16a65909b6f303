//! Parsers of bcache's attributes, and of the block statistics next to them in sysfs.

use super::names::{BUCKETS, CACHE, DEVICE, ORIGIN, STATS, WHOLE};
use crate::machine::parse_diskstats;
use crate::{ParseError, Parsed};

/// Units of a number as bcache prints it, each 1024 times the one before.
const UNITS: &str = "kMGTPEZY";

/// Finds the cached device among those that stand on the origin: its name as text `node`, and text that tells whether there is any.
pub(super) fn parse_device(text: &str) -> Result<Parsed, ParseError> {
    let nodes: Vec<_> = text.lines().filter(|name| name.starts_with("bcache")).collect();
    if nodes.len() > 1 {
        return Err(ParseError::form(DEVICE, "several cached devices", text));
    }
    let mut parsed = Parsed::default();
    parsed.numbers.insert("devices".to_owned(), Some(nodes.len() as f64));
    let node = nodes.first().map(|name| ("node".to_owned(), (*name).to_owned()));
    let any = if node.is_some() { "some" } else { "none" };
    parsed.texts.extend(node.into_iter().chain([("any".to_owned(), any.to_owned())]));
    Ok(parsed)
}

/// Reads one value, as text and, where it is a number, also as a number. If there are several words, it takes the one in brackets.
pub(super) fn parse_value(text: &str) -> Result<Parsed, ParseError> {
    let chosen = |word: &str| Some(word.strip_prefix('[')?.strip_suffix(']')?.to_owned());
    let value = text.split_whitespace().find_map(chosen).unwrap_or_else(|| text.trim().to_owned());
    let mut parsed = Parsed::default();
    parsed.numbers.extend(number(&value).map(|number| ("value".to_owned(), Some(number))));
    parsed.texts.insert("value".to_owned(), value);
    Ok(parsed)
}

/// Reads lines `name value`, where every value is a number.
pub(super) fn parse_stats(text: &str) -> Result<Parsed, ParseError> {
    let mut parsed = Parsed::default();
    for line in text.lines() {
        let found = line.split_once(' ').and_then(|(name, value)| Some((name, number(value)?)));
        let (name, value) = found.ok_or_else(|| ParseError::form(STATS, "no number", line))?;
        parsed.numbers.insert(name.to_owned(), Some(value));
    }
    Ok(parsed)
}

/// Lines `Name: N%` of `priority_stats`: percent of the buckets that hold nothing, clean blocks, dirty ones and metadata.
pub(super) fn parse_buckets(text: &str) -> Result<Parsed, ParseError> {
    let share = |name: &str| {
        let line = text.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(':'));
        let number = line.and_then(|rest| rest.trim().strip_suffix('%')?.parse().ok());
        number.ok_or_else(|| ParseError::form(BUCKETS, "no shares of buckets", text))
    };
    let mut parsed = Parsed::default();
    for name in ["Unused", "Clean", "Dirty", "Metadata"] {
        parsed.numbers.insert(name.to_lowercase(), Some(share(name)?));
    }
    Ok(parsed)
}

/// Reads the bytes read from and written to the cached device and the two that it stands on.
pub(super) fn parse_legs(text: &str) -> Result<Parsed, ParseError> {
    let wanted = |field: &str| {
        let (device, column) = field.split_once('.').unwrap_or_default();
        [WHOLE, ORIGIN, CACHE].contains(&device)
            && (column.ends_with("_bytes") && !column.starts_with("discard")
                || field.strip_prefix(WHOLE) == Some(".reads"))
    };
    let mut parsed = parse_diskstats(text)?;
    parsed.numbers.retain(|field, _| wanted(field));
    parsed.numbers =
        parsed.numbers.into_iter().map(|(field, value)| (field.replace('.', "_"), value)).collect();
    Ok(parsed)
}

/// A number, in bytes where it has a unit (`19.0M`).
fn number(text: &str) -> Option<f64> {
    let unit = text.chars().last().and_then(|last| UNITS.find(last));
    let digits = if unit.is_some() { &text[..text.len() - 1] } else { text };
    let exponent = unit.map_or(0, |place| place as i32 + 1);
    Some(digits.parse::<f64>().ok()? * 1024f64.powi(exponent))
}

/// A number of bytes as bcache prints it: three digits and one after the point (`bch_hprint`).
pub(super) fn printed(bytes: u64) -> String {
    let (mut whole, mut rest, mut unit) = (bytes >> 10, bytes % 1024, 0);
    while whole >= 1000 {
        (whole, rest, unit) = (whole >> 10, whole % 1024, unit + 1);
    }
    let unit = UNITS.chars().nth(unit).unwrap_or('Y');
    format!("{whole}.{}{unit}", rest * 10 / 1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cached_device_is_found_among_what_stands_on_the_origin() {
        let one = parse_device("bcache3\ndm-1\n").unwrap();
        assert_eq!((one.numbers["devices"], one.texts["node"].as_str()), (Some(1.0), "bcache3"));
        let none = parse_device("").unwrap();
        assert_eq!((none.numbers["devices"], none.texts["any"].as_str()), (Some(0.0), "none"));
        assert!(parse_device("bcache0\nbcache1\n").is_err());
    }

    #[test]
    fn buckets_are_told_apart_by_what_they_hold() {
        let buckets = parse_buckets(include_str!("recorded/priority_stats")).unwrap().numbers;
        let all: f64 = buckets.values().flatten().sum();
        assert!(buckets.len() == 4 && (95.0..=100.0).contains(&all), "{buckets:?}");
        assert!(parse_buckets("Unused: 1%\nClean: many").is_err());
    }

    #[test]
    fn a_value_is_a_word_or_a_number_with_its_unit_as_the_kernel_prints_it() {
        let value = |text: &str| parse_value(text).unwrap().numbers.get("value").copied().flatten();
        assert_eq!((value("19.5M\n"), value("97\n")), (Some(19.5 * 1_048_576.0), Some(97.0)));
        assert_eq!((value("0.0k\n"), value("no cache\n")), (Some(0.0), None));
        assert_eq!(parse_value("no cache\n").unwrap().texts["value"], "no cache");
        let modes = parse_value("writethrough [writeback] writearound none\n").unwrap();
        assert_eq!(modes.texts["value"], "writeback");
        assert!(parse_stats("cache_hits many").is_err());
        for (bytes, text) in [
            (0, "0.0k"),
            (512, "0.5k"),
            (1_022_976, "999.0k"),
            (1 << 20, "1.0M"),
            (5_000_000, "4.7M"),
            (3 << 30, "3.0G"),
        ] {
            assert_eq!(printed(bytes), text);
        }
    }
}
