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
