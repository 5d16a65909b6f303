//! The layers' own counters in a result, reading by reading, for each cell at the beginning and end of its stages: first the figures that the
//! layer's own tool prints, then every counter.

use std::fmt::Write as _;

use layers::{
    ALLOCATED, Column, Kind, LOAD_END, LOAD_START, RAMP_START, ROUND_END, SETTLED, STAGE_END,
    STAGE_SETTLED, STAGE_START, place_of,
};
use results::model::{Fields, Row, SampleRow};
use results::read::{CellData, ResultSet};
use serde_json::{Map, Value, json};
use units::show::{grouped, significant};
use units::{Metric, Unit, printable};

use crate::json::SCHEMA;
use crate::terminal::ink::wrapped;
use crate::wording::NONE;

/// The readings of one layer of one cell.
struct Readings<'a> {
    cell: &'a CellData,
    layer: &'a str,
    kind: &'static Kind,
    edges: Vec<(String, &'a SampleRow)>,
}

/// Returns the readings of every layer with counters, cell by cell in the order of running.
fn all(set: &ResultSet) -> Vec<Readings<'_>> {
    let mut all = Vec::new();
    for cell in &set.cells {
        let facts = set.manifest.plan.variants.iter().find(|v| v.name == cell.entry.variant);
        for layer in facts.into_iter().flat_map(|facts| &facts.stack) {
            let Some(kind) = layers::kind(&layer.layer) else { continue };
            let Some(overview) = kind.overview else { continue };
            let source = format!("{}.{}", layer.name, overview.probe);
            let edges = edges(cell, &source);
            all.push(Readings { cell, layer: &layer.name, kind, edges });
        }
    }
    all
}

/// Returns the samples of a source at the beginning and end of each stage, each with a description of the moment.
fn edges<'a>(cell: &'a CellData, source: &str) -> Vec<(String, &'a SampleRow)> {
    let stages = cell.record.iter().flat_map(|record| &record.stages);
    let name = |at_ns: u64| {
        let begun = stages.clone().rfind(|stage| stage.start_ns <= at_ns);
        begun.map_or(NONE, |stage| stage.name.as_str())
    };
    let edge = |sample: &SampleRow| {
        let stage = name(sample.at_ns);
        Some(match sample.mark.as_deref()? {
            ALLOCATED => "allocated".to_owned(),
            STAGE_START => format!("start of {stage}"),
            STAGE_END => format!("end of {stage}"),
            STAGE_SETTLED => format!("at rest after {stage}"),
            SETTLED => "at rest at the end".to_owned(),
            ROUND_END | RAMP_START | LOAD_START | LOAD_END => return None,
            other => other.to_owned(),
        })
    };
    let samples = cell.rows.iter().filter_map(|row| match row {
        Row::Sample(sample) if sample.source == source => Some(sample),
        _ => None,
    });
    samples.filter_map(|sample| Some((edge(sample)?, sample))).collect()
}

/// Returns a number with all its digits, as every unit of a count matters.
fn number(unit: Unit, value: Option<f64>) -> String {
    let Some(value) = value else { return NONE.to_owned() };
    match unit {
        Unit::Count | Unit::Blocks | Unit::Bytes if value >= 0.0 => grouped(value as u64),
        Unit::Percent => format!("{} %", significant(value, 3)),
        _ => significant(value, 6),
    }
}

fn field(fields: &Fields, counter: &Metric) -> Option<f64> {
    fields.get(place_of(counter).1).copied().flatten()
}

/// Returns the readings for a terminal, in lines of at most `width` characters where possible; with `every` also all counters of each cell.
pub fn text(set: &ResultSet, width: usize, every: bool) -> String {
    let all = all(set);
    if all.is_empty() {
        return "No layer of this result has counters of its own.\n".to_owned();
    }
    let mut layers: Vec<(&str, &'static Kind)> = Vec::new();
    for readings in &all {
        if !layers.iter().any(|(name, _)| *name == readings.layer) {
            layers.push((readings.layer, readings.kind));
        }
    }
    let mut out = String::new();
    for (layer, kind) in layers {
        let layer_readings: Vec<_> =
            all.iter().filter(|readings| readings.layer == layer).collect();
        let columns = kind.overview.map_or(&[][..], |overview| overview.columns);
        let _ = writeln!(out, "{} ({})", printable(layer), kind.name);
        for Column { name, unit, help, .. } in columns {
            let line = format!("{name}, {}: {help}", unit.words());
            let _ = writeln!(out, "  {}", wrapped(&line, width.saturating_sub(2), "    "));
        }
        out.push('\n');
        out.push_str(&overview(&layer_readings, columns, width));
        if every {
            layer_readings.iter().for_each(|readings| counters(&mut out, readings, width));
        }
    }
    if !every {
        out.push_str("Every counter: fathom show RESULT --layer-counters --all\n");
    }
    out
}

fn cell_name(readings: &Readings) -> String {
    format!("{} {}", readings.cell.entry.variant, readings.cell.entry.repeat)
}

/// Returns a line for every reading.
fn overview(all: &[&Readings], columns: &[Column], width: usize) -> String {
    let mut head = vec!["variant, repeat".to_owned(), "reading".to_owned()];
    head.extend(columns.iter().map(|column| column.name.to_owned()));
    let mut lines = vec![head];
    for readings in all {
        let name = cell_name(readings);
        if readings.edges.is_empty() {
            lines.push(vec![name.clone(), "none".to_owned()]);
        }
        for (edge, sample) in &readings.edges {
            let values = columns.iter().map(|column| match &sample.error {
                Some(_) => NONE.to_owned(),
                None => number(column.unit, (column.of)(&sample.fields)),
            });
            lines.push([name.clone(), edge.clone()].into_iter().chain(values).collect());
        }
    }
    drawn(&lines, 2, width)
}

/// Writes every counter of a cell, with a column for each reading.
fn counters(out: &mut String, readings: &Readings, width: usize) {
    let mut head = vec![cell_name(readings), "unit".to_owned()];
    head.extend(readings.edges.iter().map(|(edge, _)| edge.clone()));
    let mut lines = vec![head];
    for counter in readings.kind.counters() {
        let mut line = vec![counter.name.to_owned(), counter.unit.words().to_owned()];
        line.extend(
            readings
                .edges
                .iter()
                .map(|(_, sample)| number(counter.unit, field(&sample.fields, counter))),
        );
        lines.push(line);
    }
    out.push_str(&drawn(&lines, 2, width));
}

/// Returns a table with the first `names` columns aligned left; columns that do not fit follow below, with the names repeated.
fn drawn(lines: &[Vec<String>], names: usize, width: usize) -> String {
    let clean: Vec<Vec<String>> = lines
        .iter()
        .map(|line| line.iter().map(|cell| printable(cell).into_owned()).collect())
        .collect();
    let columns = clean.iter().map(Vec::len).max().unwrap_or(0);
    let wide = |column: usize| {
        clean
            .iter()
            .filter_map(|line| line.get(column))
            .map(|c| c.chars().count())
            .max()
            .unwrap_or(0)
    };
    let widths: Vec<usize> = (0..columns).map(wide).collect();
    let named: usize = widths.iter().take(names).sum::<usize>() + 2 * names;
    let mut out = String::new();
    let mut from = names;
    while from < columns {
        let mut to = from;
        let mut used = named;
        while to < columns && (to == from || used + widths[to] <= width) {
            used += widths[to] + 2;
            to += 1;
        }
        for line in &clean {
            let mut text = String::new();
            for column in (0..names).chain(from..to) {
                let cell = line.get(column).map_or("", String::as_str);
                let pad = " ".repeat(widths[column] - cell.chars().count());
                text.push_str(&if column < names {
                    format!("{cell}{pad}  ")
                } else {
                    format!("{pad}{cell}  ")
                });
            }
            out.push_str(text.trim_end());
            out.push('\n');
        }
        out.push('\n');
        from = to;
    }
    out
}

/// Returns the readings as JSON, with the unit of each counter and whether it grows; what was not read is `null`.
pub fn json(set: &ResultSet) -> Value {
    let readings: Vec<Value> = all(set)
        .iter()
        .flat_map(|readings| {
            readings
                .edges
                .iter()
                .map(|(edge, sample)| reading(readings, edge, sample))
                .collect::<Vec<_>>()
        })
        .collect();
    let mut kinds: Vec<&'static Kind> = Vec::new();
    for readings in all(set) {
        if !kinds.iter().any(|kind| kind.name == readings.kind.name) {
            kinds.push(readings.kind);
        }
    }
    let described = kinds.into_iter().map(|kind| (kind.name.to_owned(), described(kind)));
    json!({
        "schema": SCHEMA,
        "experiment": set.manifest.plan.experiment,
        "simulated": set.manifest.simulated,
        "layers": described.collect::<Map<_, _>>(),
        "readings": readings,
    })
}

fn described(kind: &Kind) -> Value {
    let columns = kind.overview.map_or(&[][..], |overview| overview.columns);
    let overview: Map<_, _> = columns
        .iter()
        .map(|c| (c.name.to_owned(), json!({"unit": c.unit, "help": c.help})))
        .collect();
    let counters: Map<_, _> = kind
        .counters()
        .map(|c| (c.name.to_owned(), json!({"unit": c.unit, "basis": c.basis, "help": c.help})))
        .collect();
    json!({"overview": overview, "counters": counters})
}

fn reading(readings: &Readings, edge: &str, sample: &SampleRow) -> Value {
    let known = sample.error.is_none();
    let columns = readings.kind.overview.map_or(&[][..], |overview| overview.columns);
    let overview: Map<_, _> = columns
        .iter()
        .map(|c| (c.name.to_owned(), json!((c.of)(&sample.fields).filter(|_| known))))
        .collect();
    let counters: Map<_, _> = readings
        .kind
        .counters()
        .map(|c| (c.name.to_owned(), json!(field(&sample.fields, c).filter(|_| known))))
        .collect();
    json!({
        "layer": readings.layer,
        "kind": readings.kind.name,
        "variant": readings.cell.entry.variant,
        "repeat": readings.cell.entry.repeat,
        "edge": edge,
        "at_ns": sample.at_ns,
        "error": sample.error,
        "overview": overview,
        "counters": counters,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    const REAL: &str = include_str!("../../layers/src/vdo/stats-6.12.txt");

    /// A result in whose VDO the stage that loads was read at both ends.
    fn set() -> ResultSet {
        let mut set = fixture::with(1, 5000.0);
        for cell in &mut set.cells {
            cell.rows.retain(|row| !matches!(row, Row::Sample(_)));
        }
        let cell = set.cells.iter_mut().find(|cell| cell.entry.variant == "vdo").unwrap();
        let stages = &cell.record.as_ref().unwrap().stages;
        let stage = stages.iter().find(|stage| stage.measured).unwrap();
        let parsed = layers::parse("vdo.stats", REAL).unwrap();
        for (at_ns, mark) in [(stage.start_ns, STAGE_START), (stage.end_ns.unwrap(), STAGE_END)] {
            cell.rows.push(Row::Sample(SampleRow {
                at_ns,
                source: "vdo.stats".into(),
                cost_ns: 0,
                cost_cpu_ns: 0,
                mark: Some(mark.into()),
                fields: parsed.numbers.clone(),
                error: None,
            }));
        }
        set
    }

    #[test]
    fn a_reading_at_each_edge_is_told_as_vdostats_tells_it_with_what_its_shares_are_of() {
        let text = text(&set(), 200, false);
        let start = text.lines().find(|line| line.contains("start of")).unwrap();
        for part in
            ["vdo 1", "7,335,936", "3,167,052", "4,168,884", "43.2 %", "20,299", "5,144", "74.7 %"]
        {
            assert!(start.contains(part), "{part}: {start}");
        }
        assert!(text.lines().any(|line| line.contains("end of")), "{text}");
        assert!(text.contains("saving, percent: (logical blocks less data blocks)"), "{text}");
        assert!(!text.contains("dirtyPages"), "{text}");
    }

    #[test]
    fn every_counter_stands_below_with_its_unit_and_no_line_is_wider_than_asked() {
        let text = text(&set(), 80, true);
        let dirty = text.lines().find(|line| line.starts_with("blockMap.dirtyPages ")).unwrap();
        assert!(dirty.contains("blocks of 4 KiB") && dirty.ends_with("323"), "{dirty}");
        assert!(text.contains("memoryUsage.bytesUsed"), "{text}");
        let lines = text.lines().filter(|line| !line.starts_with("  "));
        assert!(lines.clone().all(|line| line.chars().count() <= 80), "{text}");
    }

    #[test]
    fn in_json_a_counter_has_its_unit_and_a_reading_that_failed_is_null() {
        let mut set = set();
        for row in set.cells.iter_mut().flat_map(|cell| &mut cell.rows) {
            if let Row::Sample(sample) = row
                && sample.mark.as_deref() == Some(STAGE_END)
            {
                sample.error = Some("gone".into());
            }
        }
        let json = json(&set);
        let [start, end] = [0, 1].map(|place| json["readings"][place].clone());
        assert_eq!(start["counters"]["journal.entries.committed"], 20_827.0);
        assert_eq!(start["overview"]["used"], 3_167_052.0);
        assert_eq!(end["counters"]["journal.entries.committed"], Value::Null);
        assert_eq!((&end["overview"]["used"], &end["error"]), (&Value::Null, &json!("gone")));
        let about = &json["layers"]["vdo"]["counters"]["journal.entries.committed"];
        assert_eq!((&about["basis"], &about["unit"]), (&json!("counter"), &json!("count")));
    }
}
