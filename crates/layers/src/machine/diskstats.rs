//! Parser of the counters of block devices, from lines `name fields of /proc/diskstats`.

use super::ids::DISKSTATS;
use crate::{ParseError, Parsed};

/// Names and factors of the columns after the device's name (the kernel's admin-guide/iostats). Sectors are
/// 512 bytes there whatever the device's block size is.
const COLUMNS: [(&str, f64); 17] = [
    ("reads", 1.0),
    ("reads_merged", 1.0),
    ("read_bytes", 512.0),
    ("read_ms", 1.0),
    ("writes", 1.0),
    ("writes_merged", 1.0),
    ("written_bytes", 512.0),
    ("write_ms", 1.0),
    ("in_flight", 1.0),
    ("busy_ms", 1.0),
    ("weighted_ms", 1.0),
    ("discards", 1.0),
    ("discards_merged", 1.0),
    ("discarded_bytes", 512.0),
    ("discard_ms", 1.0),
    ("flushes", 1.0),
    ("flush_ms", 1.0),
];

/// Reads one line per device: its name in the stack, then the columns of `/proc/diskstats` after the kernel's name.
/// An older kernel has fewer columns. A line `name -` is a device that is not there: it has no figures.
pub(crate) fn parse_diskstats(text: &str) -> Result<Parsed, ParseError> {
    let mut parsed = Parsed::default();
    for line in text.lines().filter(|line| !line.trim().is_empty()) {
        let mut words = line.split_whitespace();
        let name = words.next().unwrap_or_default();
        let words: Vec<&str> = words.collect();
        let absent = words == ["-"];
        if !absent && words.len() < 11 {
            return Err(ParseError::form(DISKSTATS, "fewer than 11 columns", line));
        }
        for (index, (column, factor)) in COLUMNS.iter().enumerate() {
            let number = match words.get(index) {
                Some(word) if !absent => Some(
                    word.parse::<u64>()
                        .map_err(|_| ParseError::form(DISKSTATS, "no number", line))?
                        as f64
                        * factor,
                ),
                _ => None,
            };
            parsed.numbers.insert(format!("{name}.{column}"), number);
        }
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sectors_become_bytes_and_columns_get_names() {
        let text = "data 10 1 80 5 20 2 160 7 0 12 12 3 0 24 1 4 2\nvdo-pool -\n";
        let numbers = parse_diskstats(text).unwrap().numbers;
        assert_eq!(numbers["data.reads"], Some(10.0));
        assert_eq!(numbers["data.read_bytes"], Some(40_960.0));
        assert_eq!(numbers["data.written_bytes"], Some(81_920.0));
        assert_eq!(numbers["data.flushes"], Some(4.0));
        assert_eq!(numbers["vdo-pool.reads"], None, "an absent device has no figure, not 0");
    }

    #[test]
    fn a_kernel_without_flush_columns_has_no_such_figure() {
        let numbers = parse_diskstats("data 10 1 80 5 20 2 160 7 0 12 12").unwrap().numbers;
        assert_eq!(numbers["data.weighted_ms"], Some(12.0));
        assert_eq!(numbers["data.flushes"], None);
        assert!(parse_diskstats("data 10 1").is_err());
        assert!(parse_diskstats("data a b c d e f g h i j k").is_err());
    }
}
