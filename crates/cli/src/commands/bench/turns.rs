//! `fathom bench turns`: loads that only read, by turns in one process, as `fathom bench engine` starts them.

use std::process::ExitCode;

use bench::repeats::order;
use clap::Parser;
use engine::{Context, Load};
use sys::clock::Clock;
use sys::interrupt::{Interrupt, Level};

use crate::args::{BenchTurnsArgs, Cli, Command};
use crate::commands::load::{engine_failure, reading};
use crate::failure::Failure;
use crate::terminal::json;

/// What parts one load's arguments from the next one's.
const THEN: &str = "--then";

pub fn turns(args: &BenchTurnsArgs) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let loads = args.loads.split(|word| word == THEN).map(load).collect::<Result<Vec<_>, _>>()?;
    let clock = Clock::real();
    let context = Context { clock: &clock, interrupt: &interrupt, foreign_cpu: None };
    let mut costs = vec![Vec::new(); loads.len()];
    for round in 0..args.rounds as usize {
        for place in order(loads.len(), round) {
            let summary =
                engine::run(&loads[place], &context, &mut |_| ()).map_err(engine_failure)?;
            if interrupt.level() != Level::None {
                return Err(Failure::interrupted());
            }
            let cost = summary.cpu.and_then(|cpu| cpu.per_io_us);
            costs[place].push(cost.ok_or_else(|| Failure::data("A load completed no I/O"))?);
        }
    }
    json(&serde_json::json!({ "cpu_per_io_us": costs }).to_string());
    Ok(ExitCode::SUCCESS)
}

/// The load that `fathom load` with these `words` runs.
fn load(words: &[String]) -> Result<Load, Failure> {
    let line = ["fathom", "load"].into_iter().chain(words.iter().map(String::as_str));
    match Cli::try_parse_from(line).map_err(Failure::usage)?.command {
        Command::Load(args) => reading(&args),
        _ => Err(Failure::usage("Not a load")),
    }
}
