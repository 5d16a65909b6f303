//! The stored results of a bisection: finding them, checking that they belong to its steps, and reading their pairs.

use std::path::Path;

use analysis::{Analysis, Scope, analyse};
use results::ResultSet;
use results::model::{AskedMetric, CellState};
use stats::bisect::{Beside, Next, Pair};
use units::Seed;

use super::state::{Part, State};
use crate::failure::Failure;

/// The state of a result's directory.
pub enum Found {
    Nothing,
    /// A result that was cut off.
    Begun,
    /// A result whose cells have all ended, though some may have failed.
    Ended(Box<ResultSet>),
}

/// Looks for a result.
pub fn look_for(dir: &Path) -> Result<Found, Failure> {
    // An empty one was cut off before anything was written.
    let empty = std::fs::read_dir(dir).is_ok_and(|mut inside| inside.next().is_none());
    if empty || dir.symlink_metadata().is_err() {
        return Ok(Found::Nothing);
    }
    let set = results::open(dir)?;
    if let Some(wrong) = set.seal.broken() {
        let message = format!("{} is not as its run left it: {wrong}", dir.display());
        return Err(Failure::data(message).with_help("remove it: the step is measured again"));
    }
    let ended = |state| matches!(state, CellState::Done | CellState::Failed | CellState::Skipped);
    let all = set.cells.iter().all(|cell| ended(cell.state()));
    Ok(if all { Found::Ended(Box::new(set)) } else { Found::Begun })
}

/// Adds all results that are there and have ended, in the order in which they were measured.
pub fn replay(state: &mut State, out: &Path) -> Result<(), Failure> {
    while let Next::Measure { beside, pairs } = state.bisection.next() {
        let folder = state.folder(beside);
        let Found::Ended(set) = look_for(&out.join(&folder))? else { break };
        add(state, (beside, folder, pairs), &set)?;
    }
    Ok(())
}

/// Adds the pairs of a result to what is known.
///
/// # Errors
/// When it is not the result of this step, is from another machine than the first one, or lacks the figure for the good end.
pub fn add(
    state: &mut State,
    (beside, folder, repeats): (Beside, String, u32),
    set: &ResultSet,
) -> Result<(), Failure> {
    if let Some(wrong) = other(state, (beside, &folder, repeats), set) {
        let message = format!("{} is not a result of this step: {wrong}", set.path.display());
        return Err(Failure::data(message).with_help(
            "remove it: the step is measured again; or name another directory with --out",
        ));
    }
    let names = names(state, set);
    let names = [names[0].as_str(), names[1].as_str()];
    let (question, found) = (&state.asked.figure, analyse(set));
    if matches!(beside, Beside::Candidate(_)) {
        good_stands((set, &found), names[0], question, repeats)?;
    }
    let pairs = pairs(&found, names, question, repeats)?;
    state.bisection.add(beside, pairs);
    state.parts.push(Part { beside, folder, repeats });
    state.first.get_or_insert_with(|| Box::new(set.manifest.clone()));
    Ok(())
}

/// Returns why a result is not that of this step; `None` if it is.
fn other(
    state: &State,
    (beside, folder, repeats): (Beside, &str, u32),
    set: &ResultSet,
) -> Option<String> {
    let manifest = &set.manifest;
    if set.experiment_toml.as_deref() != Some(state.asked.experiment.as_str()) {
        return Some("it belongs to another experiment".to_owned());
    }
    // Each step has a seed of its own, which follows from the bisection's.
    if manifest.seed != Seed(state.seed).derive(folder) || manifest.plan.repeat != repeats {
        return Some("it has another seed, or other repeats".to_owned());
    }
    let variants: Vec<&str> = manifest.plan.variants.iter().map(|v| v.name.as_str()).collect();
    let has = |name: &String| variants.contains(&name.as_str());
    let other = state.other(beside).map(str::to_owned);
    if variants.len() != 2 || !state.asked.candidates.iter().take(1).chain(&other).all(has) {
        return Some(format!("it compares {}", variants.join(" and ")));
    }
    run::other_machine(state.first.as_ref()?, manifest)
}

/// Names of the two variants of a result, the good end first.
pub fn names(state: &State, set: &ResultSet) -> [String; 2] {
    let good = state.asked.candidates.first().cloned().unwrap_or_default();
    let mut others = set.manifest.plan.variants.iter().map(|variant| &variant.name);
    let other = others.find(|name| **name != good).cloned().unwrap_or_default();
    [good, other]
}

/// Refuses a result in which the good one has no such figure above zero: what is wrong then is not the candidate.
pub fn good_stands(
    (set, found): (&ResultSet, &Analysis),
    good: &str,
    question: &AskedMetric,
    repeats: u32,
) -> Result<(), Failure> {
    let values = pairs(found, [good, good], question, repeats)?;
    if values.iter().flatten().any(|(value, _)| *value > 0.0) {
        return Ok(());
    }
    let (dir, metric) = (set.path.display(), &question.metric);
    let message = format!(
        "The good one has no {metric} above zero in {dir}: whatever is wrong is not the candidate"
    );
    Err(Failure::data(message).with_help(format!(
        "fathom show {dir} says what happened; mend that, remove the result, and give the same command again"
    )))
}

/// Returns the error for a figure that rests on too few I/Os, `ios` in a run: the next run would have another value.
fn too_few(names: [&str; 2], (scope, metric): (&Scope, &str), ios: u64) -> Failure {
    let (of, names) = (scope.name(), names.join(" and "));
    let message = format!("{metric} of {of} in {names} rests on too few I/Os: a run did {ios}");
    Failure::data(message).with_help(
        "let the load do more: a rate needs 10 I/Os of a run, a median 20, p99 1,000, p99.9 10,000; then begin anew in another directory with --out",
    )
}

/// The pairs of a result in the figure that was asked for, the good one's value first.
///
/// # Errors
/// When several have the figure, or when it is a percentile or a rate of too few I/Os.
pub fn pairs(
    found: &Analysis,
    names: [&str; 2],
    question: &AskedMetric,
    repeats: u32,
) -> Result<Vec<Pair>, Failure> {
    let scopes = analysis::scopes(found, names, question);
    let mut scopes = scopes.iter();
    match (scopes.next(), scopes.next()) {
        (None, _) => Ok(vec![None; repeats as usize]),
        (Some(scope), None) => {
            let figure = (scope, question.metric.as_str());
            match analysis::few_ios_of(found, names, figure) {
                None => Ok(analysis::beside(found, names, figure, repeats)),
                Some(ios) => Err(too_few(names, figure, ios)),
            }
        }
        (Some(one), Some(other)) => {
            let all: Vec<String> =
                [one, other].into_iter().chain(scopes).map(Scope::name).collect();
            let message = format!("several have {}: {}", question.metric, all.join(", "));
            Err(Failure::usage(message)
                .with_help("name the one that is meant with --stage, --operation or --layer"))
        }
    }
}
