//! `fathom-bench engine`: the load engine compared with fio.

use std::process::ExitCode;

use crate::BenchError;
use crate::case::cases_named;
use crate::contest::Programs;
use crate::fathom_contestant::Fathom;
use crate::fio::Fio;
use crate::suite::Suite;
use crate::target::{Made, Target, TargetMaker};
use crate::verified::Verified;
use sys::interrupt::{Interrupt, Level};

use super::engine_record::{default_directory, failure, finish, pace};
use super::table::Narrator;
use crate::args::{EngineArgs, Peer};
use cli::failure::Failure;
use cli::terminal::{Text, say, say_text};

/// Sizes of made targets, bytes.
const SIZE: u64 = 1 << 30;
const QUICK_SIZE: u64 = 256 << 20;

pub fn engine(args: &EngineArgs) -> Result<ExitCode, Failure> {
    let Peer::Fio = args.against;
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let out = args.out.clone().unwrap_or_else(default_directory);
    if out.exists() {
        let help = "name another with --out or remove it";
        return Err(Failure::refused(format!("{} exists already", out.display())).with_help(help));
    }
    if args.lab {
        return super::in_lab::in_lab(args, &interrupt);
    }
    let fio = Fio::find(args.fio.as_deref()).map_err(failure)?;
    let programs = Programs { fathom: Fathom::this_program().map_err(failure)?, fio };
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
    // The devices are removed before anything is written or printed.
    drop(made);
    finish(&outcome, &out, args, "none", &interrupt)
}

/// Measures the cost of verifying reads, on files of their own.
fn verification(
    suite: &Suite,
    args: &EngineArgs,
    interrupt: &Interrupt,
) -> Result<Verified, BenchError> {
    let (repeats, run) = crate::verified::pace(args.quick);
    let pace = (
        args.repeat.map_or(repeats, |n| n as usize),
        args.duration.map_or(run, |time| time.0 / 1_000_000),
    );
    say("verified reads, without and with a table, compared with fio's crc32c");
    crate::verified::in_memory(&suite.programs, QUICK_SIZE, pace, interrupt)
}

/// Makes the targets; the texts name those that this machine or this user cannot have.
fn targets(args: &EngineArgs) -> Result<(Vec<Made>, Vec<String>), Failure> {
    let size = args.size.map_or(if args.quick { QUICK_SIZE } else { SIZE }, |bytes| bytes.0);
    let all = args.only.is_empty() && args.target.is_empty();
    let wanted = |name: &str| all || args.only.iter().any(|only| only == name);
    let (mut made, left_out) = TargetMaker::new(size, &args.dir).make_all(wanted);
    for path in &args.target {
        made.push(Made::from(Target::at(path).map_err(failure)?));
    }
    for text in &left_out {
        say(text);
    }
    Ok((made, left_out))
}

fn suite(
    args: &EngineArgs,
    programs: Programs,
    made: &[Made],
    left_out: Vec<String>,
) -> Result<Suite, Failure> {
    let targets: Vec<Target> = made.iter().map(|made| made.target.clone()).collect();
    let cases = cases_named(&targets, args.quick, &args.depth, args.case.as_deref());
    if cases.is_empty() {
        return Err(failure(BenchError::NoCase));
    }
    let pace = pace(args);
    let backends = ["io_uring", "libaio", "sync"].map(str::to_owned).to_vec();
    Ok(Suite { programs, targets, cases, pace, backends, left_out })
}
