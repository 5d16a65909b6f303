//! `fathom fio` and `fathom import`: job files of fio as loads, its output as a result.

use std::collections::BTreeMap;
use std::io::Read;
use std::path::Path;
use std::process::ExitCode;

use clap::Parser;
use fio::{FioLoad, Problem, Target};
use host::TargetPermit;
use serde_json::json;
use units::Bytes;
use workload::{LoadSpec, WorkloadError};

use crate::args::{Cli, Command, FioArgs, ImportArgs, LoadArgs, as_options};
use crate::failure::Failure;
use crate::terminal::{Line, Style, Text, answer, json, say, say_line};

/// The longest job file that is read, bytes.
const MAX_JOB_FILE_BYTES: u64 = 1 << 20;

pub fn run(args: &FioArgs) -> Result<ExitCode, Failure> {
    let text = text(&args.job)?;
    let place = args.job.display();
    let read = fio::read(&text, |name| std::env::var(name).ok());
    let mut loads = read
        .and_then(|file| fio::loads(&file))
        .map_err(|problems| mistakes(&place.to_string(), &problems))?;
    if let Some(duration) = args.duration {
        for load in &mut loads {
            load.last_for(&duration.to_string().replace(' ', ""));
        }
    }
    loads.iter().try_for_each(|load| possible(load, args))?;
    foreseen(&loads, args)?;
    if args.dry_run {
        shown(&loads, args);
        return Ok(ExitCode::SUCCESS);
    }
    for load in &loads {
        tell(load, args);
        missing(load).try_for_each(|target| too_short(target, length(target).unwrap_or(0)))?;
        for target in missing(load) {
            say(&format!("{} is written first, to be read:", target.name));
            let done = one(&load.laying_out(target));
            if !matches!(done, Ok(ExitCode::SUCCESS)) {
                if Path::new(&target.name).exists() {
                    say(&format!("{} is not whole: remove it before it is read", target.name));
                }
                return done;
            }
        }
        let code = one(&words(load, args))?;
        if code != ExitCode::SUCCESS {
            return Ok(code);
        }
    }
    Ok(ExitCode::SUCCESS)
}

/// The longest output of fio's that is read, bytes.
const LONGEST_OUTPUT: u64 = 1 << 30;

pub fn import(args: &ImportArgs) -> Result<ExitCode, Failure> {
    let place = args.out.display();
    if args.out.symlink_metadata().is_ok() {
        let help = "name another directory with --out";
        return Err(Failure::refused(format!("{place} exists")).with_help(help));
    }
    let (mut runs, mut failed) = (Vec::new(), false);
    for word in &args.files {
        // A file may have = in its name: if a file of the whole name exists, it is meant.
        let (name, path) = match word.split_once('=') {
            Some((name, path)) if !Path::new(word).exists() && !name.is_empty() => (name, path),
            _ => ("fio", word.as_str()),
        };
        let refused =
            |error: std::io::Error| Failure::usage(format!("Cannot read {path}: {error}"));
        let text = sys::input::read_text(Path::new(path), LONGEST_OUTPUT).map_err(refused)?;
        let run = fio::import::read_json(&text).map_err(|what| {
            Failure::data(format!("{path} is not output of fio that can be read: {what}"))
                .with_help("run fio with --output-format=json+ --output=FILE")
        })?;
        for notice in run.groups.iter().flat_map(|group| &group.notices) {
            say(&format!("{path}: {notice}"));
        }
        if let Some(why) = run.failure() {
            failed = true;
            say(&format!("{path}: {why}; this repeat failed and gives no figures"));
        }
        runs.push((name.to_owned(), path.into(), run));
    }
    let count = runs.len();
    let made = fio::imported::result(runs, crate::args::words()).map_err(Failure::usage)?;
    fio::imported::write(&made, &args.out).map_err(Failure::environment)?;
    let files = if count == 1 { "file" } else { "files" };
    say(&format!(
        "{place} made of {count} {files}; show, report, compare, trend, doctor and export take it"
    ));
    Ok(ExitCode::from(if failed { 5 } else { 0 }))
}

fn text(path: &Path) -> Result<String, Failure> {
    let refused = |error: std::io::Error| {
        Failure::usage(format!("Cannot read the job file {}: {error}", path.display()))
    };
    if path != Path::new("-") {
        return sys::input::read_text(path, MAX_JOB_FILE_BYTES).map_err(refused);
    }
    let mut text = String::new();
    std::io::stdin().take(MAX_JOB_FILE_BYTES).read_to_string(&mut text).map_err(refused)?;
    Ok(text)
}

fn mistakes(place: &str, problems: &[Problem]) -> Failure {
    let what = match problems {
        [one] => one.to_string(),
        all => {
            all.iter().for_each(|one| say(&format!("{place}: {one}")));
            format!("{} problems, each told above with its line", all.len())
        }
    };
    Failure::usage(format!("{place} cannot be done as it stands: {what}"))
        .with_help("change these lines, or run it with fio; nothing was run")
}

/// The words of a job's load, with those of this run added.
fn words(load: &FioLoad, args: &FioArgs) -> Vec<String> {
    let mut words = load.words();
    let more = [("--destroy-data", args.destroy_data), ("--json", args.json)];
    let more = more.into_iter().filter(|(_, given)| *given).map(|(word, _)| word.to_owned());
    words.splice(1..1, more);
    words
}

/// Runs one load by its words.
fn one(words: &[String]) -> Result<ExitCode, Failure> {
    super::load::run(&load_args(words).map_err(Failure::usage)?)
}

/// Reads the words of a load, or says what is wrong with them.
fn load_args(words: &[String]) -> Result<LoadArgs, String> {
    let program = std::iter::once("fathom").chain(words.iter().map(String::as_str));
    match Cli::try_parse_from(program) {
        Ok(Cli { command: Command::Load(args), .. }) => Ok(*args),
        Ok(_) => Err("these are not options of a load".to_owned()),
        Err(error) => {
            let what = error.to_string();
            Err(what.lines().next().unwrap_or_default().trim_start_matches("error: ").to_owned())
        }
    }
}

/// Returns the refusal of a load.
fn impossible(load: &FioLoad, what: &str) -> Failure {
    let jobs = load.names.join("], [");
    Failure::usage(format!("[{jobs}], line {}, cannot be done here: {what}", load.line))
        .with_help("change the job, or run it with fio; nothing was run")
}

/// Refuses a load that makes no sense, or that its files cannot hold, before anything is written.
fn possible(load: &FioLoad, args: &FioArgs) -> Result<(), Failure> {
    let parsed = load_args(&words(load, args)).map_err(|what| impossible(load, &what))?;
    // A name in a job file is a path; a load must not read a share or `null` from it.
    let names = load.targets.iter().map(|target| (Path::new(&target.name), None));
    if !parsed.targets.iter().map(|target| (target.path.as_path(), target.share)).eq(names) {
        return Err(impossible(load, "a load reads its targets from their names in another way"));
    }
    let spec = parsed.spec();
    spec.validate().map_err(|error| unfit(load, &error))?;
    let mut files = load.targets.iter().filter_map(|target| target.bytes);
    files.try_for_each(|bytes| fits(load, &spec, bytes))
}

fn unfit(load: &FioLoad, error: &WorkloadError) -> Failure {
    let (what, help) = (as_options(&error.to_string()), as_options(&error.help()));
    impossible(load, &format!("{what} ({help})"))
}

fn fits(load: &FioLoad, spec: &LoadSpec, bytes: u64) -> Result<(), Failure> {
    spec.check_target(bytes, 512).map(drop).map_err(|error| unfit(load, &error))
}

/// Checks all loads before the first one writes anything; each is checked against the files as the loads before it will leave them.
/// A dry run does not look at devices, which may be those of another machine.
fn foreseen(loads: &[FioLoad], args: &FioArgs) -> Result<(), Failure> {
    let mut lengths = BTreeMap::<&str, u64>::new();
    for load in loads {
        let spec = load_args(&words(load, args)).map_err(|what| impossible(load, &what))?.spec();
        for target in load.targets.iter().filter(|target| target.name != "null") {
            let path = Path::new(&target.name);
            let before = lengths.get(target.name.as_str()).copied();
            let there = before.is_some() || path.exists();
            let held = before.or_else(|| length(target));
            if held.is_some_and(|held| held > 0) {
                let held = held.unwrap_or(0);
                if load.reads {
                    too_short(target, held)?;
                }
                fits(load, &spec, held)?;
            } else if let Some(bytes) = target.bytes {
                let made = if load.reads { bytes.next_multiple_of(4096) } else { bytes };
                lengths.insert(&target.name, made);
            } else if (held == Some(0) || !there) && !path.starts_with("/dev") {
                let lacks = format!("{} holds nothing, and has no size (size=1g)", target.name);
                return Err(impossible(load, &lacks));
            }
            let looked_at = before.is_none() && (!args.dry_run || held.is_some());
            if looked_at && !there {
                host::standing(path)?;
            }
            if looked_at && there && spec.writes() {
                let permit = TargetPermit { destroy: args.destroy_data, create: false };
                host::claim_target(path, permit)?;
            }
        }
    }
    Ok(())
}

/// Returns the length of a file, bytes; `None` for anything else.
fn length(target: &Target) -> Option<u64> {
    let found = Path::new(&target.name).metadata().ok()?;
    found.is_file().then_some(found.len())
}

/// Refuses a file that holds something, and less than is to be read.
fn too_short(target: &Target, held: u64) -> Result<(), Failure> {
    let Some(bytes) = target.bytes.filter(|bytes| 0 < held && held < *bytes) else {
        return Ok(());
    };
    let (name, held, bytes) = (&target.name, Bytes(held), Bytes(bytes));
    Err(Failure::refused(format!("{name} holds {held}, and {bytes} of it are to be read"))
        .with_help("remove it, so that it is written first, or name another file"))
}

/// The targets that are to be read and do not hold enough yet.
fn missing(load: &FioLoad) -> impl Iterator<Item = &Target> {
    let absent = |target: &&Target| match Path::new(&target.name).metadata() {
        Ok(found) => found.is_file() && target.bytes.is_some_and(|bytes| found.len() < bytes),
        Err(_) => target.bytes.is_some() && target.name != "null",
    };
    load.targets.iter().filter(|_| load.reads).filter(absent)
}

fn tell(load: &FioLoad, args: &FioArgs) {
    let names = load.names.join("], [");
    let words = words(load, args);
    say_line(Line::command(format!("[{names}], line {}:", load.line), &typed(&words)));
    let style = Style::of_stderr();
    load.notes.iter().for_each(|note| say_line(style.note("changes nothing:").and(note)));
    load.in_fio.iter().for_each(|note| say_line(style.note("in fio:").and(note)));
}

fn typed(words: &[String]) -> String {
    let all: Vec<_> = std::iter::once("fathom".to_owned()).chain(words.iter().cloned()).collect();
    layers::step::show_argv(&all)
}

fn shown(loads: &[FioLoad], args: &FioArgs) {
    if args.json {
        let load = |load: &FioLoad| {
            json!({
                "jobs": load.names,
                "line": load.line,
                "targets": load.targets.iter().map(|target| &target.name).collect::<Vec<_>>(),
                "words": words(load, args),
                "stage": load.stage(),
                "changes_nothing": load.notes,
                "in_fio": load.in_fio,
            })
        };
        let all: Vec<_> = loads.iter().map(load).collect();
        json(&json!({ "loads": all }).to_string());
        return;
    }
    let mut text = Text::new();
    for load in loads {
        text.line(format!("[{}], line {}", load.names.join("], ["), load.line));
        for target in missing(load) {
            text.line(Line::command("  first:", &typed(&load.laying_out(target))));
        }
        text.line(Line::command(" ", &typed(&words(load, args))));
        for note in &load.notes {
            text.line(format!("  changes nothing: {note}"));
        }
        for note in &load.in_fio {
            text.line(format!("  in fio: {note}"));
        }
        text.line("");
        text.append(&Text::as_it_is(&load.stage()));
        text.line("");
    }
    answer(&text);
}
