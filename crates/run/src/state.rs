//! Check that a layer has reached the state that a stage is for: the criteria of the state against the readings.

use layers::{ROUND_END, Round, criterion};
use plan::{CellPlan, StatePlan};
use results::model::{Criterion, CriterionResult, SampleRow, StateFigures};

use crate::figures;

/// The criteria of a stage, and their values so far.
pub(crate) struct Criteria {
    figures: Option<StateFigures>,
    /// The rule that ends a round; with `None` each reading ends one.
    round: Option<Round>,
    /// Start of the current round, nanoseconds since the run's epoch; 0 before the first reading.
    since_ns: u64,
}

impl Criteria {
    /// Returns the criteria of a state; without a state there are none, and they count as met.
    pub(crate) fn of(plan: Option<&StatePlan>) -> Self {
        let unread = |criterion: &Criterion| CriterionResult {
            criterion: criterion.clone(),
            before: None,
            value: None,
            met: false,
        };
        let figures = plan.map(|plan| StateFigures {
            layer: plan.layer.clone(),
            state: plan.state.clone(),
            reached: false,
            criteria: plan.criteria.iter().map(unread).collect(),
        });
        Self { figures, round: plan.and_then(|plan| plan.round.clone()), since_ns: 0 }
    }

    /// Judges all criteria by the newest reading if a round has ended; their values so far become those of the previous round.
    pub(crate) fn read(&mut self, plan: &CellPlan, samples: &[SampleRow]) {
        let since_ns = self.since_ns;
        let layer = self.figures.as_ref().map(|figures| figures.layer.clone()).unwrap_or_default();
        let grown = |metric: &str| figures::since_round(plan, &layer, metric, samples, since_ns);
        let ends = samples.iter().filter(|row| row.mark.as_deref() == Some(ROUND_END));
        let now_ns = ends.map(|row| row.at_ns).max().unwrap_or(since_ns);
        if !self.ends_round(now_ns, grown) {
            return;
        }
        self.judge(|criterion| figures::judged(plan, criterion, samples, since_ns));
        self.since_ns = now_ns;
    }

    /// Tells whether the round has ended by `now_ns`. The first reading always counts as an end: it is where the first full round begins.
    fn ends_round(&self, now_ns: u64, grown: impl Fn(&str) -> Option<f64>) -> bool {
        self.since_ns == 0
            || match &self.round {
                None => true,
                Some(Round::Time { seconds }) => now_ns - self.since_ns >= seconds * 1_000_000_000,
                Some(Round::Growth { metric, by }) => {
                    grown(metric).is_some_and(|grown| grown >= *by)
                }
            }
    }

    fn judge(&mut self, value: impl Fn(&Criterion) -> Option<f64>) {
        let Some(figures) = &mut self.figures else { return };
        for judged in &mut figures.criteria {
            judged.before = judged.value;
            judged.value = value(&judged.criterion);
            judged.met = judged.criterion.must.is_met(judged.before, judged.value);
        }
        figures.reached = figures.criteria.iter().all(|judged| judged.met);
    }

    /// Start of the current round, nanoseconds since the run's epoch.
    pub(crate) fn since_ns(&self) -> u64 {
        self.since_ns
    }

    /// Tells whether all are met.
    pub(crate) fn are_met(&self) -> bool {
        self.figures.as_ref().is_none_or(|figures| figures.reached)
    }

    /// Returns the criteria with their values; `None` where there are none.
    pub(crate) fn figures(self) -> Option<StateFigures> {
        self.figures
    }
}

/// Returns a sentence that tells whether the state is reached, with the proof.
pub(crate) fn sentence(stage: &str, figures: &StateFigures) -> String {
    let StateFigures { layer, state, reached, criteria } = figures;
    let (word, shown): (_, Vec<_>) = if *reached {
        ("is", criteria.iter().map(one).collect())
    } else {
        ("is not", criteria.iter().filter(|judged| !judged.met).map(one).collect())
    };
    let remedy = if *reached {
        ""
    } else {
        "; give it more time (deadline), another load (by), or go on all the same (otherwise = \"warn\")"
    };
    format!("stage {stage}: {layer} {word} {state}: {}{remedy}", shown.join(", "))
}

/// A criterion with its value, in words.
fn one(judged: &CriterionResult) -> String {
    format!("{} ({})", criterion::describe(&judged.criterion), criterion::found(judged))
}

#[cfg(test)]
mod tests {
    use plan::Otherwise;

    use results::model::Requirement;

    use super::*;

    #[test]
    fn a_round_goes_on_until_enough_was_written() {
        let round = Some(Round::Growth { metric: "bios_in_write".into(), by: 100.0 });
        let criteria = |since_ns| Criteria { figures: None, round: round.clone(), since_ns };
        assert!(criteria(0).ends_round(9, |_| None), "nothing was read before");
        assert!(!criteria(1).ends_round(9, |_| Some(99.0)) && !criteria(1).ends_round(9, |_| None));
        assert!(criteria(1).ends_round(9, |metric| (metric == "bios_in_write").then_some(100.0)));
        assert!(Criteria { round: None, ..criteria(1) }.ends_round(9, |_| None));
    }

    #[test]
    fn a_round_of_time_ends_with_the_reading_that_is_so_much_later() {
        let of_time = |since_ns| Criteria {
            figures: None,
            round: Some(Round::Time { seconds: 70 }),
            since_ns,
        };
        assert!(of_time(0).ends_round(1, |_| None), "nothing was read before");
        assert!(!of_time(1_000_000_000).ends_round(70_999_999_999, |_| None));
        assert!(of_time(1_000_000_000).ends_round(71_000_000_000, |_| None));
    }

    fn steady() -> Criteria {
        let criterion =
            |metric: &str, must| Criterion { layer: "vdo".into(), metric: metric.into(), must };
        Criteria::of(Some(&StatePlan {
            layer: "vdo".into(),
            state: "steady".into(),
            criteria: vec![
                criterion("physical_used_percent", Requirement::BeAtLeast(50.0)),
                criterion("slabs_reopened", Requirement::Grow),
                criterion("physical_used_percent", Requirement::StayWithin(1.0)),
            ],
            round: None,
            otherwise: Otherwise::Fail,
        }))
    }

    fn round(criteria: &mut Criteria, used: f64, reopened: f64) -> bool {
        criteria.judge(|c| Some(if c.metric == "slabs_reopened" { reopened } else { used }));
        criteria.are_met()
    }

    #[test]
    fn a_state_is_reached_when_every_criterion_holds_at_once() {
        let mut criteria = steady();
        assert!(!criteria.are_met(), "nothing was read");
        assert!(!round(&mut criteria, 60.0, 2.0), "there is no round before");
        assert!(!round(&mut criteria, 70.0, 2.0), "it still fills");
        assert!(!round(&mut criteria, 70.1, 0.0), "no slab was used again");
        assert!(round(&mut criteria, 70.2, 1.0));
        let figures = criteria.figures().unwrap();
        let message = sentence("age", &figures);
        let begun =
            "stage age: vdo is steady: physical_used_percent of vdo is at least 50 % (70.2 %)";
        assert!(message.starts_with(begun), "{message}");
        assert!(message.contains("(70.2 %, 70.1 % a round before)"), "{message}");
    }

    #[test]
    fn what_is_missing_is_named_with_what_was_asked_and_what_to_do() {
        let mut criteria = steady();
        round(&mut criteria, 40.0, 3.0);
        round(&mut criteria, 40.0, 3.0);
        let message = sentence("age", &criteria.figures().unwrap());
        let missed = "vdo is not steady: physical_used_percent of vdo is at least 50 % (40 %)";
        assert!(message.contains(missed), "{message}");
        assert!(
            !message.contains("slabs_reopened") && message.contains("otherwise = \"warn\""),
            "{message}"
        );
    }

    #[test]
    fn a_stage_without_a_state_has_nothing_to_meet() {
        assert!(Criteria::of(None).are_met());
        assert_eq!(Criteria::of(None).figures(), None);
    }
}
