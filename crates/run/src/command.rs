//! A `command` stage: a program works on the target, and is measured.

use experiment::{CommandPlan, StagePlan};
use host::{Executor, MeasuredCommand, StepError};
use layers::Offer;
use results::model::CommandFigures;

use crate::stop::Stop;

/// What a command did, and why the cell cannot go on after it, if so.
pub(crate) type CommandOutcome = (CommandFigures, Option<Stop>);

/// Runs the command of a stage on `target`, a path.
pub(crate) fn run(
    stage: &StagePlan,
    command: &CommandPlan,
    target: &str,
    executor: &mut Executor,
) -> CommandOutcome {
    let tree = |name: &str| executor.resolve(&format!("{{tree.{name}}}")).ok();
    let argv = match command.argv_on(target, tree) {
        Ok(argv) => argv,
        Err(name) => {
            let reason = format!("stage {}: this machine has no tree '{name}'", stage.name);
            return (CommandFigures::default(), Some(Stop::Failed(reason)));
        }
    };
    let work = MeasuredCommand {
        argv,
        target: target.to_owned(),
        directory: matches!(stage.target.offer, Offer::Directory { .. }),
        sync: command.sync,
        time_limit: command.time_limit,
    };
    let (mut figures, outcome) = executor.measured("run the command", &work);
    figures.figures = command
        .figures
        .iter()
        .filter_map(|(name, figure)| {
            Some((name.clone(), figure.pick(&figures.stdout, &figures.stderr)?))
        })
        .collect();
    (figures, outcome.err().map(|error| stop(stage, &error)))
}

fn stop(stage: &StagePlan, error: &StepError) -> Stop {
    if error.interrupted() {
        return Stop::Interrupted;
    }
    Stop::Failed(format!("stage {}: {}", stage.name, crate::chain(error)))
}

/// Processes that outlived the command and were killed, in a sentence.
pub(crate) fn killed(stage: &StagePlan, figures: &CommandFigures) -> Option<String> {
    /// The most that are named.
    const NAMED: usize = 5;
    let (count, stage) = (figures.killed.len(), &stage.name);
    let named = figures.killed[..count.min(NAMED)].join("; ");
    let more = if count > NAMED { "; ..." } else { "" };
    let left = if count == 1 { "1 process" } else { &format!("{count} processes") };
    (count > 0).then(|| {
        format!(
            "stage {stage}: its command left {left} running, which had to be killed: {named}{more}"
        )
    })
}

/// Figures that were to be picked from the output and are not in it, in a sentence; a simulated command prints nothing.
pub(crate) fn missing(
    stage: &StagePlan,
    command: &CommandPlan,
    figures: &CommandFigures,
) -> Option<String> {
    let missing = |name: &&String| !figures.figures.contains_key(*name);
    let missing: Vec<_> = command.figures.keys().filter(missing).map(String::as_str).collect();
    (!missing.is_empty() && figures.elapsed_s.is_some()).then(|| {
        format!("stage {}: what it printed has no number for {}", stage.name, missing.join(", "))
    })
}
