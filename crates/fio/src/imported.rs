//! Turns output of fio into a result of Fathom, which can be shown and compared like any other.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use results::checksums::Seal;
use results::model::{
    Accelerator, AskedMetric, CellEntry, CellRecord, CellState, LayerFacts, MachineFacts, Manifest,
    PlanFacts, Row, SCHEMA, StageData, StageEdge, StageFacts, StageRecord, StageTraits, StepRecord,
    VariantFacts,
};
use results::sink::{DirSink, SinkError};
use results::transcript::TranscriptEntry;
use results::writer::{self, CellWriter};
use results::{CellData, ResultSet};
use serde_json::Value;
use units::Seed;

use crate::driven::{self, Options};
use crate::import::{FioRun, Group};

/// The relative difference below which variants count as equal.
const THRESHOLD: f64 = 0.03;

/// The name of a variant, the file that a run of it comes from, and the run.
pub type Named = (String, PathBuf, FioRun);

/// Makes a result of runs: each name is a variant, each further run under it a repeat, in the order of time. A run whose verification failed is
/// a repeat that failed.
///
/// # Errors
/// Fails if runs have other groups of jobs than the first run, or other options than the first run of their variant, or if a run is given twice.
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
                "{file} has the jobs {a}, {first} has {b}: they are not runs of one experiment"
            ));
        }
    }
    none_twice(&runs)?;
    alike(&runs)?;
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
    let firsts = variants.into_iter().filter_map(|name| {
        let run = runs.iter().find(|(known, ..)| *known == name)?.2.clone();
        Some((name, run))
    });
    let manifest =
        manifest(&first, (firsts.collect(), repeat), (run_id, seed, epoch_ms), &cells, command);
    let transcript = cells.iter().filter_map(|cell| entry(cell.record.as_ref()?)).collect();
    Ok(ResultSet {
        path: PathBuf::from("fio"),
        manifest,
        experiment_toml: Some(format!(
            "# Made from output of {}; it cannot be run again by Fathom.\n",
            first.version
        )),
        cells,
        transcript,
        lost_lines: 0,
        lab_files: BTreeMap::new(),
        proofs: Vec::new(),
        going_on: None,
        incomplete: None,
        seal: Seal::None,
    })
}

/// Refuses a run that is given twice: no two runs have the same times to the millisecond, and a result with two such runs would be taken for
/// one that was tampered with.
fn none_twice(runs: &[Named]) -> Result<(), String> {
    let times = |run: &FioRun| {
        let lengths = run.groups.iter().map(|group| group.duration_ns).collect::<Vec<_>>();
        (run.ended_ms, lengths)
    };
    for (place, (_, file, run)) in runs.iter().enumerate() {
        if let Some((_, other, _)) = runs[..place].iter().find(|(.., one)| times(one) == times(run))
        {
            let (file, other) = (file.display(), other.display());
            return Err(format!(
                "{file} holds the run of {other}, to the millisecond: name each run once; a repeat is a further run"
            ));
        }
    }
    Ok(())
}

/// Refuses repeats of a variant with other options than its first run: they are not repeats.
fn alike(runs: &[Named]) -> Result<(), String> {
    for (place, (name, file, run)) in runs.iter().enumerate() {
        let first = runs[..place].iter().find(|(known, ..)| known == name);
        let Some((_, other, first)) = first else { continue };
        let differ = driven::differing(&settings(first), &settings(run));
        if !differ.is_empty() {
            let (file, other) = (file.display(), other.display());
            return Err(format!(
                "{file} is not a repeat of {other}, and both are given as '{name}': {} (of {other} and of {file}); give it another name",
                differ.join(", ")
            ));
        }
    }
    Ok(())
}

/// Returns the options of all jobs of a run, with those of several groups each under its name.
fn settings(run: &FioRun) -> Options {
    let several = run.groups.len() > 1;
    // An export of Fathom has only some of the options, and no defaults are added to these.
    let of_fio = !run.version.starts_with("fathom-");
    let of = |group: &Group| {
        let name = group.name.clone();
        let all = driven::canonical(&group.options, of_fio).into_iter();
        all.map(move |(option, value)| match several {
            true => (format!("{name}.{option}"), value),
            false => (option, value),
        })
    };
    run.groups.iter().flat_map(of).collect()
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
    let reason = run.failure();
    let state = if reason.is_some() { CellState::Failed } else { CellState::Done };
    let entry = CellEntry {
        index,
        variant: variant.to_owned(),
        repeat,
        folder: results::cell_folder(index, variant, repeat),
        state,
        reason: reason.clone(),
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
            error: group.wrong.then(|| "verification failed: wrong data".to_owned()),
            ..StageRecord::default()
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
        state,
        reason,
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
    (variants, repeat): (Vec<(String, FioRun)>, u32),
    (run_id, seed, epoch_ms): (String, Seed, u64),
    cells: &[CellData],
    command: Vec<String>,
) -> Manifest {
    let last = cells.iter().filter_map(|cell| cell.record.as_ref()?.end_ns).max().unwrap_or(0);
    let all = cells.iter().all(|cell| cell.entry.state == CellState::Done);
    let outcome = if all { "complete" } else { "incomplete" };
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
        plan: plan(first, &variants, repeat),
        plan_document: Value::Null,
        host: MachineFacts::default(),
        guest: None,
        lab: None,
        cells: cells.iter().map(|cell| cell.entry.clone()).collect(),
        outcome: Some(outcome.to_owned()),
        stopped: None,
    }
}

/// Returns a variant with the options that fio reports for its first run.
fn variant((name, run): &(String, FioRun)) -> VariantFacts {
    let device = LayerFacts {
        layer: "device".to_owned(),
        name: "fio".to_owned(),
        settings: settings(run),
        on: BTreeMap::new(),
        computed: Vec::new(),
    };
    let stage = |group: &Group| {
        let options = group.options.iter().map(|(name, value)| match value.as_str() {
            "" => name.clone(),
            value => format!("{name}={value}"),
        });
        StageFacts {
            kind: "load".to_owned(),
            traits: Some(StageTraits::of(StageData::Load)),
            name: group.name.clone(),
            measured: true,
            about: options.collect::<Vec<_>>().join(" "),
            load: Value::Object(serde_json::Map::new()),
            rounds: Value::Null,
            targets: Vec::new(),
            target_bytes: None,
            io_bytes: None,
            synced: None,
            sweep: None,
            figures: BTreeMap::new(),
            caches: Vec::new(),
        }
    };
    VariantFacts {
        name: name.clone(),
        stack: vec![device],
        stages: run.groups.iter().map(stage).collect(),
        levels: BTreeMap::new(),
        machine: BTreeMap::new(),
    }
}

/// Returns a plan made up from the runs, as nobody wrote one.
fn plan(first: &FioRun, variants: &[(String, FioRun)], repeat: u32) -> PlanFacts {
    let question = |(stage, operation): (&str, &str), metric: &str| AskedMetric {
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
            questions.extend(["iops", "latency_p99_ns"].map(|metric| question(of, metric)));
        }
    }
    let names = first.groups.iter().map(|group| group.name.clone()).collect::<Vec<_>>();
    PlanFacts {
        experiment: names.join("-"),
        about: format!("Measured by {}, read by Fathom", first.version),
        source: None,
        repeat,
        sequential: None,
        // The user who ran fio chose the order.
        order_drawn: false,
        variants: variants.iter().map(variant).collect(),
        questions,
        expectations: Vec::new(),
        reported: Vec::new(),
        pictures: Vec::new(),
        factors: Vec::new(),
        scale: None,
        scaled: Vec::new(),
        first_left_out: None,
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
