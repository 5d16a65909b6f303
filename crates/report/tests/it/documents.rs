//! JSON and CSV: the keys that are promised, and the figures that they hold.

use std::collections::BTreeSet;

use analysis::{CacheCourse, CacheSpell, CacheWord, RunApart};
use report::view::CacheRow;
use results::ResultSet;
use results::model::{
    CacheBound, Criterion, CriterionResult, JobSummary, LayerFacts, MachineLoad, PictureFacts,
    Proof, ProofOutcome, ProofRound, ReportedSpread, Requirement, SequentialFacts, Show,
    StateFigures, StopReason, StoppedFacts,
};
use serde_json::Value;

use crate::given;

/// First column of the table of `docs/json.md` between two marks.
fn promised(name: &str) -> BTreeSet<String> {
    let page = concat!(env!("CARGO_MANIFEST_DIR"), "/../../docs/json.md");
    let page = std::fs::read_to_string(page).unwrap();
    let rest = page.split_once(&format!("<!-- keys of {name}: begin -->")).unwrap().1;
    let table = rest.split_once(&format!("<!-- keys of {name}: end -->")).unwrap().0;
    let rows = table.lines().filter_map(|line| line.strip_prefix("| `"));
    rows.map(|row| row.split_once('`').unwrap().0.to_owned()).collect()
}

/// Every path of a document, names and places put in brackets.
fn paths(value: &Value, path: &str, found: &mut BTreeSet<String>) {
    match value {
        Value::Object(map) if !is_figure(value) => {
            for (key, value) in map {
                let step = match path {
                    "" => key.clone(),
                    "variants[].stages" => format!("{path}.<stage>"),
                    p if p.ends_with(".operations") => format!("{path}.<operation>"),
                    p if p.ends_with(".layers") => format!("{path}.<layer>"),
                    p if p.ends_with("<operation>")
                        || p.ends_with("<layer>")
                        || p.ends_with(".cpu")
                        || p.ends_with(".load")
                        || p.ends_with(".command") =>
                    {
                        format!("{path}.<metric>")
                    }
                    _ => format!("{path}.{key}"),
                };
                found.insert(step.clone());
                paths(value, &step, found);
            }
        }
        Value::Array(list) => list.iter().for_each(|v| paths(v, &format!("{path}[]"), found)),
        _ => {}
    }
}

fn is_figure(value: &Value) -> bool {
    // A spread has a median, too, but also a mean.
    value.get("median").is_some() && value.get("mean").is_none()
}

/// The same, with a first stage that brought the volume to a state, almost.
fn with_a_state(mut set: ResultSet) -> ResultSet {
    let judged = |metric: &str, must, value, met| CriterionResult {
        criterion: Criterion { layer: "vdo".into(), metric: metric.into(), must },
        before: Some(61.0),
        value: Some(value),
        met,
    };
    let record = set.cells[0].record.as_mut().expect("a cell that ran");
    record.stages[0].state = Some(StateFigures {
        layer: "vdo".into(),
        state: "steady".into(),
        reached: false,
        criteria: vec![
            judged("physical_used_percent", Requirement::StayWithin(1.0), 61.5, true),
            judged("slabs_reopened", Requirement::Grow, 0.0, false),
        ],
    });
    set
}

#[test]
fn the_most_that_a_cache_can_hit_stands_beside_what_it_hit() {
    let mut set = given::two_operations();
    let bound = CacheBound {
        layer: "vdo".into(),
        percent: 97.0,
        chunk_bytes: 4096,
        chunks: 9,
        warm_up_ns: None,
        finest: None,
    };
    let stages = set.manifest.plan.variants.iter_mut().flat_map(|variant| &mut variant.stages);
    stages.filter(|stage| stage.measured).for_each(|stage| stage.caches.push(bound.clone()));
    let records = set.cells.iter_mut().filter_map(|cell| cell.record.as_mut());
    for stage in records.flat_map(|record| &mut record.stages) {
        let figures = stage.layers.entry("vdo".into()).or_default();
        figures.insert("read_hit_percent".into(), Some(91.5));
    }
    let driven = given::view(&set).driven;
    let (name, text) = driven.iter().find(|(name, _)| name.starts_with("read hits")).unwrap();
    assert!(name.starts_with("read hits of vdo in "), "{name}");
    assert!(text.ends_with("91.5 %; computed: 97 % at most"), "{text}");
}

#[test]
fn a_state_stands_on_the_page_and_in_json_with_what_proves_it_and_what_does_not() {
    let view = given::view(&with_a_state(given::two_operations()));
    let [stays, grows] = &view.states[..] else { panic!("{:?}", view.states) };
    assert_eq!(stays.asked, "physical_used_percent of vdo stays within 1 % from round to round");
    assert_eq!((&*stays.read, stays.met), ("61.5 %, 61 % a round before", true));
    assert_eq!((&*grows.state, grows.met), ("vdo is steady", false));
    let page = report::html::page(&[view]);
    assert!(page.contains("States before the measurement") && page.contains("1 of them not met"));
    let none = report::html::page(&[given::view(&given::two_operations())]);
    assert!(!none.contains("States before the measurement"));
}

/// Gives the measured loads of `set` two jobs, the second with a fiftieth of the I/Os; with figures of their own if `each` is set.
fn with_jobs(mut set: ResultSet, each: bool) -> ResultSet {
    for cell in &mut set.cells {
        let stages = cell.record.iter_mut().flat_map(|record| &mut record.stages);
        for load in stages.filter(|stage| stage.measured).filter_map(|stage| stage.load.as_mut()) {
            let operations = if each { load.operations.clone() } else { Default::default() };
            let all: u64 = load.operations.values().map(|operation| operation.ios).sum();
            let (duration_ns, bytes, errors) = (load.duration_ns, 0, 0);
            load.jobs = [(0, all), (1, all / 50)]
                .map(|(job, ios)| JobSummary {
                    job,
                    duration_ns,
                    ios,
                    bytes,
                    errors,
                    operations: operations.clone(),
                })
                .into();
        }
    }
    set
}

#[test]
fn each_job_stands_where_figures_stand_where_it_is_asked_for_and_the_slowest_always() {
    let documents = |each| {
        let view = given::view(&with_jobs(fixture::result(), each));
        let text = report::terminal::full_text(&view, 100, false);
        let csv = report::csv::csv(&view);
        (report::json::json(&view), csv, text, report::html::page(&[view]))
    };
    let (json, csv, text, page) = documents(true);
    let variant = &json["variants"][0];
    let slowest = &variant["operations"]["randwrite"]["slowest_job_percent"];
    assert!((slowest["median"].as_f64().unwrap() - 2.0).abs() < 0.01, "{slowest}");
    assert_eq!((&slowest["n"], &variant["jobs"][1]["job"]), (&5.into(), &1.into()));
    let iops = &variant["jobs"][1]["operations"]["randwrite"]["iops"]["median"];
    assert!(iops.as_f64().unwrap() > 0.0, "{iops}");
    let job_lines = csv.lines().filter(|line| line.starts_with("job,randwrite,iops,"));
    let numbers: Vec<&str> = job_lines.filter_map(|line| line.rsplit(',').next()).collect();
    assert_eq!(numbers, ["0", "1", "0", "1"], "{csv}");
    let columns = |line: &str| line.split(',').count();
    assert!(csv.lines().all(|line| columns(line) == columns(csv.lines().next().unwrap())));
    assert!(text.contains("Jobs of randwrite, plain:") && text.contains("  job 1 "), "{text}");
    assert!(page.contains("Each job by itself") && page.contains("slowest job, of the fastest"));
    let (json, csv, text, page) = documents(false);
    assert!(json["variants"][0]["jobs"].is_null() && !csv.contains("\njob,"), "{csv}");
    assert!(text.contains("slowest job") && !text.contains("Jobs of"), "{text}");
    assert!(!page.contains("Each job by itself") && page.contains("slowest job, of the fastest"));
}

/// Three variants: one on a disk, one on another, and one on both.
fn on_two_disks() -> ResultSet {
    let mut set = given::variants(3);
    let device_names: [&[(&str, &str)]; 3] =
        [&[("data", "hdd")], &[("data", "ssd")], &[("origin", "hdd"), ("cache", "ssd")]];
    for (variant, names) in set.manifest.plan.variants.iter_mut().zip(device_names) {
        let top = variant.stack.pop().unwrap();
        let device = variant.stack.pop().unwrap();
        let named = |name: &str| LayerFacts { name: name.to_owned(), ..device.clone() };
        variant.stack.extend(names.iter().map(|(_, name)| named(name)));
        let on = names.iter().map(|(input, name)| ((*input).to_owned(), (*name).to_owned()));
        variant.stack.push(LayerFacts { on: on.collect(), ..top });
    }
    for cell in &mut set.cells {
        let writes_of = match cell.entry.variant.as_str() {
            "plain" => vec![("hdd", 100.0)],
            "vdo" => vec![("ssd", 300.0)],
            _ => vec![("hdd", 50.0), ("ssd", 200.0)],
        };
        let layers = &mut cell.record.as_mut().unwrap().layers;
        layers.remove("data");
        for (name, writes) in writes_of {
            let figure = [("device_writes".to_owned(), Some(writes))];
            layers.insert(name.to_owned(), figure.into());
        }
    }
    set
}

#[test]
fn a_device_at_the_place_of_another_has_its_figures_once_under_its_own_name() {
    let view = given::view(&on_two_disks());
    let json = report::json::json(&view);
    let layers = |index: usize| &json["variants"][index]["layers"];
    assert_eq!(layers(0)["hdd"]["device_writes"]["median"], 100.0);
    assert_eq!(layers(1)["ssd"]["device_writes"]["median"], 300.0, "{}", layers(1));
    assert_eq!(layers(2)["ssd"]["device_writes"]["median"], 200.0);
    let csv = report::csv::csv(&view);
    let is_of_ssd =
        |line: &&str| line.starts_with("layer,ssd,device_writes,") && line.contains(",vdo,");
    let lines: Vec<&str> = csv.lines().filter(is_of_ssd).collect();
    assert!(matches!(lines[..], [line] if line.contains(",vdo,300,")), "{lines:?}");
}

#[test]
fn a_picture_that_names_a_device_as_any_variant_does_shows_it() {
    let mut set = on_two_disks();
    set.manifest.plan.variants.truncate(2);
    set.cells.retain(|cell| ["plain", "vdo"].contains(&cell.entry.variant.as_str()));
    for name in ["hdd", "ssd"] {
        let picture = given::picture(Show::Comparison);
        let (metric, layer) = (Some("device_writes".to_owned()), Some(name.to_owned()));
        set.manifest.plan.pictures = vec![PictureFacts { metric, layer, ..picture }];
        let view = given::view(&set);
        let shown = |chart: &report::view::Chart| {
            view.answers.contains(&chart.id) && chart.id.starts_with("bars-device_writes")
        };
        assert!(view.charts.iter().any(shown), "{name}: {:?}", view.answers);
    }
}

fn document() -> Value {
    let mut set = with_jobs(given::two_operations(), true);
    let planned = SequentialFacts { looks: vec![5, 8], time: None };
    set.manifest.plan.sequential = Some(planned);
    set.manifest.stopped = Some(StoppedFacts { after: 5, why: StopReason::Most });
    let record = set.cells[0].record.as_mut().expect("a cell that ran");
    record.machine = Some(MachineLoad {
        others_percent: Some(0.4),
        steal_percent: Some(0.0),
        cpu_pressure_percent: Some(66.0),
        memory_pressure_percent: Some(0.0),
        io_pressure_percent: Some(23.0),
        frequency_mhz: Some(2_600.0),
    });
    let mut view = given::view(&with_a_state(set));
    view.effects = given::view(&fixture::crossed(5)).effects;
    let mut compared = view.figures.iter_mut().flat_map(|row| row.comparisons.iter_mut().flatten());
    let apart = RunApart { variant: "vdo".into(), repeat: 2, cell: 4 };
    compared.next().expect("a comparison").apart.push(apart);
    let reported = &mut view.reported[0].rows[0];
    let (q1, q3, min, max, std_dev) = (19.0, 21.0, 18.0, 22.0, 1.0);
    reported.source_spread = Some(ReportedSpread { q1, q3, min, max, std_dev });
    reported.spread = stats::spread(&[18.0, 20.0, 22.0]);
    view.courses = given::view(&fixture::with_a_step(5)).courses;
    view.splits = given::view(&given::split()).splits;
    view.ladders = given::view(&crate::ladders::measured(0)).ladders;
    view.caches = vec![CacheRow {
        course: CacheCourse {
            variant: 1,
            layer: "cache".into(),
            stage: "load".into(),
            metric: "read_hit_percent",
            best: 99.0,
            spells: vec![CacheSpell { word: CacheWord::Junk, from_s: 0.0, to_s: 40.0 }],
        },
        metric: "read hits".into(),
        bound: None,
        text: "vdo: the cache is full of junk all the time.".into(),
    }];
    let limit = view.findings.iter_mut().find(|finding| !finding.changes.is_empty());
    limit.expect("a limit to look at").proof = Some(Proof {
        outcome: ProofOutcome::Unclear,
        figure: "IOPS of randwrite".into(),
        rounds: vec![ProofRound {
            verdict: "unclear".into(),
            ratio: Some(1.0),
            low: Some(0.9),
            high: Some(1.1),
            repeats: 5,
            seed: fixture::SEED,
            result: "proof".into(),
        }],
    });
    report::json::json(&view)
}

#[test]
fn the_page_names_what_takes_a_limit_away_in_an_experiment_and_on_a_volume_of_one_s_own() {
    let mut view = given::view(&given::two_operations());
    let limit = view.findings.iter_mut().find(|finding| !finding.changes.is_empty()).unwrap();
    let change = limit.changes[0].line();
    limit.commands = vec!["lvchange -an VG/LV".into(), "lvchange -ay VG/LV".into()];
    let page = report::html::page(&[view]);
    assert!(page.contains("What to write in the "), "{change}");
    assert!(page.contains(&format!("<pre>{}", change.replace('"', "&quot;"))), "{change}");
    assert!(page.contains("<pre>lvchange -an VG/LV\nlvchange -ay VG/LV</pre>"));
}

#[test]
fn every_promised_key_is_written_and_every_written_key_is_promised() {
    let mut written = BTreeSet::new();
    let document = document();
    paths(&document, "", &mut written);
    assert!(!document["findings"].as_array().unwrap().is_empty(), "no finding to look at");
    assert_eq!(written, promised("show"));
    let figure = &document["variants"][1]["layers"]["vdo"]["data_blocks_used"];
    let keys: BTreeSet<_> = figure.as_object().unwrap().keys().cloned().collect();
    assert_eq!(keys, promised("figure"));
}

#[test]
fn the_figures_that_scripts_rely_on_are_there() {
    let document = report::json::json(&given::view(&fixture::result()));
    let variants = &document["variants"];
    for variant in [&variants[0], &variants[1]] {
        let operation = &variant["operations"]["randwrite"];
        for key in [
            "iops",
            "throughput_bytes_per_s",
            "latency_p50_ns",
            "latency_p99_ns",
            "latency_p999_ns",
        ] {
            assert!(operation[key]["median"].as_f64().unwrap() > 0.0, "{key}");
            assert_eq!(operation[key]["n"], 5, "{key}");
            assert!(
                operation[key]["low"].as_f64().unwrap() <= operation[key]["high"].as_f64().unwrap()
            );
        }
        assert_eq!(variant["repeats"], 5);
        assert_eq!(variant["content"]["asked"]["duplicate_percent"], 50.0);
        assert_eq!(variant["content"]["achieved"]["duplicate_percent"]["median"], 49.9);
    }
    for key in [
        "data_blocks_used",
        "logical_blocks_used",
        "saving_percent",
        "compressed_fragments",
        "compressed_blocks",
        "dedupe_advice_valid",
    ] {
        assert!(variants[1]["layers"]["vdo"][key]["median"].as_f64().unwrap() > 0.0, "{key}");
    }
    assert_eq!(variants[0]["layers"].get("vdo"), None, "the plain disk has no VDO");
    let iops = document["comparisons"].as_array().unwrap().iter().find(|c| c["metric"] == "iops");
    let iops = iops.unwrap();
    assert_eq!(iops["verdict"], "worse");
    assert_eq!((&iops["base"], &iops["new"]), (&Value::from("plain"), &Value::from("vdo")));
    let medians =
        |i: usize| variants[i]["operations"]["randwrite"]["iops"]["median"].as_f64().unwrap();
    // The mean of the repeats' own ratios, which is near that of the medians.
    assert!((iops["ratio"].as_f64().unwrap() / (medians(1) / medians(0)) - 1.0).abs() < 0.02);
    assert!(
        iops["low"].as_f64() < iops["ratio"].as_f64()
            && iops["ratio"].as_f64() < iops["high"].as_f64()
    );
}

#[test]
fn what_verification_found_is_in_the_json_on_the_terminal_and_on_the_page() {
    let mut set = fixture::result();
    let (read, checked) = (8200, 8192);
    let foreign =
        results::model::VerifyFigures { read, checked, foreign: 260, ..Default::default() };
    let record = set.cells[1].record.as_mut().unwrap();
    record.stages[1].load.as_mut().unwrap().verify = Some(foreign);
    record.state = results::model::CellState::Failed;
    let view = given::view(&set);
    let document = report::json::json(&view);
    assert_eq!(document["variants"][1]["verified"]["wrong"]["foreign"], 260);
    assert_eq!(document["variants"][0]["verified"], Value::Null);
    for text in [report::terminal::text(&view, 100, false), given::page(&set)] {
        assert!(text.contains("verification found 260 foreign blocks"), "{text}");
        assert!(
            text.contains("vdo: 260 wrong (260 foreign) of 8,192 checked, of 8,200 read")
                || text.contains("<dd>vdo: 260 wrong"),
            "{text}"
        );
    }
}

#[test]
fn what_a_verdict_rests_on_is_in_the_document() {
    let iops_of = |repeats: u32| {
        let document = report::json::json(&given::view(&fixture::with(repeats, 7_600.0)));
        let all = document["comparisons"].as_array().unwrap().clone();
        all.into_iter().find(|c| c["metric"] == "iops").unwrap()
    };
    let (three, five) = (iops_of(3), iops_of(5));
    assert_eq!(five["threshold"], 0.03);
    let (p, adjusted) = (five["p"].as_f64().unwrap(), five["p_adjusted"].as_f64().unwrap());
    assert!(p < adjusted && adjusted < 0.001, "{five}");
    assert_eq!((&five["test"], &five["dropped"]), (&Value::from("paired"), &Value::from(0)));
    assert!(five["method"].as_str().unwrap().contains("log ratios within each repeat"), "{five}");
    assert!(five["repeats_that_would_decide"].is_null());
    assert!(three["repeats_that_would_decide"].is_null(), "three runs hardly know their spread");
}

#[test]
fn the_csv_holds_the_same_figures_as_the_json() {
    let view = given::view(&fixture::result());
    let (csv, json) = (report::csv::csv(&view), report::json::json(&view));
    let mut lines = csv.lines();
    let head: Vec<_> = lines.next().unwrap().split(',').collect();
    let place = |name: &str| head.iter().position(|h| *h == name).unwrap();
    let mut seen = 0;
    for line in lines {
        let fields: Vec<_> = line.split(',').collect();
        assert_eq!(fields.len(), head.len(), "{line}");
        let variant = if fields[place("variant")] == "plain" { 0 } else { 1 };
        let group = if fields[place("scope")] == "layer" { "layers" } else { "operations" };
        let figure =
            &json["variants"][variant][group][fields[place("name")]][fields[place("metric")]];
        let median = figure.get("median").and_then(Value::as_f64);
        assert_eq!(fields[place("median")].parse().ok(), median, "{line}");
        seen += 1;
    }
    assert_eq!(seen, view.figures.len() * view.variants.len());
}

#[test]
fn a_single_repeat_has_no_interval_and_its_verdict_is_unclear() {
    let document = report::json::json(&given::view(&fixture::with(1, 7_600.0)));
    let iops = &document["variants"][0]["operations"]["randwrite"]["iops"];
    assert!(iops["median"].is_f64() && iops["low"].is_null() && iops["high"].is_null());
    assert_eq!(document["comparisons"][0]["verdict"], "unclear");
}

#[test]
fn what_a_command_prints_stands_wherever_figures_stand() {
    let view = given::view(&fixture::with_picked_figures(5));
    let json = report::json::json(&view);
    let command = &json["variants"][1]["stages"]["random-write"]["command"];
    assert_eq!(command["files"]["median"], 2006.0);
    assert_eq!(command["files"]["n"], 5);
    assert!(command["folders"].is_null() && command.get("folders").is_some(), "{command}");
    let compared = json["comparisons"].as_array().unwrap();
    let compared = compared.iter().find(|c| c["metric"] == "files").unwrap();
    assert_eq!(compared["verdict"], "worse");
    let csv = report::csv::csv(&view);
    let line = csv.lines().find(|line| line.starts_with("command,command,files,bytes,vdo,2006,"));
    assert!(line.is_some_and(|line| line.contains(",worse,")), "{csv}");
    let text = report::terminal::text(&view, 100, false);
    assert!(text.contains("files") && text.contains("1.96 KiB"), "{text}");
    let page = report::html::page(std::slice::from_ref(&view));
    assert!(
        page.contains("1.96 KiB") && page.contains("the last match of the group"),
        "glossary and table"
    );
}
