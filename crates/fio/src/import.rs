//! Reads the figures in the output of fio (`--output-format=json` or `json+`).

use std::collections::BTreeMap;

use results::histogram;
use results::model::{CpuFigures, EngineFacts, LatencySummary, LoadSummary, OperationSummary};
use serde_json::Value;
use units::Seed;

use crate::driven::{self, Options};
use crate::{at_once, documents, value};

/// One run of fio's.
#[derive(Debug, Clone, PartialEq)]
pub struct FioRun {
    /// Version of fio.
    pub version: String,
    /// Its end, milliseconds since 1970.
    pub ended_ms: u64,
    /// Its groups of jobs; the jobs of a group ran at the same time.
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
    /// Time for which each operation ran, nanoseconds.
    pub ran_ns: BTreeMap<String, u64>,
    /// CPU time of all jobs, seconds in user mode and in the kernel; `None` where it includes other work.
    pub cpu_s: Option<(f64, f64)>,
    /// Options of the jobs, with those of the whole file; where jobs differ, the values of all of them.
    pub options: Options,
    /// Jobs.
    pub jobs: u32,
    /// Sentences on what fio did not report, and on parts of its report that are not read.
    pub notices: Vec<String>,
    /// Tells whether a job of it read other data than it had written: its figures are no measurement.
    pub wrong: bool,
}

impl FioRun {
    /// Returns why the run failed: the first group whose verification did; `None` where none did.
    pub fn failure(&self) -> Option<String> {
        let wrong = self.groups.iter().find(|group| group.wrong)?;
        Some(format!(
            "verification failed in [{}]: wrong data (error {WRONG_DATA} of fio)",
            wrong.name
        ))
    }
}

/// The number of the error (EILSEQ) with which a job of fio ends whose verification finds other data than was written.
const WRONG_DATA: i64 = 84;

/// Reads the output of fio; lines that fio prints around the JSON are skipped. If there are several states of one run (`--status-interval`),
/// the last one counts.
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
    let jobs: Vec<_> = jobs.iter().map(|job| (job, own_options(job, &global))).collect();
    at_once::check(&jobs)?;
    for (job, all) in jobs.iter().cloned() {
        let next = group(job, all)?;
        let id = number(job, "groupid", &format!("its job '{}'", next.name))?;
        match groups.iter_mut().find(|(known, _)| *known == id) {
            Some((_, known)) => known.join(next),
            None => groups.push((id, next)),
        }
    }
    let ended_ms = number(&value, "timestamp_ms", "it")?;
    let mut groups: Vec<_> = groups.into_iter().map(|(_, group)| group).collect();
    let whole = jobs.iter().filter_map(|(job, _)| job["elapsed"].as_u64()).max();
    // An export of Fathom needs no check: it has the true length of each load.
    if let Some(whole) = whole.filter(|_| !version.starts_with("fathom-")) {
        let ran: Vec<_> = groups.iter().map(|group| group.duration_ns / 1_000_000).collect();
        at_once::in_turn(&ran, whole * 1000)?;
    }
    groups.iter_mut().for_each(Group::notice_lengths);
    name_apart(&mut groups);
    Ok(FioRun { version, ended_ms, groups })
}

/// Refuses output in other units: before fio 3 `io_bytes` is in KiB, and latencies are in microseconds. Exports of Fathom have the units of fio 3.
fn refuse_other_units(version: &str) -> Result<(), String> {
    if version.starts_with("fathom-") {
        return Ok(());
    }
    let digits = version.strip_prefix("fio-").unwrap_or_default();
    let major = digits.split(|c: char| !c.is_ascii_digit()).next().unwrap_or_default();
    let why = match major.parse::<u32>() {
        Ok(3..) => return Ok(()),
        Ok(_) => "whose JSON counts in KiB and microseconds",
        Err(_) => "which is not a known version of fio, so that its units are unknown",
    };
    Err(format!("it is of '{version}', {why}: run fio 3 or later with --output-format=json+"))
}

/// Adds a number to the name of each further group of the same name: groups become stages, whose names have to differ.
fn name_apart(groups: &mut [Group]) {
    for place in 1..groups.len() {
        let (before, rest) = groups.split_at_mut(place);
        let wanted = rest[0].name.clone();
        let taken = |name: &String| before.iter().any(|group| group.name == *name);
        let names = std::iter::once(wanted.clone()).chain((2..).map(|n| format!("{wanted}-{n}")));
        rest[0].name = names.into_iter().find(|name| !taken(name)).unwrap_or(wanted);
    }
}

/// Returns a whole number; that it is missing is an error.
fn number(of: &Value, key: &str, whose: &str) -> Result<u64, String> {
    let found = &of[key];
    found.as_u64().ok_or_else(|| format!("{whose} has no whole number for {key} (but {found})"))
}

fn options(value: &Value) -> Options {
    let all = value.as_object().into_iter().flatten();
    all.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

/// Returns the options of a job, with those of the whole file.
fn own_options(job: &Value, global: &Options) -> Options {
    let mut all = global.clone();
    all.extend(options(&job["job options"]));
    all
}

/// fio's names of the directions, with the operation of each.
const SIDES: [(&str, &str); 3] = [("read", "read"), ("write", "write"), ("trim", "discard")];

fn group(job: &Value, all: Options) -> Result<Group, String> {
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
    let verifies = verifies(&all);
    let (mut operations, mut notices) = (BTreeMap::new(), Vec::new());
    let (mut ran_ns, mut cpu_known) = (BTreeMap::new(), true);
    let failures = Failures::of(job, &whose)?;
    for (side, operation) in SIDES {
        let figures = &job[side];
        let ios = number(figures, "total_ios", &format!("'{side}' of {whose}"))?;
        if ios == 0 {
            continue;
        }
        if side == "read" && verifies && word.ends_with("write") {
            notices.push(format!("{ios} reads of {whose} are those of its verify, and not of the load; its CPU time covers both, so that none is given"));
            cpu_known = false;
            continue;
        }
        if side == "read" && verifies && (word.ends_with("rw") || word == "readwrite") {
            return Err(format!(
                "{whose} counts its own reads and those of its verify together: run it without verify, or with do_verify=0"
            ));
        }
        let whose = format!("'{side}' of {whose}");
        let runtime = number(figures, "runtime", &whose)?;
        if runtime == 0 {
            notices.push(format!("{whose} ran less than a millisecond: it has no rate"));
        }
        let name = format!("{random}{operation}");
        ran_ns.insert(name.clone(), runtime * 1_000_000);
        let alone = SIDES.iter().filter(|(side, _)| job[*side]["total_ios"].as_u64() != Some(0));
        let completed = failures.completed(figures, &whose, alone.count() == 1)?;
        let mut summary = side_of(figures, completed, &whose, &mut notices)?;
        if ios > completed && failures.any() {
            summary.errors.insert(failures.name(), ios - completed);
        }
        operations.insert(name, summary);
    }
    let wrong = failures.wrong_data(&all);
    if wrong {
        // Such I/Os succeeded, and brought the wrong data.
        operations.values_mut().for_each(|own| own.errors.clear());
    } else {
        failures.all_told(&mut operations, &whose)?;
    }
    if operations.is_empty() {
        notices.push(format!("{whose} did no I/O"));
    }
    if let Some(syncs) = job["sync"]["total_ios"].as_u64().filter(|syncs| *syncs > 0) {
        notices.push(format!("{syncs} syncs of {whose} and their latencies are left out"));
    }
    // Percentages refer to the sum of the run times of all jobs that are reported together.
    let runtime = number(job, "job_runtime", &whose)?;
    let seconds = |key: &str| {
        let percent = job[key].as_f64().ok_or_else(|| format!("{whose} does not report {key}"))?;
        Ok::<_, String>(percent / 100.0 * runtime as f64 / 1e3)
    };
    let cpu_s = Some((seconds("usr_cpu")?, seconds("sys_cpu")?)).filter(|_| cpu_known);
    let duration_ns = ran_ns.values().copied().max().unwrap_or(0);
    let options = all;
    Ok(Group { name, duration_ns, operations, ran_ns, cpu_s, options, jobs: 1, notices, wrong })
}

/// Tells whether a job reads back what it wrote.
fn verifies(options: &Options) -> bool {
    checks(options) && options.get("do_verify").is_none_or(|word| word != "0")
}

/// Tells whether a job checks what it reads.
fn checks(options: &Options) -> bool {
    options.get("verify").is_some_and(|word| !["0", "none"].contains(&&**word))
}

/// The failed I/Os of a job.
struct Failures {
    /// The number of the error that ended the job, or else of its first error; 0 where there was none.
    error: i64,
    /// The number of its first error, where the job was to continue after errors; 0 where there was none.
    first: i64,
    /// Number of failed I/Os, where the job was to continue after errors.
    counted: u64,
}

impl Failures {
    fn of(job: &Value, whose: &str) -> Result<Self, String> {
        let error =
            job["error"].as_i64().ok_or_else(|| format!("{whose} does not say if it failed"))?;
        let counted = job["total_err"].as_u64().unwrap_or(0);
        let first = job["first_error"].as_i64().filter(|_| counted > 0).unwrap_or(0);
        Ok(Self { error: if error == 0 { first } else { error }, first, counted })
    }

    /// Tells whether verification found wrong data, in a job with these options: without it, the error is one of the device.
    fn wrong_data(&self, own: &Options) -> bool {
        checks(own) && [self.error, self.first].contains(&WRONG_DATA)
    }

    fn any(&self) -> bool {
        self.error != 0 || self.counted > 0
    }

    fn name(&self) -> String {
        format!("error {}", self.error)
    }

    /// Returns the completed I/Os of a side: fio counts those that it sent, and measures the latency of those that succeeded.
    fn completed(&self, side: &Value, whose: &str, alone: bool) -> Result<u64, String> {
        let sent = number(side, "total_ios", whose)?;
        match (measured(side), self.any()) {
            (Some(measured), _) => Ok(measured),
            (None, false) => Ok(sent),
            (None, true) if number(side, "io_bytes", whose)? == 0 => Ok(0),
            (None, true) if alone => Ok(sent.saturating_sub(self.counted.max(1))),
            (None, true) => Err(format!(
                "{whose} has failed I/Os, but does not report how many: run it without gtod_reduce and disable_clat"
            )),
        }
    }

    /// Makes sure that a failure is counted for some operation.
    fn all_told(
        &self,
        operations: &mut BTreeMap<String, OperationSummary>,
        whose: &str,
    ) -> Result<(), String> {
        if !self.any() || operations.values().any(|operation| !operation.errors.is_empty()) {
            return Ok(());
        }
        let first = operations.values_mut().next();
        let first =
            first.ok_or_else(|| format!("{whose} ended with {} and did nothing", self.name()))?;
        first.errors.insert(self.name(), self.counted.max(1));
        Ok(())
    }
}

/// Returns how many latencies fio measured for a side; `None` where it measured none.
fn measured(side: &Value) -> Option<u64> {
    let counts = LATENCIES.iter().filter_map(|key| side[*key]["N"].as_u64());
    counts.max().filter(|count| *count > 0)
}

/// Returns the figures of one direction. Without bins (`json`, not `json+`) there is no histogram, and the latencies are those that fio sums up;
/// if that is not enough, a notice says what is missing.
fn side_of(
    side: &Value,
    ios: u64,
    whose: &str,
    notices: &mut Vec<String>,
) -> Result<OperationSummary, String> {
    let mut summary = OperationSummary {
        ios,
        bytes: number(side, "io_bytes", whose)?,
        ..OperationSummary::default()
    };
    let bins = |key: &&str| side[*key]["bins"].as_object().filter(|bins| !bins.is_empty());
    if let Some(bins) = LATENCIES.iter().find_map(bins) {
        let mut all = histogram::empty().map_err(|error| error.to_string())?;
        for (nanos, count) in bins {
            let recorded = nanos.parse::<u64>().ok().zip(count.as_u64());
            let recorded = recorded.and_then(|(nanos, count)| all.record_n(nanos, count).ok());
            recorded.ok_or_else(|| {
                format!("'{nanos}' : {count} in the bins of {whose} is not a latency with a count")
            })?;
        }
        summary.latency = histogram::summary(&all);
        summary.histogram = histogram::encode(&all).ok();
        return Ok(summary);
    }
    if ios == 0 {
        return Ok(summary);
    }
    match LATENCIES.map(|key| as_told(key, &side[key])) {
        [Ok(latency), _] | [_, Ok(latency)] => summary.latency = Some(latency),
        [_, Err(missing)] => notices.push(format!("{whose} has no latencies: {missing}")),
    }
    Ok(summary)
}

/// fio's names for latencies, the one measured from submission first.
const LATENCIES: [&str; 2] = ["lat_ns", "clat_ns"];

/// Returns a latency as fio sums it up, or a message on what is missing.
fn as_told(key: &str, latency: &Value) -> Result<LatencySummary, String> {
    if latency["N"].as_u64() == Some(0) {
        return Err("fio measured none; run it without gtod_reduce and disable_clat".to_owned());
    }
    let missing = |what: &str| {
        format!(
            "fio reports no {what} of {key}; run it with --output-format=json+, or with percentile_list=50:99:99.9"
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
        let both = self.cpu_s.zip(other.cpu_s);
        self.cpu_s = both.map(|(one, next)| (one.0 + next.0, one.1 + next.1));
        driven::add_concurrent(&mut self.options, &other.options);
        for (name, ran) in other.ran_ns {
            let longest = self.ran_ns.entry(name).or_default();
            *longest = ran.max(*longest);
        }
        self.jobs += other.jobs;
        self.wrong |= other.wrong;
        self.notices.extend(other.notices);
        for (name, next) in other.operations {
            let Some(merged_operation) = self.operations.get_mut(&name) else {
                self.operations.insert(name, next);
                continue;
            };
            merged_operation.ios += next.ios;
            merged_operation.bytes += next.bytes;
            for (kind, count) in next.errors {
                *merged_operation.errors.entry(kind).or_default() += count;
            }
            let texts =
                merged_operation.histogram.iter().chain(&next.histogram).map(String::as_str);
            let both = merged_operation.histogram.is_some() && next.histogram.is_some();
            let merged = both.then(|| histogram::merge(texts).ok().flatten()).flatten();
            // Percentiles of several jobs cannot be combined: without bins the group has none.
            let lost = format!(
                "{name} of [{}] has no latencies: those of several jobs need --output-format=json+",
                self.name
            );
            if merged.is_none() && merged_operation.latency.or(next.latency).is_some() {
                self.notices.push(lost);
            }
            merged_operation.latency = merged.as_ref().and_then(histogram::summary);
            merged_operation.histogram =
                merged.as_ref().and_then(|all| histogram::encode(all).ok());
        }
    }

    /// Adds notices about operations that ran for only a part of the time.
    fn notice_lengths(&mut self) {
        let short =
            self.ran_ns.iter().filter(|(_, ran)| **ran as f64 * 1.01 < self.duration_ns as f64);
        for (name, ran) in short {
            let (ran, all) = (value::nanos(*ran), value::nanos(self.duration_ns));
            self.notices.push(format!(
                "{name} of [{}] took place for {ran} of {all}: its rates are those of this time",
                self.name
            ));
        }
    }

    /// Returns the group as the summary of a load.
    pub(crate) fn load(&self, seed: Seed) -> LoadSummary {
        let mut load = LoadSummary::empty(seed);
        load.duration_ns = self.duration_ns;
        load.ended_by = "fio".to_owned();
        load.operations = self.operations.clone();
        for (name, operation) in &mut load.operations {
            let seconds = self.ran_ns.get(name).map_or(0.0, |ran| *ran as f64 / 1e9);
            if seconds > 0.0 {
                operation.iops = Some(operation.ios as f64 / seconds);
                operation.throughput_bytes_per_s = Some(operation.bytes as f64 / seconds);
            }
        }
        let ios: u64 = self.operations.values().map(|operation| operation.ios).sum();
        load.cpu = self.cpu_s.map(|(user_s, system_s)| {
            let per_io_us = (ios > 0).then(|| (user_s + system_s) * 1e6 / ios as f64);
            CpuFigures { user_s, system_s, per_io_us, ramp_ios: 0 }
        });
        let option = |name: &str| self.options.get(name);
        // With group reporting, one job in the output stands for all.
        let together = driven::largest(&self.options, "numjobs").unwrap_or(1);
        load.engine = EngineFacts {
            backend: format!("fio {}", option("ioengine").map_or("psync", String::as_str)),
            jobs: self.jobs.max(together),
            depth: driven::largest(&self.options, "iodepth").unwrap_or(1),
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
