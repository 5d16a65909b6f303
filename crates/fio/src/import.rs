//! Output of fio's (`--output-format=json` or `json+`), as figures.

use std::collections::BTreeMap;

use results::histogram;
use results::model::{CpuFigures, EngineFacts, LatencySummary, LoadSummary, OperationSummary};
use serde_json::Value;
use units::Seed;

use crate::documents;

/// One run of fio's.
#[derive(Debug, Clone, PartialEq)]
pub struct FioRun {
    /// Version of fio.
    pub version: String,
    /// Its end, milliseconds since 1970.
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
    /// Sentences on what fio did not tell, and on what is not taken in of it.
    pub notices: Vec<String>,
}

/// Reads what fio printed; lines before the JSON, which fio prints into it, are passed over. Of the states of one run (`--status-interval`) the
/// last counts.
///
/// # Errors
/// Sentences on what is wrong with it or missing in it.
pub fn read_json(text: &str) -> Result<FioRun, String> {
    let value = documents::last(text)?;
    let version = value["fio version"].as_str().ok_or("it is JSON, and not fio's")?.to_owned();
    refuse_other_units(&version)?;
    let jobs = value["jobs"].as_array().filter(|jobs| !jobs.is_empty()).ok_or("it has no jobs")?;
    let global = options(&value["global options"]);
    let mut groups: Vec<(u64, Group)> = Vec::new();
    for job in jobs {
        let next = group(job, &global)?;
        let id = number(job, "groupid", &format!("its job '{}'", next.name))?;
        match groups.iter_mut().find(|(known, _)| *known == id) {
            Some((_, known)) => known.join(next),
            None => groups.push((id, next)),
        }
    }
    let ended_ms = number(&value, "timestamp_ms", "it")?;
    let mut groups: Vec<_> = groups.into_iter().map(|(_, group)| group).collect();
    name_apart(&mut groups);
    Ok(FioRun { version, ended_ms, groups })
}

/// Refuses what counts in other units: before fio 3 `io_bytes` is in KiB, and latencies are in microseconds. What Fathom exports counts as fio 3.
fn refuse_other_units(version: &str) -> Result<(), String> {
    if version.starts_with("fathom-") {
        return Ok(());
    }
    let digits = version.strip_prefix("fio-").unwrap_or_default();
    let major = digits.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    let why = match major.parse::<u32>() {
        Ok(3..) => return Ok(()),
        Ok(_) => "whose JSON counts in KiB and microseconds",
        Err(_) => "which is no version of fio's that is known, so that its units are not",
    };
    Err(format!("it is of '{version}', {why}: run fio 3 or later with --output-format=json+"))
}

/// Gives a number to each further group of a name: they are stages, which are told apart by their names.
fn name_apart(groups: &mut [Group]) {
    for place in 1..groups.len() {
        let (before, rest) = groups.split_at_mut(place);
        let own = rest[0].name.clone();
        let taken = |name: &String| before.iter().any(|group| group.name == *name);
        let names = std::iter::once(own.clone()).chain((2..).map(|n| format!("{own}-{n}")));
        rest[0].name = names.into_iter().find(|name| !taken(name)).unwrap_or(own);
    }
}

/// Returns a whole number that must be there.
fn number(of: &Value, key: &str, whose: &str) -> Result<u64, String> {
    let found = &of[key];
    found.as_u64().ok_or_else(|| format!("{whose} tells no whole number as {key} (it is {found})"))
}

fn options(value: &Value) -> BTreeMap<String, String> {
    let all = value.as_object().into_iter().flatten();
    all.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

fn group(job: &Value, global: &BTreeMap<String, String>) -> Result<Group, String> {
    let mut all = global.clone();
    all.extend(options(&job["job options"]));
    let name = job["jobname"].as_str().ok_or("one of its jobs has no name")?.to_owned();
    let whose = format!("its job '{name}'");
    if job["mixed"].is_object() && !job["read"].is_object() {
        return Err(format!(
            "{whose} does not tell reads from writes: run it without unified_rw_reporting"
        ));
    }
    let word =
        ["rw", "readwrite"].iter().find_map(|key| all.get(*key)).cloned().unwrap_or_default();
    let random = if word.starts_with("rand") { "rand" } else { "" };
    let sides = [("read", "read"), ("write", "write"), ("trim", "discard")];
    let (mut operations, mut notices) = (BTreeMap::new(), Vec::new());
    let mut duration_ns = 0;
    for (side, operation) in sides {
        let told = &job[side];
        let whose = format!("'{side}' of {whose}");
        if number(told, "total_ios", &whose)? > 0 {
            let runtime = number(told, "runtime", &whose)?;
            if runtime == 0 {
                notices.push(format!("{whose} ran less than a millisecond: it has no rate"));
            }
            duration_ns = (runtime * 1_000_000).max(duration_ns);
            operations.insert(format!("{random}{operation}"), side_of(told, &whose, &mut notices)?);
        }
    }
    let failed = job["error"].as_i64().ok_or_else(|| format!("{whose} tells no error, or none"))?;
    if failed != 0 {
        let first = operations
            .values_mut()
            .next()
            .ok_or_else(|| format!("its job '{name}' ended with error {failed} and did nothing"))?;
        first.errors.insert(format!("error {failed}"), 1);
    } else if operations.is_empty() {
        notices.push(format!("{whose} did no I/O"));
    }
    if let Some(syncs) = job["sync"]["total_ios"].as_u64().filter(|syncs| *syncs > 0) {
        notices.push(format!("{syncs} syncs of {whose} and their latencies are not taken in"));
    }
    let percent = |key: &str| {
        let told = job[key].as_f64().ok_or_else(|| format!("{whose} tells no {key}"))?;
        Ok::<_, String>(told / 100.0 * duration_ns as f64 / 1e9)
    };
    let cpu_s = (percent("usr_cpu")?, percent("sys_cpu")?);
    Ok(Group { name, duration_ns, operations, cpu_s, options: all, jobs: 1, notices })
}

/// Returns the figures of one direction. Without bins (`json`, not `json+`) there is no histogram, and of the latency what fio tells; where that
/// is not enough, a notice says what is missing.
fn side_of(
    told: &Value,
    whose: &str,
    notices: &mut Vec<String>,
) -> Result<OperationSummary, String> {
    let mut summary = OperationSummary {
        ios: number(told, "total_ios", whose)?,
        bytes: number(told, "io_bytes", whose)?,
        ..OperationSummary::default()
    };
    let bins = |key: &&str| told[*key]["bins"].as_object().filter(|bins| !bins.is_empty());
    if let Some(bins) = LATENCIES.iter().find_map(bins) {
        let mut all = histogram::empty().map_err(|error| error.to_string())?;
        for (nanos, count) in bins {
            let recorded = nanos.parse::<u64>().ok().zip(count.as_u64());
            let recorded = recorded.and_then(|(nanos, count)| all.record_n(nanos, count).ok());
            recorded.ok_or_else(|| {
                format!("'{nanos}' : {count} is no latency with its count, in the bins of {whose}")
            })?;
        }
        summary.latency = histogram::summary(&all);
        summary.histogram = histogram::encode(&all).ok();
        return Ok(summary);
    }
    match LATENCIES.map(|key| as_told(key, &told[key])) {
        [Ok(latency), _] | [_, Ok(latency)] => summary.latency = Some(latency),
        [_, Err(missing)] => notices.push(format!("{whose} has no latencies: {missing}")),
    }
    Ok(summary)
}

/// Latencies of fio's, the one from submission first.
const LATENCIES: [&str; 2] = ["lat_ns", "clat_ns"];

/// Returns a latency as fio sums it up, where it tells all that is needed, or else what is missing.
fn as_told(key: &str, latency: &Value) -> Result<LatencySummary, String> {
    if latency["N"].as_u64() == Some(0) {
        return Err("fio measured none; run it without gtod_reduce and disable_clat".to_owned());
    }
    let missing = |what: &str| {
        format!(
            "fio tells no {what} of {key}; run it with --output-format=json+, or with percentile_list=50:99:99.9"
        )
    };
    let number = |what: &str| latency[what].as_u64().ok_or_else(|| missing(what));
    let at = |percent: &str| {
        let found = latency["percentile"][percent].as_u64();
        found.ok_or_else(|| missing(&format!("percentile {percent}")))
    };
    Ok(LatencySummary {
        mean_ns: latency["mean"].as_f64().ok_or_else(|| missing("mean"))?,
        min_ns: number("min")?,
        p50_ns: at("50.000000")?,
        p99_ns: at("99.000000")?,
        p999_ns: at("99.900000")?,
        max_ns: number("max")?,
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
        self.notices.extend(other.notices);
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
            let lost = format!(
                "{name} of [{}] has no latencies: those of several jobs need --output-format=json+",
                self.name
            );
            if merged.is_none() && own.latency.or(next.latency).is_some() {
                self.notices.push(lost);
            }
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
        // Where jobs are reported together, one stands for all.
        let together = option("numjobs").and_then(|jobs| jobs.parse().ok()).unwrap_or(1);
        load.engine = EngineFacts {
            backend: format!("fio {}", option("ioengine").map_or("psync", String::as_str)),
            jobs: self.jobs.max(together),
            depth: option("iodepth").and_then(|depth| depth.parse().ok()).unwrap_or(1),
            direct: option("direct").is_some_and(|direct| direct != "0"),
            ..EngineFacts::default()
        };
        load.notices.push(
            "CPU is that of fio's jobs: kernel threads that worked for them are not in it".into(),
        );
        load.notices.extend(self.notices.iter().cloned());
        load
    }
}
