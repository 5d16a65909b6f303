//! Bisection of a list that becomes worse somewhere: which candidate is to be measured next, and what the measurements say.
//!
//! A machine behaves differently an hour later, so nothing is compared with an earlier figure: each step measures the good end again, next to
//! the candidate, and compares them in pairs. The logarithms of the ratios are compared with a border halfway between the two ends. A step takes
//! as many repeats as it needs and is judged at fixed numbers of them ([`LOOKS`]): it says `good` or `bad` where Student's interval, at the
//! look's part of the error, lies wholly on one side of the border. All looks together err in 5 % of steps for a candidate exactly on the
//! border, and far more seldom elsewhere.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use units::Better;

use crate::sequential::{LOOK_ERROR, LOOKS};
use crate::spread::mean;
use crate::student::critical;
use crate::verdict::LEAST_REPEATS;

/// The thing that is compared with the good end.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Beside {
    /// The bad end: do the ends differ at all?
    BadEnd,
    /// The good end once more: does the machine make a difference where there is none?
    Itself,
    /// The candidate at this place, the good end being at 0.
    Candidate(usize),
}

/// The values of one repeat, of the good end and of what it was compared with; `None` if either has none.
pub type Pair = Option<(f64, f64)>;

/// All measurements so far of one thing that is compared with the good end.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Step {
    /// The thing that was compared with the good end.
    pub beside: Beside,
    /// All repeats so far, in order.
    pub pairs: Vec<Pair>,
}

/// The outcome of a step.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Decision {
    /// More pairs are needed.
    Open,
    /// The candidate is like the good end; for the good end against itself: no difference, as it should be.
    Good,
    /// The candidate is like the bad end; for the good end against itself: a difference where there should be none.
    Bad,
    /// Undecided even with the most pairs allowed; such a candidate is skipped.
    Unclear,
    /// The bad end does not differ from the good end by enough to matter.
    Alike,
    /// The bad end is the better one.
    Reversed,
}

/// The evaluation of a step.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reading {
    /// The decision.
    pub word: Decision,
    /// The candidate's value over the good end's, the mean of logarithms; `None` without a pair.
    pub ratio: Option<f64>,
    /// The confidence interval of the ratio at one look's error of 1.35 %; `None` below two pairs.
    pub interval: Option<(f64, f64)>,
    /// Repeats that have both values.
    pub pairs: usize,
    /// Repeats after which it was decided.
    pub after: Option<u32>,
}

/// The rules by which steps are judged.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Rules {
    /// The direction in which the figure is good; where it is `Neither`, the direction in which the bad end lies is bad.
    pub better: Better,
    /// The share by which the ends must differ at least.
    pub threshold: f64,
    /// The most pairs of a step, 5 to 27.
    pub most: u32,
}

/// The outcome of a bisection.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Outcome {
    /// The first candidate that is bad; in a search for a fix, the first that is good again.
    Named(usize),
    /// It is one of these: the candidates between them could not be decided.
    OneOf(Range<usize>),
    /// The ends do not differ by what matters.
    Alike,
    /// The ends are too close together, given the spread of their pairs.
    Overlap,
    /// The bad end is the better one.
    Reversed,
    /// The good end differs from itself, or spreads too much to tell.
    Unsteady,
    /// No repeat of this measurement has both values, above zero.
    NoValues(Beside),
}

/// The next thing to do.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Next {
    /// More pairs have to be measured.
    Measure {
        /// The thing that is compared with the good end.
        beside: Beside,
        /// Number of repeats up to the next look.
        pairs: u32,
    },
    /// It has ended.
    Ended(Outcome),
}

/// A bisection: the rules, and all that was measured so far. It can be stored and continued later.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Bisection {
    /// The candidates, both ends among them: the good end is at 0, the bad one at the last place. At least two.
    pub candidates: usize,
    /// Tells whether a fix is searched for: the list then goes from bad to good, and the candidate that is named is the good one of the last pair.
    pub fixed: bool,
    /// The rules by which steps are judged.
    pub rules: Rules,
    /// The measurements, in order.
    pub steps: Vec<Step>,
}

impl Rules {
    /// Returns the numbers of pairs after which a step is evaluated.
    fn looks(&self) -> impl Iterator<Item = u32> {
        let most = self.most.max(LEAST_REPEATS as u32);
        LOOKS.into_iter().filter(move |look| *look < most).chain([most])
    }

    /// Evaluates a step of a candidate: bad where it is worse than the good end by more than `border`, a positive difference of logarithms.
    /// Where neither direction is good, a difference in either direction is bad.
    pub fn read(&self, pairs: &[Pair], border: f64) -> Reading {
        let side = Side::of(self.better);
        self.at_looks(pairs, |low, high| match side {
            Side::Up | Side::Down => {
                let (low, high) = side.worse(low, high);
                one_sided(low, high, border)
            }
            Side::Either => decision(low, high, border),
        })
    }

    /// Goes through the looks that are due, and returns the decision of the first look that makes one.
    fn at_looks(&self, pairs: &[Pair], decide: impl Fn(f64, f64) -> Option<Decision>) -> Reading {
        let mut reading = reading(&logarithms(pairs));
        for look in self.looks().take_while(|look| *look as usize <= pairs.len()) {
            let so_far = logarithms(pairs.get(..look as usize).unwrap_or(pairs));
            if so_far.is_empty() {
                // No value so far: a candidate that cannot run will not have values later either.
                reading.word = Decision::Unclear;
                break;
            }
            let bounds = bounds(&so_far).filter(|_| so_far.len() >= LEAST_REPEATS);
            if let Some(word) = bounds.and_then(|(low, high)| decide(low, high)) {
                (reading.word, reading.after) = (word, Some(look));
                break;
            }
            if look as usize >= self.most.max(LEAST_REPEATS as u32) as usize {
                reading.word = Decision::Unclear;
            }
        }
        reading
    }

    /// Returns how many pairs are missing until the next look.
    pub fn missing(&self, there: usize) -> u32 {
        let next = self.looks().find(|look| *look as usize > there);
        next.map_or(0, |look| look - there as u32)
    }
}

/// The direction in which a difference is bad.
#[derive(Clone, Copy, PartialEq)]
enum Side {
    Up,
    Down,
    Either,
}

impl Side {
    fn of(better: Better) -> Self {
        match better {
            Better::Higher => Self::Down,
            Better::Lower => Self::Up,
            Better::Neither => Self::Either,
        }
    }

    /// Returns the bounds with the sign turned so that a positive value means the candidate is worse.
    fn worse(self, low: f64, high: f64) -> (f64, f64) {
        if self == Self::Down { (-high, -low) } else { (low, high) }
    }
}

fn one_sided(low: f64, high: f64, border: f64) -> Option<Decision> {
    if low > border {
        Some(Decision::Bad)
    } else if high < border {
        Some(Decision::Good)
    } else {
        None
    }
}

fn decision(low: f64, high: f64, border: f64) -> Option<Decision> {
    if low > border || high < -border {
        Some(Decision::Bad)
    } else if -border < low && high < border {
        Some(Decision::Good)
    } else {
        None
    }
}

/// Returns ln(new / base) of each pair for which it is finite.
fn logarithms(pairs: &[Pair]) -> Vec<f64> {
    let ratio = |(base, new): &(f64, f64)| (new / base).ln();
    pairs.iter().flatten().map(ratio).filter(|log| log.is_finite()).collect()
}

/// Student's confidence interval of the mean at one look's error; `None` below two values.
fn bounds(logs: &[f64]) -> Option<(f64, f64)> {
    let (n, centre) = (logs.len(), mean(logs));
    if n < 2 {
        return None;
    }
    let squares: f64 = logs.iter().map(|v| (v - centre).powi(2)).sum();
    let half = critical(LOOK_ERROR, n - 1) * (squares / (n - 1) as f64 / n as f64).sqrt();
    Some((centre - half, centre + half))
}

fn reading(logs: &[f64]) -> Reading {
    Reading {
        word: Decision::Open,
        ratio: (!logs.is_empty()).then(|| mean(logs).exp()),
        interval: bounds(logs).map(|(low, high)| (low.exp(), high.exp())),
        pairs: logs.len(),
        after: None,
    }
}

impl Bisection {
    /// Creates a bisection of this many candidates, both ends included.
    pub fn new(candidates: usize, fixed: bool, rules: Rules) -> Self {
        Self { candidates, fixed, rules, steps: Vec::new() }
    }

    /// Adds what was measured.
    pub fn add(&mut self, beside: Beside, pairs: impl IntoIterator<Item = Pair>) {
        match self.steps.iter_mut().find(|step| step.beside == beside) {
            Some(step) => step.pairs.extend(pairs),
            None => self.steps.push(Step { beside, pairs: pairs.into_iter().collect() }),
        }
    }

    fn pairs(&self, beside: Beside) -> &[Pair] {
        let step = self.steps.iter().find(|step| step.beside == beside);
        step.map_or(&[], |step| &step.pairs)
    }

    /// Evaluates what was measured so far with `beside`.
    pub fn read(&self, beside: Beside) -> Reading {
        let pairs = self.pairs(beside);
        match (beside, self.border()) {
            (Beside::BadEnd, _) | (_, None) => self.read_ends(),
            (Beside::Itself, Some(border)) => {
                self.rules.at_looks(pairs, |low, high| decision(low, high, border))
            }
            (Beside::Candidate(_), Some(border)) => {
                let side = self.side();
                self.rules.at_looks(pairs, |low, high| {
                    let (low, high) = side.worse(low, high);
                    one_sided(low, high, border)
                })
            }
        }
    }

    /// The direction in which the bad end lies.
    fn side(&self) -> Side {
        match Side::of(self.rules.better) {
            Side::Either if mean(&logarithms(self.pairs(Beside::BadEnd))) < 0.0 => Side::Down,
            Side::Either => Side::Up,
            known => known,
        }
    }

    /// Evaluates the two ends: they differ where the whole interval lies beyond the threshold, and beyond the border halfway between them.
    fn read_ends(&self) -> Reading {
        let (side, zone) = (self.side(), self.rules.threshold.max(0.0).ln_1p());
        self.rules.at_looks(self.pairs(Beside::BadEnd), |low, high| {
            let (low, high) = side.worse(low, high);
            let half = (low + high) / 4.0;
            if low > zone && low > half {
                Some(Decision::Bad)
            } else if high < -zone {
                Some(Decision::Reversed)
            } else if -zone < low && high < zone {
                Some(Decision::Alike)
            } else {
                None
            }
        })
    }

    /// The border between good and bad: half of the distance between the ends, a positive difference of logarithms; `None` until the ends are
    /// known to differ.
    pub fn border(&self) -> Option<f64> {
        let ends = self.read_ends();
        let decided = ends.after.filter(|_| ends.word == Decision::Bad)?;
        let pairs = self.pairs(Beside::BadEnd);
        let logs = logarithms(pairs.get(..decided as usize).unwrap_or(pairs));
        Some(mean(&logs).abs() / 2.0)
    }

    /// Returns the next measurement, or the outcome.
    pub fn next(&self) -> Next {
        for beside in [Beside::BadEnd, Beside::Itself] {
            let pairs = self.pairs(beside);
            let reading = self.read(beside);
            let outcome = match (beside, reading.word) {
                (_, Decision::Open) => return self.measure(beside),
                (_, Decision::Unclear) if logarithms(pairs).is_empty() => Outcome::NoValues(beside),
                (Beside::BadEnd, Decision::Alike | Decision::Good) => Outcome::Alike,
                (Beside::BadEnd, Decision::Reversed) => Outcome::Reversed,
                (Beside::BadEnd, Decision::Unclear) => Outcome::Overlap,
                (Beside::BadEnd, Decision::Bad) | (_, Decision::Good) => continue,
                _ => Outcome::Unsteady,
            };
            return Next::Ended(outcome);
        }
        let Range { start: good, end: bad } = self.open_range();
        let open = |place: &usize| self.read(Beside::Candidate(*place)).word != Decision::Unclear;
        let middle = |place: &usize| (2 * place).abs_diff(good + bad);
        match (good + 1..bad).filter(open).min_by_key(middle) {
            Some(place) => self.measure(Beside::Candidate(place)),
            None if bad - good == 1 => {
                Next::Ended(Outcome::Named(if self.fixed { good } else { bad }))
            }
            None if self.fixed => Next::Ended(Outcome::OneOf(good..bad)),
            None => Next::Ended(Outcome::OneOf(good + 1..bad + 1)),
        }
    }

    fn measure(&self, beside: Beside) -> Next {
        Next::Measure { beside, pairs: self.rules.missing(self.pairs(beside).len()) }
    }

    /// The last place that is known to be good, and the first that is known to be bad.
    pub fn open_range(&self) -> Range<usize> {
        let mut between = 0..self.candidates.saturating_sub(1);
        for step in &self.steps {
            let Beside::Candidate(place) = step.beside else { continue };
            match self.read(step.beside).word {
                Decision::Good => between.start = between.start.max(place),
                Decision::Bad => between.end = between.end.min(place),
                _ => {}
            }
        }
        between
    }

    /// The most steps that can still be needed, including the current one.
    pub fn steps_left(&self) -> u32 {
        let between = self.open_range();
        (between.end - between.start).next_power_of_two().trailing_zeros()
    }
}

#[cfg(test)]
mod tests;
