//! A goal of a bench, for people.

use crate::goal::{Goal, Judged};
use units::show::significant;

/// Returns a goal as a line: the bound, what was found, and the verdict.
pub fn line(judged: &Judged) -> String {
    let (scale, unit) = match judged.unit {
        "B/s" => (1e9, " GB/s"),
        "points" => (1.0, " points"),
        _ => (1.0, ""),
    };
    let scaled = match judged.goal {
        Goal::AtMost(limit) => Goal::AtMost(limit / scale),
        Goal::AtLeast(limit) => Goal::AtLeast(limit / scale),
        other => other,
    };
    let shown = |v: Option<f64>| v.map_or("–".into(), |v| significant(v / scale, 3));
    let found = &judged.found;
    format!(
        "goal {}: {}{unit}: {} [{}, {}], {}\n",
        judged.name,
        scaled.text(),
        shown(found.median),
        shown(found.low),
        shown(found.high),
        judged.word.text()
    )
}
