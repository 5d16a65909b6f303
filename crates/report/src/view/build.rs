//! Putting a view together from a result, its analysis and its findings.

use std::cmp::Reverse;

use analysis::{Analysis, verdict_sentence};
use results::model::{CellRecord, Finding, VerifyFigures};
use results::read::ResultSet;

use super::{
    Cell, Chart, FigureRow, Part, Scope, Variant, View, commands, driven, facts, figures, latency,
    layers, machine, sentence, throughput,
};
use crate::wording;

/// Everything that a report says about `set`.
pub fn view(set: &ResultSet, analysis: &Analysis, findings: &[Finding]) -> View {
    let plan = &set.manifest.plan;
    let rows = figures::rows(analysis, &plan.questions);
    let variants = variants(set, analysis);
    let mut findings = findings.to_vec();
    findings.sort_by_key(|f| Reverse(f.severity));
    let mut charts = throughput::charts(set);
    charts.extend(latency::charts(set));
    charts.extend(layers::charts(set));
    charts.extend(machine::charts(set));
    let answer = answer(&rows, &charts);
    let glossary = ::layers::metrics().filter(|m| rows.iter().any(|r| r.metric == m.id)).copied();
    View {
        experiment: plan.experiment.clone(),
        about: plan.about.clone(),
        accelerator: facts::accelerator(set.manifest.accelerator).to_owned(),
        simulated: set.manifest.simulated,
        complete: set.complete(),
        seal: set.seal.word(),
        summary: verdict_sentence(analysis),
        verdicts: sentence::verdicts(&variants, &rows),
        banners: facts::banners(set),
        findings,
        run: facts::run_card(set),
        lab: facts::lab_card(set),
        driven: driven::driven(set, &variants),
        machine: facts::machine(set),
        glossary: glossary.collect(),
        spread: figures::spread(analysis),
        answer,
        charts,
        threads: layers::threads(set),
        samplers: facts::samplers(set),
        lab_times: facts::lab_times(set),
        cells: cells(set, analysis, &rows),
        variants,
        figures: rows,
    }
}

/// The chart of what is asked first: throughput or latency of its operation, else the first of its layer, else the first of all.
fn answer(rows: &[FigureRow], charts: &[Chart]) -> Option<String> {
    let asked = rows.iter().find(|row| row.headline());
    let of = |wanted: &dyn Fn(&Chart) -> bool| charts.iter().find(|c| wanted(c));
    let own = asked.and_then(|row| match &row.scope {
        Scope::Operation(name) if row.metric.starts_with("latency") => {
            of(&|c| c.id == format!("latency-{name}"))
        }
        Scope::Operation(name) => {
            of(&|c| c.id.starts_with("throughput-") && c.id.ends_with(&format!("-{name}")))
        }
        Scope::Layer(_) => of(&|c| c.part == Part::Layers),
        Scope::Load => None,
    });
    own.or_else(|| charts.first()).map(|chart| chart.id.clone())
}

fn variants(set: &ResultSet, analysis: &Analysis) -> Vec<Variant> {
    let planned = set.manifest.plan.variants.iter();
    planned
        .map(|facts| {
            let own = analysis.variants.iter().find(|v| v.name == facts.name);
            let achieved = own.into_iter().flat_map(|v| &v.content.achieved);
            Variant {
                name: facts.name.clone(),
                repeats: own.map_or(0, |v| v.repeats),
                stack: facts.stack.clone(),
                stages: facts.stages.iter().map(self::facts::stage).collect(),
                asked: own.and_then(|v| v.content.asked.clone()),
                achieved: achieved
                    .filter_map(|(key, f)| Some((key.clone(), figures::figure(f)?)))
                    .collect(),
                verified: verified(set, &facts.name),
            }
        })
        .collect()
}

/// Sums of what verification found in every load of a variant.
fn verified(set: &ResultSet, variant: &str) -> Option<VerifyFigures> {
    let records = set.cells_of(variant).filter_map(|cell| cell.record.as_ref());
    let loads = records.flat_map(|record| &record.stages).filter_map(|stage| stage.load.as_ref());
    let sum = |mut sum: VerifyFigures, next: &VerifyFigures| {
        sum.add_counts(next);
        sum
    };
    let mut found = loads.filter_map(|load| load.verify.as_ref());
    let first = sum(VerifyFigures::default(), found.next()?);
    Some(found.fold(first, sum))
}

/// The cells with the figures that stand on top of the page.
fn cells(set: &ResultSet, analysis: &Analysis, rows: &[FigureRow]) -> Vec<Cell> {
    let mut cells = commands::cells(set);
    for (cell, data) in cells.iter_mut().zip(&set.cells) {
        let Some(record) = data.record.as_ref().filter(|_| data.done()) else { continue };
        let asked = rows.iter().filter(|row| row.headline());
        cell.figures = asked.map(|row| (row.label.clone(), own(analysis, record, row))).collect();
    }
    cells
}

/// What one cell has of a row.
fn own(analysis: &Analysis, record: &CellRecord, row: &FigureRow) -> String {
    let scope = match &row.scope {
        Scope::Operation(name) => analysis::Scope::Operation(name.clone()),
        Scope::Layer(name) => analysis::Scope::Layer(name.clone()),
        Scope::Load => analysis::Scope::Cpu,
    };
    let variant = analysis.variants.iter().find(|v| v.name == record.variant);
    let values = variant.and_then(|v| v.values_of(&scope, &row.metric));
    let points = values.into_iter().flat_map(|v| &v.points);
    let mut value = points.filter(|p| p.repeat == record.repeat).map(|p| p.value);
    value.next().map_or(wording::NONE.to_owned(), |v| wording::value(row.unit, v))
}
