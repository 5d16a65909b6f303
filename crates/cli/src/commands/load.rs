//! `fathom load`: one load on devices and files.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use engine::{Aim, Context, Event, IoLogTarget, Load, Recording, TargetSpec};
use host::{Claim, Meter, TargetPermit, TargetPresence};
use report::html::Page;
use results::model::{LoadSummary, OperationSummary, Row};
use run::{OneLoad, fresh_seed};
use sys::clock::Clock;
use sys::interrupt::{Interrupt, Level};
use units::show::{grouped, significant};
use units::{Bytes, Percent};
use workload::{LoadSpec, OpName, Portion, Verify};

use super::logs::LatencyLog;
use crate::args::{Cli, Command, LoadArgs, OpsArg, TargetArg, as_options};
use crate::failure::Failure;
use crate::outputs::{self, Input, Output, OutputKind};
use crate::render::LoadView;
use crate::terminal::{Style, say, say_line};

pub fn run(args: &LoadArgs) -> Result<ExitCode, Failure> {
    let spec = spec_of(args)?;
    let style = Style::of_stderr();
    warnings(args, &spec).into_iter().for_each(|text| say_line(style.note("warning:").and(text)));
    let may_create = new_size(args)?;
    no_target_twice(args)?;
    outputs::check(&output_files(args), &inputs(args))?;
    let claims = claims(args, may_create, spec.writes())?;
    let names: Vec<_> = sized(args, None).into_iter().map(|(name, _)| name).collect();
    let names = names.join(", ");
    let latency_log =
        output_files(args).into_iter().find(|file| file.kind == OutputKind::LatencyLog);
    let what = format!("a load on {names}");
    let mut log = latency_log.map(|file| LatencyLog::create(&file, &what)).transpose()?;
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let seed = args.seed.unwrap_or_else(fresh_seed);
    say(&format!("load on {names}: {}, seed {seed}", spec.describe()));
    let mut targets = aims(args, may_create);
    for ((aim, claim), target) in targets.iter_mut().zip(&claims).zip(&args.targets) {
        if let Some(claim) = claim {
            aim.target =
                TargetSpec::Through { name: target.path.clone(), way: claim.way(), meant: None };
        }
    }
    let (recording, verification) = (recording(args), args.verify.options());
    let load =
        Load { spec, seed, targets, stage: 0, may_create, recording, choice: None, verification };
    let clock = Clock::real();
    let context = Context { clock: &clock, interrupt: &interrupt, foreign_cpu: None };
    let mut view = LoadView::new(args.json);
    let mut log_ended = None;
    let page = output_files(args).into_iter().find(|file| file.option == "--page");
    let (mut rows, mut size, started_utc) = (Vec::new(), None, run::now_utc());
    let meter = Meter::new().ok();
    let outcome = engine::run(&load, &context, &mut |event| {
        let trouble = match (&mut log, &event) {
            (Some(log), Event::Started(_)) => log.place(),
            (Some(log), Event::Intervals { rows, .. }) => log.add(rows),
            _ => None,
        };
        match &event {
            Event::Started(started) => size = Some(started.target.0),
            Event::Intervals { rows: all, jobs, .. } if page.is_some() => {
                rows.extend(all.iter().cloned().map(Row::Interval));
                rows.extend(jobs.iter().cloned().map(Row::Job));
            }
            _ => {}
        }
        view.event(&event);
        if let Some(text) = trouble {
            view.event(&Event::Notice(text.clone()));
            log_ended = Some(text);
        }
    });
    let machine = meter.and_then(|meter| meter.read().ok());
    view.close();
    let mut summary = outcome.map_err(engine_failure)?;
    log_ended.into_iter().for_each(|text| summary.lacks(text));
    view.summary(&summary);
    if let Some(page) = page {
        let targets = sized(args, size);
        let (summary, command) = (summary.clone(), crate::args::words());
        let load = OneLoad { load, targets, rows, summary, machine, started_utc, command };
        write_page(&page, load)?;
    }
    if let Some(text) = mostly_failed(&summary.operations) {
        say(&format!("{} {text}", style.bad("error:")));
    }
    let stopped = interrupt.level() != Level::None && !summary.incomplete.is_empty();
    Ok(ExitCode::from(if stopped { 130 } else { exit_code(&summary) }))
}

/// The load that is asked for, where it can be one of devices and files.
fn spec_of(args: &LoadArgs) -> Result<LoadSpec, Failure> {
    if let Some(Err(why)) = args.io.ops.as_ref().map(OpsArg::blocks) {
        let (error, help) = match why {
            Some(why) => {
                (format!("--ops: {why}"), "give each operation once, with a share from 0 to 100")
            }
            None => (
                "--ops has operations on files, which a device has not".to_owned(),
                "add --tree, and name a directory; --help lists the operations on devices",
            ),
        };
        return Err(Failure::usage(error).with_help(help));
    }
    let mut spec = args.spec();
    // A profile is named as a file; relative to where the command is typed.
    spec.content.load_profile(Path::new(".")).map_err(|e| workload_failure(&e.into()))?;
    spec.validate().map_err(|error| workload_failure(&error))?;
    Ok(spec)
}

/// The targets by name, with the size in bytes if there is only one.
fn sized(args: &LoadArgs, size: Option<u64>) -> Vec<(String, Option<u64>)> {
    let size = size.filter(|_| args.targets.len() == 1);
    args.targets.iter().map(|target| (target.path.display().to_string(), size)).collect()
}

/// Writes the page of a load.
fn write_page(page: &Output, load: OneLoad) -> Result<(), Failure> {
    page.write(report::html::page(&[super::report::view(&load.result())]).as_bytes())?;
    say(&format!("{} written", page.path.display()));
    Ok(())
}

/// Returns warnings about options that will not do what people expect, or change nothing.
fn warnings(args: &LoadArgs, spec: &LoadSpec) -> Vec<String> {
    let mut warnings = Vec::new();
    if spec.has_content() {
        let flushes = spec.durable().and_then(|durable| spec.content.flush_warning(durable));
        let short = spec.written_blocks().and_then(|n| spec.content.length_warning(n, spec.jobs));
        let all = spec.content.warnings().into_iter().chain(flushes).chain(short);
        warnings.extend(all.map(|warning| as_options(&warning.to_string())));
        warnings.extend(spec.content.idle().into_iter().map(|key| {
            format!(
                "{}changes nothing: there are no duplicates (--dedupe says how many)",
                as_options(&format!("{key} = "))
            )
        }));
    } else if spec.content != content::ContentSpec::default() {
        warnings.push("this load writes nothing: its options for content change nothing (--ops says what it does)".into());
    }
    let writes = spec.ops.names().any(OpName::is_write);
    if spec.sync.is_some() && !writes {
        warnings.push(
            "this load writes nothing: --sync changes nothing (--ops says what it does)".into(),
        );
    }
    let verifies = spec.verify != Verify::Off || args.verify.verify_state.is_some();
    if args.verify.verify_bytes == 1 && !verifies {
        warnings.push(
            "--verify-bytes changes nothing: nothing is verified (--verify says when)".into(),
        );
    }
    warnings
}

/// Claims each target that is written to; `None` for a target that is only read, and for `null`.
fn claims(
    args: &LoadArgs,
    may_create: Option<Bytes>,
    writes: bool,
) -> Result<Vec<Option<Claim>>, Failure> {
    let claim = |target: &TargetArg| {
        let create = may_create.is_some() && !target.path.exists();
        let permit = TargetPermit { destroy: args.destroy_data, create };
        host::claim_target(&target.path, permit)
    };
    let claimed = |target: &TargetArg| (writes && !target.is_null()).then(|| claim(target));
    let claims = args.targets.iter().map(|target| claimed(target).transpose());
    Ok(claims.collect::<Result<_, _>>()?)
}

/// Returns the load that `fathom load` with these `words` runs, which must not change anything.
pub fn reading(words: &[String]) -> Result<Load, Failure> {
    let line = ["fathom", "load"].into_iter().chain(words.iter().map(String::as_str));
    let Command::Load(args) = Cli::try_parse_from(line).map_err(Failure::usage)?.command else {
        return Err(Failure::usage("Not a load"));
    };
    let args = &*args;
    let spec = args.spec();
    spec.validate().map_err(|error| workload_failure(&error))?;
    if spec.writes() {
        return Err(Failure::usage("Only loads that read can be run here")
            .with_help("`fathom load` runs the others, one at a time"));
    }
    no_target_twice(args)?;
    outputs::check(&output_files(args), &inputs(args))?;
    let (recording, verification) = (recording(args), args.verify.options());
    let load = Load::new(spec, args.seed.unwrap_or_else(fresh_seed));
    Ok(Load { targets: aims(args, new_size(args)?), recording, verification, ..load })
}

/// Returns the warning if more than half of a load's I/Os failed: its figures cover only the others.
pub fn mostly_failed(operations: &BTreeMap<String, OperationSummary>) -> Option<String> {
    let ended: u64 = operations.values().map(|op| op.ios).sum();
    let failed: u64 = operations.values().flat_map(|op| op.errors.values()).sum();
    let (all, some) = (grouped(ended.saturating_add(failed)), grouped(failed));
    let why = format!("{some} of {all} I/Os failed: the figures are those of the rest");
    (failed > ended).then_some(why)
}

/// 130 after Ctrl-C; 5 when the target's errors ended the load, most I/Os failed, nothing was measured, a block was wrong, or
/// something that was asked for is not there.
pub fn exit_code(summary: &LoadSummary) -> u8 {
    let wrong = |v: &results::model::VerifyFigures| v.wrong_blocks() > 0;
    match summary.ended_by.as_str() {
        "interrupted" => 130,
        "errors" => 5,
        _ if mostly_failed(&summary.operations).is_some() => 5,
        _ if summary.verify.as_ref().is_some_and(wrong) => 5,
        _ if !summary.incomplete.is_empty() => 5,
        _ if summary.operations.values().all(|op| op.ios == 0) => 5,
        _ => 0,
    }
}

/// The files that the load writes in addition to its targets.
fn output_files(args: &LoadArgs) -> Vec<Output<'_>> {
    let files = [
        ("--io-log", OutputKind::IoLog, &args.record.io_log),
        ("--latency-log", OutputKind::LatencyLog, &args.record.latency_log),
        ("--page", OutputKind::Page(Page::Results), &args.record.page),
        ("--verify-state", OutputKind::VerifyState, &args.verify.verify_state),
    ];
    let given =
        files.into_iter().filter_map(|(option, kind, path)| Some((option, kind, path.as_deref()?)));
    given.map(|(option, kind, path)| Output { option, path, kind }).collect()
}

/// The targets, and what else is read.
fn inputs(args: &LoadArgs) -> Vec<Input<'_>> {
    let targets = args.targets.iter().filter(|target| !target.is_null());
    let targets = targets.map(|target| Input { path: &target.path, what: "the target" });
    let profile = args.content.content_profile.iter();
    targets.chain(profile.map(|path| Input { path, what: "the profile of the content" })).collect()
}

/// Returns which records are kept in addition to the counts.
fn recording(args: &LoadArgs) -> Recording {
    Recording {
        io_log: args.record.io_log.clone().map(IoLogTarget::File),
        split_latency: args.record.split_latency,
        worst: args.record.worst as usize,
    }
}

/// Returns the targets with their shares. Without shares each target gets 100 parts, so that all are equal.
fn aims(args: &LoadArgs, size: Option<Bytes>) -> Vec<Aim> {
    let aim = |target: &TargetArg| Aim {
        target: match target.is_null() {
            true => TargetSpec::Null { bytes: size.unwrap_or_default() },
            false => TargetSpec::Path(target.path.clone()),
        },
        share: target.share.unwrap_or(Percent(100.0)),
    };
    args.targets.iter().map(aim).collect()
}

/// The size that new files get, and that `null` pretends to have.
fn new_size(args: &LoadArgs) -> Result<Option<Bytes>, Failure> {
    let given = args.targets.iter().filter(|t| t.share.is_some()).count();
    if given > 0 && given < args.targets.len() {
        return Err(Failure::usage("Some targets have a share and some have none")
            .with_help("give every target its share (/dev/sdx=70 /dev/sdy=30), or none"));
    }
    let sum: f64 = args.targets.iter().filter_map(|t| t.share).map(|share| share.0).sum();
    if given > 0 && (sum - 100.0).abs() > 1e-6 {
        let message =
            format!("The shares of the targets sum to {}, not to 100", significant(sum, 6));
        let help = "give shares in percent that sum to 100 (/dev/sdx=70 /dev/sdy=30), or none";
        return Err(Failure::usage(message).with_help(help));
    }
    let mut size = None;
    for target in &args.targets {
        size = size.max(new_file_size(args, target)?);
    }
    Ok(size)
}

/// The size of the file to be made, when the target is not there yet.
fn new_file_size(args: &LoadArgs, target: &TargetArg) -> Result<Option<Bytes>, Failure> {
    let (size, offset) = (args.io.size, args.io.offset);
    let in_bytes = |portion: Option<Portion>| portion.map_or(Some(Bytes(0)), Portion::bytes);
    // A share of a target that does not exist yet has no meaning, so both must be in bytes.
    let end = size.and(in_bytes(size).zip(in_bytes(offset)));
    let end = end.map(|(size, offset)| Bytes(size.0.saturating_add(offset.0)));
    let path = target.path.as_path();
    let missing =
        |why: &str, help: &str| Failure::usage(format!("{} {why}", path.display())).with_help(help);
    if target.is_null() {
        let share = in_bytes(offset).is_none() && in_bytes(size).is_some();
        let help = match share && size.is_some() {
            true => "give --offset in bytes: a share of it has no meaning",
            false => "add --size in bytes to say how large it pretends to be",
        };
        return end.map(Some).ok_or_else(|| missing("has no size of its own", help));
    }
    match host::standing(path)? {
        TargetPresence::There => Ok(None),
        TargetPresence::Empty => Ok(end),
        TargetPresence::Absent => {
            let share = |portion: Option<Portion>| portion.is_some_and(|p| p.bytes().is_none());
            let help = match (share(offset), share(size) || size.is_none()) {
                (true, false) => {
                    "give --offset in bytes: a file that is to be made has no size to take a share of"
                }
                (true, true) => {
                    "give --size and --offset in bytes to make a file that they fit into"
                }
                _ => "add --size in bytes to make a file of that size",
            };
            end.map(Some).ok_or_else(|| missing("is not there", help))
        }
    }
}

/// Refuses targets that share bytes: figures would be counted twice, and content overwritten.
fn no_target_twice(args: &LoadArgs) -> Result<(), Failure> {
    let paths = args.targets.iter().filter(|target| !target.is_null()).map(|t| t.path.as_path());
    host::apart(paths).map_err(|error| {
        let once = "name each target once; --jobs and --depth make more I/Os on it";
        let help = error.help().unwrap_or(once);
        Failure::usage(error).with_help(help)
    })
}

pub fn workload_failure(error: &workload::WorkloadError) -> Failure {
    let help = as_options(&error.help());
    Failure::usage(as_options(&error.to_string())).with_help(help)
}

/// Returns the error of a load that could not run.
pub fn engine_failure(error: engine::EngineError) -> Failure {
    let help = error.help().to_owned();
    match error.kind() {
        engine::ErrorKind::Usage => Failure::usage(error),
        engine::ErrorKind::Refused => Failure::refused(error),
        _ => Failure::environment(error),
    }
    .with_help(help)
}

#[cfg(test)]
mod tests {
    use results::model::OperationSummary;

    use super::mostly_failed;

    #[test]
    fn of_a_load_of_which_more_than_half_failed_it_is_said() {
        let warning = |ios: u64, failed: u64| {
            let errors = [("EIO".to_owned(), failed)].into_iter().filter(|e| e.1 > 0).collect();
            let op = OperationSummary { ios, errors, ..Default::default() };
            mostly_failed(&[("read".to_owned(), op)].into_iter().collect())
        };
        assert_eq!((warning(500, 500), warning(0, 0)), (None, None));
        assert!(warning(499, 501).unwrap().starts_with("501 of 1,000 I/Os failed"));
    }
}
