//! What is marked in charts: where throughput changes, and cells that were disturbed.

use super::{Chart, CourseRow, Mark, View, strips};

/// The marks of a chart.
pub fn marks(view: &View, chart: &Chart) -> Vec<Mark> {
    let changes = view.courses.iter().filter(|course| course.is_in(&chart.id));
    let changes = changes.filter_map(CourseRow::mark);
    changes.chain(strips::marks(&view.cells, &chart.id)).collect()
}
