//! A `command` stage: a program works on the target, and is measured.

use host::{Executor, LONGEST_LINE, MeasuredCommand, PrintedLine, StepError, Stream};
use layers::Offer;
use plan::{CommandPlan, FigurePicker, Output, StagePlan};
use results::model::CommandFigures;
use units::Bytes;

use crate::stop::Stop;

/// The outcome of a command.
#[derive(Default)]
pub(crate) struct CommandOutcome {
    pub figures: CommandFigures,
    /// The reason why the cell cannot go on after it, if any.
    pub stop: Option<Stop>,
    /// A remark on its figures for people.
    pub notice: Option<String>,
}

/// Runs the command of a stage on `target`, a path.
pub(crate) fn run(
    stage: &StagePlan,
    command: &CommandPlan,
    target: &str,
    executor: &mut Executor,
) -> CommandOutcome {
    let corpus = |name: &str| executor.resolve(&format!("{{corpus.{name}}}")).ok();
    let argv = match command.argv_on(target, corpus) {
        Ok(argv) => argv,
        Err(name) => {
            let reason = format!("stage {}: this machine has no corpus '{name}'", stage.name);
            return CommandOutcome { stop: Some(Stop::Failed(reason)), ..Default::default() };
        }
    };
    let work = MeasuredCommand {
        argv,
        target: target.to_owned(),
        directory: matches!(stage.target.offer, Offer::Directory { .. }),
        sync: command.sync,
        time_limit: command.time_limit,
    };
    let mut picker = FigurePicker::of(&command.figures);
    let mut listener = |line: PrintedLine| {
        let from = match line.from {
            Stream::Stdout => Output::Stdout,
            Stream::Stderr => Output::Stderr,
        };
        picker.add_line(from, line.text);
    };
    let (mut figures, outcome) = executor.measured("run the command", &work, &mut listener);
    figures.figures = picker.found();
    let notice = missing(stage, command, &figures, &picker);
    CommandOutcome { figures, stop: outcome.err().map(|error| stop(stage, &error)), notice }
}

fn stop(stage: &StagePlan, error: &StepError) -> Stop {
    if error.interrupted() {
        return Stop::Interrupted;
    }
    Stop::Failed(format!("stage {}: {}", stage.name, crate::chain(error)))
}

/// Returns a sentence about processes that outlived the command and were killed.
pub(crate) fn killed(stage: &StagePlan, figures: &CommandFigures) -> Option<String> {
    /// Largest number of processes that are named.
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

/// Returns a sentence about figures that were to be picked from the output and are not in it, or were not looked for in all of it. A
/// simulated command prints nothing.
fn missing(
    stage: &StagePlan,
    command: &CommandPlan,
    figures: &CommandFigures,
    picker: &FigurePicker,
) -> Option<String> {
    figures.elapsed_s?;
    let found: Vec<_> = picker.no_numbers().map(|(name, _)| name).collect();
    let missing =
        |name: &&String| !figures.figures.contains_key(*name) && !found.contains(&name.as_str());
    let missing: Vec<_> = command.figures.keys().filter(missing).map(String::as_str).collect();
    let none = (!missing.is_empty())
        .then(|| format!("what it printed has no number for {}", missing.join(", ")));
    let no_numbers = picker.no_numbers().map(|(name, text)| {
        /// Longest part of a text that is quoted, characters.
        const TOLD: usize = 40;
        let more = if text.chars().nth(TOLD).is_some() { "..." } else { "" };
        let text: String = text.chars().take(TOLD).collect();
        format!("what it printed for {name}, '{text}{more}', is not a number (write 1.5, or 1e3)")
    });
    let too_long = picker.too_long().map(|(name, lines)| {
        let longest = Bytes(LONGEST_LINE as u64);
        format!("{name} was not looked for in {lines} lines of more than {longest}")
    });
    let all: Vec<_> = none.into_iter().chain(no_numbers).chain(too_long).collect();
    (!all.is_empty()).then(|| format!("stage {}: {}", stage.name, all.join("; ")))
}
