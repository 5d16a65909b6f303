//! The readings of a cell that its figures are made from, in memory that does not grow with the length of a stage: complete readings at marks,
//! and between them only the values of the few fields that figures follow.

use std::collections::BTreeMap;

use results::model::{Fields, SampleRow};

use crate::figures::{Followed, ROUND_END};

/// The most points of a course between two edges of stages; up to this number nothing is dropped.
const MAX_POINTS: usize = 4096;
/// Number of equal parts into which the growth so far is divided once a course is longer; it keeps two points in each part.
const PARTS: usize = 1024;

/// The part of a cell's samples that is kept while it runs.
#[derive(Debug, Default)]
pub struct Readings {
    marked: Vec<SampleRow>,
    courses: Vec<Course>,
}

impl Readings {
    /// Creates the readings of a cell in which these fields are followed, each with the name of its layer.
    pub fn following<'a>(fields: impl IntoIterator<Item = (&'a str, &'static Followed)>) -> Self {
        let course =
            |(layer, of): (&str, &Followed)| Course::of(format!("{layer}.{}", of.what), of.field);
        Self { marked: Vec::new(), courses: fields.into_iter().map(course).collect() }
    }

    /// Takes a sample in.
    pub fn take(&mut self, row: SampleRow) {
        let edge = row.mark.as_deref().is_some_and(|mark| mark != ROUND_END);
        let is_of_row = |course: &&mut Course| row.error.is_none() && course.source == row.source;
        for course in self.courses.iter_mut().filter(is_of_row) {
            if let Some(value) = row.fields.get(course.field).copied().flatten() {
                course.take(row.at_ns, value, edge);
            }
        }
        if row.mark.is_some() {
            self.marked.push(row);
        }
    }

    /// Readings at marks, without rounds that were forgotten.
    pub fn marked(&self) -> &[SampleRow] {
        &self.marked
    }

    /// Forgets the ends of rounds, except, for each source, the last one and the last one until `since_ns`: a fill of a day has tens of
    /// thousands of them.
    pub fn forget_rounds(&mut self, since_ns: u64) {
        // Backwards from the last row: each source met so far, and whether one of its rounds that ended by `since_ns` has been kept.
        let mut met: BTreeMap<String, bool> = BTreeMap::new();
        let mut kept: Vec<SampleRow> = Vec::new();
        for row in std::mem::take(&mut self.marked).into_iter().rev() {
            let ended = row.at_ns <= since_ns;
            let wanted = match (row.mark.as_deref() == Some(ROUND_END), met.get_mut(&row.source)) {
                (false, _) => true,
                (true, _) if row.error.is_some() => false,
                (true, Some(before)) => ended && !std::mem::replace(before, true),
                (true, None) => met.insert(row.source.clone(), ended).is_none(),
            };
            if wanted {
                kept.push(row);
            }
        }
        kept.reverse();
        self.marked = kept;
    }

    /// The number of readings that are kept.
    pub fn count(&self) -> usize {
        self.marked.len() + self.courses.iter().map(|course| course.points.len()).sum::<usize>()
    }

    /// All that is kept, in order of time; a reading between marks has the followed field alone.
    pub fn into_rows(self) -> Vec<SampleRow> {
        let followed = self.courses.into_iter().flat_map(Course::into_rows);
        let mut rows: Vec<_> = self.marked.into_iter().chain(followed).collect();
        rows.sort_by_key(|row| row.at_ns);
        rows
    }
}

/// The course of one field, reduced to the readings that determine when it first reached any value: between two edges of stages the
/// readings that are above all earlier ones, each with the one just before it.
#[derive(Debug)]
struct Course {
    source: String,
    field: &'static str,
    points: Vec<Point>,
    /// The first of the points since the last edge.
    edge: usize,
    /// The greatest value since then.
    peak: f64,
}

#[derive(Debug, Clone, Copy, PartialEq)]
struct Point {
    at_ns: u64,
    value: f64,
    /// Tells whether it was above all points before it.
    rises: bool,
}

impl Course {
    fn of(source: String, field: &'static str) -> Self {
        Self { source, field, points: Vec::new(), edge: 0, peak: f64::NEG_INFINITY }
    }

    fn take(&mut self, at_ns: u64, value: f64, edge: bool) {
        // Two threads hand in samples, so that a sample may arrive after one that was read later.
        let place = self.points.partition_point(|point| point.at_ns <= at_ns);
        if place < self.points.len() {
            self.points.insert(place, Point { at_ns, value, rises: true });
            self.edge += usize::from(place <= self.edge);
            return;
        }
        if edge {
            (self.edge, self.peak) = (self.points.len(), f64::NEG_INFINITY);
        }
        let rises = value > self.peak;
        let point = Point { at_ns, value, rises };
        match self.points[self.edge..].last_mut() {
            Some(last) if !rises && !last.rises => *last = point,
            _ => self.points.push(point),
        }
        self.peak = self.peak.max(value);
        if self.points.len() - self.edge > MAX_POINTS {
            self.thin();
        }
    }

    /// Keeps the first and the last point of each part of the growth since the last edge.
    fn thin(&mut self) {
        let points = self.points.split_off(self.edge);
        let Some(Point { value: low, .. }) = points.first().copied() else { return };
        let mut highest = low;
        let mut part = |point: &Point| {
            highest = highest.max(point.value);
            ((highest - low) / (self.peak - low) * PARTS as f64) as usize
        };
        let parts: Vec<usize> = points.iter().map(&mut part).collect();
        let outer = |at: &usize| {
            let alike = |other: Option<&usize>| other == parts.get(*at);
            !(alike(at.checked_sub(1).and_then(|at| parts.get(at))) && alike(parts.get(at + 1)))
        };
        self.points.extend((0..points.len()).filter(outer).map(|at| points[at]));
    }

    fn into_rows(self) -> impl Iterator<Item = SampleRow> {
        let Self { source, field, points, .. } = self;
        points.into_iter().map(move |point| SampleRow {
            at_ns: point.at_ns,
            source: source.clone(),
            cost_ns: 0,
            cost_cpu_ns: 0,
            mark: None,
            fields: Fields::from([(field.to_owned(), Some(point.value))]),
            error: None,
        })
    }
}

#[cfg(test)]
mod tests;
