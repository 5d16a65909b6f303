//! `do = "fill"`: a load that goes on until a figure of a layer has been reached.

use layers::Kind;
use toml::Spanned;
use units::{Bytes, Key, Metric, Nanos, Unit};
use workload::{LoadSpec, Pattern, Verify};

use crate::diagnostic::{Diagnostic, nearest};
use crate::document::{Places, Table};
use crate::graph::Built;
use crate::plan::FillPlan;
use crate::stages::{self, Stage};

const UNTIL: Key = Key {
    name: "until",
    takes: "a metric of a layer, and the value that is to be reached",
    example: "{ layer = \"cache\", metric = \"used_percent\", at_least = 99 }",
};
const LAYER: Key =
    Key { name: "layer", takes: "the name of a layer of the stack", example: "\"cache\"" };
const METRIC: Key =
    Key { name: "metric", takes: "a metric of the layer", example: "\"used_percent\"" };
const AT_LEAST: Key = Key { name: "at_least", takes: "a number", example: "99" };
const BY: Key = Key {
    name: "by",
    takes: "keys of a load that has no end of its own",
    example: "{ ops = { randread = 100 }, depth = 8 }",
};
const DEADLINE: Key = Key { name: "deadline", takes: "a time from 1s to 24h", example: "\"30m\"" };

/// How long a fill may take unless said.
const USUAL_DEADLINE: Nanos = Nanos::from_secs(30 * 60);
/// The longest that can be said.
const LONGEST: Nanos = Nanos::from_secs(24 * 3600);
/// How long the load goes on before the layer is read.
const ROUND: Nanos = Nanos::from_secs(3);
/// What an estimate assumes, of what nobody knows beforehand.
const ASSUMED: Nanos = Nanos::from_secs(60);

/// A fill as written.
#[derive(Clone)]
pub(crate) struct Fill {
    layer: String,
    metric: String,
    at_least: f64,
    /// The load of one round.
    by: LoadSpec,
    /// Where the keys of the load stand.
    places: Places,
    deadline: Nanos,
}

impl Fill {
    /// Reads the keys that are left.
    pub(crate) fn read(mut table: Table, file: &str) -> Result<Self, Diagnostic> {
        let at = table.at();
        let missing = |key: &Key| {
            let message = format!("A fill has no key '{}', which it needs", key.name);
            Diagnostic::at(at.clone(), message, format!("add it: {}", key.help(key.name)))
        };
        let until = table.table(&UNTIL, "'until' of a fill")?;
        let mut until = until.ok_or_else(|| missing(&UNTIL))?;
        let layer = until.need::<String>(&LAYER)?.into_inner();
        let metric = until.need::<String>(&METRIC)?.into_inner();
        let at_least = until.need::<f64>(&AT_LEAST)?;
        until.finish()?;
        let by = table.table(&BY, "The load of a fill")?.ok_or_else(|| missing(&BY))?;
        let deadline = deadline(table.take::<Nanos>(&DEADLINE)?)?;
        table.finish()?;
        if !at_least.get_ref().is_finite() {
            let message = format!("at_least cannot be {}", at_least.get_ref());
            return Err(Diagnostic::at(at_least.span(), message, AT_LEAST.help(AT_LEAST.name)));
        }
        let places = by.places();
        let by = load(by, &places, file)?;
        Ok(Self { layer, metric, at_least: at_least.into_inner(), by, places, deadline })
    }

    /// The load of one round, and where its keys stand.
    pub(crate) fn round(&self) -> (&LoadSpec, &Places) {
        (&self.by, &self.places)
    }

    /// About how long it takes.
    pub(crate) fn about(&self) -> Nanos {
        ASSUMED.min(self.deadline)
    }

    /// The fill on this stack.
    pub(crate) fn plan(&self, stage: &Stage, stack: &Built) -> Result<FillPlan, Diagnostic> {
        let at = |key: &str| stage.places.at(&format!("until.{key}"));
        let unknown = |key: &str, word: &str, message: String, known: &[&str]| {
            let near = nearest(word, known.iter().copied());
            let near = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
            Diagnostic::at(at(key), message, format!("{near}There are: {}", known.join(", ")))
        };
        let Some(layer) = stack.layers.iter().find(|layer| layer.name == self.layer) else {
            let names: Vec<&str> = stack.layers.iter().map(|l| l.name.as_str()).collect();
            let message = format!("No layer of this stack is called '{}'", self.layer);
            return Err(unknown("layer", &self.layer, message, &names));
        };
        let metrics: &[Metric] = layers::kind(&layer.kind).map_or(&[], |kind: &Kind| kind.metrics);
        let Some(metric) = metrics.iter().find(|metric| metric.id == self.metric) else {
            let message =
                format!("'{}', a {}, has no metric '{}'", self.layer, layer.kind, self.metric);
            if metrics.is_empty() {
                let help = "name a layer that has metrics: fathom layers NAME shows them";
                return Err(Diagnostic::at(at("layer"), message, help));
            }
            let ids: Vec<&str> = metrics.iter().map(|metric| metric.id).collect();
            return Err(unknown("metric", &self.metric, message, &ids));
        };
        if metric.unit == Unit::Percent && self.at_least > 100.0 {
            let message = format!("'{}' is never {} %", self.metric, self.at_least);
            return Err(Diagnostic::at(at("at_least"), message, "ask for at most 100"));
        }
        Ok(FillPlan {
            layer: self.layer.clone(),
            metric: self.metric.clone(),
            at_least: self.at_least,
            by: Box::new(self.by.clone()),
            deadline: self.deadline,
        })
    }
}

/// The load of one round.
fn load(table: Table, places: &Places, file: &str) -> Result<LoadSpec, Diagnostic> {
    let mut spec: LoadSpec = table.read(LoadSpec::key)?;
    let ends = [
        ("duration", spec.duration.is_some()),
        ("bytes", spec.bytes.is_some()),
        ("ios", spec.ios.is_some()),
        ("passes", spec.passes.is_some()),
        ("steady", spec.steady.is_some()),
    ];
    if let Some((key, _)) = ends.into_iter().find(|(_, written)| *written) {
        let message = format!("The load of a fill has no '{key}': 'until' ends it");
        let help = "take it away; 'deadline' of the fill bounds its time";
        return Err(Diagnostic::at(places.at(key), message, help));
    }
    let alien = [("ramp", spec.ramp.is_some()), ("verify", spec.verify != Verify::Off)];
    if let Some((key, _)) = alien.into_iter().find(|(_, written)| *written) {
        let message = format!("The load of a fill has no '{key}': nothing of it is measured");
        return Err(Diagnostic::at(places.at(key), message, "take it away"));
    }
    // Each round begins where the pattern begins.
    let in_order = spec.ops.names().filter(|op| op.has_place()).find(|op| {
        use Pattern::{Interleaved, Sequential, Strided};
        matches!(spec.pattern_of(*op), Sequential | Interleaved { .. } | Strided { .. })
    });
    if let Some(op) = in_order {
        let pattern = spec.pattern_of(op);
        let message = format!(
            "A fill cannot use '{op}' in the pattern {pattern}: it works in rounds of {ROUND}, and each would begin at the same place"
        );
        let help = format!(
            "add pattern = \"permutation\" or \"random\"; or write the range once with do = \"load\" and passes = 1 for {op}"
        );
        let key = if spec.pattern.is_some() { "pattern" } else { "ops" };
        return Err(Diagnostic::at(places.at(key), message, help));
    }
    spec.duration = Some(ROUND);
    stages::checked(spec, places, file)
}

fn deadline(written: Option<Spanned<Nanos>>) -> Result<Nanos, Diagnostic> {
    let Some(deadline) = written else { return Ok(USUAL_DEADLINE) };
    let value = *deadline.get_ref();
    if value < Nanos::from_secs(1) || value > LONGEST {
        let message = format!("A fill cannot have a deadline of {value}");
        return Err(Diagnostic::at(deadline.span(), message, DEADLINE.help(DEADLINE.name)));
    }
    Ok(value)
}

/// What a fill does, in words.
pub(crate) fn describe(fill: &FillPlan) -> String {
    let value = layers::metric(&fill.metric)
        .map_or_else(|| fill.at_least.to_string(), |metric| metric.unit.show(fill.at_least));
    format!(
        "rounds of {}; until {} of {} is at least {value}, for at most {}",
        fill.by.describe(),
        fill.metric,
        fill.layer,
        fill.deadline
    )
}

/// The most bytes that it writes: nobody knows, at most the target is full.
pub(crate) fn written(fill: &FillPlan, target: u64) -> Bytes {
    Bytes(if fill.by.writes() { target } else { 0 })
}
