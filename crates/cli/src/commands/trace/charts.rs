//! The charts of a trace: addresses over time for each operation, seeks, rates, runs, what is touched and what comes again.

use advise::{Extent, Figures, Grid, RUN_CLASSES};
use disk::Op;
use report::view::{Axis, Chart, Part, Raster, Scale, Series, Shape};
use units::Unit;
use units::show::{bytes, grouped, nanos};

use super::words;

/// Parts of the time that make one point of a line.
const JOINED: usize = 2;
/// Names of the classes of runs: the shortest length in each.
const RUN_NAMES: [&str; RUN_CLASSES.len() + 1] =
    ["< 16K", "16K+", "64K+", "256K+", "1M+", "4M+", "16M+"];

fn axis(label: &str, unit: Unit, scale: Scale) -> Axis {
    Axis { label: label.into(), scale, unit }
}

/// Returns the axis of time, or of the numbers of I/Os if the trace has no times.
fn time_axis(figures: &Figures) -> Axis {
    match figures.timed() {
        true => axis("Time since the first I/O", Unit::Seconds, Scale::Linear),
        false => axis("I/Os so far (the recording has no times)", Unit::Count, Scale::Linear),
    }
}

/// Returns a place on that axis.
fn at(figures: &Figures, place: f64) -> f64 {
    if figures.timed() { place / 1e9 } else { place }
}

/// Returns the name and the colour of an operation, the same in all charts.
fn series(name: &str, colour: usize, points: impl IntoIterator<Item = (f64, f64)>) -> Series {
    let (x, y) = points.into_iter().map(|(x, y)| (x, Some(y))).unzip();
    Series { name: name.into(), variant: Some(colour), hue: 0, repeat: None, x, y }
}

fn colour(op: &str) -> usize {
    ["read", "write", "discard", "flush"].iter().position(|one| *one == op).unwrap_or(0)
}

fn chart(id: &str, title: &str, reading: String, (x, y): (Axis, Axis)) -> Chart {
    Chart {
        id: id.into(),
        title: title.into(),
        part: Part::Load,
        reading,
        shape: Shape::Lines,
        names: Vec::new(),
        x,
        y,
        series: Vec::new(),
    }
}

/// Returns a picture for each operation that has addresses.
pub(super) fn pictures(figures: &Figures) -> Vec<Chart> {
    let grids = Op::ALL.into_iter().filter_map(|op| Some((op, figures.grid(op)?)));
    grids.map(|(op, grid)| picture(figures, op, grid)).collect()
}

fn picture(figures: &Figures, op: Op, grid: &Grid) -> Chart {
    let (extent, most) = (figures.extent(), grid.most());
    let raster = raster(figures, extent);
    let wide = if figures.timed() {
        nanos(extent.span() as f64 / advise::COLUMNS as f64)
    } else {
        format!("{} I/Os", grouped(extent.span().div_ceil(advise::COLUMNS as u64)))
    };
    let reading = format!(
        "A cell is {wide} wide and {} high. The stronger its colour, the more bytes went to these addresses in that time.",
        bytes(extent.row_bytes() as f64)
    );
    let title = match op {
        Op::Read => "Reads",
        Op::Write => "Writes",
        Op::Discard => "Discards",
        Op::Flush => "Flushes",
    };
    let axes = (time_axis(figures), axis("Address on the device", Unit::Bytes, Scale::Linear));
    let series = classes(grid, &raster, most, colour(op.name()));
    Chart {
        shape: Shape::Density(raster),
        series,
        ..chart(&format!("picture-{}", op.name()), title, reading, axes)
    }
}

fn raster(figures: &Figures, extent: &Extent) -> Raster {
    let right = at(figures, extent.span() as f64);
    let (low, height) = (extent.low() as f64, extent.row_bytes() as f64);
    let width = right / advise::COLUMNS as f64;
    Raster { width, height, right, low, top: low + height * advise::ROWS as f64 }
}

/// Sorts the cells that have bytes into classes, weakest first.
fn classes(grid: &Grid, raster: &Raster, most: u64, colour: usize) -> Vec<Series> {
    let least = words::classes(most);
    let [_, low, middle, high] = least.map(|least| bytes(least as f64));
    let names = [
        format!("less than {low} in a cell"),
        format!("{low} to {middle}"),
        format!("{middle} to {high}"),
        format!("{high} and more, at most {}", bytes(most as f64)),
    ];
    let class = |(hue, name): (usize, &String)| Series { hue, ..series(name, colour, []) };
    let mut all: Vec<Series> = names.iter().enumerate().map(class).collect();
    for row in 0..advise::ROWS {
        for (column, bytes) in grid.row(row).iter().enumerate() {
            if let Some(hue) = least.iter().rposition(|least| bytes >= least) {
                all[hue].x.push(column as f64 * raster.width);
                all[hue].y.push(Some(raster.low + row as f64 * raster.height));
            }
        }
    }
    all.retain(|one| !one.x.is_empty());
    all
}

/// Returns events per second over time as points.
fn rate(figures: &Figures, events: &[u64]) -> Vec<(f64, f64)> {
    let seconds = figures.seconds().unwrap_or(1.0);
    let each = seconds * JOINED as f64 / advise::COLUMNS as f64;
    let point = |(place, part): (usize, &[u64])| {
        ((place as f64 + 0.5) * each, part.iter().sum::<u64>() as f64 / each)
    };
    events.chunks(JOINED).enumerate().map(point).collect()
}

/// Returns the lines of seeks and of arrivals per second; nothing if the trace has no times.
pub(super) fn rates(figures: &Figures) -> [Option<Chart>; 2] {
    let axes = || (time_axis(figures), axis("Per second", Unit::PerSecond, Scale::Linear));
    let each = figures.seconds().map_or(0.0, |all| all * JOINED as f64 / advise::COLUMNS as f64);
    let each = nanos(each * 1e9);
    let seeks = figures.seeks().map(|_| Chart {
        series: vec![series("seeks", 6, rate(figures, figures.seeks_over_time()))],
        ..chart("seeks", "Seeks per second", format!("Each point: {each}."), axes())
    });
    let ops = figures.ops();
    let line = |op: &advise::OpFigures| {
        let which = Op::ALL.into_iter().find(|one| one.name() == op.op)?;
        Some(series(op.op, colour(op.op), rate(figures, figures.ios_over_time(which))))
    };
    let arrivals = Chart {
        series: ops.iter().filter_map(line).collect(),
        ..chart("arrivals", "I/Os per second", format!("Each point: {each}."), axes())
    };
    [seeks, Some(arrivals)].map(|one| one.filter(|_| figures.timed()))
}

/// Returns the bars of the lengths of runs.
pub(super) fn runs(figures: &Figures) -> Chart {
    let bars = |op: &advise::OpFigures| {
        let runs = op.runs.as_ref()?;
        let all: f64 = runs.classes.iter().map(|class| class.bytes as f64).sum();
        let share = |(place, class): (usize, &advise::RunClass)| {
            (place as f64, 100.0 * class.bytes as f64 / all)
        };
        let points = runs.classes.iter().enumerate().map(share);
        Some(series(op.op, colour(op.op), points.collect::<Vec<_>>()))
    };
    let axes = (
        axis("Length of the run (64K+: from 64 KiB on)", Unit::Bytes, Scale::Linear),
        axis("Share of the operation's bytes", Unit::Percent, Scale::Linear),
    );
    Chart {
        shape: Shape::Bars,
        names: RUN_NAMES.map(String::from).to_vec(),
        series: figures.ops().iter().filter_map(bars).collect(),
        ..chart("runs", "Bytes by the length of their run", String::new(), axes)
    }
}

/// Returns the line of what had been touched by then; `None` if nothing was.
pub(super) fn growth(figures: &Figures) -> Option<Chart> {
    let growth = figures.growth();
    let points = growth.iter().map(|(end, bytes)| (at(figures, *end as f64), *bytes));
    let points: Vec<_> = std::iter::once((0.0, 0.0)).chain(points).collect();
    let axes = (time_axis(figures), axis("Data touched so far", Unit::Bytes, Scale::Linear));
    let reading =
        "Each block of 4 KiB counts once. Where the line is flat, nothing new is touched.";
    (growth.len() > 1).then(|| Chart {
        series: vec![series("touched", 6, points)],
        ..chart("growth", "Data touched so far", reading.into(), axes)
    })
}

/// Returns the curve of what comes again; `None` if nothing does.
pub(super) fn reuse(figures: &Figures) -> Option<Chart> {
    let all = figures.reuse();
    let curve = |op: &advise::ReuseFigures| {
        let points = op.curve.iter().map(|point| (point.bytes, point.percent));
        series(&format!("{}s", op.op), colour(op.op), points.collect::<Vec<_>>())
    };
    let axes = (
        axis("Other data touched in between", Unit::Bytes, Scale::Log),
        axis("Share of the touches", Unit::Percent, Scale::Linear),
    );
    let reading = "The share that comes again before so much other data was touched: what a cache of that size hits in blocks of 4 KiB, \
        if it keeps what was used last.";
    all.iter().any(|op| op.again_percent > 0.0).then(|| Chart {
        series: all.iter().map(curve).collect(),
        ..chart("reuse", "Data that comes again", reading.into(), axes)
    })
}
