//! Output of fio's (`--output-format=json` or `json+`) as a result of Fathom, to be shown and compared as any other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use results::checksums::Seal;
use results::model::{
    Accelerator, AskedMetric, CellEntry, CellRecord, CellState, CpuFigures, EngineFacts,
    LatencySummary, LayerFacts, LoadSummary, MachineFacts, Manifest, OperationSummary, PlanFacts,
    Row, SCHEMA, StageData, StageEdge, StageFacts, StageRecord, StageTraits, StepRecord,
    VariantFacts,
};
use results::sink::{DirSink, SinkError};
use results::transcript::TranscriptEntry;
use results::writer::{self, CellWriter};
use results::{CellData, ResultSet, histogram};
use serde_json::Value;
use units::Seed;

/// The relative difference that does not matter in what is asked.
const THRESHOLD: f64 = 0.03;

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

    fn load(&self, seed: Seed) -> LoadSummary {
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

/// A run with the variant that it is of and the file that it comes from.
pub type Named = (String, PathBuf, FioRun);

/// Makes a result of runs: each name is a variant, each further run under it a repeat, in the order of time.
///
/// # Errors
/// Where runs of one result have other groups of jobs than its first.
pub fn result(runs: Vec<Named>, command: Vec<String>) -> Result<ResultSet, String> {
    let mut runs = runs;
    let mut variants: Vec<String> = Vec::new();
    for (name, ..) in &runs {
        if !variants.contains(name) {
            variants.push(name.clone());
        }
    }
    runs.sort_by_key(|(.., run)| run.ended_ms);
    let (_, first_file, first) = runs.first().ok_or("there is no run")?.clone();
    let names =
        |run: &FioRun| run.groups.iter().map(|group| group.name.clone()).collect::<Vec<_>>();
    for (_, file, run) in &runs {
        if names(run) != names(&first) {
            let (a, b) = (names(run).join(", "), names(&first).join(", "));
            let (file, first) = (file.display(), first_file.display());
            return Err(format!(
                "{file} has the jobs {a}, {first} has {b}: they are no runs of one experiment"
            ));
        }
    }
    let epoch_ms = runs.iter().map(|(.., run)| began_ms(run)).min().unwrap_or(0);
    let seed = Seed(epoch_ms.max(1));
    let run_id = format!("fio-{:08x}", Seed(epoch_ms).derive(&variants.join("|")).0 as u32);
    let mut repeats: BTreeMap<&str, u32> = BTreeMap::new();
    let mut cells = Vec::new();
    for (index, (variant, file, run)) in runs.iter().enumerate() {
        let repeat = repeats.entry(variant).or_default();
        *repeat += 1;
        let began_ns = (began_ms(run) - epoch_ms) * 1_000_000;
        cells.push(cell((index, variant, *repeat), (file, run), (&run_id, seed, began_ns)));
    }
    let repeat = repeats.values().copied().max().unwrap_or(1);
    let started = cells.len();
    let manifest = manifest(&first, (variants, repeat), (run_id, seed, epoch_ms), &cells, command);
    debug_assert_eq!(started, manifest.cells.len());
    let transcript = cells.iter().filter_map(|cell| entry(cell.record.as_ref()?)).collect();
    Ok(ResultSet {
        path: PathBuf::from("fio"),
        manifest,
        experiment_toml: Some(format!(
            "# Made of output of {}; it cannot be run again by Fathom.\n",
            first.version
        )),
        cells,
        transcript,
        lab_files: BTreeMap::new(),
        proofs: Vec::new(),
        incomplete: None,
        seal: Seal::None,
    })
}

fn began_ms(run: &FioRun) -> u64 {
    let length: u64 = run.groups.iter().map(|group| group.duration_ns / 1_000_000).sum();
    run.ended_ms.saturating_sub(length)
}

fn cell(
    (index, variant, repeat): (usize, &str, u32),
    (file, run): (&Path, &FioRun),
    (run_id, seed, began_ns): (&str, Seed, u64),
) -> CellData {
    let entry = CellEntry {
        index,
        variant: variant.to_owned(),
        repeat,
        folder: results::cell_folder(index, variant, repeat),
        state: CellState::Done,
        reason: None,
        disturbed_percent: None,
        host: None,
    };
    let seed = seed.of_repeat(repeat);
    let (mut at_ns, mut rows, mut stages) = (began_ns, Vec::new(), Vec::new());
    for (index, group) in run.groups.iter().enumerate() {
        let end_ns = at_ns + group.duration_ns;
        let edge = |ended, at_ns| {
            Row::Stage(StageEdge {
                stage: index,
                name: group.name.clone(),
                measured: true,
                ended,
                at_ns,
            })
        };
        rows.extend([edge(false, at_ns), edge(true, end_ns)]);
        stages.push(StageRecord {
            index,
            kind: "load".to_owned(),
            traits: Some(StageTraits::of(StageData::Load)),
            name: group.name.clone(),
            measured: true,
            start_ns: at_ns,
            end_ns: Some(end_ns),
            load: Some(group.load(seed)),
            command: None,
            fill: None,
            state: None,
            layers: BTreeMap::new(),
            machine: BTreeMap::new(),
            error: None,
        });
        at_ns = end_ns;
    }
    let step = StepRecord {
        about: format!("read what {} said", run.version),
        command: file.display().to_string(),
        undo: false,
        start_ns: began_ns,
        duration_ns: 0,
        error: None,
    };
    let record = CellRecord {
        run_id: Some(run_id.to_owned()),
        index,
        variant: variant.to_owned(),
        repeat,
        seed,
        state: CellState::Done,
        reason: None,
        start_ns: began_ns,
        end_ns: Some(at_ns),
        steps: vec![step],
        stages,
        layers: BTreeMap::new(),
        facts: BTreeMap::new(),
        leftovers: Some(Vec::new()),
        notices: Vec::new(),
        ran_on: MachineFacts::default(),
        machine: None,
    };
    CellData::new(entry, Some(record), rows)
}

fn entry(record: &CellRecord) -> Option<TranscriptEntry> {
    let step = record.steps.first()?;
    Some(TranscriptEntry {
        at_ns: step.start_ns,
        cell: Some(record.index),
        about: step.about.clone(),
        action: step.command.clone(),
        ..TranscriptEntry::default()
    })
}

fn manifest(
    first: &FioRun,
    (variants, repeat): (Vec<String>, u32),
    (run_id, seed, epoch_ms): (String, Seed, u64),
    cells: &[CellData],
    command: Vec<String>,
) -> Manifest {
    let device = |group: &Group| LayerFacts {
        layer: "device".to_owned(),
        name: group.options.get("filename").cloned().unwrap_or_else(|| "files of fio".to_owned()),
        settings: BTreeMap::new(),
        on: BTreeMap::new(),
        computed: Vec::new(),
    };
    let stage = |group: &Group| {
        let said = group.options.iter().map(|(name, value)| match value.as_str() {
            "" => name.clone(),
            value => format!("{name}={value}"),
        });
        StageFacts {
            kind: "load".to_owned(),
            traits: Some(StageTraits::of(StageData::Load)),
            name: group.name.clone(),
            measured: true,
            about: said.collect::<Vec<_>>().join(" "),
            load: Value::Object(serde_json::Map::new()),
            rounds: Value::Null,
            targets: Vec::new(),
            target_bytes: None,
            io_bytes: None,
            synced: None,
            sweep: None,
            figures: BTreeMap::new(),
        }
    };
    let variant = |name: &String| VariantFacts {
        name: name.clone(),
        stack: first.groups.first().map(device).into_iter().collect(),
        stages: first.groups.iter().map(stage).collect(),
        levels: BTreeMap::new(),
        machine: BTreeMap::new(),
    };
    let asked = |(stage, operation): (&str, &str), metric: &str| AskedMetric {
        metric: metric.to_owned(),
        stage: (first.groups.len() > 1).then(|| stage.to_owned()),
        operation: Some(operation.to_owned()),
        layer: None,
        threshold: THRESHOLD,
    };
    let mut questions = Vec::new();
    for group in &first.groups {
        for operation in group.operations.keys() {
            let of = (group.name.as_str(), operation.as_str());
            questions.extend(["iops", "latency_p99_ns"].map(|metric| asked(of, metric)));
        }
    }
    let names = first.groups.iter().map(|group| group.name.clone()).collect::<Vec<_>>();
    let last = cells.iter().filter_map(|cell| cell.record.as_ref()?.end_ns).max().unwrap_or(0);
    Manifest {
        schema: SCHEMA,
        tool_version: env!("CARGO_PKG_VERSION").to_owned(),
        run_id,
        command,
        started_utc: utc(epoch_ms),
        ended_utc: Some(utc(epoch_ms + last / 1_000_000)),
        resumed: Vec::new(),
        devices: BTreeMap::new(),
        seed,
        accelerator: Accelerator::None,
        accelerator_reason: None,
        simulated: false,
        plan: PlanFacts {
            experiment: names.join("-"),
            about: format!("Measured by {}, read by Fathom", first.version),
            source: None,
            repeat,
            sequential: None,
            // Whoever ran fio chose the order.
            order_drawn: false,
            variants: variants.iter().map(variant).collect(),
            questions,
            expectations: Vec::new(),
            reported: Vec::new(),
            pictures: Vec::new(),
            factors: Vec::new(),
            scale: None,
            scaled: Vec::new(),
        },
        plan_document: Value::Null,
        host: MachineFacts::default(),
        guest: None,
        lab: None,
        cells: cells.iter().map(|cell| cell.entry.clone()).collect(),
        outcome: Some("complete".to_owned()),
        stopped: None,
    }
}

fn utc(ms: u64) -> String {
    let at = i64::try_from(ms).ok().and_then(|ms| jiff::Timestamp::from_millisecond(ms).ok());
    at.map_or_else(String::new, |at| at.strftime("%Y-%m-%dT%H:%M:%SZ").to_string())
}

/// Writes a result into a directory that is not there yet, and seals it.
///
/// # Errors
/// When the directory is there, or cannot be written.
pub fn write(result: &ResultSet, root: &Path) -> Result<(), SinkError> {
    let mut sink = DirSink::create(root)?;
    writer::write_manifest(&mut sink, &result.manifest)?;
    if let Some(toml) = &result.experiment_toml {
        writer::write_experiment(&mut sink, toml)?;
    }
    for entry in &result.transcript {
        writer::append_transcript(&mut sink, entry)?;
    }
    for cell in &result.cells {
        let to = CellWriter::new(&cell.entry.folder);
        to.rows(&mut sink, &cell.rows)?;
        if let Some(record) = &cell.record {
            to.record(&mut sink, record)?;
        }
    }
    results::checksums::write(sink.way())
}
