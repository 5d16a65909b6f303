//! Texts of a bisection: its progress, its outcome, and JSON.

use std::path::Path;

use analysis::{Unmoved, analyse};
use report::bisected::{Bisected, BisectedRung, BisectedStep};
use serde_json::{Value, json as object};
use stats::bisect::{Beside, Decision, Next, Outcome, Pair, Reading};
use units::show::significant;

use super::kept::{self, names};
use super::state::State;
use crate::failure::Failure;
use crate::terminal::{Style, Text};

/// Largest number of nearly constant figures that are named on the terminal.
const NAMED: usize = 8;

/// Announces a step: `v08 against v01, pairs 1 to 5; at most 2 steps are left with it`.
pub fn step_text(state: &State, beside: Beside, pairs: u32) -> String {
    let good = state.asked.candidates.first().map_or("", String::as_str);
    let what = match beside {
        Beside::BadEnd => "the ends: ",
        Beside::Itself => "the good end against itself: ",
        Beside::Candidate(_) => "",
    };
    let other = state.other(beside).unwrap_or(good);
    let there = state.parts_of(beside).map(|part| part.repeats).sum::<u32>();
    let left = match beside {
        Beside::Candidate(_) => {
            format!("; at most {} steps are left with it", state.bisection.steps_left())
        }
        _ => String::new(),
    };
    format!("{what}{other} against {good}, pairs {} to {}{left}", there + 1, there + pairs)
}

/// The outcome of a step's pairs so far.
pub fn step_reading(state: &State, beside: Beside) -> String {
    let name = state.other(beside).unwrap_or("itself");
    format!("{name}: {}", reading_text(&state.bisection.read(beside)))
}

/// `bad, 0.71× the good one (0.66 to 0.76), 8 pairs`.
pub fn reading_text(read: &Reading) -> String {
    let figure = read.ratio.map_or_else(
        || "no pair has both values".to_owned(),
        |ratio| {
            let interval = read.interval.map_or_else(String::new, |(low, high)| {
                format!(" ({} to {})", significant(low, 3), significant(high, 3))
            });
            format!("{}× the good one{interval}", significant(ratio, 3))
        },
    );
    let pairs = if read.pairs == 1 { "1 pair".to_owned() } else { format!("{} pairs", read.pairs) };
    format!("{}, {figure}, {pairs}", word(read.word))
}

fn word(word: Decision) -> &'static str {
    match word {
        Decision::Open => "open",
        Decision::Good => "good",
        Decision::Bad => "bad",
        Decision::Unclear => "cannot be decided",
        Decision::Alike => "alike",
        Decision::Reversed => "the bad end is the better one",
    }
}

/// Returns the figures that need only five pairs: they hardly vary in the first result of the good end against itself, and differ in the first
/// result of both ends.
pub fn unmoved(state: &State, out: &Path) -> Vec<Unmoved> {
    let first = |beside: Beside| {
        let part = state.parts_of(beside).next()?;
        results::open(&out.join(&part.folder)).ok()
    };
    let (Some(ends), Some(itself)) = (first(Beside::BadEnd), first(Beside::Itself)) else {
        return Vec::new();
    };
    let ([good, bad], [one, again]) = (names(state, &ends), names(state, &itself));
    analysis::unmoved(
        (&analyse(&itself), [&one, &again]),
        (&analyse(&ends), [&good, &bad]),
        state.asked.rules.threshold,
    )
}

/// The outcome in a sentence.
fn sentence(state: &State, outcome: Option<&Outcome>) -> String {
    let name = |place: usize| state.asked.candidates.get(place).map_or("", String::as_str);
    let (first, kind) = if state.asked.fixed { ("good again", "mend") } else { ("bad", "change") };
    match outcome {
        None => {
            "stopped before it was decided; the same command with the same --out goes on".into()
        }
        Some(Outcome::Named(place)) => format!("{} is the first that is {first}", name(*place)),
        Some(Outcome::OneOf(places)) => {
            let names: Vec<_> = places.clone().map(name).collect();
            format!(
                "the {kind} is one of these; which one could not be decided: {}",
                names.join(", ")
            )
        }
        Some(Outcome::Alike) => format!(
            "the ends do not differ by more than {} %: there is nothing to bisect",
            significant(100.0 * state.asked.rules.threshold, 3)
        ),
        Some(Outcome::Overlap) => {
            "the ends overlap: their pairs spread too widely for the difference between the ends; \
            take a figure that spreads less, longer loads, or a quieter machine"
                .into()
        }
        Some(Outcome::Reversed) => "the bad end is better than the good one: exchange them".into(),
        Some(Outcome::Unsteady) => {
            "the good end differs from itself as much as the ends do, or spreads as widely: \
            on this machine this figure does not tell good from bad"
                .into()
        }
        Some(Outcome::NoValues(_)) => format!(
            "no repeat has a {} above zero on both sides: a step's result says why (fathom show)",
            state.asked.figure.metric
        ),
    }
}

/// All that is known, for people.
pub fn text(state: &State, outcome: Option<&Outcome>, unmoved: &[Unmoved], out: &Path) -> Text {
    let style = Style::of_stdout();
    let bisection = &state.bisection;
    let mut text = Text::default();
    let label = layers::metric(&state.asked.figure.metric);
    let label = label.map_or(state.asked.figure.metric.as_str(), |metric| metric.name);
    text.line(format!("{label}: {}", sentence(state, outcome)));
    text.line(format!("  both ends: {}", reading_text(&bisection.read(Beside::BadEnd))));
    if let Some(border) = border(state) {
        text.line(format!("  a candidate beyond {}× the good one is bad", significant(border, 3)));
        let itself = bisection.read(Beside::Itself);
        text.line(format!("  the good end against itself: {}", reading_text(&itself)));
    }
    text += "  the list:";
    let width = state.asked.candidates.iter().map(|name| name.chars().count()).max();
    let width = width.unwrap_or_default();
    for place in order(state) {
        let name = state.asked.candidates.get(place).map_or("", String::as_str);
        text.line(format!("    {name:<width$}  {}", candidate_text(state, place)));
    }
    if let Some(line) = unmoved_line(unmoved) {
        text.line(style.dim("  ").and(line));
    }
    text.line(format!(
        "  all results are in {0}; fathom show and fathom report take them",
        out.display()
    ));
    text
}

/// The sentence about figures that hardly vary and so need only five pairs; `None` where there are none.
fn unmoved_line(unmoved: &[Unmoved]) -> Option<String> {
    let named = unmoved.iter().take(NAMED).map(|one| {
        let label = layers::metric(&one.metric).map_or(one.metric.as_str(), |metric| metric.name);
        format!("{label} of {} ({}×)", one.scope.name(), significant(one.ratio, 3))
    });
    let named: Vec<String> = named.collect();
    let more = match unmoved.len().saturating_sub(NAMED) {
        0 => String::new(),
        n => format!("; and {n} more"),
    };
    let why = "equal in every pair of the good end with itself but different between the ends; five pairs a step are enough with one of them:";
    (!named.is_empty()).then(|| format!("{why} {}{more}", named.join(", ")))
}

/// A bisection for a page, as far as it came; `None` if the directory holds none.
pub fn page_of(out: &Path) -> Result<Option<Bisected>, Failure> {
    if !State::is_in(out) {
        return Ok(None);
    }
    let mut state = State::read(out)?;
    kept::replay(&mut state, out)?;
    let outcome = match state.bisection.next() {
        Next::Ended(outcome) => Some(outcome),
        Next::Measure { .. } => None,
    };
    Ok(Some(page(&state, outcome.as_ref(), &unmoved(&state, out))))
}

/// All that is known, for a page.
fn page(state: &State, outcome: Option<&Outcome>, unmoved: &[Unmoved]) -> Bisected {
    let metric = layers::metric(&state.asked.figure.metric);
    let first = state.first.as_ref();
    Bisected {
        experiment: first.map_or_else(String::new, |first| first.plan.experiment.clone()),
        outcome: sentence(state, outcome),
        figure: metric.map_or(state.asked.figure.metric.as_str(), |metric| metric.name).to_owned(),
        unit: metric.map_or(units::Unit::Count, |metric| metric.unit),
        simulated: first.is_some_and(|first| first.simulated),
        border: border(state),
        rungs: order(state).into_iter().map(|place| rung(state, outcome, place)).collect(),
        notes: unmoved_line(unmoved)
            .map(|line| format!("Figures that were {line}"))
            .into_iter()
            .collect(),
    }
}

fn rung(state: &State, outcome: Option<&Outcome>, place: usize) -> BisectedRung {
    let last = state.asked.candidates.len().saturating_sub(1);
    let beside = match place {
        0 => Beside::Itself,
        place if place == last => Beside::BadEnd,
        place => Beside::Candidate(place),
    };
    let named = match outcome {
        Some(Outcome::Named(one)) => *one == place,
        Some(Outcome::OneOf(places)) => places.contains(&place),
        _ => false,
    };
    let role = match (named, place) {
        (true, 0) => Some("the first that is good again, the good end, against itself"),
        (_, 0) => Some("the good end, against itself"),
        (true, _) if matches!(outcome, Some(Outcome::OneOf(_))) => Some("one of these"),
        (true, _) if state.asked.fixed => Some("the first that is good again"),
        (true, _) => Some("the first that is bad"),
        (_, place) => (place == last).then_some("the bad end"),
    };
    let at = state.bisection.steps.iter().position(|step| step.beside == beside);
    let measured = at.and_then(|at| {
        let reading = state.bisection.read(beside);
        let pairs = state.bisection.steps.get(at)?.pairs.clone();
        let results = state.parts_of(beside).map(|part| part.folder.clone()).collect();
        Some(BisectedStep { place: at + 1, word: word(reading.word), reading, pairs, results })
    });
    let name = state.asked.candidates.get(place).cloned().unwrap_or_default();
    BisectedRung { name, role, named, measured }
}

/// The places of the list in the order of the file.
fn order(state: &State) -> Vec<usize> {
    let mut places: Vec<usize> = (0..state.asked.candidates.len()).collect();
    if state.asked.fixed {
        places.reverse();
    }
    places
}

fn candidate_text(state: &State, place: usize) -> String {
    let last = state.asked.candidates.len().saturating_sub(1);
    let beside = Beside::Candidate(place);
    if place == 0 || place == last {
        return if place == 0 { "the good end" } else { "the bad end" }.to_owned();
    }
    let folders: Vec<_> = state.parts_of(beside).map(|part| part.folder.as_str()).collect();
    if folders.is_empty() {
        return "not measured".to_owned();
    }
    format!("{}: {}", reading_text(&state.bisection.read(beside)), folders.join(", "))
}

/// The border as a ratio to the good end, on the side on which the bad end lies.
fn border(state: &State) -> Option<f64> {
    let border = state.bisection.border()?;
    let below = state.bisection.read(Beside::BadEnd).ratio? < 1.0;
    Some(if below { (-border).exp() } else { border.exp() })
}

/// A step for programs.
pub fn reading_json(read: &Reading, pairs: &[Pair], results: &[String]) -> Value {
    object!({
        "word": read.word, "ratio": read.ratio,
        "low": read.interval.map(|(low, _)| low), "high": read.interval.map(|(_, high)| high),
        "decided_after": read.after, "pairs": pairs, "results": results,
    })
}

fn step_json(state: &State, beside: Beside, out: &Path) -> Value {
    let step = state.bisection.steps.iter().find(|step| step.beside == beside);
    let Some(step) = step else { return Value::Null };
    let folders = state.parts_of(beside).map(|part| out.join(&part.folder).display().to_string());
    let folders: Vec<String> = folders.collect();
    reading_json(&state.bisection.read(beside), &step.pairs, &folders)
}

/// All that is known, for programs.
pub fn document(
    state: &State,
    outcome: Option<&Outcome>,
    unmoved: &[Unmoved],
    out: &Path,
) -> Value {
    let name = |place: usize| state.asked.candidates.get(place).cloned();
    let (word, named) = match outcome {
        None => ("open", Vec::new()),
        Some(Outcome::Named(place)) => ("named", vec![name(*place)]),
        Some(Outcome::OneOf(places)) => ("one_of", places.clone().map(name).collect()),
        Some(Outcome::Alike) => ("alike", Vec::new()),
        Some(Outcome::Overlap) => ("overlap", Vec::new()),
        Some(Outcome::Reversed) => ("reversed", Vec::new()),
        Some(Outcome::Unsteady) => ("unsteady", Vec::new()),
        Some(Outcome::NoValues(_)) => ("no_values", Vec::new()),
    };
    let last = state.asked.candidates.len().saturating_sub(1);
    let candidate = |place: usize| {
        let step = step_json(state, Beside::Candidate(place), out);
        let end = if place == 0 { Some("good") } else { (place == last).then_some("bad") };
        object!({ "name": name(place), "end": end, "step": step })
    };
    let unmoved = unmoved.iter().map(|one| {
        object!({
            "metric": one.metric, "stage": one.scope.stage, "operation": one.scope.as_operation(),
            "layer": one.scope.as_layer(), "ratio": one.ratio,
        })
    });
    let question = &state.asked.figure;
    object!({
        "schema": 1, "outcome": word, "named": named, "text": sentence(state, outcome),
        "metric": question.metric, "stage": question.stage, "operation": question.operation, "layer": question.layer,
        "measured": state.asked.measured, "fixed": state.asked.fixed, "seed": units::Seed(state.seed).to_string(),
        "threshold_percent": 100.0 * state.asked.rules.threshold, "most_pairs": state.asked.rules.most,
        "border": border(state), "ends": step_json(state, Beside::BadEnd, out),
        "itself": step_json(state, Beside::Itself, out),
        "candidates": order(state).into_iter().map(candidate).collect::<Vec<_>>(),
        "unmoved": unmoved.collect::<Vec<_>>(), "directory": out.display().to_string(),
    })
}
