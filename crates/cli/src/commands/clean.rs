//! `fathom clean`: what a killed run left on this machine, and taking it down.

use std::path::Path;
use std::process::ExitCode;

use host::{RealMachine, RunLock};
use results::Seal;
use results::sink::{DirSink, SinkError};
use run::clean::{Cleaning, Remains, RunPlace, run_place};
use serde_json::json;

use crate::args::CleanArgs;
use crate::failure::Failure;
use crate::terminal::{Style, Text, answer, json_line, say_text};

/// The exit code when something is still there.
const LEFT: u8 = 6;
/// Largest number of files named that keep a directory from being removed.
const TOLD: usize = 5;

/// The result, which has to be a directory: what is taken down is noted in it.
fn opened(result: &Path) -> Result<results::ResultSet, Failure> {
    if results::packed::is_packed(result) {
        let error = format!("{} is packed", result.display());
        let help = "name the result's directory, since what is taken down is noted there; fathom unpack makes one";
        return Err(Failure::usage(error).with_help(help));
    }
    Ok(results::open(result)?)
}

pub fn run(args: &CleanArgs) -> Result<ExitCode, Failure> {
    match &args.result {
        Some(path) => of_run(args, path),
        None => of_measurements(args),
    }
}

/// Removes what measurements left that belong to no run.
fn of_measurements(args: &CleanArgs) -> Result<ExitCode, Failure> {
    if !rustix::process::geteuid().is_root() {
        return Err(Failure::environment("Only root sees what a measurement left, and removes it")
            .with_help("sudo fathom clean"));
    }
    let found = host::abandoned();
    let mut text = Text::new();
    match found.is_empty() {
        true => text.line("no killed measurement left anything"),
        false => text.line("left of killed measurements:"),
    }
    found.iter().for_each(|thing| text.line(format!("  {thing}")));
    if args.yes {
        host::clear_abandoned().map_err(Failure::environment)?;
    } else if !found.is_empty() {
        text.line("fathom clean --yes removes it");
    }
    let left = host::abandoned();
    if args.yes && !found.is_empty() {
        match left.is_empty() {
            true => text.line("all of it is removed"),
            false => text.line(format!("still there: {}", left.join(", "))),
        }
    }
    let remains = Remains { found, ..Remains::default() };
    report(args, "host", &remains, &left, &text);
    Ok(ExitCode::from(if args.yes && !left.is_empty() { LEFT } else { 0 }))
}

fn of_run(args: &CleanArgs, path: &Path) -> Result<ExitCode, Failure> {
    let result = opened(path)?;
    let elsewhere = match run_place(&result) {
        RunPlace::Host => None,
        RunPlace::Lab => Some((
            "lab",
            "the run was in the lab: what it made was inside the virtual machine, and is gone with it",
        )),
        RunPlace::Nowhere => Some(("simulated", "the run was simulated: it made nothing")),
    };
    if let Some((place, why)) = elsewhere {
        let text = format!("nothing to clean on this machine: {why}");
        report(args, place, &Remains::default(), &[], &text.into());
        return Ok(ExitCode::SUCCESS);
    }
    if !rustix::process::geteuid().is_root() {
        return Err(Failure::environment("Only root sees what a run left, and takes it down")
            .with_help(format!("sudo fathom clean {}", path.display())));
    }
    let _lock = RunLock::take(&result.manifest.run_id, path)?;
    let mut sink = DirSink::reopen(path).map_err(|error| live(error, path))?;
    let run_id = result.manifest.run_id;
    let result = results::open_held(&sink)?;
    if result.manifest.run_id != run_id {
        let what = format!("another result has taken the place of {}", path.display());
        return Err(Failure::refused(what).with_help("name the result that is to be cleaned"));
    }
    let mut cleaning = Cleaning::of(&result, RealMachine::after_another())?;
    let remains = cleaning.remains();
    if remains.found.is_empty() || !args.yes {
        let mut text = listed(&remains);
        if !remains.found.is_empty() {
            text.line(format!("fathom clean {} --yes takes it down", path.display()));
        }
        report(args, "host", &remains, &remains.found, &text);
        return Ok(ExitCode::from(if remains.unseen.is_empty() { 0 } else { LEFT }));
    }
    say_text(&listed(&remains));
    begin(&mut cleaning, &mut sink, path)?;
    let left = cleaning.take_down(&mut sink)?;
    let unseen = cleaning.not_looked_at();
    // The transcript has changed, since it records what was taken down: a result with a valid seal is sealed again.
    if result.seal == Seal::Whole {
        results::checksums::write(sink.way()).map_err(Failure::data)?;
    }
    let mut text = outcome(&left, &unseen, &cleaning.in_directories());
    let fresh: Vec<_> =
        unseen.iter().filter(|why| !remains.unseen.contains(why)).cloned().collect();
    name_unseen(&mut text, &fresh);
    let remains = Remains { unseen, ..remains };
    report(args, "host", &remains, &left, &text);
    Ok(ExitCode::from(if left.is_empty() && remains.unseen.is_empty() { 0 } else { LEFT }))
}

/// Returns what was taken down and what is still there, for people; `kept` are files that keep directories from being removed.
fn outcome(left: &[String], unseen: &[String], kept: &[String]) -> Text {
    let mut text = Text::new();
    match left {
        [] if unseen.is_empty() => {
            text.line("everything is taken down; the transcript of the result says how");
        }
        [] => text.line("all else is taken down; the transcript of the result says how"),
        left => {
            let there = format!("still there: {}", left.join(", "));
            text.line(Style::of_stdout().bad("error:").and(there));
            text.line("the transcript of the result says why");
            let directory = |thing: &String| thing.starts_with("directory ");
            if !left.iter().all(|thing| directory(thing) && !kept.is_empty()) {
                text.line("what is in use must be released first");
            }
            if !kept.is_empty() {
                let named = kept[..kept.len().min(TOLD)].join(", ");
                let more = match kept.len().saturating_sub(TOLD) {
                    0 => String::new(),
                    more => format!(" and {more} more"),
                };
                text.line(format!(
                    "written while nothing was mounted there, so move away what is wanted and remove the rest: {named}{more}"
                ));
            }
        }
    }
    text
}

/// Notes in the transcript, before anything is taken down, that cleaning begins.
fn begin(cleaning: &mut Cleaning, sink: &mut DirSink, path: &Path) -> Result<(), Failure> {
    cleaning.begin(sink).map_err(|error| {
        let what = format!("{}; nothing was taken down", sys::causes::chain(&error));
        let help = format!(
            "what is taken down is noted in {}: make it writable, or clean a copy of the result",
            path.join("transcript.jsonl").display()
        );
        Failure::data(what).with_help(help)
    })
}

fn live(error: SinkError, result: &Path) -> Failure {
    match error {
        SinkError::Live(_) => Failure::refused(error)
            .with_help("let it end, or stop it with Ctrl-C: it takes down what it made itself"),
        error => Failure::data(error).with_help(format!("{} must be writable", result.display())),
    }
}

/// Returns what was found and what takes it down, for people.
fn listed(remains: &Remains) -> Text {
    let mut text = Text::new();
    match remains.found.as_slice() {
        [] if remains.unseen.is_empty() => text.line("nothing is left of this run"),
        [] => text.line("nothing is left of this run on what could be looked at"),
        found => lines(&mut text, "left of this run:", found),
    }
    if !remains.commands.is_empty() {
        lines(&mut text, "taken down by:", &remains.commands);
    }
    name_unseen(&mut text, &remains.unseen);
    if !remains.left_alone.is_empty() {
        let title =
            "carries no mark of the run and is left alone; remove it by hand if it is still there:";
        lines(&mut text, title, &remains.left_alone);
    }
    text
}

fn lines(text: &mut Text, title: &str, lines: &[String]) {
    text.line(title);
    lines.iter().for_each(|line| text.line(format!("  {line}")));
}

fn name_unseen(text: &mut Text, unseen: &[String]) {
    if !unseen.is_empty() {
        let title = "could not be looked at, or is not what the run began on, and is not cleaned; attach the run's devices, free what is in use, and clean once more:";
        lines(text, title, unseen);
    }
}

fn report(args: &CleanArgs, place: &str, remains: &Remains, left: &[String], text: &Text) {
    if !args.json {
        return answer(text);
    }
    say_text(text);
    json_line(&json!({
        "place": place, "found": remains.found, "commands": remains.commands,
        "left_alone": remains.left_alone, "unseen": remains.unseen, "taken_down": args.yes && place == "host", "left": left,
    }));
}
