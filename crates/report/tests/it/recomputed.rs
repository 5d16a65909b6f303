//! One figure of each chart computed again, from the bytes of `rows.log` and by a second path.

use std::collections::BTreeMap;
use std::path::Path;

use results::model::{Row, SampleRow};
use results::read::{CellData, ResultSet};
use results::sink::DirSink;
use serde_json::Value;

use crate::given;

/// The rows of a cell as they lie on the disk, read frame by frame.
fn rows(dir: &Path, folder: &str) -> Vec<Row> {
    let log = std::fs::read(dir.join("cells").join(folder).join("rows.log")).unwrap();
    results::frames::read(&log[..]).unwrap().0
}

/// A measured second stage: where it began.
fn measured_start(rows: &[Row]) -> u64 {
    let edges = rows.iter().filter_map(|row| match row {
        Row::Stage(edge) if edge.measured && !edge.ended => Some(edge.at_ns),
        _ => None,
    });
    edges.min().unwrap()
}

fn close(shown: f64, computed: f64, what: &str) {
    let distance = (shown - computed).abs() / computed.abs().max(1e-9);
    assert!(distance < 1e-6, "{what}: the page shows {shown}, the rows say {computed}");
}

/// The y of a series nearest to `x`.
fn at(series: &Value, x: f64) -> f64 {
    let xs: Vec<f64> =
        series["x"].as_array().unwrap().iter().map(|x| x.as_f64().unwrap()).collect();
    let near = |a: &usize, b: &usize| (xs[*a] - x).abs().total_cmp(&(xs[*b] - x).abs());
    let place = (0..xs.len()).min_by(near).unwrap();
    assert!((xs[place] - x).abs() < 1e-5, "no point at {x} s");
    series["y"][place].as_f64().unwrap()
}

fn series<'a>(chart: &'a Value, name: &str, repeat: Option<u64>) -> &'a Value {
    let all = chart["series"].as_array().unwrap();
    let wanted = |s: &&Value| s["name"] == name && s["repeat"].as_u64() == repeat;
    all.iter().find(wanted).unwrap_or_else(|| panic!("{}: no {name} {repeat:?}", chart["id"]))
}

fn randwrites(rows: &[Row]) -> impl Iterator<Item = &results::model::IntervalRow> {
    rows.iter().filter_map(|row| match row {
        Row::Interval(i) if i.operation == "randwrite" => Some(i),
        _ => None,
    })
}

/// I/Os over the time from the measured stage's begin to its end.
fn rate(rows: &[Row]) -> f64 {
    let edge = |ended: bool| {
        let edges = rows.iter().filter_map(|row| match row {
            Row::Stage(edge) if edge.measured && edge.ended == ended => Some(edge.at_ns),
            _ => None,
        });
        edges.max().unwrap()
    };
    let ios: u64 = randwrites(rows).map(|i| i.ios).sum();
    ios as f64 / ((edge(true) - edge(false)) as f64 / 1e9)
}

struct Given {
    rows: BTreeMap<(String, u64), Vec<Row>>,
}

impl Given {
    fn read(dir: &Path, set: &ResultSet) -> Self {
        let entries = set.cells.iter().map(|c| &c.entry);
        let rows = entries
            .map(|e| ((e.variant.clone(), u64::from(e.repeat)), rows(dir, &e.folder)))
            .collect();
        Self { rows }
    }

    fn of(&self, variant: &str, repeat: u64) -> (&[Row], u64) {
        let rows = &self.rows[&(variant.to_owned(), repeat)];
        (rows, measured_start(rows))
    }

    fn samples(&self, variant: &str, repeat: u64, source: &str) -> Vec<&SampleRow> {
        let (rows, start) = self.of(variant, repeat);
        let samples = rows.iter().filter_map(|row| match row {
            Row::Sample(s) if s.source == source && s.at_ns >= start => Some(s),
            _ => None,
        });
        samples.collect()
    }

    /// Fifth interval of the third repeat.
    fn intervals(&self, chart: &Value, value: impl Fn(&results::model::IntervalRow) -> f64) {
        for variant in ["plain", "vdo"] {
            let (rows, start) = self.of(variant, 3);
            let intervals = rows.iter().filter_map(|row| match row {
                Row::Interval(i) if i.operation == "randwrite" => Some(i),
                _ => None,
            });
            let fifth = intervals.clone().nth(4).unwrap();
            let x = (fifth.end_ns - start) as f64 / 1e9;
            close(at(series(chart, variant, Some(3)), x), value(fifth), variant);
        }
    }

    /// The 99th percentile of the second repeat, from the histograms of its intervals.
    fn percentiles(&self, chart: &Value) {
        for variant in ["plain", "vdo"] {
            let texts = self.of(variant, 2).0.iter().filter_map(|row| match row {
                Row::Interval(i) if i.operation == "randwrite" => i.histogram.as_deref(),
                _ => None,
            });
            let all = results::histogram::merge(texts).unwrap().unwrap();
            let p99 = all.value_at_quantile(0.99) as f64;
            close(at(series(chart, variant, Some(2)), 2.0), p99, variant);
        }
    }

    /// Middle of the repeats' values.
    fn median(&self, variant: &str, value: impl Fn(&[Row]) -> f64) -> f64 {
        let variant_rows = self.rows.iter().filter(|((name, _), _)| name == variant);
        let mut values: Vec<f64> = variant_rows.map(|(_, rows)| value(rows)).collect();
        values.sort_by(f64::total_cmp);
        values[values.len() / 2]
    }

    /// The two percentiles of every variant's bars, from the histograms of the intervals.
    fn latency_bars(&self, chart: &Value) {
        assert_eq!(chart["names"], serde_json::json!(["50 %", "99 %"]));
        for variant in ["plain", "vdo"] {
            for (place, share) in [(0.0, 0.5), (1.0, 0.99)] {
                let latency = |rows: &[Row]| {
                    let texts = rows.iter().filter_map(|row| match row {
                        Row::Interval(i) if i.operation == "randwrite" => i.histogram.as_deref(),
                        _ => None,
                    });
                    let all = results::histogram::merge(texts).unwrap().unwrap();
                    all.value_at_quantile(share) as f64
                };
                let computed = self.median(variant, latency);
                close(at(series(chart, variant, None), place), computed, variant);
            }
        }
    }

    /// The strip of a figure, run by run.
    fn of_strip(&self, set: &ResultSet, chart: &Value, id: &str) {
        match id {
            "strip-iops-randwrite" => self.strip(set, chart, |rows, _| rate(rows)),
            "strip-latency_p99_ns-randwrite" => self.strip(set, chart, |rows, _| {
                let texts = randwrites(rows).filter_map(|i| i.histogram.as_deref());
                let all = results::histogram::merge(texts).unwrap().unwrap();
                all.value_at_quantile(0.99) as f64
            }),
            "strip-cpu_per_io_us-randwrite" => self.strip(set, chart, |rows, cell| {
                let stages = &cell.record.as_ref().unwrap().stages;
                let load = stages.iter().find(|stage| stage.measured).unwrap().load.as_ref();
                let cpu = load.unwrap().cpu.unwrap();
                let ios: u64 = randwrites(rows).map(|i| i.ios).sum();
                (cpu.user_s + cpu.system_s) * 1e6 / ios as f64
            }),
            unknown => panic!("no second path recomputes chart {unknown}: write one"),
        }
    }

    /// The point of the second cell of a variant in the order of running, by the rows of that cell.
    fn strip(&self, set: &ResultSet, chart: &Value, value: impl Fn(&[Row], &CellData) -> f64) {
        for variant in ["plain", "vdo"] {
            let cells = set.cells.iter().enumerate();
            let (place, cell) = cells.filter(|(_, c)| c.entry.variant == variant).nth(1).unwrap();
            let (rows, _) = self.of(variant, u64::from(cell.entry.repeat));
            let shown = at(series(chart, variant, None), place as f64 + 1.0);
            close(shown, value(rows, cell), variant);
        }
    }

    /// All I/Os over all of the stage's time.
    fn iops_bars(&self, chart: &Value) {
        for variant in ["plain", "vdo"] {
            let iops = |rows: &[Row]| {
                let ios = rows.iter().filter_map(|row| match row {
                    Row::Interval(i) if i.operation == "randwrite" => Some(i.ios as f64),
                    _ => None,
                });
                let edges = rows.iter().filter_map(|row| match row {
                    Row::Stage(edge) if edge.measured => Some(edge.at_ns),
                    _ => None,
                });
                let (start, end) = (edges.clone().min().unwrap(), edges.max().unwrap());
                ios.sum::<f64>() / ((end - start) as f64 / 1e9)
            };
            close(at(series(chart, variant, None), 0.0), self.median(variant, iops), variant);
        }
    }

    /// Checks the saving since allocation at the tenth sample.
    fn saving(&self, chart: &Value) {
        let (rows, start) = self.of("vdo", 1);
        let stats = |row: &Row| match row {
            Row::Sample(s) if s.source == "vdo.stats" => Some(s.clone()),
            _ => None,
        };
        let allocated =
            rows.iter().filter_map(stats).find(|s| s.mark.as_deref() == Some("allocated"));
        let (before, now) = (allocated.unwrap(), self.unmarked()[9].clone());
        let growth = |field: &str| now.fields[field].unwrap() - before.fields[field].unwrap();
        let computed = 100.0 * (1.0 - growth("dataBlocksUsed") / growth("logicalBlocksUsed"));
        let x = (now.at_ns - start) as f64 / 1e9;
        close(at(series(chart, "vdo", Some(1)), x), computed, "saving");
    }

    /// Blocks of data from the ninth sample to the tenth.
    fn growth_of_data(&self, chart: &Value) {
        let samples = self.unmarked();
        let value = |i: usize| samples[i].fields["dataBlocksUsed"].unwrap();
        let x = (samples[9].at_ns - self.of("vdo", 1).1) as f64 / 1e9;
        close(at(series(chart, "vdo", Some(1)), x), value(9) - value(8), "data blocks");
    }

    /// Samples at their cadence, of the first repeat.
    fn unmarked(&self) -> Vec<&SampleRow> {
        let all = self.samples("vdo", 1, "vdo.stats");
        all.into_iter().filter(|sample| sample.mark.is_none()).collect()
    }

    /// The tenth sample of a field, or its growth per second since the ninth.
    fn field(&self, chart: &Value, source: &str, field: &str, name: &str, rate: bool) {
        let variant = if source.starts_with("vdo") || chart["id"].as_str().unwrap().starts_with('1')
        {
            "vdo"
        } else {
            "plain"
        };
        let samples = self.samples(variant, 1, source);
        let start = self.of(variant, 1).1;
        let x = (samples[9].at_ns - start) as f64 / 1e9;
        let value = |i: usize| samples[i].fields[field].unwrap();
        let seconds = (samples[9].at_ns - samples[8].at_ns) as f64 / 1e9;
        let computed = if rate { (value(9) - value(8)) / seconds } else { value(9) };
        close(at(series(chart, name, Some(1)), x), computed, field);
    }

    /// Seconds that all processors worked between two samples, as percent of one.
    fn processors(&self, chart: &Value) {
        for variant in ["plain", "vdo"] {
            let samples = self.samples(variant, 4, "machine.cpu");
            let worked = |i: usize| {
                samples[i].fields["user_s"].unwrap() + samples[i].fields["system_s"].unwrap()
            };
            let seconds = (samples[6].at_ns - samples[5].at_ns) as f64 / 1e9;
            let x = (samples[6].at_ns - self.of(variant, 4).1) as f64 / 1e9;
            let computed = 100.0 * (worked(6) - worked(5)) / seconds;
            close(at(series(chart, variant, Some(4)), x), computed, "CPU");
        }
    }

    /// The median over the repeats of a thread's CPU seconds per second, around the tenth second.
    fn threads(&self, chart: &Value) {
        let mut rates: Vec<f64> = (1..=5)
            .map(|repeat| {
                let samples = self.samples("vdo", repeat, "vdo.threads");
                let value = |i: usize| samples[i].fields["cpuQ0"].unwrap();
                let seconds = (samples[10].at_ns - samples[9].at_ns) as f64 / 1e9;
                (value(10) - value(9)) / seconds
            })
            .collect();
        rates.sort_by(f64::total_cmp);
        let shown = series(chart, "hashes and compresses (cpuQ0)", None);
        let xs = shown["x"].as_array().unwrap();
        let place = xs.iter().position(|x| (x.as_f64().unwrap() - 10.0).abs() < 0.3).unwrap();
        close(shown["y"][place].as_f64().unwrap(), rates[2], "cpuQ0");
    }
}

/// The made-up result with what it lacks: reads of the disk, and the processors' time.
fn with_reads_and_processors() -> ResultSet {
    let mut set = fixture::result();
    for cell in &mut set.cells {
        let mut rows = Vec::new();
        for row in cell.rows.drain(..) {
            let mut processors = None;
            let row = match row {
                Row::Sample(mut sample) if sample.source == "machine.diskstats" => {
                    let now = sample.at_ns as f64;
                    sample.fields.insert("data.read_bytes".to_owned(), Some((now / 1e3).sqrt()));
                    let mut cpu = SampleRow { source: "machine.cpu".to_owned(), ..sample.clone() };
                    let columns = [("user_s", 1.1), ("system_s", 1.3), ("idle_s", 1.0)];
                    let figure = |power: f64| Some((now / 1e9).powf(power));
                    cpu.fields = columns.map(|(name, p)| (name.to_owned(), figure(p))).into();
                    processors = Some(Row::Sample(cpu));
                    Row::Sample(sample)
                }
                other => other,
            };
            rows.push(row);
            rows.extend(processors);
        }
        cell.rows = rows;
    }
    set
}

#[test]
fn one_figure_of_each_chart_equals_what_rows_log_says() {
    let home = tempfile::tempdir().unwrap();
    let dir = home.path().join("result");
    let mut sink = DirSink::create(&dir).unwrap();
    let mut whole = with_reads_and_processors();
    whole.manifest.plan.pictures = given::pictures();
    fixture::write(&whole, &mut sink).unwrap();
    let set = results::open(&dir).unwrap();
    let given = Given::read(&dir, &set);
    let page = given::page(&set);
    let charts = given::charts(&page);
    assert!(charts.len() >= 13, "{} charts", charts.len());
    for chart in &charts {
        let field = |source, field, name, rate| given.field(chart, source, field, name, rate);
        match chart["id"].as_str().unwrap() {
            "throughput-random-write-randwrite" => {
                given.intervals(chart, |i| i.bytes as f64 / ((i.end_ns - i.start_ns) as f64 / 1e9));
            }
            "p99-random-write-randwrite" => {
                given.intervals(chart, |i| i.latency.unwrap().p99_ns as f64);
            }
            "iops-random-write-randwrite" => {
                given.intervals(chart, |i| i.ios as f64 / ((i.end_ns - i.start_ns) as f64 / 1e9));
            }
            "p50-random-write-randwrite" => {
                given.intervals(chart, |i| {
                    let all = results::histogram::merge(i.histogram.as_deref()).unwrap().unwrap();
                    all.value_at_quantile(0.5) as f64
                });
            }
            "bars-latency-random-write-randwrite" => given.latency_bars(chart),
            "bars-iops-all" => given.iops_bars(chart),
            "series-vdo-space saved-all" => given.saving(chart),
            "series-vdo-data blocks-random-write" => given.growth_of_data(chart),
            "series-vdo-logical-data-random-write" => {
                field("vdo.stats", "logicalBlocksUsed", "logical", false);
                field("vdo.stats", "dataBlocksUsed", "data", false);
            }
            "latency-randwrite" => given.percentiles(chart),
            "1-vdo-space" => field("vdo.stats", "dataBlocksUsed", "data", false),
            "1-vdo-overhead" => field("vdo.stats", "overheadBlocksUsed", "overhead", false),
            "1-vdo-duplicates" => {
                let name = "written together (concurrent matches)";
                field("vdo.stats", "hashLock.concurrentDataMatches", name, false);
            }
            "1-vdo-compression" => {
                field(
                    "vdo.stats",
                    "packer.compressedBlocksWritten",
                    "shared blocks (packed)",
                    false,
                );
            }
            "1-vdo-writes" => field("vdo.stats", "biosIn.write", "in", true),
            "1-vdo-slabs" => field("vdo.stats", "allocator.slabsOpened", "slabs opened", false),
            "1-vdo-in-flight" => field("vdo.stats", "currentVIOsInProgress", "in flight", false),
            "1-vdo-threads" => given.threads(chart),
            "0-written_bytes" | "1-written_bytes" => {
                field("machine.diskstats", "data.written_bytes", "data", true);
            }
            "0-read_bytes" | "1-read_bytes" => {
                field("machine.diskstats", "data.read_bytes", "data", true);
            }
            "cpu" => given.processors(chart),
            strip if strip.starts_with("strip-") => given.of_strip(&set, chart, strip),
            unknown => panic!("no second path recomputes chart {unknown}: write one"),
        }
    }
}

#[test]
fn a_curve_that_is_asked_for_shows_the_medians_of_a_figure_nobody_asks_about() {
    let mut set = given::variants(3);
    let plan = &mut set.manifest.plan;
    plan.factors = vec![results::model::FactorFacts {
        name: "depth".into(),
        levels: ["1", "4", "16"].map(str::to_owned).to_vec(),
    }];
    for (variant, level) in plan.variants.iter_mut().zip(["1", "4", "16"]) {
        variant.levels = [("depth".to_owned(), level.to_owned())].into();
    }
    let curve = given::picture(results::model::Show::Curve);
    plan.pictures = vec![results::model::PictureFacts {
        metric: Some("errors".into()),
        operation: Some("randwrite".into()),
        by: Some("depth".into()),
        ..curve
    }];
    for record in set.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
        let errors = [("EIO".to_owned(), u64::from(record.repeat) * record.variant.len() as u64)];
        for load in record.stages.iter_mut().filter_map(|stage| stage.load.as_mut()) {
            load.operations.values_mut().for_each(|o| o.errors = errors.clone().into());
        }
    }
    let view = given::view(&set);
    assert_eq!(view.answers, ["curve-errors-randwrite"], "it is the only picture on top");
    let charts = given::charts(&given::page(&set));
    let chart = charts.iter().find(|chart| chart["id"] == "curve-errors-randwrite").unwrap();
    assert_eq!((&chart["shape"], &chart["x"]["scale"]), (&"marked".into(), &"log".into()));
    assert_eq!(chart["names"], serde_json::json!(["1", "4", "16"]), "levels as written");
    let line = series(chart, "failed I/Os", None);
    // The second of three repeats is the median; `plain`, `vdo`, `vdo 2`.
    for (level, computed) in [(1.0, 10.0), (4.0, 6.0), (16.0, 10.0)] {
        close(at(line, level), computed, "errors");
    }
    // Where the file has variants of its own, each has a line.
    let names = ["plain, depth 1", "plain, depth 4", "plain, depth 16"];
    for (variant, name) in set.manifest.plan.variants.iter_mut().zip(names) {
        for cell in set.cells.iter_mut().filter(|c| c.entry.variant == variant.name) {
            name.clone_into(&mut cell.entry.variant);
            cell.record.iter_mut().for_each(|record| name.clone_into(&mut record.variant));
        }
        name.clone_into(&mut variant.name);
    }
    let charts = given::charts(&given::page(&set));
    let chart = charts.iter().find(|chart| chart["id"] == "curve-errors-randwrite").unwrap();
    assert!(at(series(chart, "plain", None), 4.0).is_finite(), "{chart}");
}
