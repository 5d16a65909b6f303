//! A result as JSON for scripts: the output of `fathom show --json`, as described in `docs/json.md`.

use std::collections::{BTreeMap, BTreeSet};

use analysis::{
    CacheSpell, Evidence, Expectation, FactorEffect, FactorEffects, LevelChange, MetricComparison,
    Reported, ReportedRow, RunCourse, Split, SplitPoint,
};
use results::model::{
    AskedContent, CONTENT_SHARES, ContentFigure, ExpectedFigure, VerifyFigures, WrongKind,
};
use serde_json::{Map, Value, json};
use stats::Difference;

use crate::view::{
    CacheRow, Cause, Cell, Content, CourseRow, Figure, FigureRow, LadderRow, Of, Scope, Sequential,
    Variant, View, Why,
};

/// Version of the document's format; grows with every change that could break a script. Added keys do not
/// change it.
pub const SCHEMA: u32 = 2;

/// Returns the document of one result. What is not known is `null`, never 0.
pub fn json(view: &View) -> Value {
    let variants = view.variants.iter().enumerate();
    let comparisons = view.figures.iter().flat_map(|row| {
        row.comparisons.iter().flatten().map(move |comparison| compared(row, comparison))
    });
    json!({
        "schema": SCHEMA,
        "experiment": view.experiment,
        "accelerator": view.accelerator,
        "simulated": view.simulated,
        "complete": view.complete,
        "going_on": view.going_on,
        "seal": view.seal,
        "sequential": view.sequential.as_ref().map(sequential),
        "variants": variants.map(|(index, v)| variant(view, index, v)).collect::<Vec<_>>(),
        "comparisons": comparisons.collect::<Vec<_>>(),
        "factors": view.effects.iter().map(|row| effects(&row.found)).collect::<Vec<_>>(),
        "splits": view.splits.iter().flat_map(|row| &row.found).map(split).collect::<Vec<_>>(),
        "courses": view.courses.iter().map(|row| course(view, row)).collect::<Vec<_>>(),
        "caches": view.caches.iter().map(|row| cache(view, row)).collect::<Vec<_>>(),
        "ladders": view.ladders.iter().map(|row| ladder(view, row)).collect::<Vec<_>>(),
        "expectations": view.expectations.iter().map(expectation).collect::<Vec<_>>(),
        "reported": view.reported.iter().map(reported).collect::<Vec<_>>(),
        "states": view.states,
        "cells": view.cells.iter().map(cell).collect::<Vec<_>>(),
        "why": view.why.as_ref().map(why),
        "findings": view.findings,
        "driven": view.driven.iter().map(|(name, text)| json!({"name": name, "text": text})).collect::<Vec<_>>(),
    })
}

/// Returns the explanation of a change by counters.
fn why(why: &Why) -> Value {
    let cause = |cause: &Cause| json!({"text": cause.text, "counters": cause.counters});
    json!({"of": why.title, "causes": why.causes.iter().map(cause).collect::<Vec<_>>()})
}

/// Returns the effects of all factors on one metric.
fn effects(found: &FactorEffects) -> Value {
    let change = |change: &LevelChange| json!({"factor": change.factor, "from": change.from, "to": change.to});
    let effect = |effect: &FactorEffect| {
        json!({
            "of": change(&effect.of),
            "with": effect.with.as_ref().map(change),
            "ratio": effect.ratio,
            "low": effect.low,
            "high": effect.high,
            "p": effect.p,
            "p_adjusted": effect.p_adjusted,
            "verdict": effect.verdict,
        })
    };
    json!({
        "metric": found.metric,
        "stage": found.scope.stage,
        "operation": found.scope.as_operation(),
        "layer": found.scope.as_layer(),
        "threshold": found.threshold,
        "repeats": found.repeats,
        "dropped": found.dropped,
        "left_out": found.left_out,
        "freedom": found.freedom,
        "spread": found.spread,
        "method": found.method,
        "effects": found.effects.iter().map(effect).collect::<Vec<_>>(),
    })
}

/// Returns the better way to split an amount of bytes in flight.
fn split(split: &Split) -> Value {
    let point =
        |point: SplitPoint| json!({"depth": point.depth, "throughput_bytes_per_s": point.median});
    json!({
        "variant": split.variant,
        "stage": split.stage,
        "operation": split.operation,
        "outstanding_bytes": split.outstanding,
        "whole": point(split.whole),
        "best": point(split.best),
        "ratio": split.ratio,
        "low": split.low,
        "high": split.high,
        "n": split.n,
        "few_ios": split.few_ios,
        "answer": split.answer.word(),
    })
}

/// Returns the periods in which a cache was cold, warm, full of junk or stalled.
fn cache(view: &View, row: &CacheRow) -> Value {
    let spell = |spell: &CacheSpell| json!({"is": spell.word.word(), "from_s": spell.from_s, "to_s": spell.to_s});
    json!({
        "variant": view.variants.get(row.course.variant).map(|variant| &variant.name),
        "layer": row.course.layer,
        "stage": row.course.stage,
        "metric": row.course.metric,
        "best": row.course.best,
        "bound_percent": row.bound.as_ref().map(|bound| bound.percent),
        "least_warm_up_s": row.bound.as_ref().and_then(|bound| bound.warm_up_ns).map(|ns| ns as f64 / 1e9),
        "spells": row.course.spells.iter().map(spell).collect::<Vec<_>>(),
        "text": row.text,
    })
}

/// Returns the latency of each layer, and the layer that made the 99th percentile.
fn ladder(view: &View, row: &LadderRow) -> Value {
    let mut ladder = crate::ladder::json(&row.stage_ladder.ladder);
    ladder["variant"] =
        json!(view.variants.get(row.stage_ladder.variant).map(|variant| &variant.name));
    ladder["stage"] = json!(row.stage_ladder.stage);
    ladder["repeats"] = json!(row.stage_ladder.repeats);
    ladder["text"] = json!(row.text);
    ladder
}

/// Returns the course of throughput within the runs.
fn course(view: &View, row: &CourseRow) -> Value {
    let RunCourse { runs, change, warm_up_s, growth, .. } = &row.course;
    json!({
        "variant": view.variants.get(row.variant).map(|variant| &variant.name),
        "stage": row.scope.stage,
        "operation": row.operation,
        "runs": runs,
        "change": change.as_ref().map(|change| json!({
            "kind": if change.step { "step" } else { "gradual" },
            "at_s": change.at_s,
            "low_s": change.low_s,
            "high_s": change.high_s,
            "at_bytes": change.at_bytes,
            "low_bytes": change.low_bytes,
            "high_bytes": change.high_bytes,
            "before_bytes_per_s": change.before,
            "after_bytes_per_s": change.after,
            "runs": change.runs,
        })),
        "warm_up_s": warm_up_s,
        "growth": growth.as_ref().map(|growth| json!({
            "percent_per_h": growth.rate * 360_000.0,
            "low": growth.low * 360_000.0,
            "high": growth.high * 360_000.0,
            "from_s": growth.between_s.0,
            "to_s": growth.between_s.1,
            "sure": growth.counts(),
        })),
        "text": row.text,
    })
}

/// Returns a cell, with the load of other programs on the machine while it ran.
fn cell(cell: &Cell) -> Value {
    json!({
        "variant": cell.name,
        "repeat": cell.repeat,
        "state": cell.state,
        "reason": cell.reason,
        "disturbed": cell.disturbed,
        "machine": cell.machine,
        "host": cell.host,
    })
}

/// Returns how the number of repeats was decided.
fn sequential(sequential: &Sequential) -> Value {
    json!({
        "planned_looks": sequential.planned.looks,
        "time_s": sequential.planned.time.map(|time| time.0 as f64 / 1e9),
        "looks": sequential.looks,
        "stopped_after": sequential.stopped.map(|stopped| stopped.after),
        "why": sequential.stopped.map(|stopped| stopped.why),
        "text": sequential.text,
    })
}

fn variant(view: &View, index: usize, variant: &Variant) -> Value {
    let one = view.stages.len() <= 1;
    // With several stages, figures belong to the stages, and none to the variant itself.
    let whole = if one { figures(view, index, variant, None) } else { Map::new() };
    let value = |key: &str| whole.get(key).cloned().unwrap_or(Value::Null);
    let stages = view.stages.iter().map(|stage| {
        let mut figures = figures(view, index, variant, (!one).then_some(stage.as_str()));
        figures.insert("points".to_owned(), Value::Null);
        figures.insert("targets".to_owned(), json!(variant.targets.get(stage)));
        (stage.clone(), Value::Object(figures))
    });
    let sweeps: BTreeSet<&String> = variant.points.iter().map(|(_, sweep)| &sweep.stage).collect();
    let stages = stages.chain(sweeps.into_iter().map(|name| (name.clone(), sweep(name, variant))));
    json!({
        "name": variant.name,
        "repeats": variant.repeats,
        "operations": value("operations"),
        "layers": value("layers"),
        "cpu": value("cpu"),
        "load": value("load"),
        "jobs": value("jobs"),
        "command": value("command"),
        "content": value("content"),
        "stages": stages.collect::<Map<_, _>>(),
        "verified": variant.verified.as_ref().map(verified),
    })
}

/// Returns a sweep: it has no figures of its own, but names the stages that have those of its points.
fn sweep(name: &str, variant: &Variant) -> Value {
    let mine = variant.points.iter().filter(|(_, sweep)| sweep.stage == name);
    let points = mine.map(|(stage, sweep)| json!({ "stage": stage, "at": sweep.point }));
    let none = ["operations", "layers", "cpu", "load", "jobs", "command", "content", "targets"]
        .map(|key| (key, Value::Null));
    let all = none.into_iter().chain([("points", points.collect())]);
    all.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into()
}

/// Returns the figures of one stage of a variant; `None` is the only measured one.
fn figures(
    view: &View,
    index: usize,
    variant: &Variant,
    stage: Option<&str>,
) -> Map<String, Value> {
    let (mut operations, mut layers) = (Map::new(), Map::new());
    let (mut cpu, mut command, mut load) = (Map::new(), Map::new(), Map::new());
    for row in view.figures.iter().filter(|row| row.scope.stage.as_deref() == stage) {
        let value = row.values.get(index).and_then(Option::as_ref);
        let own_scope = row.scope.as_named_by(&variant.devices);
        let (group, name) = match &row.scope.of {
            Of::Operation(name) => (&mut operations, name),
            // Layers that the variant does not have, or has at another place, are left out.
            Of::Layer(_) => {
                let Some(Scope { of: Of::Layer(name), .. }) = &own_scope else { continue };
                if value.is_none() && !variant.stack.iter().any(|layer| layer.name == *name) {
                    continue;
                }
                (&mut layers, name)
            }
            Of::Load => {
                let group = if row.metric.contains("cpu") { &mut cpu } else { &mut load };
                group.insert(row.metric.clone(), figure(value));
                continue;
            }
            Of::Command => {
                command.insert(row.metric.clone(), figure(value));
                continue;
            }
            Of::Content => continue,
        };
        let entry = group.entry(name.clone()).or_insert_with(|| json!({}));
        if let Value::Object(map) = entry {
            map.insert(row.metric.clone(), figure(value));
        }
    }
    let content = variant.content.iter().find(|content| content.stage.as_deref() == stage);
    let groups = [
        ("operations", operations.into()),
        ("layers", layers.into()),
        ("cpu", cpu.into()),
        ("command", command.into()),
        ("load", load.into()),
        ("jobs", jobs(view, index, stage)),
        (
            "content",
            json!({
                "asked": content.and_then(|content| content.asked.as_ref()).map(requested_shares),
                "achieved": content.map(achieved),
            }),
        ),
    ];
    groups.map(|(key, value): (&str, Value)| (key.to_owned(), value)).into_iter().collect()
}

/// Returns the figures of each job of a stage of a variant; `null` where they were not asked for.
fn jobs(view: &View, index: usize, stage: Option<&str>) -> Value {
    let job_rows =
        view.jobs.iter().filter(|row| row.variant == index && row.scope.stage.as_deref() == stage);
    let mut jobs: BTreeMap<u32, Map<String, Value>> = BTreeMap::new();
    for row in job_rows {
        let figures = row.figures.iter().map(|(id, found)| (id.clone(), figure(Some(found))));
        let name = row.scope.as_operation().unwrap_or_default().to_owned();
        jobs.entry(row.job).or_default().insert(name, figures.collect::<Map<_, _>>().into());
    }
    if jobs.is_empty() {
        return Value::Null;
    }
    jobs.into_iter()
        .map(|(job, operations)| json!({"job": job, "operations": operations}))
        .collect()
}

fn figure(figure: Option<&Figure>) -> Value {
    figure.map_or(
        Value::Null,
        |f| json!({"median": f.median, "low": f.low, "high": f.high, "n": f.n}),
    )
}

fn requested_shares(content: &AskedContent) -> Value {
    shares(|share| json!((share.asked)(content)))
}

fn achieved(content: &Content) -> Value {
    if content.achieved.is_empty() {
        return Value::Null;
    }
    shares(|share| figure(content.achieved.get(share.id)))
}

/// Returns the shares of content by their keys.
fn shares(of: impl Fn(&ContentFigure) -> Value) -> Value {
    CONTENT_SHARES
        .iter()
        .map(|share| (share.id.to_owned(), of(share)))
        .collect::<Map<_, _>>()
        .into()
}

fn verified(found: &VerifyFigures) -> Value {
    let kinds =
        WrongKind::ALL.iter().map(|&kind| (kind.word().to_owned(), found.count(kind).into()));
    json!({
        "read": found.read,
        "checked": found.checked,
        "correct": found.correct,
        "untouched": found.untouched,
        "unwritten": found.unwritten,
        "discarded": found.discarded,
        "unsure": found.unsure,
        "wrong": kinds.collect::<Map<_, Value>>(),
    })
}

fn expectation(held: &Expectation) -> Value {
    let ExpectedFigure { figure, bound, of, source, grounds, scale, because, differs, .. } =
        &held.expected;
    let (least, most) = bound.range();
    let end = |value: f64| value.is_finite().then_some(value);
    json!({
        "metric": figure.metric,
        "stage": figure.stage,
        "operation": figure.operation,
        "layer": figure.layer,
        "variant": figure.variant,
        "of": of,
        "asked": {"least": end(least), "most": end(most)},
        "found": held.found,
        "low": held.low,
        "high": held.high,
        "n": held.n,
        "outcome": held.outcome.word(),
        "few_ios": held.few_ios,
        "source": source,
        "grounds": grounds.word(),
        "scale": scale,
        "because": because,
        "differs": differs,
        "evidence": held.evidence.iter().map(evidence).collect::<Vec<_>>(),
    })
}

fn evidence(evidence: &Evidence) -> Value {
    let mut named = json!(evidence.figure);
    named["found"] = json!(evidence.median);
    named
}

fn reported(reported: &Reported) -> Value {
    let row = |row: &ReportedRow| {
        let mut named = json!(row.figure);
        named["source"] = json!(row.source);
        named["source_ratio"] = json!(row.source_ratio);
        named["ran"] = json!(row.ran);
        named["found"] = json!(row.found.median);
        named["n"] = json!(row.found.n);
        let ratio = row.ratio.as_ref();
        named["ratio"] = json!(ratio.and_then(|ratio| ratio.median));
        named["low"] = json!(ratio.and_then(|ratio| ratio.low));
        named["high"] = json!(ratio.and_then(|ratio| ratio.high));
        named["source_spread"] = json!(row.source_spread);
        named["spread"] = json!(row.spread);
        named
    };
    json!({
        "what": reported.what,
        "unit": reported.source_unit,
        "here": reported.here,
        "values": reported.rows.iter().map(row).collect::<Vec<_>>(),
    })
}

fn difference(difference: Difference) -> Value {
    let (low, high) = difference.interval.map(|interval| (interval.low, interval.high)).unzip();
    json!({"value": difference.value, "low": low, "high": high})
}

fn compared(row: &FigureRow, comparison: &MetricComparison) -> Value {
    json!({
        "metric": row.metric,
        "stage": row.scope.stage,
        "operation": row.scope.as_operation(),
        "layer": row.scope.as_layer(),
        "base": comparison.base,
        "new": comparison.new,
        "ratio": comparison.ratio,
        "low": comparison.low,
        "high": comparison.high,
        "difference": comparison.difference.map(difference),
        "p": comparison.p,
        "p_adjusted": comparison.p_adjusted,
        "threshold": comparison.threshold,
        "verdict": comparison.verdict,
        "unseen_runs_percent": comparison.unseen_percent(),
        "n_base": comparison.n,
        "n_new": comparison.n,
        "dropped": comparison.dropped,
        "decided_after": comparison.decided_after,
        "test": comparison.test,
        "runs_apart": comparison.apart.iter().map(|run| json!({"variant": run.variant, "repeat": run.repeat, "cell": run.cell})).collect::<Vec<_>>(),
        "method": comparison.method,
        "repeats_that_might_decide": comparison.repeats_that_would_decide.map(|(least, _)| least),
        "repeats_that_would_decide": comparison.repeats_that_would_decide.map(|(_, most)| most),
    })
}
