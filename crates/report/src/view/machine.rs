//! Charts of the machine over time: its processors, and the devices of each stack.

use std::collections::BTreeSet;

use results::read::{CellData, ResultSet};
use units::Unit;

use super::clock::span_axis;
use super::repeats::{Line, Look, with_median};
use super::samples::{line, samples};
use super::{Axis, Chart, Part, Scale, Series, Shape};

const CPU: &str = "machine.cpu";
const DISKSTATS: &str = "machine.diskstats";
/// The kinds of CPU time that count as work.
const BUSY: [&str; 6] = ["user_s", "nice_s", "system_s", "irq_s", "softirq_s", "steal_s"];

/// Returns charts of processors and devices, as far as there are samples.
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
        reading: "The work of all processors, for the load and the layers together; 100 % is one processor. At the number of processors \
                  times 100 % the machine itself is the limit."
            .to_owned(),
        shape: Shape::Lines,
        names: Vec::new(),
        x: span_axis(set),
        y: Axis { label: "Percent of one CPU".to_owned(), scale: Scale::Linear, unit: Unit::Percent },
        series: series.collect(),
    }
}

/// Returns the busy time of all processors together, percent of one processor.
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
    let mut groups: Vec<(Vec<String>, Vec<Line>)> = Vec::new();
    for device in devices(set, of) {
        let field = format!("{device}.{column}");
        let cells = set.cells_of(of).map(|cell| line(cell, DISKSTATS, &field, true));
        let lines: Vec<Line> = cells.collect();
        match groups.iter_mut().find(|(_, known)| coincide(known, &lines)) {
            Some((names, _)) => names.push(device),
            None => groups.push((vec![device], lines)),
        }
    }
    let shared = groups.iter().any(|(names, _)| names.len() > 1);
    let drawn = |(hue, (names, lines)): (usize, (Vec<String>, Vec<Line>))| {
        let look = Look { name: units::show::names(&names), variant: None, hue };
        with_median(&look, lines)
    };
    let series: Vec<Series> = groups.into_iter().enumerate().flat_map(drawn).collect();
    let reading = "One colour for each block device of the stack, counted by the kernel's diskstats. If a lower device moves \
                   more data than the one above it, a layer amplifies; if it moves less, a layer saves.";
    let same = if shared {
        " Devices that moved the same amount of data have one line together."
    } else {
        ""
    };
    Chart {
        id: format!("{variant}-{column}"),
        title: format!("Bytes {words} the devices of {of}"),
        part: Part::Machine,
        reading: format!("{reading}{same}"),
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

/// Largest difference at which two lines count as one, since one would hide the other; as a share of the sum of the larger values.
const SAME: f64 = 0.01;

/// Tells whether the lines of two devices lie on each other in every repeat.
fn coincide(one: &[Line], other: &[Line]) -> bool {
    let values = |line: &Line| line.y.clone().into_iter().map(|y| y.unwrap_or(0.0));
    let (mut apart, mut all) = (0.0, 0.0);
    for (a, b) in one.iter().zip(other) {
        if a.x != b.x {
            return false;
        }
        for (a, b) in values(a).zip(values(b)) {
            apart += (a - b).abs();
            all += a.max(b);
        }
    }
    one.len() == other.len() && apart <= SAME * all
}

/// Returns the names of the devices in a variant's samples.
fn devices(set: &ResultSet, variant: &str) -> BTreeSet<String> {
    let rows = set.cells_of(variant).flat_map(|cell| samples(cell, DISKSTATS));
    let fields = rows.flat_map(|row| row.fields.keys());
    fields.filter_map(|f| Some(f.rsplit_once('.')?.0.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lines_that_lie_on_each_other_are_alike_and_no_others() {
        let line =
            |y: [f64; 3]| vec![Line { repeat: 1, x: vec![1.0, 2.0, 3.0], y: y.map(Some).to_vec() }];
        let one = line([10e6, 20e6, 10e6]);
        assert!(coincide(&one, &line([10e6, 20.1e6, 10e6])));
        assert!(!coincide(&one, &line([10e6, 22e6, 10e6])));
        let mut later = one.clone();
        later[0].x[2] = 4.0;
        assert!(!coincide(&one, &later) && !coincide(&one, &[]));
    }
}
