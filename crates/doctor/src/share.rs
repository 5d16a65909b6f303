//! Counts of runs in which something was so: of those that gave figures, and of the others apart.

use results::read::CellData;

/// Runs that were looked at, and those among them that have something.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Share {
    /// Runs that gave figures: those that had it, all.
    with: (usize, usize),
    /// Runs that gave none: those that had it, all.
    without: (usize, usize),
}

impl Share {
    /// Counts a run.
    pub(crate) fn count(&mut self, cell: &CellData, had: bool) {
        let side = if cell.done() { &mut self.with } else { &mut self.without };
        side.0 += usize::from(had);
        side.1 += 1;
    }

    /// The share in percent: of the runs that gave figures, where there are any.
    pub(crate) fn percent(self) -> f64 {
        let (had, all) = if self.with.1 > 0 { self.with } else { self.without };
        100.0 * had as f64 / all.max(1) as f64
    }

    /// Returns `4 of 5 runs` with what the runs are called, and what of the others is to be said.
    pub(crate) fn text(self, runs: &str) -> String {
        let ((had, all), (others_had, others)) = (self.with, self.without);
        match (all, others_had) {
            _ if others == 0 => format!("{had} of {all} {runs}"),
            (0, _) => format!("{others_had} of {others} {runs} that gave no figures"),
            (_, 0) => format!("{had} of {all} {runs}, beside {others} that gave no figures"),
            _ => {
                format!("{had} of {all} {runs}, and {others_had} of {others} that gave no figures")
            }
        }
    }
}
