//! The course of throughput within the runs, in sentences and as marks in the charts over time.

use analysis::{Analysis, Change, EndGrowth, RunCourse, Scope};
use serde::Serialize;
use units::Unit;
use units::show::{nanos, significant};

/// The course of one operation of a variant.
#[derive(Debug, Clone, PartialEq)]
pub struct CourseRow {
    /// Index of the variant.
    pub variant: usize,
    /// Scope of the figures.
    pub scope: Scope,
    /// Name of the stage.
    pub stage: String,
    /// The operation.
    pub operation: String,
    /// The course that the analysis found.
    pub course: RunCourse,
    /// The course in sentences, the variant's name first; `None` where throughput does not change.
    pub text: Option<String>,
}

/// A place in a chart over time.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Mark {
    /// Index of the variant whose colour it has.
    pub variant: usize,
    /// Position on the horizontal axis.
    pub x: f64,
    /// Lower end of the range in which it may be.
    pub low: Option<f64>,
    /// Upper end of that range.
    pub high: Option<f64>,
    /// The label, in a few words.
    pub label: String,
}

/// Returns the courses of all variants.
pub fn courses(analysis: &Analysis) -> Vec<CourseRow> {
    let only = analysis.stages.first().cloned().unwrap_or_default();
    let of = |(variant, figures): (usize, &analysis::VariantFigures)| {
        let row = |(scope, course): (&Scope, &RunCourse)| CourseRow {
            variant,
            stage: scope.stage.clone().unwrap_or_else(|| only.clone()),
            operation: scope.as_operation().unwrap_or_default().to_owned(),
            scope: scope.clone(),
            text: text(course).map(|text| format!("{}: {text}", figures.name)),
            course: course.clone(),
        };
        figures.courses.iter().map(row).collect::<Vec<_>>()
    };
    analysis.variants.iter().enumerate().flat_map(of).collect()
}

impl CourseRow {
    /// Tells whether a chart shows the throughput of this operation.
    pub fn is_in(&self, chart: &str) -> bool {
        let of = |kind: &str| chart == format!("{kind}-{}-{}", self.stage, self.operation);
        of("throughput") || of("iops")
    }

    /// Returns the mark of the change in such a chart.
    pub fn mark(&self) -> Option<Mark> {
        let change = self.course.change?;
        Some(Mark {
            variant: self.variant,
            x: change.at_s?,
            low: change.low_s,
            high: change.high_s,
            label: if change.step { "step" } else { "half of the way" }.to_owned(),
        })
    }
}

fn text(course: &RunCourse) -> Option<String> {
    let changed = course.change.as_ref().map(|change| changed(change, course.runs));
    let warm_up = course.warm_up_s.filter(|time| *time > 0.0).map(|time| {
        format!("the first {} are warm-up: what comes after is another level", seconds(time))
    });
    let growth = course.growth.as_ref().filter(|growth| growth.counts()).map(still);
    let all: Vec<String> = [changed, warm_up, growth].into_iter().flatten().collect();
    (!all.is_empty()).then(|| format!("{}.", all.join("; ")))
}

fn changed(change: &Change, runs: usize) -> String {
    let verb = if change.after < change.before { "falls" } else { "rises" };
    let levels = format!(
        "from {} to {}",
        Unit::BytesPerSecond.show(change.before),
        Unit::BytesPerSecond.show(change.after)
    );
    let range = match (change.low_s, change.high_s) {
        (Some(low), Some(high)) if seconds(low) != seconds(high) => {
            format!(" ({} to {})", seconds(low), seconds(high))
        }
        _ => String::new(),
    };
    let show = |bytes: f64| Unit::Bytes.show(bytes);
    let moved = change.at_bytes.map_or_else(String::new, |bytes| {
        let ends = change.low_bytes.zip(change.high_bytes);
        let range = ends
            .filter(|(low, high)| low < high)
            .map_or_else(String::new, |(low, high)| format!(" ({} to {})", show(low), show(high)));
        format!(", {}{range} moved until then", show(bytes))
    });
    let place = change.at_s.map(|at| format!("{}{range}{moved}", seconds(at)));
    let how = match (change.step, place) {
        (true, Some(place)) => format!("{verb} {levels} after {place}"),
        (false, Some(place)) => {
            format!("{verb} little by little {levels}; half of the way after {place}")
        }
        (_, None) => format!("{verb} little by little {levels}"),
    };
    match runs {
        1 => format!("{how} (one run)"),
        _ if change.runs < runs => format!("{how} (in {} of {runs} runs)", change.runs),
        _ => how,
    }
}

fn still(growth: &EndGrowth) -> String {
    let (word, sign) = if growth.rate < 0.0 { ("falling", -1.0) } else { ("rising", 1.0) };
    // The longest of these units of time in which the change is below 50 %.
    let (name, times) = match growth.rate.abs() {
        rate if rate * 3600.0 < 0.5 => ("h", 3600.0),
        rate if rate * 60.0 < 0.5 => ("min", 60.0),
        _ => ("s", 1.0),
    };
    let percent = |rate: f64| significant(rate * sign * times * 100.0, 2);
    let (near, far) =
        if sign < 0.0 { (growth.high, growth.low) } else { (growth.low, growth.high) };
    format!(
        "still {word} {} %/{name} ({} to {}) after {}",
        percent(growth.rate),
        percent(near),
        percent(far),
        seconds(growth.between_s.1)
    )
}

fn seconds(time: f64) -> String {
    nanos(time * 1e9)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn growth_is_told_over_a_time_in_which_it_is_small() {
        let growth = |rate: f64| EndGrowth {
            rate,
            low: rate * 0.8,
            high: rate * 1.2,
            between_s: (5_400.0, 10_800.0),
        };
        let slow =
            EndGrowth { low: 0.3e-2 / 3600.0, high: 0.5e-2 / 3600.0, ..growth(0.4e-2 / 3600.0) };
        assert_eq!(still(&slow), "still rising 0.4 %/h (0.3 to 0.5) after 180 min");
        let fast =
            EndGrowth { low: -0.012, high: -0.008, between_s: (20.0, 47.0), ..growth(-0.01) };
        assert_eq!(still(&fast), "still falling 1 %/s (0.8 to 1.2) after 47 s");
    }

    #[test]
    fn a_step_says_where_it_is_and_in_how_many_runs() {
        let change = Change {
            step: true,
            at_s: Some(13.0),
            low_s: Some(12.0),
            high_s: Some(15.0),
            at_bytes: Some(200.0 * 1_048_576.0),
            low_bytes: Some(190.0 * 1_048_576.0),
            high_bytes: Some(230.0 * 1_048_576.0),
            before: 16.0 * 1_048_576.0,
            after: 6.5 * 1_048_576.0,
            runs: 4,
        };
        assert_eq!(
            changed(&change, 5),
            "falls from 16 MiB/s to 6.5 MiB/s after 13 s (12 s to 15 s), 200 MiB (190 MiB to 230 MiB) moved until then (in 4 of 5 runs)"
        );
    }
}
