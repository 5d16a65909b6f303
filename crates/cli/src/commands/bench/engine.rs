//! `fathom bench engine`: the load engine beside fio.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bench::BenchError;
use bench::case::chosen;
use bench::contest::Programs;
use bench::fio::Fio;
use bench::ours::Fathom;
use bench::outcome::Outcome;
use bench::record::{self, About};
use bench::suite::{Pace, Suite};
use bench::target::{Made, Maker, Target};
use bench::verified::Verified;
use sys::interrupt::{Interrupt, Level};

use super::table::{self, Narrator};
use crate::args::{BenchEngineArgs, Peer};
use crate::failure::Failure;
use crate::terminal::{Text, answer, json, say, say_text};

/// Sizes of made targets, bytes.
const SIZE: u64 = 1 << 30;
const QUICK_SIZE: u64 = 256 << 20;

pub fn engine(args: &BenchEngineArgs) -> Result<ExitCode, Failure> {
    let Peer::Fio = args.against;
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let out = args.out.clone().unwrap_or_else(default_directory);
    if out.exists() {
        let help = "name another with --out or remove it";
        return Err(Failure::usage(format!("{} exists already", out.display())).with_help(help));
    }
    if args.lab {
        return super::in_lab::in_lab(args, &interrupt);
    }
    let program = std::env::current_exe().map_err(Failure::environment)?;
    let fio = Fio::find(args.fio.as_deref()).map_err(failure)?;
    let programs = Programs { fathom: Fathom { program }, fio };
    say(&format!("fathom {} against {}", env!("CARGO_PKG_VERSION"), programs.fio.describe()));
    let (made, left_out) = targets(args)?;
    let suite = suite(args, programs, &made, left_out)?;
    suite.fill(&interrupt).map_err(failure)?;
    let narrator = Narrator::new(args.verbose);
    let mut outcome = suite.run(&interrupt, &mut |event| {
        if let Some(line) = narrator.line(&event) {
            say_text(&Text::lines_of(&line));
        }
    });
    if args.target.is_empty() && args.case.is_none() && interrupt.level() == Level::None {
        match verification(&suite, args, &interrupt) {
            Ok(verified) => outcome.verified = Some(verified),
            Err(error) => outcome.failed.push(format!("verified reads: {error}")),
        }
    }
    // The devices are gone before anything is written or said.
    drop(made);
    finish(&outcome, &out, args, "none", &interrupt)
}

/// What verification of reads costs, on files of their own.
fn verification(
    suite: &Suite,
    args: &BenchEngineArgs,
    interrupt: &Interrupt,
) -> Result<Verified, BenchError> {
    let (repeats, run) = bench::verified::pace(args.quick);
    let pace = (
        args.repeat.map_or(repeats, |n| n as usize),
        args.duration.map_or(run, |time| time.0 / 1_000_000),
    );
    say("verified reads, without and with a table, beside fio's crc32c");
    bench::verified::in_memory(&suite.programs, QUICK_SIZE, pace, interrupt)
}

/// Writes the results and says what was found; `accelerator` executed the guest, if there was one.
pub fn finish(
    outcome: &Outcome,
    out: &Path,
    args: &BenchEngineArgs,
    accelerator: &str,
    interrupt: &Interrupt,
) -> Result<ExitCode, Failure> {
    if outcome.cases.is_empty() {
        return Err(match outcome.failed.first() {
            _ if outcome.interrupted => Failure::interrupted(),
            Some(why) => Failure::data(why.clone()),
            None => failure(BenchError::NoCase),
        });
    }
    let about = About {
        command: std::env::args().collect(),
        tool_version: env!("CARGO_PKG_VERSION").into(),
        machine: host::facts(),
        accelerator: accelerator.into(),
    };
    record::write(out, outcome, &about).map_err(failure)?;
    let text = Text::lines_of(&table::text(outcome, args.verbose));
    if args.json {
        say_text(&text);
        json(&serde_json::to_string(outcome).map_err(Failure::data)?);
    } else {
        answer(&text);
    }
    let dir = out.display();
    say(&format!("results in {dir}: fathom report {dir} -o page.html draws them"));
    Ok(ExitCode::from(if interrupt.level() == Level::None { 0 } else { 130 }))
}

pub fn default_directory() -> PathBuf {
    let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
    PathBuf::from(format!("engine-vs-fio-{now}"))
}

/// How long and how often, as asked.
pub fn pace(args: &BenchEngineArgs) -> Pace {
    let mut pace = match (args.lab, args.quick) {
        (true, _) => Pace::LAB,
        (false, true) => Pace::QUICK,
        (false, false) => Pace::FULL,
    };
    pace.repeats = args.repeat.map_or(pace.repeats, |n| n as usize);
    pace.run = args.duration.map_or(pace.run, |time| time.0 / 1_000_000);
    pace
}

/// The targets, and what this machine or this user cannot have.
fn targets(args: &BenchEngineArgs) -> Result<(Vec<Made>, Vec<String>), Failure> {
    let size = args.size.map_or(if args.quick { QUICK_SIZE } else { SIZE }, |bytes| bytes.0);
    let all = args.only.is_empty() && args.target.is_empty();
    let wanted = |name: &str| all || args.only.iter().any(|only| only == name);
    let (mut made, left_out) = Maker::new(size, &args.dir).make_all(wanted);
    for path in &args.target {
        made.push(Made::from(Target::at(path).map_err(failure)?));
    }
    for text in &left_out {
        say(text);
    }
    Ok((made, left_out))
}

fn suite(
    args: &BenchEngineArgs,
    programs: Programs,
    made: &[Made],
    left_out: Vec<String>,
) -> Result<Suite, Failure> {
    let targets: Vec<Target> = made.iter().map(|made| made.target.clone()).collect();
    let cases = chosen(&targets, args.quick, &args.depth, args.case.as_deref());
    if cases.is_empty() {
        return Err(failure(BenchError::NoCase));
    }
    let pace = pace(args);
    let backends = ["io_uring", "libaio", "sync"].map(str::to_owned).to_vec();
    Ok(Suite { programs, targets, cases, pace, backends, left_out })
}

pub(super) fn failure(error: BenchError) -> Failure {
    let help = error.help().map(str::to_owned);
    match error {
        BenchError::Interrupted => Failure::interrupted(),
        BenchError::Unreadable { .. } | BenchError::Small { .. } | BenchError::NoCase => {
            Failure::usage(error).with_help_if(help)
        }
        error => Failure::environment(error).with_help_if(help),
    }
}
