//! `fathom show`: a result on the terminal, or a log of I/Os as CSV.

use std::io::{BufReader, BufWriter, IsTerminal, Read, Write};
use std::path::Path;
use std::process::ExitCode;

use results::iolog::{self, Reader};
use units::printable;
use units::show::grouped;

use crate::args::{BENCH, ShowArgs};
use crate::failure::Failure;
use crate::terminal::{Out, Style, Text, answer, csv, json, note_lost_output, say_line, width};

/// The file that makes a directory a comparison of engines.
const COMPARISON: &str = "bench.json";

pub fn run(args: &ShowArgs) -> Result<ExitCode, Failure> {
    if is_io_log(&args.result) {
        refuse_others(args)?;
        return io_log(&args.result);
    }
    if is_comparison(&args.result) {
        let path = args.result.display();
        let message =
            format!("{path} is a comparison of engines: fathom-bench show {path} shows it");
        return Err(Failure::usage(message).with_help(BENCH));
    }
    if args.layer_counters {
        return layer_counters(args);
    }
    let view = super::report::view_of(&args.result)?;
    if args.json {
        json(&serde_json::to_string_pretty(&report::json::json(&view)).map_err(Failure::data)?);
    } else if args.csv {
        csv(&report::csv::csv(&view));
    } else if args.markdown {
        answer(&Text::as_it_is(&report::markdown::result(&view, args.all)));
    } else {
        let colour = Style::of_stdout().colour();
        let text = if args.all { report::terminal::full_text } else { report::terminal::text };
        answer(&Text::preformatted(&text(&view, width(), colour)));
    }
    let code = super::report::exit_code([&view]);
    super::report::gated_exit_code(&view, &args.gates, code)
}

/// The counters of the layers of a result.
fn layer_counters(args: &ShowArgs) -> Result<ExitCode, Failure> {
    let set = results::open(&args.result)?;
    if args.json {
        let counters = report::counters::json(&set);
        json(&serde_json::to_string_pretty(&counters).map_err(Failure::data)?);
    } else {
        answer(&Text::preformatted(&report::counters::text(&set, width(), args.all)));
    }
    Ok(super::report::code_of(&set))
}

/// Refuses options for results, which a log of I/Os does not take.
fn refuse_others(args: &ShowArgs) -> Result<(), Failure> {
    let given = [
        ("--all", args.all),
        ("--layer-counters", args.layer_counters),
        ("--json", args.json),
        ("--markdown", args.markdown),
        ("--strict", args.gates.strict),
        ("--fail-on", !args.gates.fail_on.is_empty()),
    ];
    let Some((option, _)) = given.into_iter().find(|(_, given)| *given) else { return Ok(()) };
    let log = args.result.display();
    let message = format!("{log} is a log of I/Os, and {option} is for results of experiments");
    Err(Failure::usage(message).with_help(format!("leave {option} out; only --csv is taken here")))
}

/// Tells whether `path` is or holds a comparison of engines.
fn is_comparison(path: &Path) -> bool {
    [path.to_owned(), path.join(COMPARISON)].iter().any(|p| p.ends_with(COMPARISON) && p.is_file())
}

fn is_io_log(path: &Path) -> bool {
    let mut start = [0; iolog::MAGIC.len()];
    path.is_file()
        && sys::input::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == iolog::MAGIC
}

/// Prints a log of I/Os as CSV on standard output, and notes about missing I/Os on standard error.
fn io_log(path: &Path) -> Result<ExitCode, Failure> {
    let broken = |error: iolog::IoLogError| Failure::data(error);
    let file = sys::input::open(path).map_err(|e| broken(e.into()))?;
    let mut reader = Reader::new(BufReader::new(file)).map_err(broken)?;
    let mut out = BufWriter::new(Out);
    let terminal = std::io::stdout().is_terminal();
    let mut line = iolog::CSV_HEADER.to_owned();
    let header = reader.header().clone();
    loop {
        let shown = if terminal { printable(&line) } else { line.as_str().into() };
        if let Err(error) = writeln!(out, "{shown}") {
            note_lost_output(error);
            return Ok(ExitCode::SUCCESS);
        }
        match reader.next() {
            Some(record) => line = record.map_err(|e| broken(e.into()))?.csv(&header),
            None => break,
        }
    }
    if let Err(error) = out.flush() {
        note_lost_output(error);
    }
    let note = Style::of_stderr().note("note:");
    let damaged = reader.damaged();
    if damaged > 0 {
        let message =
            "this log is damaged: records that can be no I/O of it, or are gone, are left out:";
        say_line(note.clone().and(format!("{message} {}", grouped(damaged))));
    }
    match reader.closing() {
        None => {
            say_line(note.and("this log was cut off: how many I/Os are missing is not known"));
            Ok(ExitCode::from(5))
        }
        Some(closing) => {
            if closing.dropped > 0 {
                say_line(note.and(format!("{} I/Os are missing from this log", closing.dropped)));
            }
            Ok(ExitCode::from(if damaged > 0 { 5 } else { 0 }))
        }
    }
}
