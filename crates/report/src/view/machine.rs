//! Charts of the machine over time: its processors, and the devices of each stack.

use std::collections::BTreeSet;

use results::read::{CellData, ResultSet};
use units::Unit;

use super::clock::span_axis;
use super::repeats::{Line, Look, with_median};
use super::samples::{line, samples};
use super::{Axis, Chart, Part, Scale, Shape};

const CPU: &str = "machine.cpu";
const DISKSTATS: &str = "machine.diskstats";
/// Columns of the processors' time that are work.
const BUSY: [&str; 6] = ["user_s", "nice_s", "system_s", "irq_s", "softirq_s", "steal_s"];

/// Charts of processors and devices, as far as there are samples.
pub fn charts(set: &ResultSet) -> Vec<Chart> {
    let mut charts = vec![processors(set)];
    for index in 0..set.manifest.plan.variants.len() {
        charts.push(device(set, index, "written_bytes", "written to"));
        charts.push(device(set, index, "read_bytes", "read from"));
    }
    // A chart of nothing but zeros (no reads in a write test) only takes room.
    charts.retain(|c| c.y_range().is_some_and(|(_, high)| high > 0.0));
    charts
}

fn processors(set: &ResultSet) -> Chart {
    let variants = set.manifest.plan.variants.iter().enumerate();
    let series = variants.flat_map(|(index, variant)| {
        let look = Look { name: variant.name.clone(), variant: Some(index), hue: 0 };
        with_median(&look, set.cells_of(&variant.name).map(busy).collect())
    });
    Chart {
        id: "cpu".to_owned(),
        title: "CPU of the whole machine".to_owned(),
        part: Part::Machine,
        reading: "All that any processor worked, the load and the layers together; 100 % is one processor. At the number of processors \
                  times 100 % the machine itself is the limit."
            .to_owned(),
        shape: Shape::Lines,
        names: Vec::new(),
        x: span_axis(set),
        y: Axis { label: "Percent of one CPU".to_owned(), scale: Scale::Linear, unit: Unit::Percent },
        series: series.collect(),
    }
}

/// Percent of one processor that all together worked.
fn busy(cell: &CellData) -> Line {
    let mut parts = BUSY.iter().map(|field| line(cell, CPU, field, true));
    let mut sum = parts.next().unwrap_or_default();
    for part in parts {
        for (y, more) in sum.y.iter_mut().zip(part.y) {
            *y = y.map(|y| y + more.unwrap_or(0.0));
        }
    }
    sum.y.iter_mut().flatten().for_each(|y| *y *= 100.0);
    sum
}

fn device(set: &ResultSet, variant: usize, column: &str, words: &str) -> Chart {
    let of = &set.manifest.plan.variants[variant].name;
    let mut series = Vec::new();
    for (hue, device) in devices(set, of).into_iter().enumerate() {
        let field = format!("{device}.{column}");
        let look = Look { name: device, variant: None, hue };
        let cells = set.cells_of(of).map(|cell| line(cell, DISKSTATS, &field, true));
        series.extend(with_median(&look, cells.collect()));
    }
    Chart {
        id: format!("{variant}-{column}"),
        title: format!("Bytes {words} the devices of {of}"),
        part: Part::Machine,
        reading: "One colour for each block device of the stack, as the kernel's diskstats count. Where a lower device \
                  moves more than the one above it, a layer amplifies; where less, it saves."
            .to_owned(),
        shape: Shape::Lines,
        names: Vec::new(),
        x: span_axis(set),
        y: Axis {
            label: "Throughput".to_owned(),
            scale: Scale::Linear,
            unit: Unit::BytesPerSecond,
        },
        series,
    }
}

/// Names of the devices that a variant's samples tell of.
fn devices(set: &ResultSet, variant: &str) -> BTreeSet<String> {
    let rows = set.cells_of(variant).flat_map(|cell| samples(cell, DISKSTATS));
    let fields = rows.flat_map(|row| row.fields.keys());
    fields.filter_map(|f| Some(f.rsplit_once('.')?.0.to_owned())).collect()
}
