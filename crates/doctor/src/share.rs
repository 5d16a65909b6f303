//! Counts of runs in which something was observed: among those that gave figures, and separately among the others.

use results::read::CellData;

/// Counts of runs that were examined, and of those among them in which something was observed.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct Share {
    /// Runs that gave figures: those in which it was observed, and all.
    with_figures: (usize, usize),
    /// Runs that gave none: those in which it was observed, and all.
    without_figures: (usize, usize),
}

impl Share {
    /// Counts a run.
    pub(crate) fn count(&mut self, cell: &CellData, had: bool) {
        let side = if cell.done() { &mut self.with_figures } else { &mut self.without_figures };
        side.0 += usize::from(had);
        side.1 += 1;
    }

    /// Returns the share in percent: of the runs that gave figures, or of the others where none gave any.
    pub(crate) fn percent(self) -> f64 {
        let (had, all) =
            if self.with_figures.1 > 0 { self.with_figures } else { self.without_figures };
        100.0 * had as f64 / all.max(1) as f64
    }

    /// Returns text such as `4 of 5 runs`, with `runs` as the word for them, and the count among the
    /// others, which gave no figures, if there are any.
    pub(crate) fn text(self, runs: &str) -> String {
        let ((had, all), (others_had, others)) = (self.with_figures, self.without_figures);
        match (all, others_had) {
            _ if others == 0 => format!("{had} of {all} {runs}"),
            (0, _) => format!("{others_had} of {others} {runs} that gave no figures"),
            (_, 0) => format!("{had} of {all} {runs}; {others} more gave no figures"),
            _ => {
                format!("{had} of {all} {runs}, and {others_had} of {others} that gave no figures")
            }
        }
    }
}
