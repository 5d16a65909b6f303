//! The advice in words, with the curve drawn as bars.

use advise::{Advice, Analysis, BlockMapAdvice, CacheAdvice, NEAR_POINTS, Trace, Verdict};
use disk::Op;
use units::show::{bytes, grouped, nanos, significant};

use crate::args::AdviseArgs;
use crate::commands::disk::table;
use crate::commands::recorded::what;
use crate::terminal::{Style, Text};

/// Columns of a bar of 100 %.
const BAR: f64 = 25.0;
/// Length below which the advice calls a trace short, nanoseconds: ten minutes.
const SHORT_NS: u64 = 600_000_000_000;
/// Levels of a row of small bars.
const LEVELS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];

fn percent(value: f64) -> String {
    format!("{} %", significant(value, if value < 1.0 { 2 } else { 3 }))
}

fn or_none(value: Option<f64>) -> String {
    value.map_or_else(|| "–".into(), percent)
}

/// The whole advice, for a terminal.
pub(super) fn text(args: &AdviseArgs, trace: &Trace, analysis: &Analysis, advice: &Advice) -> Text {
    let style = Style::of_stdout();
    let mut text = recorded(trace, analysis);
    if let Some(cache) = &advice.cache {
        text.line("");
        text.append(&curve(args, cache));
        text.line("");
        text.line(style.good("cache:").and(verdict(cache)));
        if cache.verdict != Verdict::DoesNotPay {
            for price in &args.price {
                let (medium, costs) = (&price.medium, price.cost(cache.stops_paying_bytes));
                text.line(format!("  That size of {medium} costs {}.", significant(costs, 3)));
            }
            text.append(&chunks(cache));
        }
    }
    text.line("");
    for (at, line) in vdo(&advice.vdo, analysis).into_iter().enumerate() {
        let lead = if at == 0 { style.good("VDO:").and(line) } else { format!("  {line}").into() };
        text.line(lead);
    }
    if neither(analysis, advice) {
        text.line(style.note("Neither pays").and(
            "for what was recorded: nothing that it reads comes again, and nothing is written.",
        ));
    }
    text.line("");
    text.line("Not known from this:");
    for line in not_known(trace, analysis, advice) {
        text.line(format!("  {line}"));
    }
    text
}

/// Lines about the trace itself.
fn recorded(trace: &Trace, analysis: &Analysis) -> Text {
    let mut text = Text::from(what(trace));
    let shown = Op::ALL.iter().filter(|op| analysis.pattern().counts_of(**op).ios > 0);
    let row = |op: &Op| {
        let counts = analysis.pattern().counts_of(*op);
        vec![
            op.name().to_owned(),
            grouped(counts.ios),
            bytes(counts.bytes as f64),
            or_none(counts.sequential_percent()),
        ]
    };
    let rows: Vec<_> = shown.map(row).collect();
    text.append(&table::table(&["", "I/Os", "data", "sequential"], &rows));
    let touched = analysis.touched();
    let [all, read, written] =
        [touched.bytes, touched.read_bytes, touched.written_bytes].map(bytes);
    let first = touched.first_writes_percent.map_or_else(String::new, |share| {
        format!("; {} of the written blocks for the first time", percent(share))
    });
    let end = bytes(analysis.pattern().end() as f64);
    text.line(format!("touched: {all} of {end}; read {read}, written {written}{first}"));
    text.append(&working_set(analysis));
    text
}

/// Two rows of small bars: the amount touched in each window, and the part of it touched for the first time.
fn working_set(analysis: &Analysis) -> Text {
    let (window_ns, windows) = analysis.working_set();
    let most = windows.iter().map(|(all, _)| *all).fold(0.0, f64::max);
    let mut text = Text::new();
    if windows.len() < 2 || most <= 0.0 {
        return text;
    }
    let row = |value: fn(&(f64, f64)) -> f64| {
        let level = |window| (value(window) / most * LEVELS.len() as f64).ceil() as usize;
        let bar = |window| level(window).checked_sub(1).map_or(' ', |at| LEVELS[at.min(7)]);
        windows.iter().map(bar).collect::<String>()
    };
    let each = nanos(window_ns as f64);
    text.line(format!(
        "touched in each {each}, at most {}; below it the part for the first time",
        bytes(most)
    ));
    text.append(&Text::as_it_is(&format!("  {}\n  {}", row(|one| one.0), row(|one| one.1))));
    text
}

/// The words of the page.
pub(super) fn page(trace: &Trace, analysis: &Analysis, advice: &Advice) -> advise::PageTexts {
    let headline = match &advice.cache {
        Some(cache) => format!("A cache: {}", verdict(cache)),
        None => "No chunk was touched".into(),
    };
    let vdo = vdo(&advice.vdo, analysis).into_iter().enumerate();
    let vdo = vdo.map(|(at, line)| if at == 0 { format!("It needs {line}") } else { line });
    let not_known = not_known(trace, analysis, advice);
    advise::PageTexts { what: what(trace), headline, vdo: vdo.collect(), not_known }
}

fn curve(args: &AdviseArgs, cache: &CacheAdvice) -> Text {
    let chunk = bytes(cache.chunk_bytes as f64);
    let mut text = Text::from(format!(
        "What a cache hits with chunks of {chunk}; it keeps what was used last, and is empty at the start:"
    ));
    let mut head = vec!["size", "reads", "writes"];
    head.extend(args.price.iter().map(|price| price.medium.as_str()));
    head.push("");
    let mut rows = Vec::new();
    for point in &cache.points {
        let mut row =
            vec![bytes(point.bytes), or_none(point.reads_percent), or_none(point.writes_percent)];
        row.extend(args.price.iter().map(|price| significant(price.cost(point.bytes), 3)));
        let shown =
            if cache.decided_by == "reads" { point.reads_percent } else { point.writes_percent };
        let length = (shown.unwrap_or(0.0) / 100.0 * BAR).round() as usize;
        row.push(format!("{}{}", "█".repeat(length), " ".repeat(BAR as usize - length)));
        rows.push(row);
    }
    text.append(&table::table(&head, &rows));
    text
}

fn verdict(cache: &CacheAdvice) -> String {
    let CacheAdvice { decided_by: what, .. } = cache;
    let [there, most] = [cache.hits_there_percent, cache.most_percent].map(percent);
    let stop = bytes(cache.stops_paying_bytes);
    match cache.verdict {
        Verdict::Pays => format!(
            "{stop} pay: they hit {there} of the {what}, and from there no doubling brings {NEAR_POINTS} points more. \
            A cache without limit hits {most}."
        ),
        Verdict::EachDoubling => {
            let [half, of] = [bytes(cache.half_bytes), percent(cache.most_percent / 2.0)];
            format!(
                "pays at many sizes, the price decides: {half} hit {of} of the {what}, and each doubling brings {NEAR_POINTS} points and more, up to {stop}, which hit {there}."
            )
        }
        Verdict::OnlyWhole => format!(
            "pays when it holds nearly all that is touched: {stop} hit {there} of the {what}. A smaller one hits in proportion to its size, or not at all (the bars)."
        ),
        Verdict::DoesNotPay => format!(
            "does not pay: even without limit it hits {most} of the {what}; all others are the first of their chunk."
        ),
    }
}

fn chunks(cache: &CacheAdvice) -> Text {
    let rows: Vec<_> = cache
        .chunks
        .iter()
        .map(|one| {
            vec![bytes(one.chunk_bytes as f64), percent(one.percent), bytes(one.copied_bytes)]
        })
        .collect();
    let best = bytes(cache.best_chunk_bytes as f64);
    let mut text = Text::from(format!(
        "  Chunks of {best} copy least among the sizes with as many hits (within {NEAR_POINTS} points). A miss copies its chunk in, unless a write covers all of it. Other sizes:"
    ));
    text.append(&table::table(&["chunk", cache.decided_by, "copied in"], &rows));
    text
}

/// Returns what VDO would need, a line each.
fn vdo(vdo: &BlockMapAdvice, analysis: &Analysis) -> Vec<String> {
    let [logical, maps] = [vdo.logical_bytes, BlockMapAdvice::page_maps()].map(|n| bytes(n as f64));
    let pages = grouped(vdo.touched_pages.round() as u64);
    let mut lines = vec![format!(
        "a logical size of {logical} or more; its I/Os need {pages} pages of the block map, which map {maps} each."
    )];
    let [default, least] = [vdo.default_misses_percent, vdo.least_misses_percent].map(percent);
    lines.push(match vdo.cache_mib {
        128 => format!("The block map cache that lvm gives, 128 MiB, is enough: it misses {default} of the lookups \
        (one per 4 KiB), one without limit {least}."),
        mib => format!("Its block map cache should be {mib} MiB (vdo_block_map_cache_size_mb={mib}): \
        lvm's 128 MiB miss {default} of the lookups (one per 4 KiB), which costs a read and a write of a page each; \
        one without limit misses {least}."),
    });
    lines.push(format!("For all of the logical size it would be {} MiB.", vdo.whole_cache_mib));
    if analysis.pattern().counts_of(Op::Write).ios == 0 {
        lines.push("Nothing was written: VDO saves only on what is written.".into());
    } else {
        let written = bytes(vdo.written_bytes);
        lines.push(format!("What was written takes {written} where nothing is saved."));
    }
    if let Some(share) = vdo.unaligned_writes_percent.filter(|share| *share > 0.0) {
        let share = percent(share);
        lines.push(format!(
            "{share} of the writes are not whole blocks of 4 KiB: VDO reads before each of them."
        ));
    }
    lines
}

/// Tells whether neither a cache nor VDO pays for what was recorded.
fn neither(analysis: &Analysis, advice: &Advice) -> bool {
    let cache = advice.cache.as_ref().is_some_and(|one| one.verdict == Verdict::DoesNotPay);
    cache && analysis.pattern().counts_of(Op::Write).ios == 0
}

/// Returns what cannot be told from a trace, and how much of it was used; a sentence each.
pub(super) fn not_known(trace: &Trace, analysis: &Analysis, advice: &Advice) -> Vec<String> {
    let mut lines = vec![
        "whether the data dedupe or compress, as a trace has no content: fathom estimate PATH reads them.".to_owned(),
        "what dm-cache or bcache hits: the curve describes a cache that keeps what was used last. \
        dm-cache takes in a block only after many accesses; bcache bypasses sequential I/O.".to_owned(),
    ];
    let (first, last) = trace.times_ns();
    let span = last.saturating_sub(first);
    if span < SHORT_NS {
        let span = nanos(span as f64);
        lines.push(format!(
            "what a day touches: {span} were recorded; record at least ten minutes of the busiest hour."
        ));
    }
    if let Some(cache) = &advice.cache {
        let firsts = percent(100.0 - cache.most_percent);
        let what = cache.decided_by;
        lines.push(format!("what a cache that was filled before would hit: {firsts} of the {what} are the first of their chunk here."));
        lines.push(match cache.sample_rate {
            rate if rate < 1.0 => format!("the curve to the last hundredths of a point: of the chunks that are touched least, one in {} was followed.", grouped((1.0 / rate).round() as u64)),
            _ => "nothing more of this trace: all its chunks were followed.".into(),
        });
    }
    let missing = trace.unnamed_siblings().len();
    if missing > 0 {
        lines.push(format!(
            "what is in {missing} more files of this recording in the same directory."
        ));
    }
    if trace.files().iter().any(|file| file.event.is_some()) {
        lines.push(
            "what the kernel dropped during the recording: blktrace printed it then (dropped events)."
                .into(),
        );
    }
    let left = [Op::Flush, Op::Discard].map(|op| analysis.pattern().counts_of(op).ios);
    if left != [0, 0] {
        lines.push("what flushes and discards do to a cache: they are in no curve.".into());
    }
    lines
}
