//! One figure in words.

use units::{Unit, show};

use crate::view::Figure;

/// Stands where there is no figure.
pub const NONE: &str = "–";

/// Digits of a source's figure: as many as it gave.
pub const SOURCE_DIGITS: usize = 6;

/// A figure without its interval: `41.2k/s`, or a dash.
pub fn median(unit: Unit, figure: Option<&Figure>) -> String {
    figure.map_or_else(
        || NONE.to_owned(),
        |f| format!("{}{}", value(unit, f.median), bytes(unit, f.median)),
    )
}

/// ` (256 MiB)` beside a number of blocks, which few people multiply by 4 KiB; nothing beside other figures.
fn bytes(unit: Unit, number: f64) -> String {
    match unit {
        Unit::Blocks if number != 0.0 => format!(" ({})", Unit::Bytes.show(number * BLOCK)),
        _ => String::new(),
    }
}

/// A key that was varied, as people call it: `block size`, `bytes in flight`.
pub fn key(key: &str) -> String {
    match key {
        "outstanding" => "bytes in flight".to_owned(),
        other => other.replace(['_', '.'], " "),
    }
}

/// A title with a capital letter at its beginning; a name such as `p99` stays as it is.
pub fn capital(title: &str) -> String {
    let word = title.split(' ').next().unwrap_or_default();
    match title.chars().next() {
        Some(first) if word.chars().all(char::is_alphabetic) => {
            format!("{}{}", first.to_uppercase(), &title[first.len_utf8()..])
        }
        _ => title.to_owned(),
    }
}

/// A level of what was varied: `4 KiB` of `4k`, any other as it is.
pub fn level(level: &str) -> String {
    let bytes = level.ends_with(['k', 'K', 'M', 'G']);
    let number = analysis::level_number(level).filter(|_| bytes);
    number.map_or_else(|| level.to_owned(), show::bytes)
}

/// Returns what was varied, with the level that it has: `block size 4 KiB`.
pub fn at_level((key_of, level_of): (&String, &String)) -> String {
    format!("{} {}", key(key_of), level(level_of))
}

/// Bytes of a block.
const BLOCK: f64 = 4096.0;

/// A number in its unit. Counts that are medians may have a fraction; they keep three digits then.
pub fn value(unit: Unit, number: f64) -> String {
    match unit {
        Unit::Count | Unit::Blocks if number.fract() == 0.0 && (0.0..1e15).contains(&number) => {
            show::grouped(number as u64)
        }
        Unit::Count | Unit::Blocks if number.abs() >= 1000.0 => {
            let sign = if number < 0.0 { "-" } else { "" };
            format!("{sign}{}", show::grouped(number.abs().round() as u64))
        }
        Unit::PerSecond if number.abs() >= 1000.0 && number.abs() < 100_000.0 => {
            format!("{}/s", show::grouped(number.round() as u64))
        }
        _ => unit.show(number),
    }
}

/// The interval of a figure: `[40.1k/s, 42.3k/s]`; `None` when it has none.
pub fn interval(unit: Unit, figure: &Figure) -> Option<String> {
    Some(format!("[{}, {}]", value(unit, figure.low?), value(unit, figure.high?)))
}
