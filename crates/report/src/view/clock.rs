//! Time within a cell: a report counts seconds from the start of the measured part.

use std::collections::BTreeMap;

use results::model::{Row, StageEdge};
use results::read::{CellData, ResultSet};
use units::Unit;

use super::repeats::median;
use super::{Axis, Scale};

/// A measured stage of a cell.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Window {
    /// Index of the stage in the cell.
    pub stage: usize,
    /// Its name.
    pub name: String,
    /// Start, nanoseconds since the run's epoch.
    pub start_ns: u64,
    /// End; `None` when it never ended.
    pub end_ns: Option<u64>,
}

/// Returns the measured stages of a cell in the order they ran. They come from its rows, so that a cell that was
/// cut off has them too.
pub fn windows(cell: &CellData) -> Vec<Window> {
    let mut windows: Vec<Window> = Vec::new();
    for row in &cell.rows {
        let Row::Stage(StageEdge { stage, name, measured: true, ended, at_ns }) = row else {
            continue;
        };
        match windows.iter_mut().find(|w| w.stage == *stage) {
            Some(window) if *ended => window.end_ns = Some(*at_ns),
            Some(_) => {}
            None => windows.push(Window {
                stage: *stage,
                name: name.clone(),
                start_ns: *at_ns,
                end_ns: ended.then_some(*at_ns),
            }),
        }
    }
    windows
}

/// Returns the start of the first measured stage and the end of the last; `None` when nothing was measured.
pub fn measured_span(cell: &CellData) -> Option<(u64, u64)> {
    let windows = windows(cell);
    let first = windows.first()?;
    let end = windows.last().and_then(|w| w.end_ns).unwrap_or(u64::MAX);
    Some((first.start_ns, end))
}

/// The label of the time axis of a chart over several measured stages.
const SEVERAL: &str = "Seconds since the first measured stage began";

/// Returns the axis of seconds since the start of one measured stage.
pub fn stage_axis() -> Axis {
    Axis {
        label: "Seconds since the measured stage began".to_owned(),
        scale: Scale::Linear,
        unit: Unit::Seconds,
    }
}

/// Returns the axis of seconds over all measured stages, and what ran in between.
pub fn span_axis(set: &ResultSet) -> Axis {
    let several = set.cells.iter().any(|cell| windows(cell).len() > 1);
    let label = if several { SEVERAL.to_owned() } else { stage_axis().label };
    Axis { label, ..stage_axis() }
}

/// Tells whether an axis covers several stages.
pub fn of_several(axis: &Axis) -> bool {
    axis.label.starts_with(SEVERAL)
}

/// A stage of a variant that began after the first measured one did.
#[derive(Debug, Clone, PartialEq)]
pub struct StageStart {
    /// The stage's name.
    pub stage: String,
    /// Tells whether it was measured.
    pub measured: bool,
    /// Seconds since the first measured stage began, the median over the cells.
    pub at_s: f64,
}

/// Returns the stages of a variant that started after its first measured stage and before the end of its last.
pub fn starts(set: &ResultSet, variant: &str) -> Vec<StageStart> {
    let mut starts: BTreeMap<usize, (String, bool, Vec<f64>)> = BTreeMap::new();
    for cell in set.cells_of(variant) {
        let Some((start, end)) = measured_span(cell) else { continue };
        for row in &cell.rows {
            let Row::Stage(StageEdge { stage, name, measured, ended: false, at_ns }) = row else {
                continue;
            };
            if (start + 1..end).contains(at_ns) {
                let known = starts.entry(*stage).or_insert((name.clone(), *measured, Vec::new()));
                known.2.push(seconds(start, *at_ns));
            }
        }
    }
    let start = |(stage, measured, at)| Some(StageStart { stage, measured, at_s: median(at)? });
    starts.into_values().filter_map(start).collect()
}

/// Returns the seconds from `from` to `to`, negative when `to` is earlier.
pub fn seconds(from: u64, to: u64) -> f64 {
    (to as f64 - from as f64) / 1e9
}
