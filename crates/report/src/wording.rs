//! How figures, ratios and intervals are written, the same on every page and terminal.

use analysis::MetricComparison;
use stats::LEAST_REPEATS;
use units::{Unit, show};

use crate::view::Figure;

/// What stands where there is no figure.
pub const NONE: &str = "–";

/// When a verdict claims a difference.
pub fn claims() -> String {
    format!(
        "a verdict claims a difference where the whole interval lies beyond what matters, the test agrees, and each side has \
         {LEAST_REPEATS} repeats or more."
    )
}

/// A figure without its interval: `41.2k/s`, or a dash.
pub fn median(unit: Unit, figure: Option<&Figure>) -> String {
    figure.map_or_else(|| NONE.to_owned(), |f| value(unit, f.median))
}

/// A number in its unit. Counts that are medians may have a fraction; they keep three digits then.
pub fn value(unit: Unit, number: f64) -> String {
    match unit {
        Unit::Count | Unit::Blocks if number.fract() == 0.0 && (0.0..1e15).contains(&number) => {
            show::grouped(number as u64)
        }
        Unit::Count | Unit::Blocks if number.abs() >= 1000.0 => {
            show::grouped(number.abs().round() as u64)
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

/// A ratio: `0.37×`.
pub fn ratio(number: f64) -> String {
    format!("{}×", show::significant(number, 3))
}

/// The interval of a ratio: `[0.35, 0.40]`; `None` when it has none.
pub fn ratio_interval(comparison: &MetricComparison) -> Option<String> {
    Some(format!(
        "[{}, {}]",
        show::significant(comparison.low?, 3),
        show::significant(comparison.high?, 3)
    ))
}

/// A p-value: `0.0079`, `< 0.0001`.
pub fn p_value(p: Option<f64>) -> String {
    match p {
        None => NONE.to_owned(),
        Some(p) if p < 1e-4 => "< 0.0001".to_owned(),
        Some(p) => show::significant(p, 2),
    }
}

/// A verdict with a mark that does not rest on colour: `▲ better`.
pub fn verdict(word: &str) -> String {
    let mark = match word {
        "better" => "▲",
        "worse" => "▼",
        "same" => "=",
        _ => "?",
    };
    format!("{mark} {word}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_grouped_and_what_is_missing_is_a_dash() {
        assert_eq!(value(Unit::Blocks, 262_144.0), "262,144");
        assert_eq!(value(Unit::PerSecond, 15_234.4), "15,234/s");
        assert_eq!(median(Unit::Bytes, None), "–");
        assert_eq!(p_value(Some(0.007_936)), "0.0079");
        assert_eq!(verdict("worse"), "▼ worse");
    }
}
