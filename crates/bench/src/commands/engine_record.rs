//! The parts of `fathom-bench engine` that are the same here and in guests: pace, directory of the results, and summary.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use crate::BenchError;
use crate::outcome::Outcome;
use crate::record::{self, About};
use crate::suite::Pace;
use sys::interrupt::{Interrupt, Level};

use super::table;
use crate::args::EngineArgs;
use cli::failure::Failure;
use cli::terminal::{Text, answer, json, say, say_text};

/// Writes the results and says what was found; `accelerator` executed the guest, if there was one.
pub fn finish(
    outcome: &Outcome,
    out: &Path,
    args: &EngineArgs,
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
        command: cli::words(),
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

/// Returns the lengths and number of the runs that the arguments ask for.
pub fn pace(args: &EngineArgs) -> Pace {
    let mut pace = match (args.lab, args.quick) {
        (true, _) => Pace::LAB,
        (false, true) => Pace::QUICK,
        (false, false) => Pace::FULL,
    };
    pace.repeats = args.repeat.map_or(pace.repeats, |n| n as usize);
    pace.run = args.duration.map_or(pace.run, |time| time.0 / 1_000_000);
    pace
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
