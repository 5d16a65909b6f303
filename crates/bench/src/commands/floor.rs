//! `fathom-bench floor`: the calls of a backend and nothing else, as `fathom-bench engine` starts them.

use std::process::ExitCode;
use std::time::Duration;

use engine::TargetSpec;
use host::TargetPermit;

use crate::args::FloorArgs;
use cli::engine_failure;
use cli::failure::Failure;
use cli::terminal::json;

pub fn floor(args: &FloorArgs) -> Result<ExitCode, Failure> {
    let driver = match args.backend.as_str() {
        "io_uring" => engine::Driver::IoUring,
        "libaio" => engine::Driver::Libaio,
        _ => engine::Driver::Sync,
    };
    // Held as long as the target is written.
    let claim = match args.write {
        true => Some(host::claim_target(
            &args.target,
            TargetPermit { destroy: args.destroy_data, create: false },
        )?),
        false => None,
    };
    let name = args.target.clone();
    let target = match &claim {
        Some(claim) => TargetSpec::Through { name, way: claim.way(), meant: None },
        None => TargetSpec::Path(name),
    };
    let done = engine::floor(&engine::Floor {
        target,
        size: args.size,
        driver,
        depth: args.depth,
        sequential: args.sequential,
        writes: args.write,
        direct: !args.buffered,
        duration: args.duration.map(|time| Duration::from_nanos(time.0)),
    })
    .map_err(engine_failure)?;
    json(&serde_json::to_string(&done).map_err(Failure::data)?);
    Ok(ExitCode::SUCCESS)
}
