//! The looks at a run that takes as many repeats as it needs.

use results::model::CellState;
use results::read::ResultSet;

/// Returns the repeats after which the run was looked at so far, in order; `None` for a run with a fixed number of repeats.
///
/// A look counts when every cell up to it has ended by itself. If the time ran out before the next look, the last repeat counts as that
/// look, so that there are never more looks than planned.
pub fn looks(set: &ResultSet) -> Option<Vec<u32>> {
    let planned = &set.manifest.plan.sequential.as_ref()?.looks;
    let ended = |repeat: u32| {
        let until = set.manifest.cells.iter().filter(|cell| cell.repeat <= repeat);
        until.map(|cell| cell.state).all(|s| matches!(s, CellState::Done | CellState::Failed))
    };
    let stopped = set.manifest.stopped.map_or(u32::MAX, |stopped| stopped.after);
    let mut looks: Vec<u32> =
        planned.iter().copied().filter(|look| *look < stopped && ended(*look)).collect();
    looks.extend((stopped != u32::MAX && ended(stopped)).then_some(stopped));
    Some(looks)
}

#[cfg(test)]
mod tests {
    use results::model::{SequentialFacts, StopReason, StoppedFacts};

    use super::*;

    #[test]
    fn a_look_counts_when_every_cell_up_to_it_has_ended() {
        let mut set = fixture::with(9, 7_600.0);
        assert_eq!(looks(&set), None);
        let planned = SequentialFacts { looks: vec![5, 8, 12], time: None };
        set.manifest.plan.sequential = Some(planned);
        // For cells that have no files yet the manifest's state counts.
        let mut beyond = set.manifest.cells[0].clone();
        (beyond.repeat, beyond.state) = (12, CellState::Pending);
        set.manifest.cells.push(beyond);
        assert_eq!(looks(&set).unwrap(), [5, 8]);
        set.manifest.cells.last_mut().unwrap().state = CellState::Skipped;
        set.manifest.stopped = Some(StoppedFacts { after: 9, why: StopReason::Time });
        assert_eq!(looks(&set).unwrap(), [5, 8, 9], "the time was over between looks");
        set.manifest.stopped = Some(StoppedFacts { after: 8, why: StopReason::Decided });
        assert_eq!(looks(&set).unwrap(), [5, 8]);
        set.manifest.cells[10].state = CellState::Failed;
        assert_eq!(looks(&set).unwrap(), [5, 8], "a failed cell has ended");
        set.manifest.cells[10].state = CellState::Interrupted;
        assert_eq!(looks(&set).unwrap(), [5]);
        set.manifest.cells[0].state = CellState::Running;
        assert!(looks(&set).unwrap().is_empty());
    }
}
