//! `fathom load --tree`: one load of a file tree.

use std::process::ExitCode;

use engine::Context;
use engine::tree::{TreeLoad, TreeStop, examine, foretold};
use results::model::EquilibriumFacts;
use run::fresh_seed;
use sys::clock::Clock;
use sys::interrupt::Interrupt;
use tree::TreeSpec;
use units::show::grouped;
use units::{Bytes, Nanos};
use workload::LoadSpec;

use super::load::{engine_failure, exit_code, mostly_failed, workload_failure};
use crate::args::LoadArgs;
use crate::failure::Failure;
use crate::render::LoadView;
use crate::terminal::{Style, json_line, say, say_line};

/// Duration of a load without any other stop.
const DURATION: Nanos = Nanos::from_secs(10);

pub fn run(args: &LoadArgs) -> Result<ExitCode, Failure> {
    let load = load(args)?;
    load.spec.validate().map_err(|error| {
        let message = format!("{}: {}", option(error.key), error.message);
        Failure::usage(message).with_help(error.help)
    })?;
    times(args)?;
    let rest = foretold(&load.spec);
    let (shown, spec) = (load.directory.display(), &load.spec);
    if args.tree.dry_run {
        let is_there = examine(&load.directory, load.into_existing).map_err(engine_failure)?;
        let described = described(spec);
        say(&match is_there {
            true => format!("would make {described} in {shown}; nothing was touched"),
            false => format!("would make {shown}, and {described} in it; nothing was touched"),
        });
        say(&describe_equilibrium(&rest, spec));
        if args.json {
            let directories = directories(spec);
            json_line(&serde_json::json!({
                "event": "dry_run", "max_files": spec.files, "directories": directories, "equilibrium": rest,
            }));
        }
        return Ok(ExitCode::SUCCESS);
    }
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    say(&format!("load on {shown}: {}, seed {}", described(spec), load.seed));
    say(&describe_equilibrium(&rest, spec));
    let clock = Clock::real();
    let context = Context { clock: &clock, interrupt: &interrupt, foreign_cpu: None };
    let mut view = LoadView::new(args.json);
    let outcome = engine::tree::run(&load, &context, &mut |event| view.event(&event));
    view.close();
    let summary = outcome.map_err(engine_failure)?;
    view.summary(&summary);
    if let Some(text) = mostly_failed(&summary.operations) {
        say_line(Style::of_stderr().bad("error:").and(text));
    }
    Ok(ExitCode::from(exit_code(&summary)))
}

/// Checks times and amounts as those of any load.
fn times(args: &LoadArgs) -> Result<(), Failure> {
    let (interval, ios, jobs) = (args.record.interval, args.stop.ios, args.pace.jobs);
    // The values that a tree load does not use may be any valid ones.
    let ops = "read=100".parse().unwrap_or_default();
    let duration = args.stop.duration.or(Some(DURATION));
    let spec = LoadSpec { ops, interval, duration, ios, jobs, ..LoadSpec::default() };
    spec.validate().map_err(|error| workload_failure(&error))
}

/// The command-line option for a key of the load.
fn option(key: &str) -> &'static str {
    match key {
        "files" => "--max-files",
        "workers" => "--jobs",
        "levels" => "--levels",
        "size" => "--file-size",
        "distribution" => "--names",
        "fsync_percent" => "--fsync",
        _ => "--ops",
    }
}

/// Returns the load that is asked for.
fn load(args: &LoadArgs) -> Result<TreeLoad, Failure> {
    let (tree, stop) = (&args.tree, &args.stop);
    let [target] = &args.targets[..] else {
        return Err(Failure::usage("A tree lies in one directory").with_help("name one directory"));
    };
    if target.share.is_some() {
        let help = "name the directory alone";
        return Err(Failure::usage("A tree has no share of the I/Os").with_help(help));
    }
    let ops = args.io.ops.as_ref().map(|ops| ops.tree()).transpose();
    let ops = ops.map_err(|(message, help)| Failure::usage(message).with_help(help))?;
    let mut content = args.content.spec();
    if content.scope == content::Scope::Live {
        let help = "leave it out: files of a tree have no addresses";
        return Err(
            Failure::usage("--dedupe-scope live is for targets with addresses").with_help(help)
        );
    }
    let here = std::path::Path::new(".");
    content.load_profile(here).map_err(|error| workload_failure(&error.into()))?;
    let bounded = stop.duration.is_some() || stop.ios.is_some() || tree.equilibrium;
    Ok(TreeLoad {
        spec: TreeSpec {
            ops: ops.unwrap_or_default(),
            files: tree.max_files,
            levels: tree.levels,
            dirs: tree.dirs,
            size: tree.file_size,
            record: tree.record_size,
            pick: tree.pick,
            distribution: tree.names,
            workers: args.pace.jobs,
            fsync_percent: tree.fsync.0,
            fdatasync_percent: tree.fdatasync.0,
        },
        seed: args.seed.unwrap_or_else(fresh_seed),
        directory: target.path.clone(),
        way: target.path.clone(),
        into_existing: tree.into_existing,
        content,
        stop: TreeStop {
            duration: if bounded { stop.duration } else { Some(DURATION) },
            ios: stop.ios,
            equilibrium: tree.equilibrium,
        },
        interval: args.record.interval,
        stage: 0,
    })
}

/// Directories of the tree, on all levels.
fn directories(spec: &TreeSpec) -> u64 {
    (1..=spec.levels).map(|level| u64::from(spec.dirs).pow(level)).sum()
}

fn described(spec: &TreeSpec) -> String {
    let (files, directories) = (grouped(spec.files), grouped(directories(spec)));
    let size = spec.size;
    format!("{} on up to {files} files of {size} B in {directories} directories", spec.ops)
}

/// The state in which the load comes to rest, in words.
fn describe_equilibrium(rest: &EquilibriumFacts, spec: &TreeSpec) -> String {
    let files = rest.predicted_files.map(|files| {
        let percent = (100.0 * files / spec.files as f64).round();
        format!("some {} files ({percent} %)", grouped(files.round() as u64))
    });
    let bytes = rest.predicted_bytes.map(|bytes| Bytes(bytes.round() as u64).to_string());
    match (files, bytes, rest.predicted_operations) {
        (Some(files), Some(bytes), Some(operations)) => format!(
            "it comes to rest at {files} and {bytes}, after some {} operations",
            grouped(operations)
        ),
        (Some(files), ..) => format!(
            "it comes to {files} and never to rest: {}",
            rest.never.as_deref().unwrap_or_default()
        ),
        _ => format!("it never comes to rest: {}", rest.never.as_deref().unwrap_or_default()),
    }
}
