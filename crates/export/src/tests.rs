use std::collections::BTreeMap;
use std::fs::{self, File};
use std::path::Path;

use parquet::file::reader::{FileReader, SerializedFileReader};
use parquet::record::Field;
use results::ResultSet;
use results::model::{Row, SampleRow};
use serde_json::Value;

use crate::{Format, Made, TABLES, export};

fn exported(set: &ResultSet, format: Format) -> (tempfile::TempDir, Vec<Made>) {
    let folder = tempfile::tempdir().unwrap();
    let made = export(set, format, folder.path(), |_| {}).unwrap();
    (folder, made)
}

fn read(folder: &Path, name: &str) -> String {
    fs::read_to_string(folder.join(name)).unwrap()
}

/// The rows of a table in a Parquet file, each as JSON by the names of its columns.
fn parquet_rows(path: &Path) -> Vec<BTreeMap<String, Value>> {
    let file = SerializedFileReader::new(File::open(path).unwrap()).unwrap();
    let json = |field: &Field| match field {
        Field::Null => Value::Null,
        Field::Bool(truth) => (*truth).into(),
        Field::Long(number) => (*number).into(),
        Field::Double(number) => (*number).into(),
        Field::Str(text) => text.as_str().into(),
        other => panic!("{other:?} is not of a kind that is written here"),
    };
    let rows = file.get_row_iter(None).unwrap();
    rows.map(|row| row.unwrap().get_column_iter().map(|(k, v)| (k.clone(), json(v))).collect())
        .collect()
}

#[test]
fn every_table_says_the_same_as_csv_as_json_lines_and_as_parquet() {
    let set = fixture::result();
    let (csv, made) = exported(&set, Format::Csv);
    let (lines, same) = exported(&set, Format::Jsonl);
    let (columns, _) = exported(&set, Format::Parquet);
    for (table, (one, other)) in TABLES.iter().zip(made.iter().zip(&same)) {
        assert!(one.rows > 0 && one.rows == other.rows, "{}: {one:?} {other:?}", table.name);
        let text = read(csv.path(), &one.name);
        let names: Vec<_> = table.columns.iter().map(|column| column.name).collect();
        assert_eq!(text.lines().next().unwrap(), names.join(","));
        assert_eq!(text.lines().count() as u64, one.rows + 1, "{}", table.name);
        let text = read(lines.path(), &other.name);
        let objects: Vec<BTreeMap<String, Value>> =
            text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let path = columns.path().join(format!("{}.parquet", table.name));
        assert_eq!(parquet_rows(&path), objects, "{}", table.name);
    }
    let operations = read(csv.path(), "operations.csv");
    let first = set.cells[0].record.as_ref().unwrap();
    let load = first.stages.iter().find_map(|stage| stage.load.as_ref()).unwrap();
    let (name, figures) = load.operations.iter().next().unwrap();
    assert!(operations.contains(&format!(",{name},{},{},", figures.ios, figures.bytes)));
}

#[test]
fn the_rows_of_many_groups_are_all_there() {
    let mut set = fixture::with(1, 7_600.0);
    let sample = SampleRow {
        at_ns: 1,
        source: "made.up".into(),
        cost_ns: 0,
        cost_cpu_ns: 0,
        mark: None,
        fields: (0..1_000).map(|n| (format!("c{n}"), (n % 7 > 0).then(|| f64::from(n)))).collect(),
        error: None,
    };
    set.cells[0].rows =
        (0..150).map(|at_ns| Row::Sample(SampleRow { at_ns, ..sample.clone() })).collect();
    set.cells.truncate(1);
    let (folder, made) = exported(&set, Format::Parquet);
    assert_eq!(made.last().unwrap().rows, 150_000);
    let rows = parquet_rows(&folder.path().join("samples.parquet"));
    assert_eq!(rows.len(), 150_000);
    let last = &rows[149_999];
    assert_eq!(
        (&last["at_ns"], &last["counter"], &last["value"]),
        (&149.into(), &"c999".into(), &999.0.into())
    );
    assert_eq!(rows.iter().filter(|row| row["value"].is_null()).count(), 150 * 143);
}

#[test]
fn a_field_that_would_break_a_line_is_quoted_and_an_empty_one_is_not_a_missing_one() {
    let mut set = fixture::with(1, 7_600.0);
    set.manifest.plan.experiment = "a,\"b\"\nc".into();
    set.manifest.outcome = Some(String::new());
    set.manifest.ended_utc = None;
    let (folder, _) = exported(&set, Format::Csv);
    let runs = read(folder.path(), "runs.csv");
    assert!(runs.contains("\"a,\"\"b\"\"\nc\",,"), "{runs}");
    assert!(runs.contains(",,\"\","), "{runs}");
}

#[test]
fn logs_of_latencies_and_the_json_of_fio_count_every_io() {
    let set = fixture::with(1, 7_600.0);
    let (folder, made) = exported(&set, Format::FioJson);
    assert_eq!(made.len(), set.cells.len());
    for (cell, one) in set.cells.iter().zip(&made) {
        let record = cell.record.as_ref().unwrap();
        let loads = record.stages.iter().filter(|stage| stage.measured);
        let load = loads.filter_map(|stage| stage.load.as_ref()).next().unwrap();
        let value: Value = serde_json::from_str(&read(folder.path(), &one.name)).unwrap();
        let job = &value["jobs"][0];
        assert!(value["timestamp_ms"].as_u64().unwrap() > 1_600_000_000_000, "{value}");
        let driven = ["iodepth", "numjobs"].map(|key| job["job options"][key].as_str().unwrap());
        assert_eq!(driven, [load.engine.depth, load.engine.jobs].map(|n| n.to_string()));
        // The CPU time of I/Os within a ramp is not that of the runtime.
        let cpu = load.cpu.map(|cpu| cpu.user_s + cpu.system_s).unwrap_or_default();
        let cpu_percent = ["usr_cpu", "sys_cpu"].map(|key| job[key].as_f64().unwrap_or(0.0));
        let percent = 100.0 * cpu / (load.duration_ns as f64 / 1e9) / load.ramp_factor();
        assert!(
            (cpu_percent[0] + cpu_percent[1] - percent).abs() < 1e-6,
            "{cpu_percent:?} {percent}"
        );
        let ios = |side: &str| job[side]["total_ios"].as_u64().unwrap();
        let all: u64 = load.operations.values().map(|operation| operation.ios).sum();
        assert_eq!(ios("read") + ios("write") + ios("trim"), all);
        for side in ["read", "write"].into_iter().filter(|side| ios(side) > 0) {
            let clat = &job[side]["clat_ns"];
            let bins = clat["bins"].as_object().unwrap().values();
            assert_eq!(bins.map(|count| count.as_u64().unwrap()).sum::<u64>(), ios(side));
            assert!(
                clat["percentile"]["50.000000"].as_u64()
                    <= clat["percentile"]["99.000000"].as_u64()
            );
            assert!(job[side]["iops_samples"].as_u64().unwrap() > 0);
        }
    }
    let (folder, made) = exported(&set, Format::Hlog);
    assert_eq!(made.len(), set.cells.len());
    let text = read(folder.path(), &made[0].name);
    assert_eq!(text.lines().filter(|line| line.starts_with("Tag=")).count() as u64, made[0].rows);
}

#[test]
fn a_log_of_latencies_keeps_preparation_and_measured_stages_apart() {
    let mut set = fixture::with(1, 7_600.0);
    set.cells.truncate(1);
    let tags = |set: &ResultSet| {
        let (folder, made) = exported(set, Format::Hlog);
        let text = read(folder.path(), &made[0].name);
        assert!(text.contains("since the epoch of the run"), "{text}");
        let tags = text.lines().filter_map(|line| line.strip_prefix("Tag=")?.split(',').next());
        tags.map(str::to_owned).collect::<std::collections::BTreeSet<_>>()
    };
    assert_eq!(tags(&set), ["allocate:write".to_owned(), "randwrite".to_owned()].into());
    for row in &mut set.cells[0].rows {
        if let Row::Stage(edge) = row {
            edge.measured = true;
        }
    }
    let both = ["allocate:write".to_owned(), "random-write:randwrite".to_owned()];
    assert_eq!(tags(&set), both.into(), "two measured stages are told apart");
}

#[test]
fn a_result_without_a_measured_load_has_no_json_of_fio() {
    let mut set = fixture::with(1, 7_600.0);
    set.cells.iter_mut().for_each(|cell| cell.record = None);
    let folder = tempfile::tempdir().unwrap();
    let error = export(&set, Format::FioJson, folder.path(), |_| {}).unwrap_err();
    assert!(error.to_string().contains("no cell of this result has a load"), "{error}");
    assert_eq!(fs::read_dir(folder.path()).unwrap().count(), 0);
}

#[test]
fn the_documentation_says_what_each_column_is() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../docs/results.md");
    let text = fs::read_to_string(path).unwrap();
    for table in TABLES {
        assert!(text.contains(&format!("`{}`, {}", table.name, table.about)), "{}", table.name);
        for column in table.columns {
            let line = format!("| `{}` | {} |", column.name, column.about);
            assert!(
                ["run_id", "variant", "repeat"].contains(&column.name) || text.contains(&line),
                "{line}"
            );
        }
    }
}
