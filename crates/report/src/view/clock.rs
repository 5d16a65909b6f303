//! Time within a cell: a report counts seconds from the start of what was measured.

use results::model::{Row, StageEdge};
use results::read::CellData;

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

/// The measured stages of a cell in the order they ran, from its rows, so that a cell that was cut off has
/// them too.
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

/// From the start of the first measured stage to the end of the last; `None` when nothing was measured.
pub fn measured_span(cell: &CellData) -> Option<(u64, u64)> {
    let windows = windows(cell);
    let first = windows.first()?;
    let end = windows.last().and_then(|w| w.end_ns).unwrap_or(u64::MAX);
    Some((first.start_ns, end))
}

/// Seconds from `from` to `to`, negative when it lies before.
pub fn seconds(from: u64, to: u64) -> f64 {
    (to as f64 - from as f64) / 1e9
}
