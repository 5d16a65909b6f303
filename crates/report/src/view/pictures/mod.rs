//! The pictures of an experiment, which its page shows first: charts that the page has anyway, or others made in the same way.

mod bars;
mod series;

use analysis::asks;
use results::model::{AskedMetric, PictureFacts, Show};
use results::read::ResultSet;

use super::{Chart, FigureRow, Of, Variant, curves, throughput};

/// Returns the ids of the charts that are shown first, in order; those that the page lacks are added to `charts`.
pub(super) fn first(
    set: &ResultSet,
    variants: &[Variant],
    rows: &[FigureRow],
    charts: &mut Vec<Chart>,
) -> Vec<String> {
    let mut ids = Vec::new();
    for picture in &set.manifest.plan.pictures {
        for chart in drawn(set, variants, rows, picture).into_iter().filter(Chart::has_points) {
            if !ids.contains(&chart.id) {
                ids.push(chart.id.clone());
            }
            if !charts.iter().any(|known| known.id == chart.id) {
                charts.push(chart);
            }
        }
    }
    ids
}

/// Adds the chart of the first question to `charts` if it is about commands, with all stages that have one, and returns its id; `None` if the first
/// question is about something else.
pub(super) fn of_commands(
    set: &ResultSet,
    rows: &[FigureRow],
    charts: &mut Vec<Chart>,
) -> Option<String> {
    let answer = rows.iter().find(|row| row.headline() && row.known())?;
    let picture = PictureFacts {
        show: Show::Comparison,
        stage: None,
        operation: None,
        layer: None,
        series: Vec::new(),
        percentiles: Vec::new(),
        metric: Some(answer.metric.clone()),
        by: None,
    };
    let of_commands =
        |row: &FigureRow| row.scope.of == Of::Command && row.metric == answer.metric && row.known();
    let chart = bars::comparison(set, rows, &picture, &of_commands).pop()?;
    let id = (answer.scope.of == Of::Command).then(|| chart.id.clone())?;
    charts.push(chart);
    Some(id)
}

fn drawn(
    set: &ResultSet,
    variants: &[Variant],
    rows: &[FigureRow],
    picture: &PictureFacts,
) -> Vec<Chart> {
    match picture.show {
        Show::IopsOverTime | Show::ThroughputOverTime | Show::LatencyOverTime => {
            throughput::of_picture(set, picture)
        }
        Show::LatencyBars => bars::latency(set, picture),
        Show::Series => series::charts(set, picture),
        Show::Curve => curves::of_picture(&set.manifest.plan, rows, picture, &|row| {
            is_pictured(picture, variants, row)
        }),
        Show::Comparison => {
            bars::comparison(set, rows, picture, &|row| is_pictured(picture, variants, row))
        }
        Show::Unknown => Vec::new(),
    }
}

/// Tells whether a row has the figure that a picture names.
fn is_pictured(picture: &PictureFacts, variants: &[Variant], row: &FigureRow) -> bool {
    let PictureFacts { stage, operation, layer, .. } = picture.clone();
    let Some(metric) = picture.metric.clone() else { return false };
    let question = AskedMetric { metric, stage, operation, layer, threshold: 0.0 };
    // A picture may use any variant's name of a device.
    let mut own_scopes =
        variants.iter().filter_map(|variant| row.scope.as_named_by(&variant.devices));
    asks(&question, &row.scope, &row.metric)
        || own_scopes.any(|own_scope| asks(&question, &own_scope, &row.metric))
}
