//! Figures of a load, for people.

use results::model::{
    CONTENT_SHARES, ContentFigure, JobSummary, LatencySummary, LoadSummary, OperationSummary,
    SteadyFacts, TreeFacts, VerifyFigures,
};
use units::{Nanos, Unit, show};

use crate::render::per_second;
use crate::terminal::Text;

/// The columns of the table.
const FIGURES: [&str; 9] =
    ["operation", "I/Os", "IOPS", "throughput", "p50", "p99", "p99.9", "max", "errors"];
/// Number of worst I/Os that are listed.
const LISTED: usize = 3;

/// The whole text, for a terminal of `width` columns: where the table is too wide, figures are listed one after another.
pub fn table(summary: &LoadSummary, width: usize) -> Text {
    let [name, ios, iops, throughput, p50, p99, p999, max, errors] = FIGURES;
    let head = format!(
        "{name:<15} {ios:>10} {iops:>9} {throughput:>12} {p50:>9} {p99:>9} {p999:>9} {max:>9}  {errors}"
    );
    let narrow = head.len() > width;
    let mut text = if narrow { Text::new() } else { Text::from(head) };
    let show = |text: &mut Text, name: &str, op: &OperationSummary| match narrow {
        true => stacked(text, name, op, width),
        false => text.line(operation(name, op)),
    };
    for (name, op) in &summary.operations {
        show(&mut text, name, op);
    }
    for target in &summary.targets {
        let _ = writeln!(text, "on {}", target.target);
        for (name, op) in &target.operations {
            show(&mut text, &format!("  {name}"), op);
        }
    }
    for job in summary.jobs.iter().filter(|job| !job.operations.is_empty()) {
        let _ = writeln!(text, "job {}", job.job);
        for (name, op) in &job.operations {
            show(&mut text, &format!("  {name}"), op);
        }
    }
    rest(&mut text, summary);
    text
}

/// Writes the lines that follow the table.
fn rest(text: &mut Text, summary: &LoadSummary) {
    for (name, op) in &summary.operations {
        parts(text, name, op);
    }
    missed(text, summary);
    if let Some(tree) = &summary.tree {
        self::tree(text, tree);
    }
    content(text, summary);
    if let Some(verify) = &summary.verify {
        verified(text, verify);
    }
    worst(text, summary);
    jobs(text, summary);
    driven(text, summary);
    if let Some(steady) = &summary.steady {
        settled(text, steady);
    }
    if let Some(log) = &summary.io_log {
        let (recorded, dropped) = (show::grouped(log.recorded), show::grouped(log.dropped));
        let _ = writeln!(text, "I/O log    {}: {recorded} I/Os, {dropped} dropped", log.path);
    }
    let _ = writeln!(
        text,
        "ended by {} after {}; seed {}",
        summary.ended_by,
        Nanos(summary.duration_ns),
        summary.seed
    );
}

fn ns(value: u64) -> String {
    show::nanos(value as f64)
}

fn or_dash(value: Option<String>) -> String {
    value.unwrap_or_else(|| "–".into())
}

/// The figures of an operation in the order of [`FIGURES`], and its errors.
fn values(op: &OperationSummary) -> [String; 8] {
    let latency =
        |get: fn(&LatencySummary) -> u64| or_dash(op.latency.as_ref().map(|l| ns(get(l))));
    let errors: Vec<_> = op.errors.iter().map(|(kind, n)| format!("{kind} {n}")).collect();
    [
        show::grouped(op.ios),
        or_dash(op.iops.map(per_second)),
        or_dash(op.throughput_bytes_per_s.map(|bytes| Unit::BytesPerSecond.show(bytes))),
        latency(|l| l.p50_ns),
        latency(|l| l.p99_ns),
        latency(|l| l.p999_ns),
        latency(|l| l.max_ns),
        if errors.is_empty() { "none".to_owned() } else { errors.join(", ") },
    ]
}

/// A line of the table.
fn operation(name: &str, op: &OperationSummary) -> String {
    let [ios, iops, throughput, p50, p99, p999, max, errors] = values(op);
    format!(
        "{name:<15} {ios:>10} {iops:>9} {throughput:>12} {p50:>9} {p99:>9} {p999:>9} {max:>9}  {errors}"
    )
}

/// The figures where a line of the table does not fit, with as many figures on a line as fit.
fn stacked(text: &mut Text, name: &str, op: &OperationSummary, width: usize) {
    let indent = " ".repeat(name.len() - name.trim_start().len() + 2);
    text.line(name);
    let mut line = String::new();
    for (figure, value) in FIGURES[1..].iter().zip(values(op)) {
        let word = format!("{figure} {value}");
        let room = width.saturating_sub(indent.len() + line.chars().count() + 3);
        if !line.is_empty() && word.chars().count() > room {
            text.line(format!("{indent}{line},"));
            line.clear();
        }
        line += if line.is_empty() { "" } else { ", " };
        line += &word;
    }
    text.line(format!("{indent}{line}"));
}

/// Submission, completion and lateness of an operation, where they were kept.
fn parts(text: &mut Text, name: &str, op: &OperationSummary) {
    let all =
        [("submission", op.submission), ("completion", op.completion), ("lateness", op.lateness)];
    for (part, latency) in all {
        if let Some(l) = latency {
            let (p50, p99, max) = (ns(l.p50_ns), ns(l.p99_ns), ns(l.max_ns));
            let _ = writeln!(text, "{part:<10} of {name}: p50 {p50}, p99 {p99}, max {max}");
        }
    }
}

/// Writes which operations on a tree failed as expected, and which were not tried.
fn missed(text: &mut Text, summary: &LoadSummary) {
    for (name, op) in &summary.operations {
        let expected = op.expected_errors.iter().flatten();
        let expected = expected.map(|(kind, n)| format!("{} {kind}", show::grouped(*n)));
        let skipped = op.skipped.filter(|n| *n > 0);
        let skipped = skipped.map(|n| format!("{} skipped", show::grouped(n)));
        let all: Vec<_> = expected.chain(skipped).collect();
        if !all.is_empty() {
            let attempted = show::grouped(op.attempted.unwrap_or_default());
            let _ = writeln!(text, "expected   {name}: {} of {attempted} tried", all.join(", "));
        }
    }
}

/// Writes the size of a tree, and whether it has come to rest.
fn tree(text: &mut Text, tree: &TreeFacts) {
    let (files, directories) = (show::grouped(tree.files), show::grouped(tree.directories));
    let rest = &tree.equilibrium;
    let seen = match (rest.files_at_rest_after, rest.bytes_at_rest_after, &rest.never) {
        (_, _, Some(_)) => String::new(),
        (Some(files), Some(bytes), _) => {
            format!("; at rest after {} operations", show::grouped(files.max(bytes)))
        }
        (Some(files), None, _) => format!(
            "; files at rest after {} operations, their bytes not yet",
            show::grouped(files)
        ),
        _ => "; not at rest yet".to_owned(),
    };
    let bytes = units::Bytes(tree.bytes);
    let _ = writeln!(text, "tree       {files} files, {directories} directories, {bytes}{seen}");
}

fn content(text: &mut Text, summary: &LoadSummary) {
    let (Some(requested), Some(achieved)) = (&summary.asked, &summary.achieved) else { return };
    let show = |v: Option<f64>| or_dash(v.map(|v| Unit::Percent.show(v)));
    // A share, with its 95 % interval where it rests on a sample.
    let show_share = |share: &ContentFigure| {
        let error = share.error.and_then(|error| (error.achieved)(achieved));
        let half = error.map(|error| share.half_interval(error)).filter(|&half| half > 0.0);
        let within = half
            .map_or_else(String::new, |half| format!(" ± {} points", show::significant(half, 2)));
        let (got, wanted) = ((share.achieved)(achieved), (share.asked)(requested));
        format!("{} {}{within} (asked {})", share.short, show(got), show(wanted))
    };
    let shares: Vec<_> = CONTENT_SHARES.iter().map(show_share).collect();
    let _ = writeln!(text, "content    {}", shares.join(", "));
}

fn worst(text: &mut Text, summary: &LoadSummary) {
    let listed: Vec<_> = summary
        .worst
        .iter()
        .take(LISTED)
        .map(|w| format!("{} {} at {}", ns(w.latency_ns), w.operation, w.place()))
        .collect();
    if !listed.is_empty() {
        let _ = writeln!(text, "longest    {}", listed.join(", "));
    }
}

/// Says how far the slowest job is behind the fastest.
fn jobs(text: &mut Text, summary: &LoadSummary) {
    let Some((slowest, fastest)) = summary.slowest_and_fastest() else { return };
    let Some(percent) = summary.slowest_job_percent() else { return };
    let rate = |job: &JobSummary| or_dash(job.iops().map(per_second));
    let _ = writeln!(
        text,
        "jobs       the slowest (job {}) did {}, {} of the fastest's (job {}): {}",
        slowest.job,
        rate(slowest),
        Unit::Percent.show(percent),
        fastest.job,
        rate(fastest),
    );
}

fn driven(text: &mut Text, summary: &LoadSummary) {
    let engine = &summary.engine;
    let mut words = vec![engine.backend.clone()];
    if !engine.chosen.is_empty() {
        words.push(format!("({})", engine.chosen));
    }
    words.push(format!("{} x depth {}", engine.jobs, engine.depth));
    if let Some(depth) = engine.in_flight {
        words.push(format!("(in flight {})", show::significant(depth.mean, 3)));
    }
    words.push(format!("clock {}", engine.clock));
    let _ = writeln!(text, "engine     {}", words.join(" "));
    if let Some(cpu) = summary.cpu {
        let per_io = or_dash(cpu.per_io_us.map(|us| Unit::Micros.show(us)));
        let (user, kernel) = (show::nanos(cpu.user_s * 1e9), show::nanos(cpu.system_s * 1e9));
        let _ = writeln!(text, "CPU        {per_io} per I/O ({user} user, {kernel} kernel)");
    }
}

fn settled(text: &mut Text, steady: &SteadyFacts) {
    let percent = |v: Option<f64>| or_dash(v.map(|v| Unit::Percent.show(v)));
    let when = match steady.settled_ns {
        Some(at) => format!("settled after {}", Nanos(at)),
        None if steady.slope_percent.is_none() => "not known to have settled".to_owned(),
        None => "never settled".to_owned(),
    };
    let _ = writeln!(
        text,
        "steady     {} {when}: drift {} (at most {}), spread {} (at most {}) over {}",
        steady.metric,
        percent(steady.slope_percent),
        percent(Some(steady.slope_limit_percent)),
        percent(steady.spread_percent),
        percent(Some(steady.spread_limit_percent)),
        Nanos(steady.window_ns),
    );
}

fn verified(text: &mut Text, verify: &VerifyFigures) {
    text.line(format!("verified   {verify}"));
    for wrong in &verify.first {
        let _ = writeln!(text, "           {wrong}");
    }
}
