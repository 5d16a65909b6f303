//! Cases of every common rule: one that makes it fire, and one that is just not enough.

use std::collections::BTreeSet;

use results::Seal;
use results::model::{
    Accelerator, CellState, JobSummary, MachineLoad, PlanFacts, RateFacts, ResumeFacts, Row,
    SteadyFacts, VerifyFigures,
};
use results::read::ResultSet;
use serde_json::json;

use crate::rules::{after, loads, says};

type Spoil = fn(&mut ResultSet);

fn repeats(r: &mut ResultSet, n: u32) {
    *r = fixture::with(n, 7_600.0);
    r.manifest.simulated = false;
}

fn slow_repeat(r: &mut ResultSet, factor: u64) {
    repeats(r, 5);
    let load = loads(r, "vdo").nth(1).unwrap();
    load.duration_ns = load.duration_ns * factor / 100;
    for operation in load.operations.values_mut() {
        operation.iops = operation.iops.map(|iops| iops * 100.0 / factor as f64);
        let rate = operation.throughput_bytes_per_s;
        operation.throughput_bytes_per_s = rate.map(|rate| rate * 100.0 / factor as f64);
    }
}

/// All cells ran on one kernel but the last, which ran on this one.
fn kernels(r: &mut ResultSet, last: &str) {
    for cell in &mut r.cells {
        let known = &mut cell.record.as_mut().unwrap().ran_on.0;
        known.insert("kernel".to_owned(), "Linux 6.12.0".to_owned());
    }
    let record = r.cells.last_mut().unwrap().record.as_mut().unwrap();
    record.ran_on.0.insert("kernel".to_owned(), last.to_owned());
}

fn verified(r: &mut ResultSet, checked: u64, foreign: u64) {
    r.manifest.plan.variants[1].stages[1].load["verify"] = "both".into();
    for load in loads(r, "vdo") {
        load.verify = Some(VerifyFigures { checked, foreign, ..VerifyFigures::default() });
    }
}

fn late(r: &mut ResultSet, p99: u64) {
    let served = json!({"late_p99_ns": p99, "model_p50_ns": 1_000_000});
    r.manifest.lab = Some(json!({"disks": [{"role": "slow", "model": {"served": served}}]}));
}

/// An open loop did so much of what was due.
fn rated(r: &mut ResultSet, percent: f64) {
    let rate = RateFacts {
        asked_iops: Some(30_000.0),
        asked_bytes_per_s: None,
        done_percent: Some(percent),
        kept: percent >= 95.0,
    };
    loads(r, "vdo").for_each(|load| load.rate = Some(rate));
}

/// Two jobs; the second does so many thousandths of the I/Os of the first.
fn jobs(r: &mut ResultSet, thousandths: u64) {
    for load in loads(r, "vdo") {
        let job = |job, ios| JobSummary {
            job,
            duration_ns: load.duration_ns,
            ios,
            bytes: ios * 4096,
            errors: 0,
            operations: Default::default(),
        };
        load.jobs = vec![job(0, 1_000_000), job(1, 1_000 * thousandths)];
    }
}

fn duplicates(r: &mut ResultSet, achieved: f64) {
    for load in loads(r, "vdo") {
        load.achieved.as_mut().unwrap().duplicate_percent = Some(achieved);
    }
}

fn failing(r: &mut ResultSet, errors: u64) {
    for load in loads(r, "vdo") {
        let operation = load.operations.get_mut("randwrite").unwrap();
        operation.errors = [("EIO".into(), errors)].into();
    }
}

fn costly(r: &mut ResultSet, nanos: u64) {
    for row in r.cells.iter_mut().flat_map(|cell| &mut cell.rows) {
        if let Row::Sample(sample) = row
            && sample.source == "machine.diskstats"
        {
            sample.cost_cpu_ns = nanos;
        }
    }
}

fn direct(r: &mut ResultSet, direct: bool) {
    loads(r, "plain").for_each(|load| {
        (load.engine.direct, load.engine.backend) = (direct, "io_uring".into());
    });
}

fn second_load(r: &mut ResultSet, writes: bool) {
    for cell in r.cells.iter_mut().filter(|cell| cell.entry.variant == "vdo") {
        let record = cell.record.as_mut().unwrap();
        let mut second = record.stages[1].clone();
        let load = second.load.as_mut().unwrap();
        load.operations.clear();
        if !writes {
            (load.asked, load.achieved) = (None, None);
        }
        record.stages.push(second);
    }
}

fn leftovers(r: &mut ResultSet, left: &[&str]) {
    let left = left.iter().map(|&name| name.to_owned()).collect();
    r.cells[4].record.as_mut().unwrap().leftovers = Some(left);
}

fn failed_sample(r: &mut ResultSet, error: Option<&str>) {
    let sample = r.cells[0].rows.iter_mut().find_map(|row| match row {
        Row::Sample(sample) => Some(sample),
        _ => None,
    });
    sample.unwrap().error = error.map(str::to_owned);
}

/// One interval of each run of VDO has so many percent of its bytes, and the next one the rest of them too.
fn drop_out(r: &mut ResultSet, percent: u64) {
    for cell in r.cells.iter_mut().filter(|cell| cell.entry.variant == "vdo") {
        let rows = cell.rows.iter_mut().filter_map(|row| match row {
            Row::Interval(row) => Some(row),
            _ => None,
        });
        let mut rows = rows.skip(20);
        let (low, next) = (rows.next().unwrap(), rows.next().unwrap());
        let moved = low.bytes - low.bytes * percent / 100;
        (low.bytes, next.bytes) = (low.bytes - moved, next.bytes + moved);
    }
}

/// One cell on CPUs of so many MHz, all others at 2,400.
fn one_at(r: &mut ResultSet, slow: f64) {
    for (place, cell) in r.cells.iter_mut().enumerate() {
        let mhz = if place == 3 { slow } else { 2_400.0 };
        let load = MachineLoad { frequency_mhz: Some(mhz), ..MachineLoad::default() };
        cell.record.as_mut().unwrap().machine = Some(load);
    }
}

/// The measured load was to become steady over such a window.
fn steady(r: &mut ResultSet, rule: &str) {
    let load = &mut r.manifest.plan.variants[0].stages.last_mut().unwrap().load;
    load["steady"] = rule.into();
    load["size"] = "1G".into();
    load["content"] = json!({});
    load["ops"] = json!({"randwrite": 100.0});
}

fn state(r: &mut ResultSet, state: CellState) {
    repeats(r, 6);
    let record = r.cells[0].record.as_mut().unwrap();
    record.state = state;
    record.reason = (state == CellState::Failed).then(|| "the guest crashed".into());
}

/// The machine was busy for 100 s; clock ticks charged `ticks_s` of these.
fn charged(r: &mut ResultSet, ticks_s: f64) {
    let record = r.cells[0].record.as_mut().unwrap();
    let stage = record.stages.iter_mut().find(|stage| stage.measured).unwrap();
    let figures = [("busy_s", 100.0), ("ticks_s", ticks_s)];
    stage.machine = figures.map(|(id, s)| (id.to_owned(), Some(s))).into();
}

/// Turns the writes of measured loads into reads, of which devices delivered this share.
fn delivered(r: &mut ResultSet, percent: f64) {
    for question in &mut r.manifest.plan.questions {
        question.operation = None;
    }
    for cell in &mut r.cells {
        for row in &mut cell.rows {
            if let Row::Interval(row) = row
                && row.operation == "randwrite"
            {
                row.operation = "randread".into();
            }
        }
        let stages = cell.record.iter_mut().flat_map(|record| &mut record.stages);
        for stage in stages.filter(|stage| stage.measured) {
            let load = stage.load.as_mut().unwrap();
            let reads = load.operations.remove("randwrite").unwrap();
            let bytes = percent / 100.0 * reads.bytes as f64;
            load.operations.insert("randread".into(), reads);
            let figures = [("device_read_bytes".to_owned(), Some(bytes))].into();
            stage.layers.insert("data".into(), figures);
        }
    }
}

/// Lets the run go on with so many cells that were kept.
fn gone_on(result: &mut ResultSet, kept: usize) {
    let started_utc = "2026-11-21T12:00:00Z".into();
    result.manifest.resumed =
        vec![ResumeFacts { started_utc, command: Vec::new(), kept, tool_version: None }];
}

/// Makes it a result that was imported from fio, the second variant with an option of its own.
fn driven(result: &mut ResultSet, option: &str) {
    loads(result, "vdo").for_each(|load| load.ended_by = "fio".into());
    let variants = &mut result.manifest.plan.variants;
    for layer in variants.iter_mut().flat_map(|variant| &mut variant.stack) {
        layer.settings.clear();
    }
    variants[1].stack[0].settings.insert(option.into(), "8k".into());
}

const CASES: [(&str, Spoil, Spoil); 37] = [
    ("changed_files", |r| r.seal = Seal::Broken(vec!["x".into()]), |r| r.seal = Seal::Whole),
    (
        "figures_contradict",
        |r| loads(r, "vdo").for_each(|l| l.operations.get_mut("randwrite").unwrap().ios += 1),
        |r| loads(r, "vdo").for_each(|l| l.operations.get_mut("randwrite").unwrap().ios += 0),
    ),
    ("simulated", |r| r.manifest.simulated = true, |r| r.manifest.simulated = false),
    ("incomplete", |r| r.incomplete = Some("1 cell".into()), |r| r.incomplete = None),
    ("resumed", |r| gone_on(r, 3), |r| gone_on(r, 0)),
    ("other_options", |r| driven(r, "bs"), |r| driven(r, "filename")),
    ("kernels_differ", |r| kernels(r, "Linux 6.18.1"), |r| kernels(r, "Linux 6.12.0")),
    ("wrong_blocks", |r| verified(r, 100, 1), |r| verified(r, 100, 0)),
    ("failed_cells", |r| state(r, CellState::Failed), |r| state(r, CellState::Done)),
    ("load_errors", |r| failing(r, 1), |r| failing(r, 0)),
    ("achieved_off_asked", |r| duplicates(r, 47.0), |r| duplicates(r, 49.1)),
    (
        "content_not_measured",
        |r| loads(r, "vdo").for_each(|load| load.achieved = None),
        |r| loads(r, "vdo").for_each(|load| (load.asked, load.achieved) = (None, None)),
    ),
    (
        "guest_clock",
        |r| r.manifest.lab = Some(json!({"guest_clock_rate": 1.06})),
        |r| r.manifest.lab = Some(json!({"guest_clock_rate": 1.04})),
    ),
    ("late_disk", |r| late(r, 101_000), |r| late(r, 99_000)),
    (
        "emulated_cpu",
        |r| r.manifest.accelerator = Accelerator::Tcg,
        |r| r.manifest.accelerator = Accelerator::None,
    ),
    (
        "virtual_machine",
        |r| r.manifest.accelerator = Accelerator::Kvm,
        |r| drop(r.manifest.host.0.insert("virtualisation".into(), "none".into())),
    ),
    ("uneven_course", |r| drop_out(r, 40), |r| drop_out(r, 60)),
    ("too_few_repeats", |r| repeats(r, 4), |r| repeats(r, 5)),
    ("not_verified", |r| verified(r, 0, 0), |r| verified(r, 1, 0)),
    ("page_cache", |r| direct(r, false), |r| direct(r, true)),
    ("reads_reach_no_disk", |r| delivered(r, 49.0), |r| delivered(r, 51.0)),
    ("rate_not_kept", |r| rated(r, 94.0), |r| rated(r, 96.0)),
    ("uneven_jobs", |r| jobs(r, 490), |r| jobs(r, 510)),
    ("leftovers", |r| leftovers(r, &["vg0-pool"]), |r| leftovers(r, &[])),
    (
        "cell_notices",
        |r| r.cells[3].record.as_mut().unwrap().notices.push("no memory".into()),
        |r| r.cells[3].record.as_mut().unwrap().notices.clear(),
    ),
    ("samples_failed", |r| failed_sample(r, Some("no device")), |r| failed_sample(r, None)),
    ("load_notices", |r| says(r, "short"), |r| says(r, "")),
    ("stood_still", |r| says(r, "Fathom itself did not run for 2.0 s: it"), |r| says(r, "")),
    ("content_of_several_loads", |r| second_load(r, true), |r| second_load(r, false)),
    ("uneven_repeats", |r| slow_repeat(r, 200), |r| slow_repeat(r, 102)),
    ("cpu_sources", |r| charged(r, 89.0), |r| charged(r, 91.0)),
    (
        "order_not_drawn",
        |r| r.manifest.plan.order_drawn = false,
        |r| r.manifest.plan.order_drawn = true,
    ),
    (
        "disturbed_cells",
        |r| r.cells[3].entry.disturbed_percent = Some(34.0),
        |r| r.cells[3].entry.disturbed_percent = None,
    ),
    ("slow_cpus", |r| one_at(r, 2_100.0), |r| one_at(r, 2_200.0)),
    ("short_window", |r| steady(r, "iops:5%:1s"), |r| steady(r, "iops:5%:3600s")),
    ("not_sealed", |r| r.seal = Seal::None, |r| r.seal = Seal::Whole),
    ("sampling_expensive", |r| costly(r, 20_000_000), |r| costly(r, 5_000_000)),
];

type Change = fn(&mut PlanFacts);

/// The measured load of the second variant, as planned.
fn load(plan: &mut PlanFacts) -> &mut serde_json::Value {
    &mut plan.variants[1].stages[1].load
}

fn sync_of_command(plan: &mut PlanFacts, synced: bool) {
    plan.variants[1].stages[1].kind = "command".into();
    plan.variants[1].stages[1].synced = Some(synced);
}

/// A load that reads at random after one that writes so much of its range.
fn reading(plan: &mut PlanFacts, written: &str) {
    for variant in &mut plan.variants {
        let mut reads = variant.stages[1].clone();
        for (stage, op) in [(&mut variant.stages[1], "write"), (&mut reads, "randread")] {
            stage.target_bytes = Some(1 << 30);
            stage.load["ops"] = json!({ op: 100.0 });
            stage.load["pattern"] = serde_json::Value::Null;
            stage.load["passes"] = serde_json::Value::Null;
            stage.load["content"] = json!({});
        }
        variant.stages[1].load["bytes"] = written.into();
        variant.stages[1].measured = false;
        reads.load["ios"] = 1000.into();
        reads.name = "reads".into();
        variant.stages.push(reads);
    }
}

const PLANS: [(&str, Change, Change); 7] = [
    ("few_repeats", |p| p.repeat = 4, |p| p.repeat = 5),
    (
        "cached_io",
        |p| load(p)["direct"] = false.into(),
        |p| {
            load(p)["direct"] = false.into();
            load(p)["sync"] = "fsync".into();
            load(p)["content"] = json!({});
        },
    ),
    ("command_not_synced", |p| sync_of_command(p, false), |p| sync_of_command(p, true)),
    (
        "content_doubtful",
        |p| load(p)["content"] = json!({"compress": "1.6x"}),
        |p| load(p)["content"] = json!({"compress": "3x"}),
    ),
    ("bytes_in_flight_differ", |p| sized(p, 16_384, 32), |p| sized(p, 16_384, 8)),
    ("reads_of_nothing", |p| reading(p, "511M"), |p| reading(p, "512M")),
    ("window_below_a_pass", |p| capped(p, "1023KiB"), |p| capped(p, "1M")),
];

/// A measured load over 64 MiB that is to become steady over 64 s, with so many bytes a second at most.
fn capped(plan: &mut PlanFacts, bytes: &str) {
    let load = &mut plan.variants[0].stages.last_mut().unwrap().load;
    load["content"] = json!({});
    load["ops"] = json!({"randwrite": 100.0});
    load["size"] = "64M".into();
    load["steady"] = "iops:5%:64s".into();
    load["limit"] = format!("{bytes}/s").into();
}

/// The load of the first variant as the other's, in blocks of such a size and so many in flight.
fn sized(plan: &mut PlanFacts, size: u64, depth: u32) {
    let mut changed = load(plan).clone();
    (changed["block_size"], changed["depth"]) = (size.into(), depth.into());
    plan.variants[0].stages.last_mut().unwrap().load = changed;
    (load(plan)["block_size"], load(plan)["depth"]) = (4096.into(), 32.into());
}

/// The plan of the made-up result, with a load that this version can read.
fn plan(change: Change) -> PlanFacts {
    let mut plan = fixture::result().manifest.plan;
    load(&mut plan)["content"] = json!({"dedupe": 50.0, "compress": "2.5x"});
    load(&mut plan)["ops"] = json!({"randwrite": 100.0});
    change(&mut plan);
    plan
}

fn ids(findings: &[results::model::Finding]) -> Vec<&str> {
    findings.iter().map(|finding| finding.rule.as_str()).collect()
}

#[test]
fn every_common_rule_has_a_case_that_makes_it_fire_and_one_that_keeps_it_silent() {
    let known: BTreeSet<_> = CASES.iter().map(|(id, ..)| *id).collect();
    let known: BTreeSet<_> = PLANS.iter().map(|(id, ..)| *id).chain(known).collect();
    let rules = doctor::rules();
    let common: BTreeSet<_> = rules
        .iter()
        .filter(|rule| rule.layer.is_none())
        .filter(|rule| ![doctor::When::Standing, doctor::When::Watched].contains(&rule.when))
        .map(|rule| rule.id)
        .collect();
    assert_eq!(common, known);
    for (id, fire, silent) in CASES {
        let found = after(fire);
        assert!(ids(&found).contains(&id), "{id}: {found:#?}");
        assert_eq!(ids(&after(silent)), [""; 0], "{id} on what is not enough");
    }
}

#[test]
fn a_load_that_never_settled_counts_as_steady_over_no_window() {
    let settled = |at: Option<u64>, all: bool| {
        let found = after(|r| {
            steady(r, "iops:5%:1s");
            for (place, load) in loads(r, "plain").enumerate() {
                load.steady = Some(SteadyFacts {
                    metric: "iops".into(),
                    settled_ns: at.filter(|_| all || place == 0),
                    window_ns: 1_000_000_000,
                    slope_percent: Some(9.0),
                    spread_percent: Some(9.0),
                    slope_limit_percent: 5.0,
                    spread_limit_percent: 10.0,
                });
            }
        });
        ids(&found).contains(&"short_window")
    };
    assert!(settled(Some(2_000_000_000), true) && settled(Some(2_000_000_000), false));
    assert!(!settled(None, true));
}

#[test]
fn every_rule_for_plans_fires_on_what_it_is_for_and_is_silent_just_before() {
    assert_eq!(ids(&doctor::check_plan(&plan(|_| {}))), [""; 0]);
    for (id, fire, silent) in PLANS {
        let found = doctor::check_plan(&plan(fire));
        assert!(ids(&found).contains(&id), "{id}: {found:#?}");
        assert_eq!(ids(&doctor::check_plan(&plan(silent))), [""; 0], "{id} on what is not enough");
    }
}

#[test]
fn an_id_is_one_rule_of_whatever_layers_which_says_what_it_reads_what_to_do_and_where_it_comes_from()
 {
    let rules = doctor::rules();
    let ids: BTreeSet<_> = rules.iter().map(|rule| (rule.layer, rule.id)).collect();
    assert_eq!(ids.len(), rules.len());
    for rule in &rules {
        // Layers may share a rule: it says the same then.
        let same = |other: &&doctor::RuleAbout| other.id == rule.id;
        assert!(
            rules
                .iter()
                .filter(same)
                .all(|o| doctor::RuleAbout { layer: rule.layer, ..*o } == *rule)
        );
        for text in [rule.id, rule.text, rule.reads, rule.remedy, rule.source] {
            assert!(!text.is_empty(), "{rule:?}");
        }
        assert!(rule.text.ends_with('.') && rule.remedy.ends_with('.'), "{rule:?}");
    }
}

#[test]
fn doubtful_content_is_told_of_each_variant_that_has_doubts_of_its_own() {
    let found = doctor::check_plan(&plan(|p| {
        load(p)["content"] = json!({"compress": "4x"});
        for sync in ["fsync:32", "fsync:8", "fsync:8"] {
            let mut other = p.variants[1].clone();
            other.name = format!("{sync} {}", p.variants.len());
            other.stages[1].load["sync"] = sync.into();
            p.variants.push(other);
        }
    }));
    let doubtful = found.iter().filter(|finding| finding.rule == "content_doubtful");
    let of: Vec<_> = doubtful.filter_map(|finding| finding.subject.as_deref()).collect();
    assert_eq!(of, ["fsync:32 2", "fsync:8 3"]);
}

#[test]
fn layers_look_at_plans_too_and_say_what_several_variants_have_alike_once() {
    let found = doctor::check_plan(&plan(|p| {
        p.variants[1].stages.remove(0);
        let mut other = p.variants[1].clone();
        other.name = "other".into();
        p.variants.push(other);
    }));
    assert_eq!(ids(&found), ["no_allocate"], "{found:#?}");
    assert_eq!(found[0].subject.as_deref(), Some("vdo"));
}
