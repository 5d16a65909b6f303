//! `fathom advise`: which cache pays for what was recorded, and what VDO would need for it.

mod words;

use std::process::ExitCode;

use advise::{Advice, Analysis, Trace};
use disk::Op;
use report::html::Page;
use serde_json::{Value, json as object};

use super::recorded;
use crate::args::AdviseArgs;
use crate::failure::Failure;
use crate::outputs::{self, Input, Output, OutputKind};
use crate::render::advise::AdviseView;
use crate::terminal::{answer, json};

/// Chunk sizes that are shown besides the one that was asked for: bcache's block, dm-cache's default, and larger ones, bytes.
const OTHER_CHUNKS: [u64; 4] = [4 << 10, 64 << 10, 256 << 10, 1 << 20];

/// Number of I/Os between two reports of progress.
const TOLD: u64 = 1 << 16;

pub fn run(args: &AdviseArgs) -> Result<ExitCode, Failure> {
    let page = args.output.as_ref().map(|path| Output {
        option: "-o",
        path,
        kind: OutputKind::Page(Page::Advice),
    });
    let inputs: Vec<_> =
        args.files.iter().map(|path| Input { path, what: "which is read" }).collect();
    outputs::check(page.as_slice(), &inputs)?;
    let mut view = AdviseView::new();
    let trace = Trace::open(&args.files, &mut |records| view.note_records(records))?;
    let mut sizes = vec![args.chunk.0];
    sizes.extend(OTHER_CHUNKS.iter().filter(|size| **size != args.chunk.0));
    let mut analysis = Analysis::new(&sizes, trace.times_ns());
    let (all, mut taken) = (trace.files().iter().map(|file| file.ios).sum(), 0);
    trace.each(|access| {
        analysis.take(access);
        taken += 1;
        if taken % TOLD == 0 {
            view.note_ios(taken, all);
        }
    })?;
    drop(view);
    let count = |op| analysis.pattern().counts_of(op).ios;
    if [Op::Read, Op::Write].map(count) == [0, 0] {
        let (paths, others) = (args.files.clone(), [Op::Flush, Op::Discard].map(count));
        return Err(advise::Error::Empty { paths, others }.into());
    }
    let advice = Advice::of(&analysis);
    if args.json {
        let document = document(args, &trace, &analysis, &advice);
        json(&serde_json::to_string_pretty(&document).map_err(Failure::data)?);
    } else {
        answer(&words::text(args, &trace, &analysis, &advice));
    }
    // The answer comes first: reading took long, and it is not lost with a page.
    let code = recorded::note_missing(&trace);
    if let Some(page) = page {
        let words = words::page(&trace, &analysis, &advice);
        let title = format!("{} – Fathom advice", words.what);
        let body = advise::page(&words, &advice, &analysis, &args.price);
        page.write(report::html::document(Page::Advice, &title, &body).as_bytes())?;
    }
    Ok(code)
}

fn document(args: &AdviseArgs, trace: &Trace, analysis: &Analysis, advice: &Advice) -> Value {
    let (first, last) = trace.times_ns();
    let ios = Op::ALL.map(|op| (op.name().to_owned(), object!(analysis.pattern().counts_of(op))));
    let (window_ns, windows) = analysis.working_set();
    let windows: Vec<_> = windows
        .iter()
        .map(|(touched, new)| object!({ "touched_bytes": touched, "new_bytes": new }))
        .collect();
    let cost = |bytes: f64| {
        args.price
            .iter()
            .map(move |price| object!({ "medium": price.medium, "price": price.cost(bytes) }))
    };
    let cache = advice.cache.as_ref();
    let prices: Vec<_> = cache.into_iter().flat_map(|c| cost(c.stops_paying_bytes)).collect();
    object!({
        "schema": 1,
        "files": trace.files(),
        "seconds": last.saturating_sub(first) as f64 / 1e9,
        "ios": ios.into_iter().collect::<serde_json::Map<_, _>>(),
        "touched": analysis.touched(),
        "working_set": { "window_ns": window_ns, "windows": windows },
        "cache": cache,
        "prices": prices,
        "not_named": trace.unnamed_siblings().iter().map(|path| path.display().to_string()).collect::<Vec<_>>(),
        "vdo": advice.vdo,
        "not_known": words::not_known(trace, analysis, advice),
    })
}
