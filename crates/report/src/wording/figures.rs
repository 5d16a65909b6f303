//! One figure in words.

use units::{Unit, show};

use crate::view::Figure;

/// The sign shown in place of a missing figure.
pub const NONE: &str = "–";

/// Most digits of a source's figure, enough for all that it gives.
pub const SOURCE_DIGITS: usize = 6;

/// Returns a figure without its interval: `41.2k/s`, or a dash.
pub fn median(unit: Unit, figure: Option<&Figure>) -> String {
    figure.map_or_else(
        || NONE.to_owned(),
        |f| format!("{}{}", value(unit, f.median), bytes(unit, f.median)),
    )
}

/// Returns a number of blocks in bytes, ` (256 MiB)`, so that readers need not multiply by 4 KiB; empty for other units.
fn bytes(unit: Unit, number: f64) -> String {
    match unit {
        Unit::Blocks if number != 0.0 => format!(" ({})", Unit::Bytes.show(number * BLOCK)),
        _ => String::new(),
    }
}

/// Returns the readable name of a key that was varied: `block size`, `bytes in flight`.
pub fn key(key: &str) -> String {
    match key {
        "outstanding" => "bytes in flight".to_owned(),
        other => other.replace(['_', '.'], " "),
    }
}

/// Returns a title that begins with a capital letter; a name such as `p99` stays unchanged.
pub fn capital(title: &str) -> String {
    let word = title.split(' ').next().unwrap_or_default();
    match title.chars().next() {
        Some(first) if word.chars().all(char::is_alphabetic) => {
            format!("{}{}", first.to_uppercase(), &title[first.len_utf8()..])
        }
        _ => title.to_owned(),
    }
}

/// Returns a level in readable form: `4 KiB` for `4k`, any other unchanged.
pub fn level(level: &str) -> String {
    let bytes = level.ends_with(['k', 'K', 'M', 'G']);
    let number = analysis::level_number(level).filter(|_| bytes);
    number.map_or_else(|| level.to_owned(), show::bytes)
}

/// Returns a varied key with its level: `block size 4 KiB`.
pub fn at_level((key_of, level_of): (&String, &String)) -> String {
    format!("{} {}", key(key_of), level(level_of))
}

/// Bytes of a block.
const BLOCK: f64 = 4096.0;

/// Returns a number with its unit. Counts that are medians may have a fraction; they then keep three digits.
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

/// Returns the interval of a figure: `[40.1k/s, 42.3k/s]`; `None` when it has none.
pub fn interval(unit: Unit, figure: &Figure) -> Option<String> {
    Some(format!("[{}, {}]", value(unit, figure.low?), value(unit, figure.high?)))
}
