//! Suspicions put to the test: which change would take a limit away, and what measurements of it say. Who measures is somebody else: a
//! command that proves one finding, or a tuner that goes on from what was confirmed.

use analysis::Analysis;
use results::model::{Change, Finding, ProofRound, Proved};
use results::read::ResultSet;
use stats::Verdict;

/// A limit that a change of settings would take away.
#[derive(Debug, Clone, PartialEq)]
pub struct Suspect {
    /// The finding, by its place in the list.
    pub finding: usize,
    /// Its rule.
    pub rule: String,
    /// The variant that it was found in.
    pub variant: String,
    /// What would take it away.
    pub changes: Vec<Change>,
}

/// The limits that can be put to the test, of those that are seen first; those of one rule, where it is named.
pub fn suspects(result: &ResultSet, findings: &[Finding], rule: Option<&str>) -> Vec<Suspect> {
    let of_cell = |cell: usize| result.manifest.cells.iter().find(|entry| entry.index == cell);
    let first = crate::limits(findings).first;
    let able = findings.iter().enumerate().filter(|(_, finding)| !finding.changes.is_empty());
    let wanted = able.filter(|(_, finding)| match rule {
        Some(rule) => finding.rule == rule,
        None => first.iter().any(|shown| std::ptr::eq(*shown, *finding)),
    });
    wanted
        .filter_map(|(place, finding)| {
            Some(Suspect {
                finding: place,
                rule: finding.rule.clone(),
                variant: of_cell(finding.range?.cell)?.variant.clone(),
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

/// What to do after some rounds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    /// Measure once more, on fresh seeds.
    Measure,
    /// It is known.
    Known(Proved),
}

/// What the rounds so far say. What was better once is measured once more before it is confirmed: of many changes that do nothing, some
/// look good once. Where neither more nor less is good, nothing can be said to help.
pub fn next(rounds: &[ProofRound]) -> Next {
    /// Rounds that a confirmed change was better in.
    const ENOUGH: usize = 2;
    let is = |verdict: Verdict| move |round: &&ProofRound| round.verdict == verdict.word();
    let none = |verdict| !rounds.iter().any(|round| is(verdict)(&round));
    if !none(Verdict::Same) || !none(Verdict::Worse) {
        Next::Known(Proved::Refuted)
    } else if !none(Verdict::Unclear) || !none(Verdict::Differs) {
        Next::Known(Proved::Unclear)
    } else if rounds.len() >= ENOUGH {
        Next::Known(Proved::Confirmed)
    } else {
        Next::Measure
    }
}

/// What a round says: the verdict on what the experiment asks first, with the name of that figure; `None` where it has no verdict.
pub fn round(result: &ResultSet, analysis: &Analysis) -> Option<(String, ProofRound)> {
    let comparison = analysis.comparisons.iter().find(|comparison| comparison.verdict.is_some())?;
    let name = layers::metric(&comparison.metric).map_or(&*comparison.metric, |m| m.name);
    let round = ProofRound {
        verdict: comparison.verdict?.word().to_owned(),
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

    fn after(verdicts: &[&str]) -> Next {
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
        assert_eq!(after(&[]), Next::Measure);
        assert_eq!(after(&["better"]), Next::Measure);
        assert_eq!(after(&["better", "better"]), Next::Known(Proved::Confirmed));
        assert_eq!(after(&["better", "unclear"]), Next::Known(Proved::Unclear));
        assert_eq!(after(&["better", "same"]), Next::Known(Proved::Refuted));
        assert_eq!(after(&["worse"]), Next::Known(Proved::Refuted));
        assert_eq!(after(&["unclear"]), Next::Known(Proved::Unclear));
    }

    #[test]
    fn a_round_is_the_verdict_on_what_is_asked_first() {
        let result = fixture::result();
        let (figure, round) = round(&result, &analysis::analyse(&result)).unwrap();
        assert_eq!((&*figure, &*round.verdict, round.repeats), ("IOPS of randwrite", "worse", 5));
        assert!(round.low < round.ratio && round.ratio < round.high);
    }
}
