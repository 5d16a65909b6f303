//! `fathom bisect`: which variant or kernel of a list made a figure worse, or mended it.

mod kept;
mod list;
mod measure;
mod state;
mod step;
pub mod texts;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use plan::Plan;
use run::ExperimentSource;
use stats::bisect::{Beside, Bisection, Next, Outcome};
use sys::interrupt::{Interrupt, Level};
use units::{Nanos, Percent};

use crate::args::{BisectArgs, BisectListArgs, Command};
use crate::failure::Failure;
use crate::terminal::{answer, json, say, say_text};
use measure::{Bench, default_out, rules};
use state::{BisectRequest, State};

/// The least relative difference between the ends, unless another is given.
const THRESHOLD: f64 = 0.03;
/// Exit code where there is nothing to bisect.
const NOTHING: u8 = 7;
/// Exit code where several are left that could not be decided.
const UNDECIDED: u8 = 8;

pub fn run(args: &BisectArgs) -> Result<ExitCode, Failure> {
    match args {
        BisectArgs::Step(step) => Ok(step::run(step)),
        BisectArgs::List(list) => hunt(list),
    }
}

/// The exit code for a wrong command line: not 2 for a step, since `git bisect run` would take its candidate for bad.
pub fn code_of(error: &clap::Error, code: ExitCode) -> ExitCode {
    let words = crate::args::words();
    let mut behind = words.iter().skip_while(|word| *word != "bisect");
    let step = behind.any(|word| word == "step");
    if step && error.use_stderr() { ExitCode::from(step::STOP) } else { code }
}

/// The exit code of what went wrong before the command began, for the same reason.
pub fn code_before(command: &Command, code: ExitCode) -> ExitCode {
    let step = matches!(command, Command::Bisect(args) if matches!(**args, BisectArgs::Step(_)));
    if step { ExitCode::from(step::STOP) } else { code }
}

/// Measures until the list is decided, or somebody wishes to stop.
fn hunt(args: &BisectListArgs) -> Result<ExitCode, Failure> {
    let (bench, mut state, out) = begin(args)?;
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let outcome = loop {
        let (beside, pairs) = match state.bisection.next() {
            Next::Ended(outcome) => break Some(outcome),
            Next::Measure { beside, pairs } => (beside, pairs),
        };
        if interrupt.level() != Level::None {
            break None;
        }
        let folder = state.folder(beside);
        say(&texts::step_text(&state, beside, pairs));
        let other = state.other(beside);
        let measured = bench.measure(other, pairs, &folder, &out)?;
        let Some(measured) = measured else { break None };
        kept::add(&mut state, (beside, folder, pairs), &measured)?;
        say(&texts::step_reading(&state, beside));
    };
    let unmoved = texts::unmoved(&state, &out);
    if args.figure.json {
        let document = texts::document(&state, outcome.as_ref(), &unmoved, &out);
        say_text(&texts::text(&state, outcome.as_ref(), &unmoved, &out));
        json(&serde_json::to_string_pretty(&document).map_err(Failure::data)?);
    } else {
        answer(&texts::text(&state, outcome.as_ref(), &unmoved, &out));
    }
    Ok(ExitCode::from(match outcome {
        Some(Outcome::Named(_)) => 0,
        Some(Outcome::OneOf(_)) => UNDECIDED,
        Some(Outcome::NoValues(_)) => 5,
        Some(_) => NOTHING,
        None => 130,
    }))
}

/// Finds the experiment, the list and how far an earlier call of the same command came; says what is about to happen.
fn begin(args: &BisectListArgs) -> Result<(Bench, State, PathBuf), Failure> {
    let figure = &args.figure;
    if args.kernels.len() == 1 {
        let help = "name two kernels at least, with commas between them, the oldest first";
        return Err(Failure::usage("--kernels names one kernel").with_help(help));
    }
    let lab = figure.lab || !args.kernels.is_empty();
    let source = ExperimentSource::find(&figure.experiment)?;
    let allowed = figure.host.allow_commands || source.is_shipped();
    let source = source.on_kernels(&args.kernels, &figure.set);
    let mut bench = Bench::new(figure, source, lab, allowed, &args.only)?;
    let candidates = list::candidates(&bench.facts().variants, args)?;
    bench.good = candidates.first().cloned().unwrap_or_default();
    let request = BisectRequest {
        experiment: bench.source.text.clone(),
        measured: bench.place().to_owned(),
        options: bench.options(),
        scale: figure.scale.clone(),
        figure: bench.asked.clone(),
        candidates,
        fixed: args.fixed,
        rules: rules(figure, args.threshold.map_or(THRESHOLD, Percent::fraction)),
    };
    let out = args.out.clone().unwrap_or_else(|| default_out(&bench.facts().experiment));
    let earlier = State::open(&out, &request, figure.seed)?;
    let (goes_on, seed) = (earlier.is_some(), figure.seed.unwrap_or_else(run::fresh_seed).0);
    let mut state = earlier.unwrap_or_else(|| State::new(request, seed));
    kept::replay(&mut state, &out)?;
    bench.seed = units::Seed(state.seed);
    let pair = bench.plan_beside(state.other(Beside::BadEnd), 1)?;
    print_plan(&state, &pair, &out);
    sys::new_file::create_directories(&out).map_err(|error| {
        let message = format!("--out {} cannot be made: {error}", out.display());
        Failure::usage(message).with_help("name a directory that can be written")
    })?;
    if !goes_on {
        state.write(&out)?;
    }
    Ok((bench, state, out))
}

/// Says how much there is to do, by the plan of one pair.
fn print_plan(state: &State, pair: &Plan, out: &Path) {
    let Bisection { candidates, rules, .. } = state.bisection;
    let steps = 2 + u64::from(Bisection::new(candidates, false, rules).steps_left());
    let all = |pairs: u32| Nanos(pair.takes().1.0.saturating_mul(steps * u64::from(pairs)));
    let commands = if pair.has_commands() { ", and the time of the commands" } else { "" };
    say(&format!(
        "{}: {candidates} candidates, about {steps} measurements (both ends, the good end against itself, the steps) \
         of 5 to {} pairs, {} to {}{commands}; \
         seed {}; results in {}",
        pair.facts.experiment,
        rules.most,
        all(5),
        all(rules.most),
        units::Seed(state.seed),
        out.display(),
    ));
    if !state.parts.is_empty() {
        say(&format!("{} results of an earlier call are kept", state.parts.len()));
    }
}
