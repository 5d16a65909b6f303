//! `fathom bench engine`: the load engine beside fio.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use bench::BenchError;
use bench::case::cases;
use bench::contest::Programs;
use bench::fio::Fio;
use bench::ours::Fathom;
use bench::outcome::Outcome;
use bench::record::{self, About};
use bench::suite::{Pace, Suite};
use bench::target::{Kind, Made, Maker, Target};
use bench::verified::{Verified, verified};
use sys::interrupt::{Interrupt, Level};

use super::table::{self, Narrator};
use crate::args::{BenchEngineArgs, Peer};
use crate::failure::Failure;
use crate::terminal::{Text, answer, json, say, say_text};

/// Sizes of made targets, bytes.
const SIZE: u64 = 1 << 30;
const QUICK_SIZE: u64 = 256 << 20;
/// Where tmpfs is mounted on every Linux.
const MEMORY: &str = "/dev/shm";

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
    let maker = Maker { size: QUICK_SIZE, scratch: MEMORY.into(), memory: MEMORY.into() };
    let [ours, theirs] = maker.pair()?;
    let state = |name| format!("{MEMORY}/fathom-bench-{}-verify-{name}", std::process::id());
    let states = [state("state"), state("table")];
    let (repeats, run) = bench::verified::pace(args.quick);
    let pace = (
        args.repeat.map_or(repeats, |n| n as usize),
        args.duration.map_or(run, |time| time.0 / 1_000_000),
    );
    say("verified reads, without and with a table, beside fio's crc32c");
    let files = [&ours.target, &theirs.target];
    let found =
        verified(&suite.programs, files, states.each_ref().map(|s| s.as_str()), pace, interrupt);
    for state in &states {
        // It is not there when nothing needed to be kept.
        let _ = std::fs::remove_file(state);
    }
    found
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
            None => Failure::usage("No case is left to compare"),
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
    let maker = Maker { size, scratch: args.dir.clone(), memory: MEMORY.into() };
    let kinds = [
        ("null", Kind::Null),
        ("loop", Kind::Loop),
        ("zram", Kind::Zram),
        ("file", Kind::File),
        ("tmpfs", Kind::Tmpfs),
    ];
    let all = args.only.is_empty() && args.target.is_empty();
    let (mut made, mut left_out) = (Vec::new(), Vec::new());
    for (name, kind) in kinds {
        if !all && !args.only.iter().any(|only| only == name) {
            continue;
        }
        match maker.make(kind) {
            Ok(target) => made.push(target),
            Err(error) => {
                let why = std::error::Error::source(&error)
                    .map_or_else(String::new, |e| format!(": {e}"));
                left_out.push(format!("{name} is left out: {error}{why}"));
            }
        }
    }
    for path in &args.target {
        made.push(Made::from(Target::own(path, size_of(path)?)));
    }
    for text in &left_out {
        say(text);
    }
    Ok((made, left_out))
}

fn size_of(path: &Path) -> Result<u64, Failure> {
    use std::io::{Seek, SeekFrom};
    let end = std::fs::File::open(path).and_then(|mut file| file.seek(SeekFrom::End(0)));
    match end {
        Ok(bytes) if bytes >= 1 << 20 => Ok(bytes),
        Ok(bytes) => Err(Failure::usage(format!("{} holds {bytes} bytes only", path.display()))
            .with_help("a target needs at least 1 MiB")),
        Err(error) => Err(Failure::usage(format!("Cannot read {}: {error}", path.display()))),
    }
}

fn suite(
    args: &BenchEngineArgs,
    programs: Programs,
    made: &[Made],
    left_out: Vec<String>,
) -> Result<Suite, Failure> {
    let targets: Vec<Target> = made.iter().map(|made| made.target.clone()).collect();
    let mut cases = cases(&targets, args.quick, &args.depth);
    if let Some(text) = &args.case {
        cases.retain(|case| case.name().contains(text.as_str()));
    }
    if cases.is_empty() {
        return Err(Failure::usage("No case is left to compare")
            .with_help("--only, --depth and --case leave nothing; depths are 1, 32 and 128"));
    }
    let pace = pace(args);
    let backends = ["io_uring", "libaio", "sync"].map(str::to_owned).to_vec();
    Ok(Suite { programs, targets, cases, pace, backends, left_out })
}

pub(super) fn failure(error: BenchError) -> Failure {
    let help = error.help().map(str::to_owned);
    match error {
        BenchError::Interrupted => Failure::interrupted(),
        error => Failure::environment(error).with_help_if(help),
    }
}
