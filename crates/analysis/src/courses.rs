//! Course of the throughput within the runs of a variant: where it changes, how long the start is not typical, whether it still grows at the end.
//! Each run is analysed by itself; what is reported holds for most of them.

use std::collections::BTreeMap;

use results::model::{IntervalRow, Row};
use results::read::CellData;
use stats::{Growth, Sorted, Step};

use crate::scope::Scope;
use crate::within;

/// Share of all of a variant's runs that must show a change or a warm-up for it to count: four of five.
const MOST_RUNS: f64 = 0.8;
/// Intervals at the end of a run below this share of the usual throughput are left out: when a load stops, its last I/Os trickle in.
const TRICKLE: f64 = 0.5;
/// Number of intervals before the trickle that define the usual throughput.
const BEFORE: usize = 5;
/// Growth over the whole window, as a share, below which it is not reported.
const LEAST_GROWTH: f64 = 0.005;

/// Course of an operation's throughput within the runs of one variant.
#[derive(Debug, Clone, PartialEq)]
pub struct RunCourse {
    /// Number of runs of the variant, including those that are too short to be analysed.
    pub runs: usize,
    /// The change of throughput, with its place; `None` where it does not change.
    pub change: Option<Change>,
    /// Length of the start that is not typical of the rest, seconds, the median of the runs: 0 if the start is typical; `None` if throughput
    /// changes, if such a start is more than half of the run, and if fewer than four of five runs agree.
    pub warm_up_s: Option<f64>,
    /// Growth at the end; `None` where too few intervals are left after the change.
    pub growth: Option<EndGrowth>,
    /// The place of the change in each run that has it; none where it does not change.
    pub turns: Vec<Turn>,
}

/// The place in one run at which throughput steps from one level to another, or is halfway through a gradual change.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Turn {
    /// The repeat.
    pub repeat: u32,
    /// Its place, seconds since the stage began.
    pub at_s: f64,
    /// Bytes that had been moved until then.
    pub at_bytes: f64,
}

/// A change from one level to another.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Change {
    /// Tells whether it is a step. Otherwise it is gradual, and its place is where half of it has happened.
    pub step: bool,
    /// Its place, seconds since the stage began, the median of the runs; `None` where too few runs reach half of the change for good.
    pub at_s: Option<f64>,
    /// The earliest place of all runs; with a single run, the lower end of the place's 95 % interval.
    pub low_s: Option<f64>,
    /// The latest place of all runs, or the upper end of the interval.
    pub high_s: Option<f64>,
    /// Bytes that had been moved until `at_s`.
    pub at_bytes: Option<f64>,
    /// The least such bytes of all runs; with a single run, those at the lower end of the place's interval.
    pub low_bytes: Option<f64>,
    /// The most such bytes of all runs, or those at the upper end.
    pub high_bytes: Option<f64>,
    /// The level before, bytes per second, the median of the runs.
    pub before: f64,
    /// The level after.
    pub after: f64,
    /// Number of runs with this change.
    pub runs: usize,
}

/// Growth of throughput at the end of the runs, as a share of itself per second.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct EndGrowth {
    /// The rate: the median of the runs.
    pub rate: f64,
    /// Lower end: from five runs on that of the 95 % interval of their mean, else the lowest end of any run's own interval. The lower of two: with
    /// the last quarter of the window, and without it, since a change only in the last values is a step.
    pub low: f64,
    /// Upper end, in the same way.
    pub high: f64,
    /// Beginning and end of the window in which growth is measured, seconds since the stage began, medians of the runs.
    pub between_s: (f64, f64),
}

impl EndGrowth {
    /// Tells whether it surely grows or falls, and by enough to be worth mentioning.
    pub fn counts(&self) -> bool {
        let whole = self.rate * (self.between_s.1 - self.between_s.0);
        (self.low > 0.0 || self.high < 0.0) && whole.abs() >= LEAST_GROWTH
    }
}

/// The intervals of one run.
struct Series {
    repeat: u32,
    /// End of each interval, seconds since the stage began.
    ends_s: Vec<f64>,
    /// Bytes that were moved until the end of each interval.
    moved: Vec<f64>,
    /// Bytes per second.
    rates: Vec<f64>,
}

/// Returns the course of each operation; operations whose runs are too short are left out.
pub(crate) fn courses(cells: &[&CellData], apart: bool) -> BTreeMap<Scope, RunCourse> {
    let mut series: BTreeMap<Scope, Vec<Series>> = BTreeMap::new();
    for cell in cells {
        for (scope, rows) in within::intervals(&cell.rows, apart) {
            let run = of_rows(cell.entry.repeat, &cell.rows, &rows);
            series.entry(scope).or_default().extend(run);
        }
    }
    series.into_iter().filter_map(|(scope, runs)| Some((scope, of_runs(&runs)?))).collect()
}

fn of_rows(repeat: u32, all: &[Row], rows: &[&IntervalRow]) -> Option<Series> {
    let stage = rows.first()?.stage;
    let start_ns = all.iter().find_map(|row| match row {
        Row::Stage(edge) if edge.stage == stage && !edge.ended => Some(edge.at_ns),
        _ => None,
    })?;
    let whole = within::without_short(rows);
    let mut moved = 0.0;
    let mut series = Series { repeat, ends_s: Vec::new(), moved: Vec::new(), rates: Vec::new() };
    for row in whole {
        moved += row.bytes as f64;
        series.ends_s.push(row.end_ns.saturating_sub(start_ns) as f64 / 1e9);
        series.moved.push(moved);
        series.rates.push(row.bytes as f64 / ((row.end_ns - row.start_ns) as f64 / 1e9));
    }
    series.leave_out_the_trickle();
    Some(series)
}

impl Series {
    /// Cuts the series at the earliest place in its last tenth after which every interval is below [`TRICKLE`] of those before the cut. The
    /// trickling intervals are always compared with those before the cut, never with each other.
    fn leave_out_the_trickle(&mut self) {
        let n = self.rates.len();
        let trickles = |cut: &usize| {
            let usual = median(self.rates[cut - BEFORE..*cut].iter().copied());
            let below = |usual: f64| self.rates[*cut..].iter().all(|rate| *rate < TRICKLE * usual);
            usual.is_some_and(below)
        };
        if let Some(cut) = ((n * 9 / 10).max(BEFORE + 1)..n).find(trickles) {
            self.rates.truncate(cut);
            self.ends_s.truncate(cut);
            self.moved.truncate(cut);
        }
    }

    /// Returns the end of the interval with this number, counted from 1, in seconds.
    fn time(&self, intervals: usize) -> Option<f64> {
        self.ends_s.get(intervals.checked_sub(1)?).copied()
    }

    /// Returns the bytes moved in the first so many intervals.
    fn moved_after(&self, intervals: usize) -> Option<f64> {
        self.moved.get(intervals.checked_sub(1)?).copied()
    }
}

/// Findings in one run.
struct OneRun {
    change: Option<Place>,
    warm_up_s: Option<f64>,
    growth: Option<RunGrowth>,
}

/// The growth of one run at its end, with and (where enough is left) without the last quarter: a step in the last values is not growth.
struct RunGrowth {
    whole: Growth,
    before: Option<Growth>,
    between_s: (f64, f64),
}

struct Place {
    repeat: u32,
    step: bool,
    at_s: Option<f64>,
    low_s: Option<f64>,
    high_s: Option<f64>,
    at_bytes: Option<f64>,
    /// Bytes moved at the two ends of the place's interval.
    ends_bytes: (Option<f64>, Option<f64>),
    before: f64,
    after: f64,
    /// Number of intervals after which the change is over.
    over: usize,
}

fn of_run(series: &Series) -> Option<OneRun> {
    let n = series.rates.len();
    let change = match stats::course(&series.rates)? {
        stats::Course::Level => None,
        stats::Course::Step(Step { at, low, high, before, after }) => Some(Place {
            repeat: series.repeat,
            step: true,
            at_s: series.time(at),
            low_s: series.time(low),
            high_s: series.time(high),
            at_bytes: series.moved_after(at),
            ends_bytes: (series.moved_after(low), series.moved_after(high)),
            before,
            after,
            over: high,
        }),
        stats::Course::Gradual(way) => Some(Place {
            repeat: series.repeat,
            step: false,
            at_s: way.half.and_then(|at| series.time(at)),
            low_s: None,
            high_s: None,
            at_bytes: way.half.and_then(|at| series.moved_after(at)),
            ends_bytes: (None, None),
            before: way.before,
            after: way.after,
            over: 0,
        }),
    };
    let over = change.as_ref().map_or(0, |place| place.over);
    let from = over.max(n / 2);
    let growth = || {
        let of = |part: std::ops::Range<usize>| {
            stats::growth(&series.rates[part.clone()], &series.ends_s[part])
        };
        let until = n - (n - from) / 4;
        // Without the last quarter, the window is extended by as many values before it, at most back to the change.
        let earlier = (from - (n - until).min(from)).max(over).min(until);
        let between_s = (series.time(from)?, series.time(n)?);
        Some(RunGrowth { whole: of(from..n)?, before: of(earlier..until), between_s })
    };
    let warm_up = stats::warm_up(&series.rates).filter(|_| change.is_none());
    let warm_up_s = warm_up.and_then(|n| if n == 0 { Some(0.0) } else { series.time(n) });
    Some(OneRun { change, warm_up_s, growth: growth() })
}

fn of_runs(series: &[Series]) -> Option<RunCourse> {
    let runs: Vec<OneRun> = series.iter().filter_map(of_run).collect();
    // The share refers to all runs of the variant, so that what only its longest runs can show is not reported.
    let most = |n: usize| n > 0 && n as f64 >= MOST_RUNS * series.len() as f64;
    let (change, turns) = change(&runs, &most).unzip();
    (!runs.is_empty()).then(|| RunCourse {
        runs: series.len(),
        change,
        warm_up_s: warm_up(&runs, &most),
        growth: growth(&runs, &most),
        turns: turns.unwrap_or_default(),
    })
}

/// Returns the warm-up that most runs have, or 0 where most have none.
fn warm_up(runs: &[OneRun], most: &dyn Fn(usize) -> bool) -> Option<f64> {
    let known = runs.iter().filter_map(|run| run.warm_up_s);
    let (some, none): (Vec<f64>, Vec<f64>) = known.partition(|time| *time > 0.0);
    [some, none].into_iter().find(|times| most(times.len())).and_then(|t| median(t.into_iter()))
}

/// The change that most runs have, in the same direction, and its place in each of them.
fn change(runs: &[OneRun], most: &dyn Fn(usize) -> bool) -> Option<(Change, Vec<Turn>)> {
    let places: Vec<&Place> = runs.iter().filter_map(|run| run.change.as_ref()).collect();
    let falls = |place: &&&Place| place.after < place.before;
    let (falling, rising): (Vec<&Place>, Vec<&Place>) = (
        places.iter().filter(falls).copied().collect(),
        places.iter().filter(|p| !falls(p)).copied().collect(),
    );
    let all = [falling, rising].into_iter().find(|places| most(places.len()))?;
    let steps: Vec<&Place> = all.iter().filter(|place| place.step).copied().collect();
    let step = most(steps.len());
    let places = if step { steps } else { all };
    let times: Vec<f64> = places.iter().filter_map(|place| place.at_s).collect();
    let bytes: Vec<f64> = places.iter().filter_map(|place| place.at_bytes).collect();
    let range =
        |of: &[f64]| (of.iter().copied().reduce(f64::min), of.iter().copied().reduce(f64::max));
    let ((low_s, high_s), (low_bytes, high_bytes)) = match &places[..] {
        [one] => ((one.low_s, one.high_s), one.ends_bytes),
        _ => (range(&times), range(&bytes)),
    };
    let sure = most(times.len());
    let turn = |p: &&Place| Some(Turn { repeat: p.repeat, at_s: p.at_s?, at_bytes: p.at_bytes? });
    let turns = places.iter().filter(|_| sure).filter_map(turn).collect();
    let change = Change {
        step,
        at_s: median(times.into_iter()).filter(|_| sure),
        low_s: low_s.filter(|_| sure),
        high_s: high_s.filter(|_| sure),
        at_bytes: median(bytes.into_iter()).filter(|_| sure),
        low_bytes: low_bytes.filter(|_| sure),
        high_bytes: high_bytes.filter(|_| sure),
        before: median(places.iter().map(|place| place.before))?,
        after: median(places.iter().map(|place| place.after))?,
        runs: places.len(),
    };
    Some((change, turns))
}

fn growth(runs: &[OneRun], most: &dyn Fn(usize) -> bool) -> Option<EndGrowth> {
    let all: Vec<&RunGrowth> = runs.iter().filter_map(|run| run.growth.as_ref()).collect();
    if !most(all.len()) {
        return None;
    }
    let whole: Vec<Growth> = all.iter().map(|growth| growth.whole).collect();
    let before: Option<Vec<Growth>> = all.iter().map(|growth| growth.before).collect();
    // Where too little is left without the last quarter, the intervals of the single runs are used instead.
    let first = before.map_or_else(|| widest(&whole), |before| together(&before));
    let last = together(&whole);
    Some(EndGrowth {
        rate: median(whole.iter().map(|growth| growth.rate))?,
        low: f64::min(last.0, first.0),
        high: f64::max(last.1, first.1),
        between_s: (
            median(all.iter().map(|growth| growth.between_s.0))?,
            median(all.iter().map(|growth| growth.between_s.1))?,
        ),
    })
}

/// The interval of the growth of several runs.
fn together(all: &[Growth]) -> (f64, f64) {
    let rates: Vec<f64> = all.iter().map(|growth| growth.rate).collect();
    let mean = stats::mean_interval(&rates).filter(|_| rates.len() >= stats::LEAST_REPEATS);
    mean.map_or_else(|| widest(all), |interval| (interval.low, interval.high))
}

/// Returns the range that covers the intervals of all runs.
fn widest(all: &[Growth]) -> (f64, f64) {
    let low = all.iter().map(|growth| growth.low).fold(f64::INFINITY, f64::min);
    let high = all.iter().map(|growth| growth.high).fold(f64::NEG_INFINITY, f64::max);
    (low, high)
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.collect::<Sorted>().median()
}
