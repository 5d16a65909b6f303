//! A comparison as results that `fathom report` draws: one for each case, its engines as variants, its repeats as cells.

use std::path::{Path, PathBuf};

use results::model::{CellRecord, MachineFacts, Manifest, SCHEMA};
use results::sink::{DirSink, Sink, SinkError};
use results::writer::{CellWriter, cell_folder, write_experiment, write_manifest};
use serde_json::{Value, json};
use units::Seed;

use crate::BenchError;
use crate::contest::Sample;
use crate::outcome::{self, CaseOutcome, Outcome, Side};
use crate::repeats::order;

/// The whole comparison, in the directory above those of its cases.
pub const WHOLE: &str = "bench.json";

/// Facts of the run besides its figures.
#[derive(Debug, Clone)]
pub struct About {
    /// The command line.
    pub command: Vec<String>,
    /// Version of the program.
    pub tool_version: String,
    /// The machine.
    pub machine: MachineFacts,
    /// The accelerator that executed a guest, `kvm` or `tcg`; `none` on the host.
    pub accelerator: String,
}

/// Writes `bench.json` and a result for each case into `root`, which must not exist; returns the results' directories.
pub fn write(root: &Path, outcome: &Outcome, about: &About) -> Result<Vec<PathBuf>, BenchError> {
    let mut sink = DirSink::create(root)?;
    sink.put(WHOLE, &encode(WHOLE, outcome)?)?;
    let mut made = Vec::new();
    for (index, case) in outcome.cases.iter().enumerate() {
        let folder = root.join(format!("{:02}-{}", index + 1, case.name.replace([' ', '/'], "-")));
        case_record(&folder, case, outcome, about)?;
        made.push(folder);
    }
    Ok(made)
}

fn encode(path: &str, value: &impl serde::Serialize) -> Result<Vec<u8>, SinkError> {
    serde_json::to_vec_pretty(value)
        .map_err(|source| SinkError::Encode { path: path.to_owned(), source })
}

/// Fields that the model gains later have defaults: through JSON this needs no change then.
fn model<T: serde::de::DeserializeOwned>(path: &str, value: Value) -> Result<T, SinkError> {
    serde_json::from_value(value)
        .map_err(|source| SinkError::Encode { path: path.to_owned(), source })
}

fn case_record(
    folder: &Path,
    case: &CaseOutcome,
    outcome: &Outcome,
    about: &About,
) -> Result<(), BenchError> {
    let mut sink = DirSink::create(folder)?;
    // fio is the base: a ratio of 0.5 of CPU time is then ours over fio's, as everywhere here. Ours is the first of those that are compared with it,
    // because the page's headline is about the first.
    let sides: Vec<&Side> = case
        .sides
        .get(1)
        .into_iter()
        .chain(case.sides.first())
        .chain(case.sides.iter().skip(2))
        .collect();
    let repeats = sides.iter().map(|side| side.samples.len()).min().unwrap_or(0);
    let mut cells = Vec::new();
    let mut now = 0;
    for repeat in 0..repeats {
        for place in order(sides.len(), repeat) {
            let (side, sample) = (sides[place], &sides[place].samples[repeat]);
            let index = cells.len();
            let path = cell_folder(index, &side.name, repeat as u32 + 1);
            let record = cell((index, repeat), side, case.case.depth, sample, now);
            now = record["end_ns"].as_u64().unwrap_or(now);
            let record: CellRecord = model("cell.json", record)?;
            CellWriter::new(&path).record(&mut sink, &record)?;
            cells.push(json!({"index": index, "variant": side.name, "repeat": repeat + 1,
                              "folder": path, "state": "done", "reason": null}));
        }
    }
    let manifest: Manifest =
        model("manifest.json", manifest(case, outcome, about, &sides, repeats, &cells))?;
    write_manifest(&mut sink, &manifest)?;
    write_experiment(&mut sink, &experiment(case))?;
    results::checksums::write(folder)?;
    Ok(())
}

fn operation(case: &CaseOutcome) -> &'static str {
    use crate::case::{Access, Mix};
    match (case.case.mix, case.case.access) {
        (Mix::Reads, Access::Sequential) => "read",
        (Mix::Writes, Access::Sequential) => "write",
        (Mix::Reads, _) => "randread",
        (Mix::Writes, _) => "randwrite",
        (Mix::Mixed, _) => "mixed",
    }
}

fn cell(
    (index, repeat): (usize, usize),
    side: &Side,
    depth: u32,
    sample: &Sample,
    start_ns: u64,
) -> Value {
    let figures = &sample.reported;
    let end_ns = start_ns + figures.duration_ns;
    let bytes = figures.ios * 4096;
    let cpu_s = sample.cpu_per_io_us * figures.ios as f64 / 1e6;
    // Figures that are only partly known are left out: the model has no place for a part.
    let whole = |value: Option<f64>| value.map(|ns| ns.round() as u64);
    let latency = figures.latency_mean_ns.and_then(|mean| {
        Some(json!({
            "mean_ns": mean,
            "min_ns": whole(figures.latency_min_ns)?,
            "p50_ns": whole(figures.latency_p50_ns)?,
            "p99_ns": whole(figures.latency_p99_ns)?,
            "p999_ns": whole(figures.latency_p999_ns)?,
            "max_ns": whole(figures.latency_max_ns)?,
        }))
    });
    let load = json!({
        "seed": 1, "duration_ns": figures.duration_ns, "ended_by": "duration",
        "operations": {"all": {
            "ios": figures.ios, "bytes": bytes, "errors": {}, "iops": figures.iops,
            "throughput_bytes_per_s": figures.iops * 4096.0, "latency": latency, "histogram": null,
        }},
        "asked": null, "achieved": null,
        "cpu": {"user_s": cpu_s, "system_s": 0.0, "per_io_us": sample.cpu_per_io_us},
        "engine": {"backend": figures.backend.as_deref().unwrap_or(&side.name), "jobs": 1, "depth": depth,
                   "direct": true, "registered": false, "clock": ""},
        "notices": [format!("{:.1} % of all CPUs were used by other programs during the run", 100.0 * sample.foreign_share)],
    });
    json!({
        "index": index, "variant": side.name, "repeat": repeat + 1, "seed": Seed(1).of_repeat(repeat as u32 + 1), "state": "done",
        "reason": null, "start_ns": start_ns, "end_ns": end_ns, "steps": [{
            "about": "run the load as a child of its own", "command": side.line, "undo": false,
            "start_ns": start_ns, "duration_ns": figures.duration_ns, "error": null}],
        "stages": [{"index": 0, "kind": "load", "name": "load", "measured": true, "start_ns": start_ns,
                    "end_ns": end_ns, "load": load, "error": null}],
        "layers": {}, "facts": {}, "leftovers": [],
    })
}

fn manifest(
    case: &CaseOutcome,
    outcome: &Outcome,
    about: &About,
    sides: &[&Side],
    repeats: usize,
    cells: &[Value],
) -> Value {
    let load = json!({"ops": {operation(case): 100}, "block_size": 4096, "jobs": 1, "depth": case.case.depth});
    let variants: Vec<_> = sides
        .iter()
        .map(|side| {
            json!({"name": side.name, "stack": [{"layer": "device", "name": case.case.target, "settings": {}}],
                   "stages": [{"kind": "load", "name": "load", "measured": true, "about": side.line, "load": load}]})
        })
        .collect();
    let question = |metric: &str| json!({"metric": metric, "operation": "all", "threshold": 0.03});
    let now = jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string();
    json!({
        "schema": SCHEMA, "tool_version": about.tool_version, "run_id": format!("{:08x}", std::process::id()),
        "command": about.command, "started_utc": now, "ended_utc": now, "seed": 1,
        "accelerator": about.accelerator, "accelerator_reason": null, "simulated": false,
        "plan": {"experiment": format!("engine: {}", case.name),
                 "about": about_case(case, outcome),
                 "source": null, "repeat": repeats, "variants": variants,
                 "questions": [question("iops"), question("cpu_per_io_us")]},
        "plan_document": null, "host": about.machine, "guest": null, "lab": null,
        "cells": cells, "outcome": if outcome.interrupted { "interrupted" } else { "complete" },
    })
}

/// Returns the page's description of the case, with the verdict on its goal.
fn about_case(case: &CaseOutcome, outcome: &Outcome) -> String {
    let fio = outcome.programs.fio.describe();
    let mut text = format!("Fathom's load engine and {fio}, as children measured from outside");
    if let Some(verdict) = case.verdict() {
        let ratio = outcome::spread(&case.cpu.ratio);
        text.push_str(&format!("; CPU time per I/O {ratio} of {}, {verdict}", case.cpu.against));
    }
    if let Some(floor) = &case.floor {
        let (fio, ours) = (outcome::spread(&floor.fio.ratio), outcome::spread(&floor.ours.ratio));
        let (about, peer) = (floor.about(), &floor.fio.against);
        text.push_str(&format!("; floor ({about}) {fio} of {peer}, fathom {ours} of the floor"));
    }
    text
}

/// The command lines, where a result keeps its experiment.
fn experiment(case: &CaseOutcome) -> String {
    let lines = case.sides.iter().map(|side| format!("# {}\n# {}\n", side.name, side.line));
    format!("# A case of fathom-bench engine: {}\n{}", case.name, lines.collect::<String>())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ReportedFigures;
    use crate::case::{Access, Case, Mix};
    use crate::contest::{ContestantKind, Programs};
    use crate::cpu::CpuUse;
    use crate::fathom_contestant::Fathom;
    use crate::fio::{Candidate, Engine, Fio};
    use crate::floor;
    use crate::outcome::{Floor, Ratio};

    fn side(who: ContestantKind, cpu_per_io_us: f64) -> Side {
        let figures = ReportedFigures {
            ios: 1000,
            iops: 500.0,
            duration_ns: 2_000_000_000,
            ..ReportedFigures::default()
        };
        let sample = Sample {
            reported: figures,
            used: CpuUse::default(),
            cpu_per_io_us,
            system_per_io_us: cpu_per_io_us,
            foreign_share: 0.0,
            again: 0,
        };
        let figure = stats::figure(&[cpu_per_io_us; 4]);
        Side {
            name: who.name(),
            who,
            line: "a line".into(),
            start_s: 0.0,
            samples: vec![sample; 4],
            iops: figure,
            cpu_per_io_us: figure,
            system_per_io_us: figure,
        }
    }

    fn outcome() -> Outcome {
        let fio =
            Fio { path: "/usr/bin/fio".into(), version: "fio-3.33".into(), build: "x".into() };
        let access = Access::Uniform;
        let case = Case { target: "zram".into(), access, mix: Mix::Reads, depth: 32, cpu: None };
        let candidate = Candidate { engine: Engine::Psync, batch: 1, whole: false };
        let ratio = || Ratio {
            against: "fio psync".into(),
            ratio: stats::figure(&[0.5; 4]),
            goal: None,
            word: None,
        };
        let outcome = CaseOutcome {
            name: case.name(),
            case,
            tried: Vec::new(),
            sides: vec![
                side(ContestantKind::Fathom("auto".into()), 1.0),
                side(ContestantKind::Fio(candidate), 2.0),
                side(ContestantKind::Fio(Candidate { engine: Engine::Pvsync2, ..candidate }), 3.0),
            ],
            cpu: ratio(),
            system: ratio(),
            iops: ratio(),
            floor: Some(Floor { calls: floor::RING.into(), ours: ratio(), fio: ratio() }),
            disturbed: (0, 8),
        };
        Outcome {
            schema: outcome::SCHEMA,
            programs: Programs { fathom: Fathom { program: "fathom".into() }, fio },
            machine: String::new(),
            targets: Vec::new(),
            left_out: Vec::new(),
            cases: vec![outcome],
            failed: Vec::new(),
            verified: None,
            proportions: Vec::new(),
            interrupted: false,
        }
    }

    #[test]
    fn an_older_comparison_is_read_and_a_newer_one_refused_with_its_layout() {
        let outcome = outcome();
        let mut value = serde_json::to_value(&outcome).unwrap();
        let read = |value: &Value| outcome::decode(value.to_string().as_bytes());
        assert_eq!(read(&value).unwrap(), outcome);
        // Keys that later programs added are ignored, those that an earlier one did not write have defaults.
        value["later"] = json!({"a": 1});
        for key in ["left_out", "failed", "verified", "proportions", "interrupted"] {
            value.as_object_mut().unwrap().remove(key);
        }
        assert_eq!(read(&value).unwrap(), outcome);
        value["cases"][0]["floor"].as_object_mut().unwrap().remove("calls");
        assert_eq!(read(&value).unwrap().cases[0].floor.as_ref().unwrap().calls, floor::PLAIN);
        value["schema"] = json!(outcome::SCHEMA + 1);
        // Whatever else it holds.
        value["cases"] = json!("of another kind");
        let newer = read(&value).unwrap_err();
        let (found, up_to) = (outcome::SCHEMA + 1, outcome::SCHEMA);
        assert!(newer.to_string().contains(&format!("layout {found}")), "{newer}");
        assert!(newer.to_string().contains(&format!("up to {up_to}")), "{newer}");
        for junk in ["", "{}", "[]", "{\"schema\": 1}", "{\"schema\": \"x\"}"] {
            let error = outcome::decode(junk.as_bytes()).unwrap_err();
            assert!(matches!(error, outcome::Unreadable::Broken(_)), "{junk}: {error}");
        }
    }

    #[test]
    fn what_is_written_is_a_result_whose_base_is_fio_and_whose_cells_are_repeats() {
        let folder = tempfile::tempdir().unwrap();
        let root = folder.path().join("out");
        let about = About {
            command: vec!["fathom".into()],
            tool_version: "0".into(),
            machine: MachineFacts::default(),
            accelerator: "none".into(),
        };
        let outcome = outcome();
        let made = write(&root, &outcome, &about).unwrap();
        let result = results::open(&made[0]).unwrap();
        let names: Vec<_> = result.manifest.plan.variants.iter().map(|v| v.name.as_str()).collect();
        assert_eq!(names, ["fio psync", "fathom", "fio pvsync2"]);
        let printed = &result.manifest.plan.about;
        assert!(printed.contains("floor (an io_uring kept at its depth) 0.50"), "{printed}");
        assert_eq!(result.cells.len(), 12);
        let order: Vec<_> = result.cells.iter().take(6).map(|c| c.entry.variant.as_str()).collect();
        assert_eq!(
            order,
            ["fio psync", "fathom", "fio pvsync2", "fio pvsync2", "fathom", "fio psync"]
        );
        assert_eq!(
            result.cells[0].record.as_ref().unwrap().stages[0].load.as_ref().unwrap().engine.depth,
            32
        );
        let record = result.cells[0].record.as_ref().unwrap();
        let operations = &record.stages[0].load.as_ref().unwrap().operations;
        assert_eq!(operations["all"].latency, None, "a part of a latency is no latency");
        assert!(result.incomplete.is_none(), "{:?}", result.incomplete);
        let whole = std::fs::read(root.join(WHOLE)).unwrap();
        assert_eq!(serde_json::from_slice::<Outcome>(&whole).unwrap(), outcome);
        assert!(write(&root, &outcome, &about).is_err(), "nothing is written over");
    }
}
