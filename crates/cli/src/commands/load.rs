//! `fathom load`: one load on one device or file.

use std::path::Path;
use std::process::ExitCode;

use content::ContentSpec;
use engine::{Context, Load, TargetSpec};
use results::model::LoadSummary;
use sys::clock::Clock;
use sys::interrupt::Interrupt;
use units::{Bytes, Nanos};
use workload::LoadSpec;

use crate::args::LoadArgs;
use crate::choices::fresh_seed;
use crate::failure::Failure;
use crate::render::LoadView;
use crate::terminal::{Style, say};

/// How long a load runs when nobody says when to stop.
const DURATION: Nanos = Nanos::from_secs(10);

pub fn run(args: &LoadArgs) -> Result<ExitCode, Failure> {
    let spec = spec(args);
    spec.validate().map_err(workload_failure)?;
    let style = Style::of_stderr();
    if spec.writes() {
        for warning in spec.content.warnings() {
            say(&format!("{} {warning}", style.note("warning:")));
        }
    }
    let may_create = new_file_size(args)?;
    let _claim = spec
        .writes()
        .then(|| host::claim_target(&args.target, args.destroy_data, may_create.is_some()))
        .transpose()?;
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let seed = args.seed.unwrap_or_else(fresh_seed);
    say(&format!("load on {}: {}, seed {seed}", args.target.display(), spec.describe()));
    let load = Load {
        spec,
        seed,
        targets: TargetSpec::Path(args.target.clone()).alone(),
        choice: None,
        stage: 0,
        may_create,
        recording: engine::Recording::default(),
    };
    let clock = Clock::real();
    let context = Context { clock: &clock, interrupt: &interrupt, foreign_cpu: None };
    let mut view = LoadView::new(args.json);
    let outcome = engine::run(&load, &context, &mut |event| view.event(&event));
    view.close();
    let summary = outcome.map_err(engine_failure)?;
    view.summary(&summary);
    Ok(ExitCode::from(exit_code(&summary)))
}

/// 130 after Ctrl-C, 5 when the target's errors ended the load or nothing was measured.
fn exit_code(summary: &LoadSummary) -> u8 {
    match summary.ended_by.as_str() {
        "interrupted" => 130,
        "errors" => 5,
        _ if summary.operations.values().all(|op| op.ios == 0) => 5,
        _ => 0,
    }
}

fn spec(args: &LoadArgs) -> LoadSpec {
    let unbounded = args.duration.is_none() && args.bytes.is_none() && args.passes.is_none();
    LoadSpec {
        ops: args.ops.clone(),
        pattern: args.pattern.clone(),
        block_size: args.block_size.clone(),
        jobs: args.jobs,
        depth: args.depth,
        offset: args.offset,
        size: args.size,
        duration: if unbounded { Some(DURATION) } else { args.duration },
        bytes: args.bytes,
        passes: args.passes,
        content: ContentSpec {
            dedupe: args.dedupe,
            window: args.dedupe_window,
            compress: args.compress.clone(),
            zero: args.zero,
            ..ContentSpec::default()
        },
        direct: !args.buffered,
        interval: args.interval,
        ..Default::default()
    }
}

/// The size of the file to be made, when the target is not there yet.
fn new_file_size(args: &LoadArgs) -> Result<Option<Bytes>, Failure> {
    if args.target.exists() {
        return Ok(None);
    }
    let missing = |why: &str, help: &str| {
        Failure::usage(format!("{} {why}", args.target.display())).with_help(help)
    };
    if args.target.starts_with("/dev") && !args.target.starts_with("/dev/shm") {
        return Err(missing("is not there", "lsblk lists the devices there are"));
    }
    if !args.target.parent().is_none_or(|dir| dir == Path::new("") || dir.is_dir()) {
        return Err(missing(
            "cannot be made: its directory is not there",
            "make the directory first",
        ));
    }
    let end = args.size.map(|size| Bytes(size.0 + args.offset.unwrap_or_default().0));
    end.map(Some).ok_or_else(|| missing("is not there", "add --size to make a file of that size"))
}

fn workload_failure(error: workload::WorkloadError) -> Failure {
    let help = error.help();
    Failure::usage(error).with_help(help)
}

fn engine_failure(error: engine::EngineError) -> Failure {
    let help = error.help().to_owned();
    match error.kind() {
        engine::Kind::Usage => Failure::usage(error),
        _ => Failure::environment(error),
    }
    .with_help(help)
}
