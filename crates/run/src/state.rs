//! Whether a layer is in the state that a stage is to bring it to: its criteria, held against what is read.

use experiment::{CellPlan, StatePlan};
use layers::criterion;
use results::model::{Criterion, Judged, SampleRow, StateFigures};

use crate::figures;

/// The criteria of a stage, and what was read of them so far.
pub(crate) struct Criteria {
    figures: Option<StateFigures>,
}

impl Criteria {
    /// Those of a state; a stage without one has none, which are always met.
    pub(crate) fn of(plan: Option<&StatePlan>) -> Self {
        let unread = |criterion: &Criterion| Judged {
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
        Self { figures }
    }

    /// Holds all against what was just read; what was read before becomes the round before.
    pub(crate) fn read(&mut self, plan: &CellPlan, samples: &[SampleRow]) {
        self.judge(|criterion| figures::judged(plan, criterion, samples));
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

    /// Whether all are met.
    pub(crate) fn are_met(&self) -> bool {
        self.figures.as_ref().is_none_or(|figures| figures.reached)
    }

    /// What was read of them; `None` where there are none.
    pub(crate) fn figures(self) -> Option<StateFigures> {
        self.figures
    }
}

/// Whether the state is reached, in a sentence, with the proof.
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

/// A criterion with what was read.
fn one(judged: &Judged) -> String {
    format!("{} ({})", criterion::describe(&judged.criterion), criterion::found(judged))
}

#[cfg(test)]
mod tests {
    use experiment::Otherwise;

    use results::model::Must;

    use super::*;

    fn steady() -> Criteria {
        let criterion =
            |metric: &str, must| Criterion { layer: "vdo".into(), metric: metric.into(), must };
        Criteria::of(Some(&StatePlan {
            layer: "vdo".into(),
            state: "steady".into(),
            criteria: vec![
                criterion("physical_used_percent", Must::BeAtLeast(50.0)),
                criterion("slabs_reopened", Must::Grow),
                criterion("physical_used_percent", Must::StayWithin(1.0)),
            ],
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
        let said = sentence("age", &figures);
        let begun =
            "stage age: vdo is steady: physical_used_percent of vdo is at least 50 % (70.2 %)";
        assert!(said.starts_with(begun), "{said}");
        assert!(said.contains("(70.2 %, 70.1 % a round before)"), "{said}");
    }

    #[test]
    fn what_is_missing_is_named_with_what_was_asked_and_what_to_do() {
        let mut criteria = steady();
        round(&mut criteria, 40.0, 3.0);
        round(&mut criteria, 40.0, 3.0);
        let said = sentence("age", &criteria.figures().unwrap());
        let missed = "vdo is not steady: physical_used_percent of vdo is at least 50 % (40 %)";
        assert!(said.contains(missed), "{said}");
        assert!(
            !said.contains("slabs_reopened") && said.contains("otherwise = \"warn\""),
            "{said}"
        );
    }

    #[test]
    fn a_stage_without_a_state_has_nothing_to_meet() {
        assert!(Criteria::of(None).are_met());
        assert_eq!(Criteria::of(None).figures(), None);
    }
}
