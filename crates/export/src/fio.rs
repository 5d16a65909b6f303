//! The loads of a cell in the form of fio's `--output-format=json+`, for programs that read that.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use results::model::{IntervalRow, LoadSummary, OperationSummary, Row, StageRecord};
use results::{CellData, ResultSet, histogram};
use serde_json::{Map, Value, json};

/// The percentiles that fio reports.
const PERCENTILES: [f64; 17] = [
    1.0, 5.0, 10.0, 20.0, 30.0, 40.0, 50.0, 60.0, 70.0, 80.0, 90.0, 95.0, 99.0, 99.5, 99.9, 99.95,
    99.99,
];

/// fio's directions, each with the operations of Fathom that belong to it.
const DIRECTIONS: [(&str, &[&str]); 3] = [
    ("read", &["read", "randread"]),
    ("write", &["write", "randwrite"]),
    ("trim", &["discard", "randdiscard"]),
];

/// Returns the measured loads of a cell as the jobs of one run of fio, and what fio's format cannot express, in sentences; `None` where the
/// cell has no such load.
pub fn json_plus(set: &ResultSet, cell: &CellData) -> Option<(Value, Vec<String>)> {
    let record = cell.record.as_ref()?;
    let measured = record.stages.iter().filter(|stage| stage.measured);
    let loads: Vec<_> = measured.filter_map(|stage| Some((stage, stage.load.as_ref()?))).collect();
    if loads.is_empty() {
        return None;
    }
    let mut left_out = Vec::new();
    let job = |(place, (stage, load))| job(place, stage, load, cell, &mut left_out);
    let jobs: Vec<Value> = loads.into_iter().enumerate().map(job).collect();
    let run = &set.manifest;
    let value = json!({
        "fio version": format!("fathom-{}", run.tool_version),
        "time": run.started_utc,
        "timestamp_ms": ended_ms(&run.started_utc, record.end_ns),
        "global options": {},
        "fathom": {
            "run_id": run.run_id,
            "experiment": run.plan.experiment,
            "variant": cell.entry.variant,
            "repeat": cell.entry.repeat,
            "state": cell.state(),
            "about": "clat_ns and lat_ns are the same here: from the submission, or in an open loop from the intended start, to the completion",
        },
        "jobs": jobs,
    });
    Some((value, left_out))
}

/// Returns the end of a cell, milliseconds since 1970.
fn ended_ms(started_utc: &str, end_ns: Option<u64>) -> u64 {
    let started = started_utc.parse::<jiff::Timestamp>().map_or(0, jiff::Timestamp::as_millisecond);
    u64::try_from(started).unwrap_or(0) + end_ns.unwrap_or(0) / 1_000_000
}

fn job(
    place: usize,
    stage: &StageRecord,
    load: &LoadSummary,
    cell: &CellData,
    left_out: &mut Vec<String>,
) -> Value {
    let mut job = Map::new();
    let seconds = load.duration_ns as f64 / 1e9;
    let errors =
        load.operations.values().flat_map(|operation| operation.errors.values()).sum::<u64>();
    job.insert("jobname".into(), stage.name.clone().into());
    job.insert("groupid".into(), place.into());
    job.insert("error".into(), 0.into());
    job.insert("eta".into(), 0.into());
    job.insert("elapsed".into(), (seconds.ceil() as u64).into());
    job.insert("job options".into(), options(stage, load));
    let known: Vec<_> = DIRECTIONS.iter().flat_map(|(_, names)| *names).collect();
    for (direction, names) in DIRECTIONS {
        job.insert(direction.into(), side(names, stage, load, cell));
    }
    for name in load.operations.keys().filter(|name| !known.contains(&&name.as_str())) {
        left_out.push(format!("fio has no word for '{name}' of stage '{}'", stage.name));
    }
    if errors > 0 {
        left_out.push(format!(
            "{errors} failed I/Os of stage '{}' are left out of all figures",
            stage.name
        ));
    }
    // CPU time covers all I/Os, but the runtime only those after a ramp.
    let share = 100.0 / load.ramp_factor();
    let percent = |cpu: f64| if seconds > 0.0 { share * cpu / seconds } else { 0.0 };
    job.insert("job_runtime".into(), millis(load.duration_ns).into());
    if let Some(cpu) = load.cpu {
        job.insert("usr_cpu".into(), percent(cpu.user_s).into());
        job.insert("sys_cpu".into(), percent(cpu.system_s).into());
    }
    job.into()
}

/// Returns a time as fio writes it, in whole milliseconds: rounded, but at least 1 if it is not zero.
fn millis(ns: u64) -> u64 {
    (ns.saturating_add(500_000) / 1_000_000).max(u64::from(ns > 0))
}

/// Returns how a load was driven, as fio's job options.
fn options(stage: &StageRecord, load: &LoadSummary) -> Value {
    let engine = &load.engine;
    let backend = if engine.backend == "sync" { "psync" } else { &engine.backend };
    json!({
        "name": stage.name,
        "ioengine": backend,
        "iodepth": engine.depth.to_string(),
        "numjobs": engine.jobs.to_string(),
        "direct": u8::from(engine.direct).to_string(),
    })
}

/// Returns the figures of the operations `names` as one of fio's directions.
fn side(names: &[&str], stage: &StageRecord, load: &LoadSummary, cell: &CellData) -> Value {
    let operations: Vec<&OperationSummary> =
        names.iter().filter_map(|name| load.operations.get(*name)).collect();
    let sum = |of: fn(&OperationSummary) -> u64| operations.iter().map(|one| of(one)).sum::<u64>();
    let (bytes, ios) = (sum(|one| one.bytes), sum(|one| one.ios));
    let seconds = load.duration_ns as f64 / 1e9;
    let rate = |amount: u64| if seconds > 0.0 { amount as f64 / seconds } else { 0.0 };
    let texts = operations.iter().filter_map(|one| one.histogram.as_deref());
    let merged = histogram::merge(texts).ok().flatten();
    let latencies = latencies(merged.as_ref());
    let mut side = Map::new();
    side.insert("io_bytes".into(), bytes.into());
    side.insert("io_kbytes".into(), (bytes >> 10).into());
    side.insert("bw_bytes".into(), (rate(bytes) as u64).into());
    side.insert("bw".into(), (rate(bytes >> 10) as u64).into());
    side.insert("iops".into(), rate(ios).into());
    side.insert("runtime".into(), millis(load.duration_ns).into());
    side.insert("total_ios".into(), ios.into());
    side.insert("short_ios".into(), 0.into());
    side.insert("drop_ios".into(), 0.into());
    side.insert("slat_ns".into(), latencies_of_none());
    side.insert("clat_ns".into(), latencies.clone());
    side.insert("lat_ns".into(), latencies);
    let rates = rates(names, stage, cell);
    let course = |of: fn(&(f64, f64)) -> f64| rates.iter().map(of).collect::<Vec<_>>();
    spread(&mut side, "bw", "dev", &course(|rate| rate.0 / 1024.0));
    spread(&mut side, "iops", "stddev", &course(|rate| rate.1));
    side.into()
}

/// Returns bytes and I/Os per second of each interval in which the operations `names` were at work.
fn rates(names: &[&str], stage: &StageRecord, cell: &CellData) -> Vec<(f64, f64)> {
    let mut intervals: BTreeMap<u64, (u64, u64, u64)> = BTreeMap::new();
    let is_of_side =
        |row: &&IntervalRow| row.stage == stage.index && names.contains(&&*row.operation);
    let rows = cell.rows.iter().filter_map(|row| match row {
        Row::Interval(row) => Some(row),
        _ => None,
    });
    for row in rows.filter(is_of_side) {
        let sum = intervals.entry(row.start_ns).or_default();
        *sum = (sum.0 + row.bytes, sum.1 + row.ios, row.end_ns.saturating_sub(row.start_ns));
    }
    let rate = |(bytes, ios, ns): (u64, u64, u64)| {
        let seconds = ns as f64 / 1e9;
        (seconds > 0.0).then(|| (bytes as f64 / seconds, ios as f64 / seconds))
    };
    intervals.into_values().filter_map(rate).collect()
}

/// Adds the smallest, largest and mean value of `values`, their standard deviation as `deviation`, and their number.
fn spread(side: &mut Map<String, Value>, name: &str, deviation: &str, values: &[f64]) {
    let n = values.len().max(1) as f64;
    let mean = values.iter().sum::<f64>() / n;
    let variance = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / n;
    let least = values.iter().copied().reduce(f64::min).unwrap_or(0.0);
    let most = values.iter().copied().reduce(f64::max).unwrap_or(0.0);
    let whole = name == "bw";
    let number = |value: f64| if whole { json!(value as u64) } else { json!(value) };
    side.insert(format!("{name}_min"), number(least));
    side.insert(format!("{name}_max"), number(most));
    side.insert(format!("{name}_mean"), mean.into());
    side.insert(format!("{name}_{deviation}"), variance.sqrt().into());
    side.insert(format!("{name}_samples"), values.len().into());
    if whole {
        side.insert("bw_agg".into(), if values.is_empty() { 0.0 } else { 100.0 }.into());
    }
}

fn latencies_of_none() -> Value {
    json!({ "min": 0, "max": 0, "mean": 0.0, "stddev": 0.0, "N": 0 })
}

/// Returns a histogram of nanoseconds with its percentiles and bins.
fn latencies(histogram: Option<&Histogram<u64>>) -> Value {
    let Some(histogram) = histogram.filter(|all| !all.is_empty()) else {
        return latencies_of_none();
    };
    let at = |percent: &f64| (format!("{percent:.6}"), histogram.value_at_percentile(*percent));
    let percentiles: Map<_, _> = PERCENTILES.iter().map(at).map(|(k, v)| (k, v.into())).collect();
    let bin = |bin: hdrhistogram::iterators::IterationValue<u64>| {
        (bin.value_iterated_to().to_string(), bin.count_at_value().into())
    };
    let bins: Map<_, _> = histogram.iter_recorded().map(bin).collect();
    json!({
        "min": histogram.min(),
        "max": histogram.max(),
        "mean": histogram.mean(),
        "stddev": histogram.stdev(),
        "N": histogram.len(),
        "percentile": percentiles,
        "bins": bins,
    })
}

#[cfg(test)]
mod tests {
    use super::millis;

    #[test]
    fn a_time_is_the_nearest_millisecond_and_never_none_of_some() {
        let of = [0, 1, 400_000, 1_499_999, 1_500_000, 2_999_999].map(millis);
        assert_eq!(of, [0, 1, 1, 1, 2, 3]);
    }
}
