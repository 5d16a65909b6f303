//! Ticks: round numbers on an axis.

use units::{Unit, show};

use super::range::Range;
use crate::view::{Axis, Chart, Scale, Shape};

/// A number on an axis.
#[derive(Debug, Clone, PartialEq)]
pub struct Tick {
    /// Its place, as a share of the axis.
    pub at: f64,
    /// Its text.
    pub text: String,
}

/// Approximate number of ticks on an axis.
const ABOUT: f64 = 5.0;
/// Most ticks on a logarithmic axis: more are thinned out.
const MAX_TICKS: usize = 9;
/// Fewest ticks from which a scale can be read.
const MIN_TICKS: usize = 3;
/// Significant digits of a number on an axis.
const DIGITS: usize = 3;
/// The largest number of significant digits, used only to make numbers differ.
const MOST_DIGITS: usize = 7;
/// Quantiles that have a tick, as shares.
const QUANTILES: [f64; 8] = [0.0, 0.5, 0.9, 0.99, 0.999, 0.9999, 0.99999, 0.999999];

/// Returns the ticks of the horizontal axis of a chart.
pub fn horizontal(chart: &Chart, range: &Range) -> Vec<Tick> {
    let named =
        |(place, name): (f64, &String)| Some(Tick { at: range.place(place)?, text: name.clone() });
    match (chart.shape, chart.x.scale) {
        (Shape::Bars | Shape::Boxes, _) => chart
            .names
            .iter()
            .enumerate()
            .filter_map(|(at, name)| named((at as f64, name)))
            .collect(),
        (Shape::Marked, _) => {
            let mut all: Vec<f64> =
                chart.series.iter().flat_map(|series| series.x.iter().copied()).collect();
            all.sort_by(f64::total_cmp);
            all.dedup();
            all.into_iter().zip(&chart.names).filter_map(named).collect()
        }
        (_, Scale::Nines) => QUANTILES.iter().filter_map(|share| quantile(*share, range)).collect(),
        _ => of(&chart.x, range),
    }
}

fn quantile(share: f64, range: &Range) -> Option<Tick> {
    // Quantiles beyond the end of the axis are left out.
    let at = range.place(0.0 - (1.0 - share).log10())?;
    let digits = if share > 0.99 { (0.0 - (1.0 - share).log10()).round() as usize - 2 } else { 0 };
    (at <= 1.0).then(|| Tick { at, text: format!("{:.digits$} %", share * 100.0) })
}

/// Returns the ticks of an axis of numbers.
pub fn of(axis: &Axis, range: &Range) -> Vec<Tick> {
    let binary = matches!(axis.unit, Unit::Bytes | Unit::BytesPerSecond);
    // A chart with only zeros has a linear axis even if its scale is logarithmic.
    let numbers = match range.is_log() {
        true => logarithmic(binary, range.low, range.high),
        false => linear(binary, range.low, range.high),
    };
    // Counts have no fractions.
    let whole = |number: &f64| axis.unit != Unit::Count || number.fract() == 0.0;
    let numbers: Vec<f64> = numbers.into_iter().filter(whole).collect();
    // Different ticks must not have the same text.
    let apart = |texts: &Vec<String>| texts.windows(2).all(|pair| pair[0] != pair[1]);
    let digits = |digits: usize| numbers.iter().map(|n| text(axis.unit, *n, digits)).collect();
    let texts = (DIGITS..MOST_DIGITS).map(digits).find(apart);
    let texts = texts.unwrap_or_else(|| digits(MOST_DIGITS));
    let tick = |(number, text): (&f64, String)| {
        let at = range.place(*number).filter(|at| (-1e-9..=1.0 + 1e-9).contains(at))?;
        Some(Tick { at, text })
    };
    numbers.iter().zip(texts).filter_map(tick).collect()
}

/// Returns a number with its unit and so many significant digits, as an axis shows it: thousands abbreviated by a letter.
fn text(unit: Unit, number: f64, digits: usize) -> String {
    let letters = || {
        let (divisor, letter) = match number.abs() {
            n if n >= 1e9 => (1e9, "G"),
            n if n >= 1e6 => (1e6, "M"),
            n if n >= 1e3 => (1e3, "k"),
            _ => (1.0, ""),
        };
        format!("{}{letter}", show::significant(number / divisor, digits))
    };
    match unit {
        // Zero needs no unit.
        _ if number == 0.0 => "0".to_owned(),
        Unit::Count | Unit::Blocks => letters(),
        Unit::PerSecond => format!("{}/s", letters()),
        // All ticks of an axis of time have the same unit.
        Unit::Seconds => format!("{} s", show::significant(number, digits)),
        _ => unit.show_with(number, digits),
    }
}

/// Returns multiples of a round step: 1, 2, 2.5 or 5 times a power of ten, or for bytes a power of two.
fn linear(binary: bool, low: f64, high: f64) -> Vec<f64> {
    let raw = (high - low) / ABOUT;
    let base: f64 = if binary { 2.0 } else { 10.0 };
    let power = base.powf((raw.ln() / base.ln()).floor());
    let step = match binary {
        true if raw / power > 1.4 => power * 2.0,
        true => power,
        false => {
            let round = [1.0, 2.0, 2.5, 5.0, 10.0].map(|times| times * power);
            round.into_iter().find(|step| *step >= raw * (1.0 - 1e-9)).unwrap_or(raw)
        }
    };
    let (first, last) = ((low / step).ceil(), (high / step * (1.0 + 1e-9)).floor());
    if !(step > 0.0 && last - first < 100.0) {
        return Vec::new();
    }
    (first as i64..=last as i64).map(|n| n as f64 * step).collect()
}

/// Returns powers of two, or 1, 2 and 5 times powers of ten; multiples of a step if these are too few.
fn logarithmic(binary: bool, low: f64, high: f64) -> Vec<f64> {
    let powers = |base: f64, times: &[f64]| -> Vec<f64> {
        let (first, last) = ((low.ln() / base.ln()).floor(), (high.ln() / base.ln()).ceil());
        let all = (first as i32..=last as i32).map(|power| base.powi(power));
        let all = all.flat_map(|power| times.iter().map(move |times| times * power));
        all.filter(|number| (low..=high).contains(number)).collect()
    };
    let tries: &[(f64, &[f64])] = match binary {
        true => &[(1024.0, &[1.0]), (16.0, &[1.0]), (4.0, &[1.0]), (2.0, &[1.0])],
        false => &[(1000.0, &[1.0]), (10.0, &[1.0]), (10.0, &[1.0, 2.0, 5.0])],
    };
    let enough = tries
        .iter()
        .map(|(base, times)| powers(*base, times))
        .find(|all| (MIN_TICKS..=MAX_TICKS).contains(&all.len()));
    enough.unwrap_or_else(|| linear(binary, low, high))
}
