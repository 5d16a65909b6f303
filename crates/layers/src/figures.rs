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
/// Mark of the samples taken when the load of a stage begins with its ramp; without one it is [`LOAD_START`].
pub const RAMP_START: &str = "ramp_start";
/// Mark of the samples taken when the load of a stage begins, or with a ramp when its first interval is over.
pub const LOAD_START: &str = "load_start";
/// Mark of the samples taken when the load of a stage is over.
pub const LOAD_END: &str = "load_end";
/// The shortest time that a rate or a share is told of, seconds. CPU time moves by ticks of 10 ms on each processor: over one of them it may
/// look like twice the processors that there are, over this time like a twentieth more.
pub const SHORTEST_S: f64 = 0.2;

/// Tells whether figures begin at this mark.
pub fn begins_figures(mark: &str) -> bool {
    [ALLOCATED, STAGE_START, ROUND_END].contains(&mark)
}

/// Mark of the samples taken before and after each round of a fill.
pub const ROUND_END: &str = "round_end";

/// A field of a layer's source of which a figure needs the course between marks too.
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
    /// Content that was written meanwhile; `None` when nobody measured it.
    pub achieved: Option<&'a AchievedContent>,
    /// I/Os that loads completed meanwhile, flushes left out where there was anything else; `None` when nobody counts them.
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

    /// [`Window::seconds_until`] of a field that the layer's kind says it follows.
    pub fn seconds_until(&self, of: &Followed, share: f64) -> Option<f64> {
        self.window.seconds_until(&format!("{}.{}", self.layer, of.what), of.field, share)
    }
}

/// A stretch of a cell: what every source said at its start and at its end.
#[derive(Debug, Clone, Default)]
pub struct Window<'a> {
    before: BTreeMap<&'a str, &'a SampleRow>,
    after: BTreeMap<&'a str, &'a SampleRow>,
    /// All samples of the cell that are kept, for what happened between the two; none where only these two are known.
    samples: &'a [SampleRow],
}

impl<'a> Window<'a> {
    /// From the end of allocation to the last time that the stack had settled.
    pub fn of_cell(samples: &'a [SampleRow]) -> Self {
        Self::between(samples, |row| marked(row, ALLOCATED), |row| marked(row, SETTLED))
    }

    /// A stage that ran from `start_ns` to `end_ns`; to where the stack had come to rest after it, before `next_ns`, where that
    /// was waited for.
    pub fn of_stage(samples: &'a [SampleRow], start_ns: u64, end_ns: u64, next_ns: u64) -> Self {
        Self { samples, ..Self::of_stage_rows(samples, start_ns, end_ns, next_ns) }
    }

    /// As [`Self::of_stage`], of rows that stand among others: it has both ends, and nothing between them.
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

    /// The load of a stage that ran from `start_ns` to `end_ns`; the stage itself where it has none, is read over less than
    /// [`SHORTEST_S`], or is of an earlier version. Neither what is prepared for it nor the wait for rest after it is in it.
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

    /// From where the load of a stage begins, its ramp with it, to where [`Self::of_stage`] ends: the stretch of all I/Os that are counted, and of
    /// what was put off. As [`Self::of_load`] where a stage has none, is read over too short a time, or is of an earlier version.
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

    /// From the end of allocation to the end of that stage.
    pub fn until_stage(samples: &'a [SampleRow], start_ns: u64, end_ns: u64, next_ns: u64) -> Self {
        Self::between(
            samples,
            |row| marked(row, ALLOCATED),
            |row| ends_stage(row, start_ns, end_ns, next_ns),
        )
    }

    /// From the start of the last stage that began to the end of its last round; with `of_cell` from the end of allocation, where that was
    /// earlier.
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

    /// From the last round that had ended at `since_ns` to the last one of all, of the last stage that began.
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

    /// From one row of each source to another.
    pub fn of_rows(before: &[&'a SampleRow], after: &[&'a SampleRow]) -> Self {
        let by_source =
            |rows: &[&'a SampleRow]| rows.iter().map(|row| (&*row.source, *row)).collect();
        Self { before: by_source(before), after: by_source(after), samples: &[] }
    }

    /// For each source the first row that begins it and the last one that ends it.
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

    /// Seconds from the first reading of a source until `field` had this share of what it grew up to the last one; between two
    /// readings it is taken to grow evenly. `None` where it did not grow.
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

    /// Returns what a source said at both ends; `None` when one is missing or could not be read.
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
    /// Returns how much a field grew; `None` when either sample has no such figure.
    pub fn growth(&self, field: &str) -> Option<f64> {
        Some(self.end(field)? - self.before.get(field).copied().flatten()?)
    }

    /// Returns what a field was in the end.
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
