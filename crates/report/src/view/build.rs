//! Builds a view from a result, its analysis and its findings.

use std::cmp::Reverse;
use std::collections::BTreeSet;

use analysis::{Analysis, VariantFigures};
use results::model::{CellRecord, CellState, Finding, VerifyFigures};
use results::read::ResultSet;

use super::idle::Idle;
use super::sentence::Detail;
use super::{
    Cell, Chart, Content, FigureRow, Of, Part, Scale, Shape, ThreadRow, Variant, View, caches,
    clock, commands, courses, curves, driven, effects, facts, figures, glossary, grids, headline,
    heat, jobs, ladders, latency, layers, machine, maps, pictures, sentence, splits, states,
    strips, throughput, trees, trust, unmeasured, why,
};
use crate::wording;
use stats::Verdict;

/// Returns everything that a report says about `set`.
pub fn view(set: &ResultSet, analysis: &Analysis, findings: &[Finding]) -> View {
    let plan = &set.manifest.plan;
    let rows = figures::rows(analysis, plan);
    let variants = variants(set, analysis);
    let findings = gravest_first(findings);
    let threads = layers::threads(set);
    let (mut charts, each) = charts(set, analysis, &rows, &threads);
    let mut answers = pictures::first(set, &variants, &rows, &mut charts);
    if answers.is_empty() {
        answers.extend(pictures::of_commands(set, &rows, &mut charts));
    }
    let idle = with_fitting_axes(set, &mut charts);
    answers.retain(|id| charts.iter().any(|chart| chart.id == *id && shows(chart)));
    let maps = maps::maps(set, analysis, &rows, &findings);
    // A map of the bytes in flight is the answer itself.
    if answers.is_empty() && !maps.iter().any(|map| map.in_flight) {
        answers.extend(answer(&rows, &charts, &each));
    }
    let effects = effects::effects(analysis, &rows);
    let splits = splits::splits(&analysis.splits);
    let headline = headline::headline(&variants, &rows, &effects, &splits);
    let asks = !plan.questions.is_empty();
    View {
        experiment: plan.experiment.clone(),
        about: plan.about.clone(),
        accelerator: facts::accelerator(set.manifest.accelerator).to_owned(),
        simulated: set.manifest.simulated,
        complete: set.complete(),
        going_on: set.going_on.clone(),
        seal: set.seal.word(),
        summary: sentence::summary(analysis, &variants, &rows, headline.as_deref(), asks),
        headline,
        verdicts: sentence::verdicts(&variants, &rows, Detail::Short, asks),
        unmeasured: unmeasured::unmeasured(set, &rows),
        banners: facts::banners(set),
        trust: trust::trust(&findings, &variants, decided(analysis), facts::watched(set)),
        why: why::why(set, &variants, &rows, &findings),
        findings,
        run: facts::run_card(set),
        lab: facts::lab_card(set),
        driven: driven::driven(set, &variants),
        machine: facts::machine(set),
        glossary: glossary::terms(plan, &rows),
        spread: figures::spread(analysis, |variant| &variant.interval_throughput),
        io_bandwidth: figures::spread(analysis, |variant| &variant.io_bandwidth),
        grids: grids::grids(plan, &rows),
        effects,
        splits,
        maps,
        courses: courses::courses(analysis),
        caches: caches::caches(&set.manifest.plan, analysis),
        ladders: ladders::ladders(analysis),
        jobs: jobs::rows(analysis),
        expectations: analysis.expectations.clone(),
        reported: analysis.reported.clone(),
        answers,
        charts,
        thread_kinds: layers::thread_kinds(&threads, plan.variants.len()),
        threads,
        single_threads: layers::single_threads(set),
        thread_marks: layers::thread_marks(set),
        samplers: facts::samplers(set),
        lab_times: facts::lab_times(set),
        states: states::states(set),
        cells: cells(set, analysis, &rows),
        sequential: facts::sequential(set),
        stages: analysis.stages.clone(),
        idle,
        starts: plan.variants.iter().map(|variant| clock::starts(set, &variant.name)).collect(),
        variants,
        figures: rows,
    }
}

/// Returns all charts, and the ids of those that show each job separately.
fn charts(
    set: &ResultSet,
    analysis: &Analysis,
    rows: &[FigureRow],
    threads: &[ThreadRow],
) -> (Vec<Chart>, Vec<String>) {
    let mut charts = curves::charts(&set.manifest.plan, rows);
    let by_job = jobs::charts(set, None, None);
    let each: Vec<String> = by_job.iter().map(|chart| chart.id.clone()).collect();
    charts.extend(by_job.into_iter().chain(trees::charts(set)).chain(throughput::charts(set)));
    charts.extend(latency::charts(set).into_iter().chain(heat::charts(set)));
    charts.extend(strips::charts(set, analysis, rows));
    charts.extend(layers::charts(set, threads));
    charts.extend(machine::charts(set).into_iter().filter(|chart| !chart.is_of_a_moment(true)));
    (charts, each)
}

/// Cuts time without load out of axes, and makes an axis logarithmic where lines would otherwise lie on it; returns what was cut.
fn with_fitting_axes(set: &ResultSet, charts: &mut [Chart]) -> Idle {
    let idle = Idle::of(set);
    charts.iter_mut().for_each(|chart| idle.cut(chart));
    for chart in charts.iter_mut().filter(|chart| chart.lies_on_the_axis()) {
        chart.y.scale = Scale::Log;
    }
    idle
}

fn gravest_first(findings: &[Finding]) -> Vec<Finding> {
    let mut findings = findings.to_vec();
    findings.sort_by_key(|finding| Reverse(finding.severity));
    findings
}

/// Most charts of single jobs among the charts shown first.
const BY_JOB: usize = 3;

/// Tells whether a chart shows anything: not if the load did nothing in any run, so that all lines lie on the axis.
fn shows(chart: &Chart) -> bool {
    let lines_of_load = chart.part == Part::Load && chart.shape == Shape::Lines;
    !lines_of_load || chart.y_range().is_some_and(|(_, most)| most > 0.0)
}

/// Returns the charts of the first question: those of single jobs, `by_job`, where they are asked for; else throughput or latency of its operation,
/// else the first chart of its layer, else the first of all.
fn answer(rows: &[FigureRow], charts: &[Chart], by_job: &[String]) -> Vec<String> {
    // If none of the questions was measured, no chart answers them.
    if rows.iter().any(|row| row.asked) && !rows.iter().any(|row| row.asked && row.known()) {
        return Vec::new();
    }
    // Where a factor has many levels, the curve over them is the answer.
    if let Some(curve) = charts.iter().find(|chart| chart.id.starts_with("curve-")) {
        return vec![curve.id.clone()];
    }
    let by_job: Vec<&Chart> =
        charts.iter().filter(|chart| by_job.contains(&chart.id) && shows(chart)).collect();
    if !by_job.is_empty() {
        return by_job.into_iter().take(BY_JOB).map(|chart| chart.id.clone()).collect();
    }
    let answer = rows.iter().find(|row| row.headline() && row.known());
    let of = |wanted: &dyn Fn(&Chart) -> bool| charts.iter().find(|c| wanted(c));
    let answer_chart = answer.and_then(|row| match (&row.scope.of, row.scope.stage.as_deref()) {
        (Of::Operation(name), stage) if row.metric.starts_with("latency") => {
            of(&|c| c.id == latency::id(stage, name))
        }
        // Operations that move no bytes have a chart of I/Os instead of throughput.
        (Of::Operation(name), stage) => {
            let ends = stage.map_or_else(|| format!("-{name}"), |stage| format!("-{stage}-{name}"));
            let rates = ["throughput-", "iops-"];
            of(&|c| rates.iter().any(|rate| c.id.starts_with(rate)) && c.id.ends_with(&ends))
        }
        (Of::Layer(_), _) => of(&|c| c.part == Part::Layers),
        (Of::Load | Of::Command | Of::Content, _) => None,
    });
    answer_chart.or_else(|| of(&shows)).map(|chart| chart.id.clone()).into_iter().collect()
}

fn variants(set: &ResultSet, analysis: &Analysis) -> Vec<Variant> {
    let planned = set.manifest.plan.variants.iter();
    planned
        .map(|facts| {
            let analysed = analysis.variants.iter().find(|v| v.name == facts.name);
            Variant {
                name: facts.name.clone(),
                repeats: analysed.map_or(0, |v| v.repeats),
                stack: facts.stack.clone(),
                devices: analysed.map(|found| found.devices.clone()).unwrap_or_default(),
                stages: facts.stages.iter().map(self::facts::stage).collect(),
                targets: facts
                    .stages
                    .iter()
                    .filter(|stage| stage.measured)
                    .map(|stage| (stage.name.clone(), stage.targets.clone()))
                    .collect(),
                points: facts
                    .stages
                    .iter()
                    .filter_map(|stage| Some((stage.name.clone(), stage.sweep.clone()?)))
                    .collect(),
                content: analysed.map(|found| content(found, &analysis.stages)).unwrap_or_default(),
                verified: verified(set, &facts.name),
            }
        })
        .collect()
}

/// Returns the content that each measured stage of a variant wrote.
fn content(variant: &VariantFigures, order: &[String]) -> Vec<Content> {
    let wrote = variant.figures.keys().filter(|scope| scope.of == Of::Content);
    let stages: BTreeSet<_> =
        wrote.map(|scope| &scope.stage).chain(variant.asked.keys()).cloned().collect();
    let mut stages: Vec<_> = stages.into_iter().collect();
    stages.sort_by_key(|stage| order.iter().position(|name| Some(name) == stage.as_ref()));
    let of = |stage: Option<String>| {
        let achieved = variant.achieved(stage.as_deref()).iter();
        Content {
            asked: variant.asked.get(&stage).cloned(),
            achieved: achieved
                .filter_map(|(k, f)| Some((k.clone(), figures::figure(f)?)))
                .collect(),
            stage,
        }
    };
    stages.into_iter().map(of).collect()
}

/// Returns the sums of what verification found in all loads of a variant.
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

/// Returns the cells, with the figures that are shown on top of the page.
fn cells(set: &ResultSet, analysis: &Analysis, rows: &[FigureRow]) -> Vec<Cell> {
    let mut cells = commands::cells(set);
    let begun = set.cells.iter().filter(|data| data.state() != CellState::Skipped);
    for (cell, data) in cells.iter_mut().zip(begun) {
        let Some(record) = data.record.as_ref().filter(|_| data.done()) else { continue };
        let headline_rows = rows.iter().filter(|row| row.headline());
        cell.figures =
            headline_rows.map(|row| (label(row), cell_value(analysis, record, row))).collect();
    }
    cells
}

/// Returns the name of a figure that is shown without its context.
fn label(row: &FigureRow) -> String {
    match row.scope.stage {
        None => row.label.clone(),
        Some(_) => format!("{}, {}", row.label, row.scope.name()),
    }
}

/// Returns the value of a row in one cell.
fn cell_value(analysis: &Analysis, record: &CellRecord, row: &FigureRow) -> String {
    let variant = analysis.variants.iter().find(|v| v.name == record.variant);
    let values = variant.and_then(|v| v.values_of(&row.scope, &row.metric));
    let points = values.into_iter().flat_map(|v| &v.points);
    let mut value = points.filter(|p| p.repeat == record.repeat).map(|p| p.value);
    value.next().map_or(wording::NONE.to_owned(), |v| wording::value(row.unit, v))
}

/// Tells whether anything was decided: by a verdict on a variant, or on what a factor does.
fn decided(analysis: &Analysis) -> bool {
    let effects = analysis.effects.iter().flat_map(|found| &found.effects);
    let verdicts = analysis.comparisons.iter().filter_map(|comparison| comparison.verdict);
    verdicts.chain(effects.map(|effect| effect.verdict)).any(|verdict| verdict != Verdict::Unclear)
}
