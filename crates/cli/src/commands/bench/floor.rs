//! `fathom bench floor`: plain calls and nothing else, as `fathom bench engine` starts them.

use std::process::ExitCode;
use std::time::Duration;

use crate::args::BenchFloorArgs;
use crate::commands::load::engine_failure;
use crate::failure::Failure;
use crate::terminal::answer;

pub fn floor(args: &BenchFloorArgs) -> Result<ExitCode, Failure> {
    let done = engine::floor(&engine::Floor {
        path: args.target.clone(),
        size: args.size,
        driver: engine::Driver::Sync,
        depth: args.threads,
        sequential: args.sequential,
        writes: false,
        direct: !args.buffered,
        duration: args.duration.map(|time| Duration::from_nanos(time.0)),
    })
    .map_err(engine_failure)?;
    answer(&serde_json::to_string(&done).map_err(Failure::data)?);
    Ok(ExitCode::SUCCESS)
}
