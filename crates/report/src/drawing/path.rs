//! SVG path data. Places are rounded to whole units of a drawing; a screen shows only about every second one.

use std::fmt::Write;

/// Width of a column of a bold line, in units: of the points within, only the first, the least, the greatest and the last are drawn.
const COLUMN: f64 = 2.0;
/// The same for the thin line of a repeat.
const THIN: f64 = 5.0;

/// Returns a line through points, with gaps where there are none. However many points there are, the extremes (such as a stall) stay visible.
pub fn line(points: &[Option<(f64, f64)>], bold: bool) -> String {
    let column = if bold { COLUMN } else { THIN };
    let mut path = String::new();
    for run in points.split(Option::is_none) {
        let known: Vec<(f64, f64)> = run.iter().flatten().copied().collect();
        if known.len() > 1 {
            way(&mut path, 'M', &thinned(&known, column));
        }
    }
    path
}

/// Returns a mark for every point.
pub fn dots(points: &[Option<(f64, f64)>]) -> String {
    points.iter().flatten().fold(String::new(), dot)
}

/// Returns marks for the points without neighbours.
pub fn lone_points(points: &[Option<(f64, f64)>]) -> String {
    let known = |at: Option<usize>| at.and_then(|at| *points.get(at)?).is_some();
    let alone = |at: &usize| !known(at.checked_sub(1)) && !known(Some(at + 1));
    (0..points.len()).filter(alone).filter_map(|at| points[at].as_ref()).fold(String::new(), dot)
}

/// Adds a line of zero length: with round ends it is a dot, however the drawing is stretched.
fn dot(mut path: String, (x, y): &(f64, f64)) -> String {
    let _ = write!(path, "M{x:.0} {y:.0}h0");
    path
}

/// Returns the area between two lines.
pub fn area(above: &[(f64, f64)], below: &[(f64, f64)]) -> String {
    let (above, mut below) = (thinned(above, COLUMN), thinned(below, COLUMN));
    below.reverse();
    let mut path = String::new();
    if !above.is_empty() {
        way(&mut path, 'M', &above);
        way(&mut path, 'L', &below);
        path.push('Z');
    }
    path
}

/// Returns a bar from its top to the ground.
pub fn bar(left: f64, width: f64, top: f64, ground: f64) -> String {
    format!("M{left:.0} {ground:.0}V{top:.0}h{width:.0}V{ground:.0}Z")
}

/// Returns a line to the right. Halves are kept: rows need not be a whole number of units high.
pub fn row(left: f64, length: f64, height: f64) -> String {
    let round = |number: f64| (number * 10.0).round() / 10.0;
    format!("M{} {}h{}", round(left), round(height), round(length))
}

/// Returns a box with a notch about its median, and the lines of the median and of the ends. `across` is its centre, half its width, and the depth
/// of the notch; `heights` are those of the least value, the first quartile, the notch's lower end, the median, the notch's upper end, the third
/// quartile, and the greatest value.
pub fn notched(across: (f64, f64, f64), heights: [f64; 7]) -> (String, String) {
    let (centre, half, depth) = across;
    let [least, first, low, median, high, third, most] = heights;
    let (left, right) = (centre - half, centre + half);
    let body = [
        (left, first),
        (left, low),
        (left + depth, median),
        (left, high),
        (left, third),
        (right, third),
        (right, high),
        (right - depth, median),
        (right, low),
        (right, first),
    ];
    let mut path = String::new();
    way(&mut path, 'M', &body);
    path.push('Z');
    let end = |end: f64, of: f64| {
        let (from, to) = (centre - half / 2.0, centre + half / 2.0);
        format!("M{centre:.0} {of:.0}V{end:.0}M{from:.0} {end:.0}H{to:.0}")
    };
    let (inner, outer) = (left + depth, right - depth);
    let lines =
        format!("M{inner:.0} {median:.0}H{outer:.0}{}{}", end(least, first), end(most, third));
    (path, lines)
}

fn way(path: &mut String, begin: char, points: &[(f64, f64)]) {
    path.push(begin);
    for (place, (x, y)) in points.iter().enumerate() {
        let _ = write!(path, "{}{x:.0} {y:.0}", if place > 0 { " " } else { "" });
    }
}

/// Keeps the first, the least, the greatest and the last point of each column, in their order.
fn thinned(points: &[(f64, f64)], column: f64) -> Vec<(f64, f64)> {
    let of = |point: &(f64, f64)| (point.0 / column).floor();
    let extremes = |group: &[(f64, f64)]| -> Vec<(f64, f64)> {
        let by = |a: &usize, b: &usize| group[*a].1.total_cmp(&group[*b].1);
        let least = (0..group.len()).min_by(by).unwrap_or(0);
        let greatest = (0..group.len()).max_by(by).unwrap_or(0);
        let mut kept = vec![0, least, greatest, group.len() - 1];
        kept.sort_unstable();
        kept.dedup();
        kept.into_iter().map(|at| group[at]).collect()
    };
    points.chunk_by(|a, b| of(a) == of(b)).flat_map(extremes).collect()
}
