//! Tests of suspected limits: the changes that would remove a limit, and the outcome of measuring them. The measuring is done by others: a command
//! that proves one finding, or a tuner that goes on from what was confirmed.

use analysis::Analysis;
use results::model::{Change, Finding, ProofOutcome, ProofRound};
use results::read::ResultSet;
use stats::Verdict;

/// A limit that a change of settings would remove.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspect {
    /// The finding, by its place in the list.
    pub finding: usize,
    /// Its rule.
    pub rule: String,
    /// The variant that it was found in.
    pub variant: String,
    /// The measured stage that it was found in.
    pub stage: String,
    /// Changes that would remove the limit.
    pub changes: Vec<Change>,
}

/// Returns the limits among those that are shown first that can be put to the test; with `rule`, only those of that rule.
pub fn suspects(result: &ResultSet, findings: &[Finding], rule: Option<&str>) -> Vec<Suspect> {
    let of_cell = |index: usize| result.cells.iter().find(|cell| cell.entry.index == index);
    let first = crate::limits(findings).first;
    let able = findings.iter().enumerate().filter(|(_, finding)| !finding.changes.is_empty());
    let wanted = able.filter(|(_, finding)| match rule {
        Some(rule) => finding.rule == rule,
        None => first.iter().any(|shown| std::ptr::eq(*shown, *finding)),
    });
    wanted
        .filter_map(|(place, finding)| {
            let range = finding.range?;
            let cell = of_cell(range.cell)?;
            let mut stages = cell.record.as_ref()?.stages.iter();
            let stage = stages.find(|stage| stage.measured && stage.start_ns == range.start_ns)?;
            Some(Suspect {
                finding: place,
                rule: finding.rule.clone(),
                variant: cell.entry.variant.clone(),
                stage: stage.name.clone(),
                changes: finding.changes.clone(),
            })
        })
        .collect()
}

impl Suspect {
    /// The change as the lines of a `set` table.
    pub fn set(&self) -> String {
        let line = |change: &Change| format!("{:?} = {}\n", change.key, change.value);
        self.changes.iter().map(line).collect()
    }
}

/// Number of rounds in which a change must be better to be confirmed; no proof takes more.
pub const MOST_ROUNDS: usize = 2;

/// The next thing to do after some rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Measure once more, on fresh seeds.
    Measure,
    /// The outcome is known.
    Known(ProofOutcome),
}

/// Returns the next thing to do after these rounds. A change that was better once is measured once more before it is confirmed: of many changes
/// without effect, some look good once. If neither more nor less of a figure is better, no change is confirmed.
pub fn next(rounds: &[ProofRound]) -> Next {
    let is = |verdict: Verdict| move |round: &&ProofRound| round.verdict == verdict.word();
    let none = |verdict| !rounds.iter().any(|round| is(verdict)(&round));
    if !none(Verdict::Same) || !none(Verdict::Worse) {
        Next::Known(ProofOutcome::Refuted)
    } else if !none(Verdict::Unclear) || !none(Verdict::Differs) {
        Next::Known(ProofOutcome::Unclear)
    } else if rounds.len() >= MOST_ROUNDS {
        Next::Known(ProofOutcome::Confirmed)
    } else {
        Next::Measure
    }
}

/// Returns the verdict of a round on the first question that the experiment asks of `stage`, with the name of that figure; `None` if
/// nothing has a verdict. If only other stages have one, the round is unclear: they prove nothing about a limit that was found elsewhere.
pub fn round(result: &ResultSet, analysis: &Analysis, stage: &str) -> Option<(String, ProofRound)> {
    let judged = || analysis.comparisons.iter().filter(|comparison| comparison.verdict.is_some());
    // A single measured stage has no name here.
    let of_stage = judged().find(|c| c.scope.stage.as_deref().is_none_or(|name| name == stage));
    let comparison = of_stage.or_else(|| judged().next())?;
    let verdict = of_stage.and_then(|c| c.verdict).unwrap_or(Verdict::Unclear);
    let name = layers::metric(&comparison.metric).map_or(&*comparison.metric, |m| m.name);
    let round = ProofRound {
        verdict: verdict.word().to_owned(),
        ratio: comparison.ratio,
        low: comparison.low,
        high: comparison.high,
        repeats: comparison.n,
        seed: result.manifest.seed,
        result: result.path.display().to_string(),
    };
    Some((format!("{name} of {}", comparison.scope.name()), round))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn next_after(verdicts: &[&str]) -> Next {
        let round = |verdict: &&str| ProofRound {
            verdict: (*verdict).to_owned(),
            ratio: None,
            low: None,
            high: None,
            repeats: 5,
            seed: units::Seed(1),
            result: String::new(),
        };
        next(&verdicts.iter().map(round).collect::<Vec<_>>())
    }

    #[test]
    fn what_was_better_once_is_measured_again_and_confirmed_when_it_is_better_twice() {
        assert_eq!(next_after(&[]), Next::Measure);
        assert_eq!(next_after(&["better"]), Next::Measure);
        assert_eq!(next_after(&["better", "better"]), Next::Known(ProofOutcome::Confirmed));
        assert_eq!(next_after(&["better", "unclear"]), Next::Known(ProofOutcome::Unclear));
        assert_eq!(next_after(&["better", "same"]), Next::Known(ProofOutcome::Refuted));
        assert_eq!(next_after(&["worse"]), Next::Known(ProofOutcome::Refuted));
        assert_eq!(next_after(&["unclear"]), Next::Known(ProofOutcome::Unclear));
    }

    #[test]
    fn a_round_is_the_verdict_on_what_is_asked_first() {
        let result = fixture::result();
        let (figure, round) = round(&result, &analysis::analyse(&result), "random-write").unwrap();
        assert_eq!((&*figure, &*round.verdict, round.repeats), ("IOPS of randwrite", "worse", 5));
        assert!(round.low < round.ratio && round.ratio < round.high);
    }

    #[test]
    fn the_verdict_is_one_of_the_stage_that_the_limit_was_found_in_and_unclear_without_one() {
        let result = fixture::result();
        let mut analysis = analysis::analyse(&result);
        let mut first = analysis.comparisons[0].clone();
        first.scope.stage = Some("cold".into());
        let mut second = first.clone();
        second.scope.stage = Some("warm".into());
        second.statistics.verdict = Some(Verdict::Same);
        analysis.comparisons = vec![first, second];
        let of = |stage: &str| round(&result, &analysis, stage).unwrap();
        assert_eq!((&*of("cold").1.verdict, &*of("warm").1.verdict), ("worse", "same"));
        assert!(of("warm").0.ends_with("in warm"), "{}", of("warm").0);
        assert_eq!(of("hot").1.verdict, "unclear");
    }
}
