//! `fathom doctor DEVICE|PATH|SOSREPORT`: an existing stack, which is only read, checked by the rules that need no run.

use std::io::Read;
use std::os::unix::fs::FileTypeExt;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::time::Duration;

use layers::standing::StandingStack;
use results::model::Finding;
use standing::live::{self, LiveError};
use standing::sos::{self, SosError};
use standing::{Recorded, Top, drawing, stack, to_paste};

use super::findings::add_finding;
use super::{latency, metrics, watch};
use crate::args::DoctorArgs;
use crate::failure::Failure;
use crate::terminal::{Style, Text, answer, csv, json};

/// Longest wait for the answers of a stack.
const LIMIT: Duration = Duration::from_secs(5);

/// Something that stacks are read from.
pub enum Source {
    /// This machine: the stack of the device or file system at a path.
    Live(PathBuf),
    /// A sosreport, unpacked or packed.
    Report(PathBuf),
}

/// The endings of packed sosreports.
const PACKED: [&str; 6] = [".tar", ".tar.xz", ".tar.gz", ".tgz", ".txz", ".tar.bz2"];
/// Names of files that a result has and a user's directory hardly.
const OF_RESULT: [&str; 3] = ["manifest.json", "cells", "experiment.toml"];

/// Returns the source that `subject` names: a device, a path on a file system, or a sosreport. `None` where it is a result or an experiment,
/// or could be the name of a missing one.
pub fn source(subject: &str) -> Option<Source> {
    let path = Path::new(subject);
    if PACKED.iter().any(|ending| subject.ends_with(ending)) && !path.is_dir() {
        return Some(Source::Report(path.to_owned()));
    }
    let Ok(found) = std::fs::metadata(path) else {
        return named(subject).map(Source::Live);
    };
    let live = || Some(Source::Live(path.to_owned()));
    if found.file_type().is_block_device() {
        return live();
    }
    if found.is_dir() && sos::is_report(path) {
        return Some(Source::Report(path.to_owned()));
    }
    if found.is_dir() {
        let result = OF_RESULT.iter().any(|name| path.join(name).exists());
        return if result { None } else { live() };
    }
    if !found.is_file() || results::packed::is_packed(path) {
        return None;
    }
    // A text file may be an experiment; any other file stands for the stack that it lies on.
    let text = path.extension().is_some_and(|ending| ending == "toml") || is_text(path);
    if text { None } else { live() }
}

/// The path of the device that `subject` names: any path below `/dev`, existing or not, or a name of the kernel or the device mapper.
fn named(subject: &str) -> Option<PathBuf> {
    if subject.starts_with("/dev/") {
        return Some(subject.into());
    }
    let places = ["/dev", "/dev/mapper"].map(|folder| Path::new(folder).join(subject));
    places.into_iter().find(|path| {
        !subject.is_empty()
            && std::fs::metadata(path).is_ok_and(|found| found.file_type().is_block_device())
    })
}

fn is_text(path: &Path) -> bool {
    let mut begin = Vec::new();
    let read = sys::input::open(path).and_then(|file| file.take(512).read_to_end(&mut begin));
    let whole = |end: usize| std::str::from_utf8(&begin[..end]).is_ok() && !begin.contains(&0);
    read.is_ok() && (begin.is_empty() || (0..4).any(|cut| whole(begin.len().saturating_sub(cut))))
}

pub fn run(source: &Source, args: &DoctorArgs) -> Result<ExitCode, Failure> {
    let over_time = args.watch.is_some() || args.metrics;
    let (read, top) = match source {
        Source::Report(path) if over_time => {
            let error = format!(
                "{} is a sosreport, and --watch and --metrics need the running machine",
                path.display()
            );
            return Err(Failure::usage(error).with_help(
                "run them on that machine, with the block device or a path on the file system",
            ));
        }
        Source::Live(path) => {
            let top = live::find(path).map_err(of_live)?;
            (live::gather(&top, LIMIT), top)
        }
        Source::Report(path) => (sos::read(path).map_err(of_report)?, Top::All),
    };
    let mut stack = stack(&read, &top);
    if stack.nodes.is_empty() {
        let error = "The device went away before anything could be read of it";
        return Err(Failure::environment(error).with_help("lsblk lists the devices that there are"));
    }
    let (seen, ladder) = match args.watch {
        Some(length) => {
            let measuring = args.latency.then(|| latency::begin(&stack)).transpose()?;
            let seen = watch::run((&read, &top), &mut stack, length.into());
            // The measurement stops however the watch ended.
            let ladder = measuring.map(latency::Measuring::end).transpose()?;
            (Some(seen?), ladder)
        }
        None => (None, None),
    };
    let findings = doctor::examine_standing(&stack, &read.of);
    if args.metrics {
        csv(&metrics::text(&read, &stack, &findings, LIMIT));
        return Ok(ExitCode::SUCCESS);
    }
    if args.json {
        let document = match &seen {
            Some(seen) => watch::document((seen, ladder.as_ref()), &stack, &findings),
            None => serde_json::to_value(&findings),
        };
        let document = document.and_then(|document| serde_json::to_string_pretty(&document));
        json(&document.map_err(Failure::data)?);
    } else {
        let style = Style::of_stdout();
        let mut table = seen.as_ref().map(|seen| watch::text(seen, &stack, style));
        if let (Some(table), Some(ladder)) = (&mut table, &ladder) {
            table.append(&latency::text(ladder, style));
        }
        answer(&text(&read, (&stack, table), &findings, Style::of_stdout()));
    }
    Ok(seen.as_ref().map_or(ExitCode::SUCCESS, watch::exit_code))
}

fn of_live(error: LiveError) -> Failure {
    let help = error.help();
    match error {
        LiveError::Io { .. } => Failure::environment(error).with_help(help),
        _ => Failure::usage(error).with_help(help),
    }
}

fn of_report(error: SosError) -> Failure {
    match error {
        SosError::Io { ref source, .. } if source.kind() == std::io::ErrorKind::NotFound => {
            Failure::usage(error)
                .with_help("name an archive of sos, or the directory that one was unpacked to")
        }
        SosError::Io { .. } => {
            Failure::environment(error).with_help("try it as a user who may read it")
        }
        SosError::NotOne(_) => Failure::usage(error)
            .with_help("sos report makes one; a packed result has the ending .fathom"),
        SosError::Damaged { .. } => Failure::data(error).with_help(
            "copy it again, or unpack it yourself and name the directory: what is there is read",
        ),
    }
}

fn text(
    read: &Recorded,
    (stack, watched): (&StandingStack, Option<Text>),
    findings: &[Finding],
    style: Style,
) -> Text {
    let mut text = Text::new();
    text.line(style.dim(&format!("The stack of {}:", read.of)));
    drawing(stack).into_iter().for_each(|line| text.line(line));
    watched.iter().for_each(|watched| text.append(watched));
    let (about, found): (Vec<_>, Vec<_>) =
        findings.iter().partition(|finding| doctor::is_about_reading(finding));
    if found.is_empty() {
        text.line("Nothing found in what was looked at.");
    }
    found.into_iter().chain(about).for_each(|finding| add_finding(&mut text, finding, style));
    text.line(
        style.dim("To paste into a report; read it first, it has the names of your devices:"),
    );
    let block = to_paste(stack, env!("CARGO_PKG_VERSION"), &doctor::alarming(stack));
    text.append(&Text::as_it_is(&block));
    text
}
