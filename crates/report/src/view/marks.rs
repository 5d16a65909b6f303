//! What is marked in a chart.

use super::strips;
use super::{Chart, CourseRow, Mark, View};

impl View {
    /// What is marked in a chart: where throughput changes, and cells that were disturbed.
    pub fn marks(&self, chart: &Chart) -> Vec<Mark> {
        let changes = self.courses.iter().filter(|course| course.is_in(&chart.id));
        let changes = changes.filter_map(CourseRow::mark);
        changes.chain(strips::marks(&self.cells, &chart.id)).collect()
    }
}
