//! `fathom bench engine`: the load engine beside fio.

use std::process::ExitCode;

use bench::BenchError;
use bench::fio::Fio;

use crate::args::{BenchEngineArgs, Peer};
use crate::failure::Failure;
use crate::terminal::say;

pub fn engine(args: &BenchEngineArgs) -> Result<ExitCode, Failure> {
    let Peer::Fio = args.against;
    let fio = Fio::find(args.fio.as_deref()).map_err(failure)?;
    say(&format!("against {}", fio.describe()));
    Ok(ExitCode::SUCCESS)
}

fn failure(error: BenchError) -> Failure {
    let help = error.help().map(str::to_owned);
    Failure::environment(error).with_help_if(help)
}
