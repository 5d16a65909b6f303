//! Figures as growth between two marked samples.

use results::model::{ContentFigures, Fields, SampleRow};

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

/// What a layer's figures are made from.
#[derive(Clone, Copy)]
pub struct FigureFacts<'a> {
    /// The layer's name in the experiment.
    pub layer: &'a str,
    /// The cell's samples, all sources, in order of time.
    pub samples: &'a [SampleRow],
    /// Content that was written between the marks; `None` when nobody measured it.
    pub achieved: Option<&'a ContentFigures>,
}

/// Two samples of one source: the first marked `allocated`, the last marked `settled` after it.
#[derive(Clone, Copy)]
pub struct Marks<'a> {
    /// At the end of allocation.
    pub before: &'a Fields,
    /// After the stack has settled.
    pub after: &'a Fields,
}

impl<'a> Marks<'a> {
    /// The marks of the source called `source`; `None` when either is missing or could not be read.
    pub fn of(samples: &'a [SampleRow], source: &str) -> Option<Self> {
        let marked = |row: &&SampleRow, mark: &str| {
            row.source == source && row.error.is_none() && row.mark.as_deref() == Some(mark)
        };
        let before = samples.iter().find(|row| marked(row, ALLOCATED))?;
        let after = samples.iter().rev().find(|row| marked(row, SETTLED))?;
        (after.at_ns >= before.at_ns)
            .then_some(Self { before: &before.fields, after: &after.fields })
    }

    /// How much a field grew; `None` when either sample has no such figure.
    pub fn growth(&self, field: &str) -> Option<f64> {
        Some(self.end(field)? - self.before.get(field).copied().flatten()?)
    }

    /// What a field was in the end.
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
mod tests {
    use super::*;

    fn row(at_ns: u64, mark: Option<&str>, value: f64) -> SampleRow {
        SampleRow {
            at_ns,
            source: "vdo.stats".into(),
            cost_ns: 0,
            cost_cpu_ns: 0,
            mark: mark.map(str::to_owned),
            fields: Fields::from([("n".to_owned(), Some(value)), ("gone".to_owned(), None)]),
            error: None,
        }
    }

    #[test]
    fn growth_is_between_the_marks_and_not_between_the_ends() {
        let rows = [
            row(0, None, 1.0),
            row(1, Some(ALLOCATED), 10.0),
            row(2, None, 20.0),
            row(3, Some(SETTLED), 30.0),
            row(4, None, 99.0),
        ];
        let marks = Marks::of(&rows, "vdo.stats").unwrap();
        assert_eq!(marks.growth("n"), Some(20.0));
        assert_eq!(marks.growth("gone"), None);
        assert_eq!(marks.growth("unheard of"), None);
    }

    #[test]
    fn without_both_marks_there_is_no_figure() {
        let rows = [row(1, Some(ALLOCATED), 10.0)];
        assert!(Marks::of(&rows, "vdo.stats").is_none());
        let mut failed = row(3, Some(SETTLED), 0.0);
        failed.error = Some("gone".into());
        assert!(Marks::of(&[row(1, Some(ALLOCATED), 1.0), failed], "vdo.stats").is_none());
        assert!(Marks::of(&rows, "other").is_none());
    }
}
