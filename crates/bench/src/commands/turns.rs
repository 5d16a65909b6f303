//! `fathom-bench turns`: loads that only read, by turns in one process, as `fathom-bench engine` starts them.

use std::process::ExitCode;

use crate::repeats::order;
use engine::Context;
use sys::clock::Clock;
use sys::interrupt::{Interrupt, Level};

use crate::args::TurnsArgs;
use cli::engine_failure;
use cli::failure::Failure;
use cli::terminal::json;

/// Separator between the arguments of one load and of the next.
const THEN: &str = "--then";

pub fn turns(args: &TurnsArgs) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let loads =
        args.loads.split(|word| word == THEN).map(cli::reading).collect::<Result<Vec<_>, _>>()?;
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
