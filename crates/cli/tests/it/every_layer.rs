//! Layers for real, each with settings that are not its defaults, in one guest: settings are read back when it is raised and when its cache is
//! attached again, what was written is verified, statistics move, and nothing is left, also after a failure in the middle.

use std::collections::BTreeMap;

use results::model::{CellState, DeviceLatency, LatencySource, LayerFigures};

use crate::program::{expect, fathom_in, fresh, json, ready, text};

const EXPERIMENT: &str = include_str!("every_layer.toml");

/// Layers whose statistics have no figures.
const SILENT: [&str; 5] = ["luks", "plain", "delay", "flakey", "error"];

/// The steps that raise each cell's stack, by the order in which a run with this seed takes its cells.
fn steps_up(experiment: &std::path::Path, out: &std::path::Path) -> Vec<usize> {
    expect(0, &["run", text(experiment), "--seed", "1", "--simulate", "--out", text(out)]);
    let result = results::open(out).unwrap();
    let up = result.cells.iter().map(|cell| {
        let record = cell.record.as_ref().unwrap();
        let first = record.stages[0].start_ns;
        record.steps.iter().take_while(|step| !step.undo && step.start_ns < first).count()
    });
    up.collect()
}

#[test]
fn layers_of_the_lab_have_the_settings_that_were_asked_for_and_leave_nothing() {
    let Some(_turn) = ready("every_layer") else { return };
    let variants = EXPERIMENT.matches("[[variant]]").count();
    let (dir, out) = fresh();
    let experiment = dir.path().join("layers.toml");
    std::fs::write(&experiment, EXPERIMENT.replace("repeat = 1", "repeat = 2")).unwrap();
    let mut args = vec!["lab", "run", text(&experiment), "--seed", "1", "--out", text(&out)];
    // Cells of the second repeat fail at one of the last steps of raising their stacks.
    let steps = steps_up(&experiment, &dir.path().join("simulated"));
    let faults: Vec<_> = (variants..2 * variants)
        .map(|cell| format!("fail@{cell}:{}", steps[cell] - 1 - cell % 3))
        .collect();
    faults.iter().for_each(|fault| args.extend(["--inject", fault]));
    let answer = fathom_in(&std::env::temp_dir(), &args);
    assert_eq!(answer.code, Some(5), "{}\n{}", answer.out, answer.err);
    let result = results::open(&out).unwrap();
    let mut stages: Stages = BTreeMap::new();
    let mut devices: Stages = BTreeMap::new();
    let mut delayed = None;
    for (cell, data) in result.cells.iter().enumerate() {
        let record = data.record.as_ref().unwrap();
        let variant = &data.entry.variant;
        assert_eq!(record.leftovers, Some(Vec::new()), "{variant}");
        let wanted = if cell < variants { CellState::Done } else { CellState::Failed };
        assert_eq!(record.state, wanted, "{variant}: {:?}", record.reason);
        if wanted == CellState::Failed {
            continue;
        }
        let measured: Vec<_> = record.stages.iter().filter(|stage| stage.measured).collect();
        for stage in &measured {
            let verified = stage.load.as_ref().unwrap().verify.as_ref().unwrap();
            let sound = verified.correct > 0 && verified.wrong_blocks() == 0;
            assert!(sound, "{variant}: {verified}");
        }
        measured.iter().for_each(|stage| check_latency(variant, &stage.latency));
        if variant == "delay" {
            let burst = &measured[0].load.as_ref().unwrap().operations["randwrite"];
            delayed = burst.latency.as_ref().map(|latency| latency.p50_ns as f64);
        }
        let under = ["slow", "fast"].iter().filter_map(|name| measured[0].layers.get(*name));
        devices.insert(variant.clone(), under.cloned().collect());
        let figures = measured.iter().filter_map(|stage| stage.layers.get("layer").cloned());
        stages.insert(variant.clone(), figures.collect());
    }
    for (variant, figures) in stages.iter().filter(|(name, _)| !SILENT.contains(&name.as_str())) {
        // The last one reads and writes, so that every figure has something to be of.
        let last = figures.last().unwrap_or_else(|| panic!("{variant} says nothing"));
        let missing: Vec<_> = last.iter().filter(|(_, value)| value.is_none()).collect();
        assert!(!last.is_empty() && missing.is_empty(), "{variant}: {missing:?}");
    }
    check_tiers(&stages);
    check_sets(&stages, &devices);
    // Each write waits for the delay that was set, 48 ms, in kernel ticks of 4 ms, the first of which has already begun.
    let waited = delayed.unwrap();
    assert!((44e6..400e6).contains(&waited), "{waited} ns");
    // The code is that of the cells that failed.
    let shown = expect(5, &["show", text(&out), "--json"]).out;
    let shown: serde_json::Value = serde_json::from_str(&shown).unwrap();
    check_delay(shown["ladders"].as_array().unwrap());
}

/// Checks that the layer which delays has the time, and the blame unless the disk below was as slow: others may keep it busy.
fn check_delay(ladders: &[serde_json::Value]) {
    let is_burst =
        |ladder: &&serde_json::Value| ladder["variant"] == "delay" && ladder["stage"] == "burst";
    let ladder = ladders.iter().find(is_burst).unwrap();
    let rungs = ladder["rungs"].as_array().unwrap();
    let rung = |name: &str, key: &str| {
        let named = rungs.iter().find(|rung| rung["name"] == name);
        named.and_then(|rung| rung["all"][key].as_f64()).unwrap_or_else(|| panic!("{ladder:#}"))
    };
    let added = rung("layer", "p50_ns") - rung("slow", "p50_ns");
    assert!((40e6..80e6).contains(&added), "{ladder:#}");
    if rung("slow", "p99_ns") < 24e6 {
        assert_eq!(ladder["made"]["name"], "layer", "{ladder:#}");
    }
}

/// Checks that every block device of a stack was measured, each by what the kernel has for it.
fn check_latency(variant: &str, latency: &[DeviceLatency]) {
    for device in latency {
        let disk = device.on.is_empty();
        let by = match (disk, variant) {
            (true, _) => LatencySource::Requests,
            (false, "bcache") => LatencySource::Bios,
            (false, _) => LatencySource::DmStats,
        };
        assert_eq!(
            (device.by, &device.absent, device.lost),
            (Some(by), &None, 0),
            "{variant}: {device:?}"
        );
        let counted: u64 = device
            .histograms
            .values()
            .map(|text| results::histogram::decode(text).unwrap().len())
            .sum();
        assert_eq!(counted, device.reads + device.writes, "{variant}: {device:?}");
        assert!(device.reads + device.writes > 0 || disk, "{variant}: {device:?}");
    }
}

/// Bytes that the first stage writes.
const WRITTEN: f64 = 12.0 * 1_048_576.0;

/// Figures of each measured stage, by variant.
type Stages = BTreeMap<String, Vec<LayerFigures>>;

fn check_tiers(stages: &Stages) {
    let of = |variant: &str, stage: usize, id: &str| stages[variant][stage][id].unwrap();
    // 16 MiB of cache took most of 12 MiB, and wrote some of it back already.
    assert!(of("writecache", 0, "hit_percent") > 30.0, "{:?}", stages["writecache"]);
    assert!(of("writecache", 0, "used_percent") > 20.0, "{:?}", stages["writecache"]);
    assert!(of("thin", 0, "pool_used_bytes") >= WRITTEN / 2.0, "{:?}", stages["thin"]);
    assert_eq!(of("thin", 0, "mapped_bytes"), of("thin", 0, "pool_used_bytes"));
    assert_eq!(of("thin", 1, "transactions"), 3.0, "a volume and two snapshots");
    assert!(of("thin", 1, "chunks_taken") > 0.0, "writes after a snapshot copy chunks");
    assert!(of("cachepool", 0, "write_hit_percent") >= 0.0);
    // What was just written is in the cache, also after it went and came back.
    assert!(of("bcache", 1, "read_hit_percent") > 0.0, "{:?}", stages["bcache"]);
    assert!(of("bcache", 0, "dirty_bytes") > WRITTEN / 4.0, "{:?}", stages["bcache"]);
    for still in ["cachevol", "cleaner"] {
        assert_eq!(of(still, 0, "promotions"), 0.0, "{still} caches nothing anew");
    }
}

/// Checks what was written to the devices under striped and mirrored volumes.
fn check_sets(stages: &Stages, devices: &Stages) {
    let of = |variant: &str, stage: usize, id: &str| stages[variant][stage][id].unwrap();
    for set in ["striped", "raid1", "no_sync"] {
        assert_eq!(of(set, 1, "failed_members"), 0.0, "{set}");
    }
    assert_eq!(of("raid1", 0, "synced_percent"), 100.0, "copied before anything was measured");
    assert_eq!(of("raid1", 0, "resynced_bytes"), 0.0);
    // A mirror writes to both of its devices, a striped volume half to each.
    for (set, share) in [("striped", 0.5), ("raid1", 1.0), ("no_sync", 1.0)] {
        for device in &devices[set] {
            let wrote = device["device_written_bytes"].unwrap() / WRITTEN;
            assert!(
                (share - 0.05..share + 0.2).contains(&wrote),
                "{set}: {wrote} of what was written"
            );
        }
    }
}

#[test]
fn every_layer_of_the_lab_is_explained_with_its_commands_and_simulated() {
    let dir = tempfile::tempdir().unwrap();
    let experiment = dir.path().join("layers.toml");
    std::fs::write(&experiment, EXPERIMENT).unwrap();
    let output = expect(0, &["explain", text(&experiment)]).out;
    let words = output.split_whitespace().collect::<Vec<_>>().join(" ");
    for word in [
        "--type writecache",
        "--type thin-pool",
        "--cachepool fast",
        "luksFormat",
        "make-bcache",
        "--stripes 2",
        "--mirrors 1",
        "delay {device.slow} 0 8",
    ] {
        assert!(words.contains(word), "{word}");
    }
    let out = dir.path().join("out");
    expect(0, &["run", text(&experiment), "--simulate", "--out", text(&out)]);
    let shown = json(&["show", text(&out), "--json"]);
    assert_eq!(shown["complete"], true, "{shown:#}");
}
