//! Output of fio's (`--output-format=json` or `json+`), as figures.

use std::collections::BTreeMap;

use results::histogram;
use results::model::{CpuFigures, EngineFacts, LatencySummary, LoadSummary, OperationSummary};
use serde_json::Value;
use units::Seed;

/// One run of fio's.
#[derive(Debug, Clone, PartialEq)]
pub struct FioRun {
    /// Version of fio.
    pub version: String,
    /// When it ended, milliseconds since 1970; 0 where that is not told.
    pub ended_ms: u64,
    /// Its groups of jobs, each of which ran at once.
    pub groups: Vec<Group>,
}

/// Jobs that ran at once.
#[derive(Debug, Clone, PartialEq)]
pub struct Group {
    /// Their names.
    pub name: String,
    /// Their longest runtime, nanoseconds.
    pub duration_ns: u64,
    /// The figures, all jobs together.
    pub operations: BTreeMap<String, OperationSummary>,
    /// CPU time of all jobs, seconds in user mode and in the kernel.
    pub cpu_s: (f64, f64),
    /// Options of the first job, with those of the whole file.
    pub options: BTreeMap<String, String>,
    /// Jobs.
    pub jobs: u32,
}

/// Reads what fio printed; lines before the JSON, which fio prints into it, are passed over.
///
/// # Errors
/// What is wrong with it, in words.
pub fn read_json(text: &str) -> Result<FioRun, String> {
    let begin = text.match_indices('{').map(|(at, _)| at).find(|at| {
        let line = text[..*at].rsplit('\n').next().unwrap_or_default();
        line.trim().is_empty()
    });
    let json =
        begin.map(|at| &text[at..]).ok_or("it holds no JSON: fio needs --output-format=json+")?;
    let mut all = serde_json::Deserializer::from_str(json).into_iter::<Value>();
    let value = all
        .next()
        .ok_or("it holds no JSON")?
        .map_err(|e| format!("its JSON ends or breaks: {e}"))?;
    let version = value["fio version"].as_str().ok_or("it is JSON, and not fio's")?.to_owned();
    let jobs = value["jobs"].as_array().filter(|jobs| !jobs.is_empty()).ok_or("it has no jobs")?;
    let global = options(&value["global options"]);
    let mut groups: Vec<(u64, Group)> = Vec::new();
    for job in jobs {
        let id = job["groupid"].as_u64().unwrap_or(0);
        let next = group(job, &global)?;
        match groups.iter_mut().find(|(known, _)| *known == id) {
            Some((_, known)) => known.join(next),
            None => groups.push((id, next)),
        }
    }
    let ended_ms = value["timestamp_ms"].as_u64().unwrap_or(0);
    Ok(FioRun { version, ended_ms, groups: groups.into_iter().map(|(_, group)| group).collect() })
}

fn options(value: &Value) -> BTreeMap<String, String> {
    let all = value.as_object().into_iter().flatten();
    all.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

fn group(job: &Value, global: &BTreeMap<String, String>) -> Result<Group, String> {
    let mut all = global.clone();
    all.extend(options(&job["job options"]));
    let name = job["jobname"].as_str().unwrap_or("job").to_owned();
    let word =
        ["rw", "readwrite"].iter().find_map(|key| all.get(*key)).cloned().unwrap_or_default();
    let random = if word.starts_with("rand") { "rand" } else { "" };
    let sides = [("read", "read"), ("write", "write"), ("trim", "discard")];
    let mut operations = BTreeMap::new();
    let mut duration_ns = 0;
    for (side, operation) in sides {
        let told = &job[side];
        if told["total_ios"].as_u64().unwrap_or(0) > 0 {
            let runtime = told["runtime"].as_u64().unwrap_or(0) * 1_000_000;
            duration_ns = runtime.max(duration_ns);
            operations.insert(format!("{random}{operation}"), side_of(told)?);
        }
    }
    let failed = job["error"].as_i64().unwrap_or(0);
    if failed != 0 {
        let first = operations
            .values_mut()
            .next()
            .ok_or_else(|| format!("its job '{name}' ended with error {failed} and did nothing"))?;
        first.errors.insert(format!("error {failed}"), 1);
    }
    let percent = |key: &str| job[key].as_f64().unwrap_or(0.0) / 100.0 * duration_ns as f64 / 1e9;
    let cpu_s = (percent("usr_cpu"), percent("sys_cpu"));
    Ok(Group { name, duration_ns, operations, cpu_s, options: all, jobs: 1 })
}

/// Returns the figures of one direction. Without bins (`json`, not `json+`) there is no histogram, and of the latency what fio tells.
fn side_of(told: &Value) -> Result<OperationSummary, String> {
    let number = |key: &str| told[key].as_u64().unwrap_or(0);
    let latencies = ["lat_ns", "clat_ns"].map(|key| &told[key]);
    let bins = latencies.iter().find_map(|latency| latency["bins"].as_object());
    let mut summary = OperationSummary {
        ios: number("total_ios"),
        bytes: number("io_bytes"),
        ..OperationSummary::default()
    };
    if let Some(bins) = bins {
        let mut all = histogram::empty().map_err(|error| error.to_string())?;
        for (nanos, count) in bins {
            let nanos = nanos.parse::<u64>().map_err(|_| format!("'{nanos}' is no latency"))?;
            let _ = all.record_n(nanos, count.as_u64().unwrap_or(0));
        }
        summary.latency = histogram::summary(&all);
        summary.histogram = histogram::encode(&all).ok();
    } else {
        summary.latency = latencies.iter().find_map(|latency| as_told(latency));
    }
    Ok(summary)
}

/// Returns a latency as fio sums it up, where it tells all percentiles that are needed.
fn as_told(latency: &Value) -> Option<LatencySummary> {
    let at = |percent: &str| latency["percentile"][percent].as_u64();
    Some(LatencySummary {
        mean_ns: latency["mean"].as_f64()?,
        min_ns: latency["min"].as_u64()?,
        p50_ns: at("50.000000")?,
        p99_ns: at("99.000000")?,
        p999_ns: at("99.900000")?,
        max_ns: latency["max"].as_u64()?,
    })
}

impl Group {
    /// Adds a job that ran at the same time.
    fn join(&mut self, other: Self) {
        if !self.name.split('+').any(|name| name == other.name) {
            self.name = format!("{}+{}", self.name, other.name);
        }
        self.duration_ns = self.duration_ns.max(other.duration_ns);
        self.cpu_s = (self.cpu_s.0 + other.cpu_s.0, self.cpu_s.1 + other.cpu_s.1);
        self.jobs += other.jobs;
        for (name, next) in other.operations {
            let Some(own) = self.operations.get_mut(&name) else {
                self.operations.insert(name, next);
                continue;
            };
            own.ios += next.ios;
            own.bytes += next.bytes;
            for (kind, count) in next.errors {
                *own.errors.entry(kind).or_default() += count;
            }
            let texts = own.histogram.iter().chain(&next.histogram).map(String::as_str);
            let both = own.histogram.is_some() && next.histogram.is_some();
            let merged = both.then(|| histogram::merge(texts).ok().flatten()).flatten();
            // Percentiles of several jobs are none of all: without bins there are none.
            own.latency = merged.as_ref().and_then(histogram::summary);
            own.histogram = merged.as_ref().and_then(|all| histogram::encode(all).ok());
        }
    }

    /// Returns what it did as the summary of a load.
    pub(crate) fn load(&self, seed: Seed) -> LoadSummary {
        let mut load = LoadSummary::empty(seed);
        load.duration_ns = self.duration_ns;
        load.ended_by = "fio".to_owned();
        load.operations = self.operations.clone();
        let seconds = self.duration_ns as f64 / 1e9;
        for own in load.operations.values_mut().filter(|_| seconds > 0.0) {
            own.iops = Some(own.ios as f64 / seconds);
            own.throughput_bytes_per_s = Some(own.bytes as f64 / seconds);
        }
        let ios: u64 = self.operations.values().map(|own| own.ios).sum();
        let (user_s, system_s) = self.cpu_s;
        let per_io_us = (ios > 0).then(|| (user_s + system_s) * 1e6 / ios as f64);
        load.cpu = Some(CpuFigures { user_s, system_s, per_io_us, ramp_ios: 0 });
        let option = |name: &str| self.options.get(name);
        load.engine = EngineFacts {
            backend: format!("fio {}", option("ioengine").map_or("psync", String::as_str)),
            jobs: self.jobs,
            depth: option("iodepth").and_then(|depth| depth.parse().ok()).unwrap_or(1),
            direct: option("direct").is_some_and(|direct| direct != "0"),
            ..EngineFacts::default()
        };
        load.notices.push(
            "CPU is that of fio's jobs: kernel threads that worked for them are not in it".into(),
        );
        load
    }
}
