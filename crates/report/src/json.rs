//! A result as JSON for scripts: what `fathom show --json` prints, as `docs/json.md` says.

use analysis::MetricComparison;
use results::model::{ContentFigures, VerifyFigures, WrongKind};
use serde_json::{Map, Value, json};

use crate::view::{Figure, FigureRow, Scope, Variant, View};

/// Version of the form of this document; grows with every change that a script could trip over. Keys that
/// are added do not change it.
pub const SCHEMA: u32 = 1;

/// The document of one result. What is not known is `null`, never 0.
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
        "seal": view.seal,
        "variants": variants.map(|(index, v)| variant(view, index, v)).collect::<Vec<_>>(),
        "comparisons": comparisons.collect::<Vec<_>>(),
        "findings": view.findings,
        "driven": view.driven.iter().map(|(name, text)| json!({"name": name, "text": text})).collect::<Vec<_>>(),
    })
}

fn variant(view: &View, index: usize, variant: &Variant) -> Value {
    let mut operations = Map::new();
    let mut layers = Map::new();
    for row in &view.figures {
        let (group, name) = match &row.scope {
            Scope::Operation(name) => (&mut operations, name),
            Scope::Layer(name) => (&mut layers, name),
            Scope::Load => continue,
        };
        let value = row.values.get(index).and_then(Option::as_ref);
        let known = match &row.scope {
            Scope::Operation(_) | Scope::Load => true,
            Scope::Layer(name) => variant.stack.iter().any(|layer| layer.name == *name),
        };
        if known || value.is_some() {
            let entry = group.entry(name.clone()).or_insert_with(|| json!({}));
            if let Value::Object(map) = entry {
                map.insert(row.metric.clone(), figure(value));
            }
        }
    }
    json!({
        "name": variant.name,
        "repeats": variant.repeats,
        "operations": operations,
        "layers": layers,
        "cpu": cpu(view, index),
        "content": {
            "asked": variant.asked.as_ref().map(asked),
            "achieved": achieved(variant),
        },
        "verified": variant.verified.as_ref().map(verified),
    })
}

/// Figures of the load as a whole, where they are not an operation's.
fn cpu(view: &View, index: usize) -> Value {
    let own = view.figures.iter().filter(|row| row.scope == Scope::Load);
    own.map(|row| (row.metric.clone(), figure(row.values.get(index).and_then(Option::as_ref))))
        .collect::<Map<_, _>>()
        .into()
}

fn figure(figure: Option<&Figure>) -> Value {
    figure.map_or(
        Value::Null,
        |f| json!({"median": f.median, "low": f.low, "high": f.high, "n": f.n}),
    )
}

fn asked(content: &ContentFigures) -> Value {
    json!({
        "duplicate_percent": content.duplicate_percent,
        "live_duplicate_percent": content.live_duplicate_percent,
        "lz4_saving_percent": content.lz4_saving_percent,
        "zero_percent": content.zero_percent,
        "packer_saving_percent": content.packer_saving_percent,
    })
}

fn achieved(variant: &Variant) -> Value {
    if variant.achieved.is_empty() {
        return Value::Null;
    }
    let figure = |key: &str| figure(variant.achieved.get(key));
    json!({
        "duplicate_percent": figure("duplicate_percent"),
        "live_duplicate_percent": figure("live_duplicate_percent"),
        "lz4_saving_percent": figure("lz4_saving_percent"),
        "zero_percent": figure("zero_percent"),
        "packer_saving_percent": figure("packer_saving_percent"),
    })
}

fn verified(found: &VerifyFigures) -> Value {
    let kinds =
        WrongKind::ALL.iter().map(|&kind| (kind.word().to_owned(), found.count(kind).into()));
    json!({
        "checked": found.checked,
        "correct": found.correct,
        "unwritten": found.unwritten,
        "unsure": found.unsure,
        "wrong": kinds.collect::<Map<_, Value>>(),
    })
}

fn compared(row: &FigureRow, comparison: &MetricComparison) -> Value {
    let (operation, layer) = match &row.scope {
        Scope::Operation(name) => (Some(name), None),
        Scope::Layer(name) => (None, Some(name)),
        Scope::Load => (None, None),
    };
    json!({
        "metric": row.metric,
        "operation": operation,
        "layer": layer,
        "base": comparison.base,
        "new": comparison.new,
        "ratio": comparison.ratio,
        "low": comparison.low,
        "high": comparison.high,
        "p": comparison.p,
        "p_adjusted": comparison.p_adjusted,
        "threshold": comparison.threshold,
        "verdict": comparison.verdict,
        "n_base": comparison.n_base,
        "n_new": comparison.n_new,
        "repeats_that_would_decide": comparison.repeats_that_would_decide,
    })
}
