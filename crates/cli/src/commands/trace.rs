//! `fathom trace show`: recorded I/O of any origin, as figures, on a terminal, as a page, as JSON or CSV.

mod charts;
mod document;
mod page;
mod shown;
mod text;
mod words;

use std::io::{BufWriter, Write};
use std::path::PathBuf;
use std::process::ExitCode;

use advise::{Figures, FileKind, Trace};
use disk::Op;
use disk::trace::Trace as DiskTrace;
use report::html::Page;

use super::disk::trace as disk_trace;
use super::recorded;
use crate::args::TraceShowArgs;
use crate::failure::Failure;
use crate::outputs::{self, Input, Output, OutputKind};
use crate::render::advise::AdviseView;
use crate::terminal::{Out, answer, json, note_lost_output};
use shown::Shown;

pub fn run(args: &TraceShowArgs) -> Result<ExitCode, Failure> {
    let page = args.output.as_ref().map(|path| Output {
        option: "-o",
        path,
        kind: OutputKind::Page(Page::Trace),
    });
    let inputs: Vec<_> =
        args.files.iter().map(|path| Input { path, what: "which is read" }).collect();
    outputs::check(page.as_slice(), &inputs)?;
    let modelled = modelled(&args.files)?;
    if let Some(disk) = modelled.as_ref().filter(|_| args.csv) {
        disk_trace::csv(disk).unwrap_or_else(note_lost_output);
        return Ok(disk_trace::exit_code(disk));
    }
    let mut view = AdviseView::new();
    let trace = match Trace::open(&args.files, &mut |records| view.note_records(records)) {
        // The trace of a disk without requests still tells of the disk.
        Err(advise::Error::Empty { .. }) if modelled.is_some() && page.is_none() => None,
        trace => Some(trace?),
    };
    if let Some(trace) = trace.as_ref().filter(|_| args.csv) {
        drop(view);
        csv(trace)?;
        return Ok(recorded::note_missing(trace));
    }
    let shown = trace.map(|trace| figures_of(trace, &mut view)).transpose()?;
    drop(view);
    let shown =
        shown.filter(|shown| modelled.is_none() || page.is_some() || has_addresses(&shown.figures));
    if let Some(Shown { figures, .. }) = shown.as_ref().filter(|one| !has_addresses(&one.figures)) {
        let flushes = figures.analysis().pattern().counts_of(Op::Flush).ios;
        return Err(advise::Error::Empty { paths: args.files.clone(), others: [flushes, 0] }.into());
    }
    if args.json {
        let document = document::document(shown.as_ref(), modelled.as_ref());
        json(&serde_json::to_string(&document).map_err(Failure::data)?);
    } else {
        answer(&text::text(shown.as_ref(), modelled.as_ref()));
    }
    let code = match (&modelled, &shown) {
        (Some(disk), _) => disk_trace::exit_code(disk),
        (None, Some(shown)) => recorded::note_missing(&shown.trace),
        (None, None) => ExitCode::SUCCESS,
    };
    // The answer comes first: reading took long, and it is not lost with a page.
    if let (Some(page), Some(shown)) = (page, &shown) {
        let sheet = page::sheet(shown);
        let title = format!("{} – Fathom trace", sheet.what);
        page.write(report::html::document(Page::Trace, &title, &sheet.body()).as_bytes())?;
    }
    Ok(code)
}

/// Reads the trace of a modelled disk, if that is the only file.
fn modelled(files: &[PathBuf]) -> Result<Option<DiskTrace>, Failure> {
    let [file] = files else { return Ok(None) };
    Ok(match advise::kind(file)? {
        FileKind::DiskTrace => Some(advise::read_disk_trace(file)?),
        _ => None,
    })
}

fn figures_of(trace: Trace, view: &mut AdviseView) -> Result<Shown, Failure> {
    let all = trace.ios();
    let figures = Figures::of(&trace, &mut |taken| view.note_ios(taken, all))?;
    Ok(Shown { trace, figures })
}

/// Tells whether any I/O has an address: flushes have none.
fn has_addresses(figures: &Figures) -> bool {
    [Op::Read, Op::Write, Op::Discard].iter().any(|op| figures.grid(*op).is_some())
}

/// Writes every I/O as a line, ordered by time.
fn csv(trace: &Trace) -> Result<(), Failure> {
    let mut out = BufWriter::new(Out);
    let mut written = writeln!(out, "at_ns,op,offset_bytes,length_bytes");
    trace.each(|access| {
        if written.is_ok() {
            let (at, op) = (access.at_ns, access.op.name());
            written = writeln!(out, "{at},{op},{},{}", access.offset, access.bytes);
        }
    })?;
    written.and_then(|()| out.flush()).unwrap_or_else(note_lost_output);
    Ok(())
}
