//! Goals of a fill: a value of a metric, or a share of what a layer can hold.

use layers::Kind;
use units::{Key, Metric, Nanos, Percent, Unit, key};
use workload::LoadSpec;

use crate::kinds::targets::WrittenTarget;
use crate::planned::graph::StackPlan;
use crate::stages::StageHead;
use crate::written::diagnostic::{Diagnostic, among, with_article};
use crate::written::document::Table;
use plan::{FillPlan, PlacedLayer, Rounds};

const UNTIL: Key = key(
    "until",
    "a metric of a layer, and the value that is to be reached",
    "{ layer = \"cache\", metric = \"used_percent\", at_least = 99 }",
);
const LAYER: Key = key("layer", "the name of a layer of the stack", "\"cache\"");
const METRIC: Key = key("metric", "a metric of the layer", "\"used_percent\"");
const AT_LEAST: Key = key("at_least", "a number above 0", "99");
const TO: Key = key("to", "a share of what the layer can hold", "\"80%\"");
const OF: Key = key("of", "what is filled", "\"physical\"");

/// Time that the load runs before the layer is read.
pub(super) const ROUND: Nanos = Nanos::from_secs(3);

/// Goal of a fill, as written.
#[derive(Clone)]
pub(crate) enum Goal {
    /// A value of a metric.
    Value { layer: String, metric: String, at_least: f64 },
    /// A share of what a layer can hold.
    Level { to: Percent, of: String },
}

impl Goal {
    /// Returns an empty goal, for a load whose end is set later.
    pub(super) fn open_ended() -> Self {
        Self::Value { layer: String::new(), metric: String::new(), at_least: 0.0 }
    }

    /// Reads `until`, or `to` and `of`.
    pub(crate) fn read(table: &mut Table) -> Result<Self, Diagnostic> {
        let (at, places) = (table.at(), table.places());
        let to = table.take::<Percent>(&TO)?;
        let of = table.take::<String>(&OF)?;
        let until = table.table(&UNTIL, "'until' of a fill")?;
        match (to, of, until) {
            (Some(to), Some(of), None) => {
                if !(0.0..=100.0).contains(&to.get_ref().0) || to.get_ref().0 == 0.0 {
                    let message = format!("A fill cannot go to {}", to.get_ref());
                    return Err(Diagnostic::of_key(to.span(), message, &TO));
                }
                Ok(Self::Level { to: to.into_inner(), of: of.into_inner() })
            }
            (None, None, Some(mut until)) => {
                let layer = until.need::<String>(&LAYER)?.into_inner();
                let metric = until.need::<String>(&METRIC)?.into_inner();
                let at_least = until.need::<f64>(&AT_LEAST)?;
                until.finish()?;
                if !at_least.get_ref().is_finite() || *at_least.get_ref() <= 0.0 {
                    let message = format!("at_least cannot be {}", at_least.get_ref());
                    return Err(Diagnostic::of_key(at_least.span(), message, &AT_LEAST));
                }
                Ok(Self::Value { layer, metric, at_least: at_least.into_inner() })
            }
            (Some(_), _, Some(_)) | (_, Some(_), Some(_)) => {
                let help = "remove 'until', or 'to' and 'of'";
                Err(Diagnostic::at(places.at("until"), "A fill has two goals", help)
                    .fix_by_removing())
            }
            (to, of, _) => {
                let (missing, help) = match (to, of) {
                    (Some(_), _) => (
                        "has 'to' without 'of', so it does not say what to fill",
                        format!("{}; {}", OF.help(OF.name), among("", filled())),
                    ),
                    (None, Some(_)) => {
                        ("has 'of' without 'to', so it does not say how far", TO.help(TO.name))
                    }
                    (None, None) => (
                        "has no goal",
                        format!(
                            "add to = \"80%\" and of = \"physical\"; or {}",
                            UNTIL.help(UNTIL.name)
                        ),
                    ),
                };
                Err(Diagnostic::at(at, format!("A fill {missing}"), help))
            }
        }
    }

    /// Tells whether the goal is a share of what a layer can hold, which writing is sure to reach.
    pub(crate) fn is_level(&self) -> bool {
        matches!(self, Self::Level { .. })
    }

    /// The goal on this stack.
    pub(super) fn plan(
        &self,
        stage: &StageHead,
        stack: &StackPlan,
    ) -> Result<FillPlan, Diagnostic> {
        let plan = |layer: &str, metric: &str, at_least| FillPlan {
            layer: layer.to_owned(),
            metric: metric.to_owned(),
            at_least,
            by: Box::<LoadSpec>::default(),
            rounds: Rounds::Time(ROUND),
        };
        match self {
            Self::Value { layer, metric, at_least } => {
                value(layer, metric, *at_least, stage, stack)?;
                Ok(plan(layer, metric, *at_least))
            }
            Self::Level { to, of } => {
                let within = layers_in_reach(stage, stack);
                let able = stack.layers.iter().rev().filter(|l| within.contains(&l.name.as_str()));
                let found = able.clone().find_map(|layer| {
                    let fills = kind(layer)?.fills;
                    Some((layer, fills.iter().find(|fills| fills.of == of)?))
                });
                let Some((layer, fills)) = found else {
                    return Err(no_such_space(of, stage, able));
                };
                Ok(plan(&layer.name, fills.metric, to.0))
            }
        }
    }
}

/// Returns the names of everything that some kind of layer can fill.
fn filled() -> impl Iterator<Item = &'static str> {
    layers::kinds().iter().flat_map(|kind| kind.fills).map(|fills| fills.of)
}

fn kind(layer: &PlacedLayer) -> Option<&'static Kind> {
    layers::kind(&layer.kind)
}

/// Names of the layers that a stage can fill: the one that it writes to and those under it; all layers where it names none.
fn layers_in_reach<'a>(stage: &StageHead, stack: &'a StackPlan) -> Vec<&'a str> {
    let all = || stack.layers.iter().map(|layer| layer.name.as_str());
    let (WrittenTarget::Layer(name) | WrittenTarget::Files(_, Some(name))) = &stage.target else {
        return all().collect();
    };
    all().filter(|layer| stack.reaches(layer, name)).collect()
}

/// Returns the error for a stack in which no layer has the space to be filled.
fn no_such_space<'a>(
    of: &str,
    stage: &StageHead,
    able: impl Iterator<Item = &'a PlacedLayer>,
) -> Diagnostic {
    let known: Vec<&str> =
        able.filter_map(kind).flat_map(|kind| kind.fills).map(|fills| fills.of).collect();
    let message = match &stage.target {
        WrittenTarget::Layer(name) => {
            format!("Neither '{name}' nor what is under it has a '{of}' that can be filled")
        }
        _ => format!("No layer of this stack has a '{of}' that can be filled"),
    };
    let help = match known[..] {
        [] => "say what is to be reached: until = { layer = ..., metric = ..., at_least = ... }"
            .to_owned(),
        _ => among(of, known.iter().copied()),
    };
    Diagnostic::at(stage.places.at("of"), message, help).near(of, known)
}

/// Checks that the layer has that metric, and that it can have that value.
fn value(
    layer: &str,
    metric: &str,
    at_least: f64,
    stage: &StageHead,
    stack: &StackPlan,
) -> Result<(), Diagnostic> {
    let at = |key: &str| stage.places.at(&format!("until.{key}"));
    let unknown = |key: &str, word: &str, message: String, known: &[&str]| {
        Diagnostic::unknown(at(key), message, word, known.iter().copied())
    };
    let Some(found) = stack.layers.iter().find(|found| found.name == layer) else {
        let names: Vec<&str> = stack.layers.iter().map(|l| l.name.as_str()).collect();
        let message = format!("No layer of this stack is called '{layer}'");
        return Err(unknown("layer", layer, message, &names));
    };
    let metrics: &[Metric] = kind(found).map_or(&[], |kind| kind.metrics);
    let Some(known) = metrics.iter().find(|known| known.id == metric) else {
        let message = format!("'{layer}', {}, has no metric '{metric}'", with_article(&found.kind));
        if metrics.is_empty() {
            let help = "name a layer that has metrics: fathom layers NAME shows them";
            return Err(Diagnostic::at(at("layer"), message, help).if_name_is_right(layer));
        }
        let ids: Vec<&str> = metrics.iter().map(|metric| metric.id).collect();
        return Err(unknown("metric", metric, message, &ids));
    };
    if known.unit == Unit::Percent && at_least > 100.0 {
        let message = format!("'{metric}' is never {at_least} %");
        return Err(Diagnostic::at(at("at_least"), message, "ask for at most 100"));
    }
    Ok(())
}
