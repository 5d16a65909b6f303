//! A load for programs (docs/json.md).

use engine::{Progress, Started, Waiting};
use results::model::{
    IntervalRow, JobRow, JobSummary, LatencySummary, LoadSummary, OperationSummary,
};
use serde_json::{Map, Value, json};

/// The event that the target is open and the first I/O follows.
pub fn started(started: &Started) -> Value {
    json!({
        "event": "started", "backend": started.backend,
        "target_bytes": started.target.0, "direct": started.direct,
    })
}

/// Returns the progress of the load.
pub fn progress(progress: &Progress) -> Value {
    json!({
        "event": "progress", "elapsed_ns": progress.elapsed_ns, "fraction": progress.fraction,
        "remaining_ns": progress.remaining_ns, "cpu_per_io_us": progress.cpu_per_io_us,
    })
}

/// One operation in one interval.
pub fn interval(row: &IntervalRow) -> Value {
    let seconds = row.end_ns.saturating_sub(row.start_ns).max(1) as f64 / 1e9;
    json!({
        "event": "interval", "operation": row.operation,
        "start_ns": row.start_ns, "end_ns": row.end_ns,
        "ios": row.ios, "bytes": row.bytes, "errors": row.errors,
        "iops": row.ios as f64 / seconds, "throughput_bytes_per_s": row.bytes as f64 / seconds,
        "latency_p50_ns": row.latency.map(|l| l.p50_ns), "latency_p99_ns": row.latency.map(|l| l.p99_ns),
    })
}

/// One operation of one job in one interval.
pub fn job_interval(row: &JobRow) -> Value {
    let mut event = interval(&row.part);
    event["event"] = json!("job_interval");
    event["job"] = json!(row.job);
    event
}

/// Intervals whose rows have to wait.
pub fn waiting(waiting: &Waiting) -> Value {
    let seconds = waiting.end_ns.saturating_sub(waiting.start_ns).max(1) as f64 / 1e9;
    json!({
        "event": "waiting", "start_ns": waiting.start_ns, "end_ns": waiting.end_ns,
        "ios": waiting.ios, "bytes": waiting.bytes, "iops": waiting.ios as f64 / seconds,
        "throughput_bytes_per_s": waiting.bytes as f64 / seconds,
        "in_flight": waiting.in_flight, "silent_ns": waiting.silent_ns,
    })
}

/// The last line.
pub fn summary(summary: &LoadSummary) -> Value {
    let targets: Vec<Value> = summary
        .targets
        .iter()
        .map(|t| json!({"target": t.target, "operations": operations(t.operations.iter())}))
        .collect();
    // A job has its operations where they were asked for (--per-job).
    let by_operation =
        |job: &JobSummary| (!job.operations.is_empty()).then(|| operations(job.operations.iter()));
    let jobs: Vec<Value> = summary
        .jobs
        .iter()
        .map(|job| {
            json!({
                "job": job.job, "duration_ns": job.duration_ns, "ios": job.ios, "bytes": job.bytes,
                "errors": job.errors, "iops": job.iops(), "operations": by_operation(job),
            })
        })
        .collect();
    let mut event = json!({
        "event": "summary",
        "schema": results::model::SCHEMA,
        "seed": summary.seed,
        "ended_by": summary.ended_by,
        "duration_ns": summary.duration_ns,
        "operations": operations(summary.operations.iter()),
        "rate": summary.rate,
        "targets": targets,
        "jobs": jobs,
        "slowest_job_percent": summary.slowest_job_percent(),
        "content": summary.asked.as_ref().map(|requested| json!({
            "asked": requested, "achieved": summary.achieved,
        })),
        "cpu": summary.cpu,
        "engine": summary.engine,
        "worst": summary.worst,
        "steady": summary.steady,
        "verify": summary.verify,
        "io_log": summary.io_log,
        "notices": summary.notices,
        "stood_still_ns": summary.stood_still_ns,
        "incomplete": summary.incomplete,
    });
    if summary.operations.values().any(|op| op.attempted.is_some()) {
        event["tree"] = json!(summary.tree);
    }
    event
}

fn operations<'a>(
    all: impl Iterator<Item = (&'a String, &'a OperationSummary)>,
) -> Map<String, Value> {
    all.map(|(name, op)| (name.clone(), operation(op))).collect()
}

fn operation(op: &OperationSummary) -> Value {
    let latency = |get: fn(&LatencySummary) -> Value| op.latency.as_ref().map(get);
    let mut object = json!({
        "ios": op.ios,
        "bytes": op.bytes,
        "errors": op.errors,
        "iops": op.iops,
        "throughput_bytes_per_s": op.throughput_bytes_per_s,
        "latency_mean_ns": latency(|l| json!(l.mean_ns)),
        "latency_min_ns": latency(|l| json!(l.min_ns)),
        "latency_p50_ns": latency(|l| json!(l.p50_ns)),
        "latency_p99_ns": latency(|l| json!(l.p99_ns)),
        "latency_p999_ns": latency(|l| json!(l.p999_ns)),
        "latency_max_ns": latency(|l| json!(l.max_ns)),
        "io_bandwidth": analysis::io_bandwidth(op).map(|spread| json!({
            "mean": spread.mean, "min": spread.min, "q1": spread.q1, "median": spread.median,
            "q3": spread.q3, "max": spread.max, "std_dev": spread.std_dev,
        })),
        "submission": op.submission,
        "completion": op.completion,
        "lateness": op.lateness,
    });
    if let Some(attempted) = op.attempted {
        object["attempted"] = json!(attempted);
        object["expected_errors"] = json!(op.expected_errors);
        object["skipped"] = json!(op.skipped);
    }
    object
}
