//! The geometry of a map: cells at the places of their levels, and the diagonals and frames over them.

use std::fmt::Write;

use units::show;

use super::{HEIGHT, Tick, WIDTH, path};
use crate::view::{Diagonal, MapLevel, Panel, SweepMap};

/// Share of a cell that is left free on each side.
const MARGIN: f64 = 0.03;

/// The map of one variant with computed places for all its parts.
#[derive(Debug, Clone, PartialEq)]
pub struct CellMap {
    /// Its width, in cells.
    pub columns: f64,
    /// Its height, in cells.
    pub rows: f64,
    /// Ticks of the horizontal axis.
    pub x: Vec<Tick>,
    /// Ticks of the vertical axis.
    pub y: Vec<Tick>,
    /// Its cells.
    pub cells: Vec<DrawnCell>,
    /// The lines of equal bytes in flight.
    pub lines: String,
    /// Frames of the cells that are surely the fastest of their line.
    pub sure: String,
    /// Frames of those for which that is not decided.
    pub open: String,
    /// Bytes in flight of the lines that end at the right side.
    pub right: Vec<Tick>,
    /// Bytes in flight of the lines that end before it.
    pub below: Vec<Tick>,
}

/// One cell.
#[derive(Debug, Clone, PartialEq)]
pub struct DrawnCell {
    /// SVG path data.
    pub path: String,
    /// Its centre, as shares of the width and, from below, of the height.
    pub centre: (f64, f64),
    /// Its figure, short enough to stand in it.
    pub value: String,
    /// Its point and figure in full.
    pub title: String,
    /// Number of its colour.
    pub class: usize,
    /// Tells whether it is hollow.
    pub spoiled: bool,
}

impl CellMap {
    /// Draws the map of one variant.
    pub fn of(map: &SweepMap, panel: &Panel) -> Self {
        let [across, up] = &map.levels;
        let (columns, rows) = (length(across), length(up));
        let centre = |at: [usize; 2]| {
            ((across[at[0]].place + 0.5) / columns, (up[at[1]].place + 0.5) / rows)
        };
        let ticks = |levels: &[MapLevel], of: f64| -> Vec<Tick> {
            let tick = |l: &MapLevel| Tick { at: (l.place + 0.5) / of, text: short(&l.name) };
            levels.iter().map(tick).collect()
        };
        let frame = |at: [usize; 2]| {
            let (x, y) = centre(at);
            let (width, height) = (WIDTH / columns, HEIGHT / rows);
            let [left, top] = [x * WIDTH - width / 2.0, (1.0 - y) * HEIGHT - height / 2.0];
            let [dx, dy] = [width * MARGIN, height * MARGIN];
            path::bar(left + dx, width - 2.0 * dx, top + dy, top + height - dy)
        };
        let cells = panel.cells.iter().map(|cell| {
            let [x, y] = [&across[cell.at[0]].name, &up[cell.at[1]].name];
            let best = panel.diagonals.iter().find(|line| line.best == Some(cell.at));
            let best = best.map_or_else(String::new, best_text);
            let [of_x, of_y] = &map.keys;
            DrawnCell {
                path: frame(cell.at),
                centre: centre(cell.at),
                value: short(&map.unit.show_with(cell.value, 2)),
                title: format!("{of_x} {x}, {of_y} {y}: {}{best}", map.unit.show(cell.value)),
                class: cell.class,
                spoiled: cell.spoiled,
            }
        });
        let mut lines = String::new();
        let (mut right, mut below) = (Vec::new(), Vec::new());
        for line in panel.diagonals.iter() {
            let [(x, y), (to_x, to_y)] = line.ends.map(centre);
            let _ = write!(
                lines,
                "M{:.0} {:.0}L{:.0} {:.0}",
                x * WIDTH,
                (1.0 - y) * HEIGHT,
                to_x * WIDTH,
                (1.0 - to_y) * HEIGHT
            );
            let text = short(&show::bytes(line.bytes));
            match line.ends[1][0] + 1 == across.len() {
                true => right.push(Tick { at: to_y, text }),
                false => below.push(Tick { at: to_x, text }),
            }
        }
        let framed = |sure: bool| -> String {
            let those = panel.diagonals.iter().filter(|line| line.sure == sure);
            those.filter_map(|line| line.best).map(frame).collect()
        };
        Self {
            columns,
            rows,
            x: ticks(across, columns),
            y: ticks(up, rows),
            cells: cells.collect(),
            lines,
            sure: framed(true),
            open: framed(false),
            right,
            below,
        }
    }
}

/// Describes the best cell of a diagonal.
fn best_text(line: &Diagonal) -> String {
    let decided = if line.sure { "fastest" } else { "highest, not decided" };
    let ratio = if line.ratio.is_empty() { String::new() } else { format!(" ({})", line.ratio) };
    format!("; {decided} with {} in flight{ratio}", show::bytes(line.bytes))
}

/// Returns the length of an axis, in cells.
fn length(levels: &[MapLevel]) -> f64 {
    levels.last().map_or(1.0, |last| last.place + 1.0)
}

/// Shortens a number with its unit: `64k` for `64 KiB`, `1.9M` for `1.9 MiB/s`.
fn short(text: &str) -> String {
    let text = text.trim_end_matches("/s").replace("KiB", "k").replace("iB", "");
    text.trim_end_matches(" B").replace(' ', "")
}
