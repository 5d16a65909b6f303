//! Figures as growth between two marked samples.

use std::collections::BTreeMap;

use results::model::{AchievedContent, Fields, SampleRow};

/// Mark of the samples taken when allocation has ended: the base that figures grow from.
pub const ALLOCATED: &str = "allocated";
/// Mark of the samples taken after the stack has settled.
pub const SETTLED: &str = "settled";
/// Mark of the samples taken when a stage begins.
pub const STAGE_START: &str = "stage_start";
/// Mark of the samples taken when a stage ends.
pub const STAGE_END: &str = "stage_end";
/// Mark of the samples taken when the stack has come to rest after a stage that asks for it.
pub const STAGE_SETTLED: &str = "stage_settled";
/// Mark of the samples taken when the ramp of a stage's load begins; a load without a ramp has only [`LOAD_START`].
pub const RAMP_START: &str = "ramp_start";
/// Mark of the samples taken when the load of a stage begins; with a ramp, when its first interval is over.
pub const LOAD_START: &str = "load_start";
/// Mark of the samples taken when the load of a stage is over.
pub const LOAD_END: &str = "load_end";
/// The shortest time over which a rate or a share is reported, seconds. CPU time advances in ticks of 10 ms on each processor: over a single tick
/// it may look like twice as many processors as there are, over this time like a twentieth more.
pub const SHORTEST_S: f64 = 0.2;

/// Tells whether figures begin at this mark.
pub fn begins_figures(mark: &str) -> bool {
    [ALLOCATED, STAGE_START, ROUND_END].contains(&mark)
}

/// Mark of the samples taken before and after each round of a fill.
pub const ROUND_END: &str = "round_end";

/// A field of a layer's source for which a figure needs the values between marks, too.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Followed {
    /// The source, without the layer's name (`stats` of `vdo.stats`).
    pub what: &'static str,
    /// The field.
    pub field: &'static str,
}

/// Facts that a layer's figures are made from.
#[derive(Clone, Copy)]
pub struct FigureFacts<'a> {
    /// The layer's name in the experiment.
    pub layer: &'a str,
    /// The window between whose ends the figures are taken.
    pub window: &'a Window<'a>,
    /// Content that was written during the window; `None` if it was not measured.
    pub achieved: Option<&'a AchievedContent>,
    /// I/Os that loads completed during the window, without flushes unless there was nothing else; `None` if they are not counted.
    pub ios: Option<u64>,
}

impl FigureFacts<'_> {
    /// The two ends of the layer's source `what` (`stats` of `vdo.stats`); `None` when one is missing or could not be read.
    pub fn ends(&self, what: &str) -> Option<Endpoints<'_>> {
        self.window.ends(&format!("{}.{what}", self.layer))
    }

    /// Seconds between the two ends of the layer's source `what`.
    pub fn seconds(&self, what: &str) -> Option<f64> {
        self.window.seconds(&format!("{}.{what}", self.layer))
    }

    /// Returns [`Window::seconds_until`] of a field that the layer's kind follows.
    pub fn seconds_until(&self, of: &Followed, share: f64) -> Option<f64> {
        self.window.seconds_until(&format!("{}.{}", self.layer, of.what), of.field, share)
    }
}

/// A period of a cell: the readings of every source at its start and at its end.
#[derive(Debug, Clone, Default)]
pub struct Window<'a> {
    before: BTreeMap<&'a str, &'a SampleRow>,
    after: BTreeMap<&'a str, &'a SampleRow>,
    /// All samples of the cell that are kept, for what happened between the two; none where only these two are known.
    samples: &'a [SampleRow],
}

impl<'a> Window<'a> {
    /// Creates the window from the end of allocation to the last time that the stack had settled.
    pub fn of_cell(samples: &'a [SampleRow]) -> Self {
        Self::between(samples, |row| marked(row, ALLOCATED), |row| marked(row, SETTLED))
    }

    /// Creates the window of a stage that ran from `start_ns` to `end_ns`. It ends where the stack had come to rest after the stage, before
    /// `next_ns`, if the stage waited for that.
    pub fn of_stage(samples: &'a [SampleRow], start_ns: u64, end_ns: u64, next_ns: u64) -> Self {
        Self { samples, ..Self::of_stage_rows(samples, start_ns, end_ns, next_ns) }
    }

    /// Creates the same window as [`Self::of_stage`] from any rows that include those at its ends: it knows nothing of the time between them.
    pub fn of_stage_rows(
        rows: impl IntoIterator<Item = &'a SampleRow>,
        start_ns: u64,
        end_ns: u64,
        next_ns: u64,
    ) -> Self {
        Self::among(
            rows,
            |row| marked(row, STAGE_START) && (start_ns..=end_ns).contains(&row.at_ns),
            |row| ends_stage(row, start_ns, end_ns, next_ns),
        )
    }

    /// Creates the window of the load of a stage that ran from `start_ns` to `end_ns`, without the preparation before the load and the wait for rest
    /// after it. The window covers the whole stage if there is no load, if it was read over less than [`SHORTEST_S`], or if an old version wrote the
    /// result.
    pub fn of_load(samples: &'a [SampleRow], start_ns: u64, end_ns: u64) -> Self {
        let within =
            |row: &SampleRow, mark| marked(row, mark) && (start_ns..=end_ns).contains(&row.at_ns);
        let ends =
            |begin, end| Self::between(samples, |row| within(row, begin), |row| within(row, end));
        let (mut stage, load) = (ends(STAGE_START, STAGE_END), ends(LOAD_START, LOAD_END));
        for (source, after) in load.after {
            let long = |before: &&&SampleRow| lasted_s(before, after) >= SHORTEST_S;
            if let Some(before) = load.before.get(source).filter(long) {
                stage.before.insert(source, before);
                stage.after.insert(source, after);
            }
        }
        stage
    }

    /// Creates the window from the start of a stage's load, its ramp included, to the end of [`Self::of_stage`]: it covers all I/Os that are counted,
    /// and deferred work. It begins with the stage if there is no load, if the time is below [`SHORTEST_S`], or if an old version wrote the result.
    pub fn of_work(samples: &'a [SampleRow], start_ns: u64, end_ns: u64, next_ns: u64) -> Self {
        let mut stage = Self::of_stage(samples, start_ns, end_ns, next_ns);
        let begins = |row: &SampleRow| {
            (marked(row, RAMP_START) || marked(row, LOAD_START))
                && (start_ns..=end_ns).contains(&row.at_ns)
        };
        for (source, begun) in Self::between(samples, begins, |_| false).before {
            if stage.after.get(source).is_some_and(|after| lasted_s(begun, after) >= SHORTEST_S) {
                stage.before.insert(source, begun);
            }
        }
        stage
    }

    /// Creates the window from the end of allocation to the end of a stage.
    pub fn until_stage(samples: &'a [SampleRow], start_ns: u64, end_ns: u64, next_ns: u64) -> Self {
        Self::between(
            samples,
            |row| marked(row, ALLOCATED),
            |row| ends_stage(row, start_ns, end_ns, next_ns),
        )
    }

    /// Creates the window from the start of the last stage that began to the end of its last round; with `of_cell` it starts at the end of
    /// allocation instead, where that was sampled.
    pub fn of_round(samples: &'a [SampleRow], of_cell: bool) -> Self {
        let mut window = Self { samples, ..Self::default() };
        for row in samples.iter().filter(|row| row.error.is_none()) {
            match row.mark.as_deref() {
                Some(STAGE_START) => drop(window.before.insert(&row.source, row)),
                Some(ROUND_END) => drop(window.after.insert(&row.source, row)),
                _ => {}
            }
        }
        if of_cell {
            window
                .before
                .extend(Self::between(samples, |row| marked(row, ALLOCATED), |_| false).before);
        }
        window
    }

    /// Creates the window from the end of the last round that had ended by `since_ns` to the end of the last round, within the last stage that began.
    pub fn since_round(samples: &'a [SampleRow], since_ns: u64) -> Self {
        let mut window = Self { samples, ..Self::default() };
        for row in samples.iter().filter(|row| row.error.is_none()) {
            if marked(row, STAGE_START) {
                window.before.remove(&*row.source);
                window.after.remove(&*row.source);
            } else if marked(row, ROUND_END) {
                if row.at_ns <= since_ns {
                    window.before.insert(&row.source, row);
                }
                window.after.insert(&row.source, row);
            }
        }
        window
    }

    /// Creates the window from one row of each source to another.
    pub fn of_rows(before: &[&'a SampleRow], after: &[&'a SampleRow]) -> Self {
        let by_source =
            |rows: &[&'a SampleRow]| rows.iter().map(|row| (&*row.source, *row)).collect();
        Self { before: by_source(before), after: by_source(after), samples: &[] }
    }

    /// Creates the window from the first row that `begins` it to the last row that `ends` it, for each source.
    fn between(
        samples: &'a [SampleRow],
        begins: impl Fn(&SampleRow) -> bool,
        ends: impl Fn(&SampleRow) -> bool,
    ) -> Self {
        Self { samples, ..Self::among(samples, begins, ends) }
    }

    fn among(
        rows: impl IntoIterator<Item = &'a SampleRow>,
        begins: impl Fn(&SampleRow) -> bool,
        ends: impl Fn(&SampleRow) -> bool,
    ) -> Self {
        let mut window = Self::default();
        for row in rows.into_iter().filter(|row| row.error.is_none()) {
            if begins(row) {
                window.before.entry(&row.source).or_insert(row);
            }
            if ends(row) {
                window.after.insert(&row.source, row);
            }
        }
        window
    }

    /// Seconds between the two readings of a source.
    pub fn seconds(&self, source: &str) -> Option<f64> {
        let (before, after) = (self.before.get(source)?, self.after.get(source)?);
        Some(after.at_ns.checked_sub(before.at_ns)? as f64 / 1e9)
    }

    /// Returns the seconds from the first reading of a source until `field` had made this share of its whole growth; between two readings it is
    /// taken to grow evenly. `None` where it did not grow.
    pub fn seconds_until(&self, source: &str, field: &str, share: f64) -> Option<f64> {
        let (before, after) = (self.before.get(source)?, self.after.get(source)?);
        let value = |row: &SampleRow| row.fields.get(field).copied().flatten();
        let (from, to) = (value(before)?, value(after)?);
        if to <= from {
            return None;
        }
        let wanted = from + share * (to - from);
        let mut earlier = (before.at_ns, from);
        for row in self.samples.iter().filter(|row| row.source == source && row.error.is_none()) {
            let (at, Some(now)) = (row.at_ns, value(row)) else { continue };
            if at < before.at_ns || at > after.at_ns {
                continue;
            }
            if now >= wanted {
                let part =
                    if now > earlier.1 { (wanted - earlier.1) / (now - earlier.1) } else { 0.0 };
                let passed = (earlier.0 - before.at_ns) as f64 + part * (at - earlier.0) as f64;
                return Some(passed / 1e9);
            }
            earlier = (at, now);
        }
        None
    }

    /// Returns the readings of a source at both ends; `None` when one is missing or could not be read.
    pub fn ends(&self, source: &str) -> Option<Endpoints<'a>> {
        let (before, after) = (self.before.get(source)?, self.after.get(source)?);
        (after.at_ns >= before.at_ns)
            .then_some(Endpoints { before: &before.fields, after: &after.fields })
    }
}

fn lasted_s(before: &SampleRow, after: &SampleRow) -> f64 {
    after.at_ns.saturating_sub(before.at_ns) as f64 / 1e9
}

fn marked(row: &SampleRow, mark: &str) -> bool {
    row.mark.as_deref() == Some(mark)
}

fn ends_stage(row: &SampleRow, start_ns: u64, end_ns: u64, next_ns: u64) -> bool {
    marked(row, STAGE_END) && (start_ns..=end_ns).contains(&row.at_ns)
        || marked(row, STAGE_SETTLED) && (end_ns..next_ns).contains(&row.at_ns)
}

/// Readings of one source at both ends of a window.
#[derive(Debug, Clone, Copy)]
pub struct Endpoints<'a> {
    /// At its start.
    pub before: &'a Fields,
    /// At its end.
    pub after: &'a Fields,
}

impl Endpoints<'_> {
    /// Returns how much a field grew; `None` if the field is missing in either sample.
    pub fn growth(&self, field: &str) -> Option<f64> {
        Some(self.end(field)? - self.before.get(field).copied().flatten()?)
    }

    /// Returns the value of a field at the end.
    pub fn end(&self, field: &str) -> Option<f64> {
        self.after.get(field).copied().flatten()
    }
}

/// `part / whole`, `None` when the whole is not positive.
pub(crate) fn ratio(part: Option<f64>, whole: Option<f64>) -> Option<f64> {
    let (part, whole) = (part?, whole?);
    (whole > 0.0).then(|| part / whole)
}

#[cfg(test)]
pub(crate) mod given {
    use super::{Fields, SampleRow};

    /// A sample that could be read.
    pub(crate) fn sample(
        at_ns: u64,
        source: &str,
        mark: &str,
        fields: &[(&str, f64)],
    ) -> SampleRow {
        SampleRow {
            at_ns,
            source: source.into(),
            cost_ns: 0,
            cost_cpu_ns: 0,
            mark: Some(mark.into()),
            fields: fields.iter().map(|(k, v)| ((*k).to_owned(), Some(*v))).collect::<Fields>(),
            error: None,
        }
    }
}

#[cfg(test)]
mod tests;
