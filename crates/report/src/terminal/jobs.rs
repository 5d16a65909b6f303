//! Each job by itself, on a terminal.

use units::printable;

use super::ink::{Ink, Tint, wrapped};
use super::table::short;
use crate::view::{JobFigures, View};
use crate::wording;

/// Most jobs of one operation that are listed; of more, only the slowest and the fastest.
const LISTED: usize = 16;

/// Returns a line for each job of each operation of each variant; nothing where figures of jobs were not asked for.
pub(super) fn table(view: &View, width: usize, ink: &Ink) -> String {
    let mut out = String::new();
    for jobs in view.jobs.chunk_by(|a, b| (a.variant, &a.scope) == (b.variant, &b.scope)) {
        let Some(first) = jobs.first() else { continue };
        let variant = view.variants.get(first.variant).map_or("", |v| v.name.as_str());
        let head = format!("Jobs of {}, {variant}:", first.scope.name());
        out.push_str(&wrapped(&printable(&head), width, ""));
        out.push('\n');
        let listed = if jobs.len() > LISTED { ends(jobs) } else { jobs.iter().collect() };
        for row in listed {
            // Wrapping removes leading spaces.
            out.push_str("  ");
            out.push_str(&wrapped(&line(row), width.saturating_sub(2), "          "));
            out.push('\n');
        }
        if jobs.len() > LISTED {
            let text = format!("  The slowest and the fastest of {} jobs; all: --csv", jobs.len());
            out.push_str(&ink.paint(Tint::Dim, &wrapped(&text, width, "  ")));
            out.push('\n');
        }
        out.push('\n');
    }
    out
}

/// Returns the slowest and the fastest jobs; those whose rate is not known come last, if there is room.
fn ends(jobs: &[JobFigures]) -> Vec<&JobFigures> {
    let rate = |row: &JobFigures| row.figures.get("iops").map(|figure| figure.median);
    let (mut listed, unknown): (Vec<_>, Vec<_>) = jobs.iter().partition(|row| rate(row).is_some());
    listed.sort_by(|a, b| rate(a).unwrap_or(f64::NAN).total_cmp(&rate(b).unwrap_or(f64::NAN)));
    if listed.len() > LISTED {
        listed.drain(LISTED / 2..listed.len() - LISTED / 2);
    }
    listed.extend(unknown);
    listed.truncate(LISTED);
    listed
}

fn line(row: &JobFigures) -> String {
    let figures = wording::JOB_METRICS.into_iter().filter_map(layers::metric);
    let values = figures.filter_map(|metric| {
        let figure = row.figures.get(metric.id)?;
        Some(format!("{} {}", short(metric.name), wording::value(metric.unit, figure.median)))
    });
    format!("job {} {}", row.job, values.collect::<Vec<_>>().join(", "))
}
