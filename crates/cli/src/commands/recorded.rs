//! Files of recorded I/O: the recording in one line, and what is missing in it.

use std::process::ExitCode;

use advise::{FileSummary, Trace};
use units::show::{grouped, nanos};

use crate::failure::Failure;
use crate::terminal::{Style, say_line};

impl From<advise::Error> for Failure {
    fn from(error: advise::Error) -> Self {
        let help = error.help();
        let failure = match &error {
            error if error.is_usage() => Self::usage(error.to_string()),
            advise::Error::Io { .. } => Self::environment(error),
            _ => Self::data(error),
        };
        failure.with_help(help)
    }
}

/// Tells how many I/Os were recorded, the device, and for how long.
pub fn what(trace: &Trace) -> String {
    let (first, last) = trace.times_ns();
    let files = trace.files();
    let of = files.iter().find_map(|file| file.of.as_deref()).unwrap_or("one device");
    let event = files.iter().find_map(|file| file.event);
    let event = event.map_or_else(String::new, |event| format!(", each when it was {event}"));
    let span = nanos(last.saturating_sub(first) as f64);
    let span = if first < last { format!(" in {span}") } else { String::new() };
    format!("{} I/Os to {of}{span}{event}", grouped(trace.ios()))
}

/// Returns what is missing in a recording, a line each.
pub fn missing(trace: &Trace) -> Vec<String> {
    let beside = |path: &std::path::PathBuf| {
        let path = path.display();
        format!("{path} belongs to the same recording and was not named: its I/Os are missing")
    };
    let mut lines: Vec<_> = trace.unnamed_siblings().iter().map(beside).collect();
    lines.extend(trace.files().iter().flat_map(missing_in));
    lines
}

fn missing_in(file: &FileSummary) -> Vec<String> {
    let (name, mut lines) = (file.path.display(), Vec::new());
    if file.cut {
        lines.push(format!("{name} was cut off: how many I/Os are missing is not known"));
    }
    if file.damaged > 0 {
        let damaged = file.damaged;
        lines.push(format!("{name}: {damaged} of its records are left out, which cannot be I/Os"));
    }
    if file.dropped > 0 {
        let what = if file.event.is_some() { "records" } else { "I/Os" };
        lines.push(format!("{name}: {} {what} were lost when it was recorded", file.dropped));
    }
    if file.failed > 0 {
        lines.push(format!("{name}: {} I/Os failed, and are left out", file.failed));
    }
    lines
}

/// Prints what is missing; returns exit code 5 if a file is cut off or damaged.
pub fn note_missing(trace: &Trace) -> ExitCode {
    for line in missing(trace) {
        say_line(Style::of_stderr().note("note:").and(line));
    }
    let damaged = trace.files().iter().any(|file| file.cut || file.damaged > 0);
    if damaged { ExitCode::from(5) } else { ExitCode::SUCCESS }
}
