//! The end of a load of a tree, in words: why it ended, and what it lacks.

use results::model::EquilibriumFacts;
use units::show::grouped;

use crate::load_status::StopReason;
use crate::tree::rest::PATIENCE;
use crate::tree::worker::{Ended, Why};

/// The `ended_by` of a load that waited for its tree to come to rest, but did not see it do so in time.
pub(crate) const UNSETTLED: &str = "unsettled";

pub(crate) fn ended_by(ended: &[Ended], halted: StopReason, is_whole: bool) -> &'static str {
    let any = |why: Why| ended.iter().any(|end| end.why == why);
    let is_at_rest = |end: &Ended| end.at_rest.iter().all(Option::is_some);
    let gave_up = |end: &Ended| end.why == Why::Rest && !is_at_rest(end);
    match halted {
        StopReason::Interrupted => "interrupted",
        StopReason::Errors | StopReason::MaxErrors => "errors",
        // Workers that should have ended are given up only after the time of the load is over.
        StopReason::Steady | StopReason::None => match () {
            () if !is_whole || any(Why::Time) => "duration",
            () if ended.iter().any(gave_up) => UNSETTLED,
            () if any(Why::Rest) && ended.iter().all(is_at_rest) => "equilibrium",
            () => "ios",
        },
    }
}

/// The notice that workers did not come back.
pub(crate) fn lost(missing: usize, all: usize) -> String {
    format!(
        "{missing} of {all} workers did not come back from the kernel; what they did since their last interval is not counted"
    )
}

/// The notice that the tree was not seen to come to rest.
pub(crate) fn unsettled(equilibrium: &EquilibriumFacts) -> String {
    let operations = grouped(PATIENCE * equilibrium.predicted_operations.unwrap_or_default());
    format!(
        "the tree was not seen at rest within {operations} operations, {PATIENCE} times the predicted ones; take more names, whose number \
         swings by less, or end the load after a time or a number of operations"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_load_whose_workers_are_lost_is_ended_by_its_time_and_not_by_rest() {
        let end = |why, rest: Option<u64>| Ended {
            worker: 0,
            why,
            at_ns: Some(1),
            files: 0,
            directories: 0,
            bytes: 0,
            at_rest: [rest; 2],
        };
        let name = |ended: &[Ended], is_whole| ended_by(ended, StopReason::None, is_whole);
        assert_eq!(name(&[], false), "duration");
        assert_eq!(name(&[end(Why::Rest, Some(9))], false), "duration");
        assert_eq!(ended_by(&[], StopReason::Interrupted, false), "interrupted");
        assert_eq!(name(&[end(Why::Rest, Some(9))], true), "equilibrium");
        assert_eq!(name(&[end(Why::Rest, Some(9)), end(Why::Rest, None)], true), UNSETTLED);
        assert_eq!(name(&[end(Why::Rest, Some(9)), end(Why::Operations, None)], true), "ios");
    }
}
