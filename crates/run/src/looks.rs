//! A run that takes as many repeats as are needed: looks at what there is so far, and ends it when all that is asked is decided.

use analysis::{Analysis, MetricComparison, analyse};
use plan::{CellPlan, Plan};
use results::model::{SequentialFacts, StopReason};
use units::Nanos;

use crate::event::QuestionState;
use crate::{Event, Ledger, RunError};

/// The looks of a sequential run: after how many repeats all that is asked is decided.
pub(crate) struct Looks {
    planned: SequentialFacts,
    /// The repeat of each cell.
    repeats: Vec<u32>,
    began: Nanos,
    /// The last repeat that had ended before this call of the program.
    before: u32,
    /// The last repeat that was considered.
    seen: u32,
}

impl Looks {
    /// Returns the looks of a plan that runs from `now` on; `None` where the number of repeats is fixed.
    pub(crate) fn of(plan: &Plan, ledger: &Ledger, now: Nanos) -> Option<Self> {
        let planned = ledger.sequential()?.clone();
        let repeats = plan.cells.iter().map(|cell| cell.repeat).collect();
        let mut looks = Self { planned, repeats, began: now, before: 0, seen: 0 };
        looks.before = looks.ended(ledger);
        Some(looks)
    }

    /// The last repeat that is over: no cell of it or of an earlier repeat is to run any more.
    fn ended(&self, ledger: &Ledger) -> u32 {
        let open = ledger.pending().into_iter().chain(ledger.running());
        let first = open.filter_map(|cell| self.repeats.get(cell)).min();
        first.map_or_else(|| self.most(), |repeat| repeat - 1)
    }

    fn most(&self) -> u32 {
        self.planned.looks.last().copied().unwrap_or_default()
    }

    /// Called while no cell runs: looks at the run if a look is due, reports what it saw, and skips the remaining cells if they are not
    /// needed or would not end in time.
    pub(crate) fn consider(&mut self, ledger: &mut Ledger, now: Nanos) -> Result<(), RunError> {
        let repeat = self.ended(ledger);
        if repeat <= self.seen || ledger.stopped() {
            return Ok(());
        }
        self.seen = repeat;
        let late = self.late(repeat, now);
        if !late && !self.planned.looks.contains(&repeat) {
            return Ok(());
        }
        if late {
            // There is no time for another repeat, so the look is here instead of at the next planned one.
            ledger.stop(repeat, StopReason::Time)?;
        }
        let set = results::open(ledger.way()).map_err(|e| RunError::Look(e.into()))?;
        let analysis = analyse(&set);
        let claims: Vec<QuestionState> = claims(&analysis);
        let open = claims.iter().filter(|claim| !claim.decided).count();
        let has_questions = analysis.comparisons.iter().any(MetricComparison::is_asked_about);
        let why = match (claims.is_empty(), open) {
            (true, _) if has_questions => Some(StopReason::FewIos),
            (true, _) => Some(StopReason::Nothing),
            (false, 0) => Some(StopReason::Decided),
            _ if repeat == self.most() => Some(StopReason::Most),
            _ => None,
        };
        if let Some(why) = why.filter(|why| !late || *why == StopReason::Decided) {
            ledger.stop(repeat, why)?;
        }
        let next = self.planned.looks.iter().copied().find(|look| *look > repeat);
        let next = next.filter(|_| !ledger.stopped());
        ledger.tell(&Event::Looked { after: repeat, claims, next, stopped: ledger.stopped_text() });
        Ok(())
    }

    /// Tells whether another repeat would exceed the time limit, if it took the mean time of the repeats so far.
    fn late(&self, repeat: u32, now: Nanos) -> bool {
        let Some(time) = self.planned.time.filter(|_| repeat < self.most()) else { return false };
        let spent = now.0.saturating_sub(self.began.0);
        let ran = u64::from(repeat.saturating_sub(self.before));
        ran > 0 && spent + spent / ran > time.0
    }

    /// Returns those of `cells` before which a guest asks whether they are needed; the guest runs `cells` in this order.
    pub(crate) fn ask_before(&self, plan: &[CellPlan], cells: &[usize]) -> Vec<usize> {
        let repeat = |cell: usize| plan.get(cell).map_or(0, |cell| cell.repeat);
        let is_asked = |pair: &&[usize]| {
            let (before, next) = (repeat(pair[0]), repeat(pair[1]));
            let look = self.planned.looks.iter().any(|look| (before..next).contains(look));
            look || self.planned.time.is_some() && before < next
        };
        cells.windows(2).filter(is_asked).map(|pair| pair[1]).collect()
    }
}

/// Returns the questions that can be decided, and their state.
fn claims(analysis: &Analysis) -> Vec<QuestionState> {
    let claim = |c: &MetricComparison| {
        let label = layers::metric(&c.metric).map_or(c.metric.as_str(), |metric| metric.name);
        QuestionState {
            question: format!("{label} of {}", c.scope.name()),
            variant: c.new.clone(),
            decided: c.decided_after.is_some(),
            verdict: c.verdict.map(|verdict| verdict.word().to_owned()),
            repeats_that_might_decide: c.repeats_that_would_decide.map(|(least, _)| least),
            repeats_that_would_decide: c.repeats_that_would_decide.map(|(_, most)| most),
        }
    };
    analysis.comparisons.iter().filter(|c| c.decidable()).map(claim).collect()
}

#[cfg(test)]
mod tests;
