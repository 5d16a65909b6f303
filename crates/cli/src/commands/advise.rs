//! `fathom advise`: which cache pays for what was recorded, and what VDO would need for it.

mod words;

use std::process::ExitCode;

use advise::{Advice, Analysis, Trace};
use disk::Op;
use serde_json::{Value, json as object};

use crate::args::AdviseArgs;
use crate::failure::Failure;
use crate::terminal::{Style, answer, json, say_line};

/// Chunk sizes that stand beside the one that was asked for: bcache's block, dm-cache's default, and larger ones, bytes.
const OTHER_CHUNKS: [u64; 4] = [4 << 10, 64 << 10, 256 << 10, 1 << 20];

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

pub fn run(args: &AdviseArgs) -> Result<ExitCode, Failure> {
    let trace = Trace::open(&args.files)?;
    let mut sizes = vec![args.chunk.0];
    sizes.extend(OTHER_CHUNKS.iter().filter(|size| **size != args.chunk.0));
    let mut analysis = Analysis::new(&sizes, trace.times_ns());
    trace.each(|access| analysis.take(access))?;
    let data = [Op::Read, Op::Write].map(|op| analysis.pattern().of(op).ios);
    if data == [0, 0] {
        return Err(advise::Error::Empty { paths: args.files.clone() }.into());
    }
    let advice = Advice::of(&analysis);
    if args.json {
        let document = document(args, &trace, &analysis, &advice);
        json(&serde_json::to_string_pretty(&document).map_err(Failure::data)?);
    } else {
        answer(&words::text(args, &trace, &analysis, &advice));
    }
    Ok(incomplete(&trace))
}

/// 5 where a file lacks something; what it lacks is said.
fn incomplete(trace: &Trace) -> ExitCode {
    let mut code = ExitCode::SUCCESS;
    let note = |text: String| say_line(Style::of_stderr().note("note:").and(text));
    for file in trace.files() {
        let name = file.path.display();
        if file.cut {
            code = ExitCode::from(5);
            note(format!("{name} was cut off: how many I/Os are missing is not known"));
        }
        if file.damaged > 0 {
            code = ExitCode::from(5);
            note(format!(
                "{name}: left out as no I/O that can be: {} of its records",
                file.damaged
            ));
        }
        if file.dropped > 0 {
            let what = if file.event.is_some() { "records" } else { "I/Os" };
            note(format!("{name}: {} {what} were lost when it was recorded", file.dropped));
        }
        if file.failed > 0 {
            note(format!("{name}: {} I/Os failed, and are left out", file.failed));
        }
    }
    code
}

fn document(args: &AdviseArgs, trace: &Trace, analysis: &Analysis, advice: &Advice) -> Value {
    let (first, last) = trace.times_ns();
    let ios = Op::ALL.map(|op| (op.name().to_owned(), object!(analysis.pattern().of(op))));
    let (window_ns, windows) = analysis.working_set();
    let windows: Vec<_> = windows
        .iter()
        .map(|(touched, new)| object!({ "touched_bytes": touched, "new_bytes": new }))
        .collect();
    let cost = |bytes: f64| {
        args.price
            .iter()
            .map(move |price| object!({ "medium": price.medium, "price": price.of(bytes) }))
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
        "vdo": advice.vdo,
        "not_known": words::not_known(trace, analysis, advice),
    })
}
