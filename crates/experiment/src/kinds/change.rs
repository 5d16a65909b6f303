//! `set."layer.key"` of a stage: settings of running layers that change before the stage, for the rest of the cell.

use std::ops::Range;

use layers::step::Step;
use layers::{Allocate, Kind, PartEffect, Place};

use crate::planned::graph::StackPlan;
use crate::stages::StageHead;
use crate::written::diagnostic::Diagnostic;
use crate::written::variants::nearest_hint;
use plan::PlacedLayer;

/// The layers of a stack with their current settings.
pub(crate) struct RunningLayers<'a> {
    layers: Vec<PlacedLayer>,
    run_tag: &'a str,
    /// Parts of layers that actions removed: the layer, the part, and the stage that did it.
    gone: Vec<(String, &'static str, String)>,
}

impl<'a> RunningLayers<'a> {
    /// Returns the layers with the settings that they are raised with.
    pub(crate) fn new(stack: &StackPlan, run_tag: &'a str) -> Self {
        Self { layers: stack.layers.clone(), run_tag, gone: Vec::new() }
    }

    /// Returns a layer with its current settings, its kind, and the run's tag.
    pub(crate) fn layer(
        &mut self,
        name: &str,
    ) -> Option<(&mut PlacedLayer, &'static Kind, &'a str)> {
        let layer = self.layers.iter_mut().find(|layer| layer.name == name)?;
        let kind = layers::kind(&layer.kind)?;
        Some((layer, kind, self.run_tag))
    }

    /// Their names, the lowest first.
    pub(crate) fn names(&self) -> Vec<String> {
        self.layers.iter().map(|layer| layer.name.clone()).collect()
    }

    /// Returns what the layer allocates on first write, according to its current settings and sizes.
    pub(crate) fn allocates(&self, name: &str) -> Option<Allocate> {
        let layer = self.layers.iter().find(|layer| layer.name == name)?;
        let parsed = (layers::kind(&layer.kind)?.parse)(&layer.settings).ok()?;
        let place = Place { name: &layer.name, run_tag: self.run_tag, inputs: &layer.inputs };
        parsed.raise(&place).ok()?.allocate
    }

    /// Records the effect of an action in `stage` on a part of `layer`; the error says why that effect is impossible.
    pub(crate) fn part(
        &mut self,
        layer: &str,
        does: PartEffect,
        stage: &str,
    ) -> Result<(), String> {
        let part = does.name();
        let gone = self.gone.iter().position(|(of, what, _)| of == layer && *what == part);
        match (does, gone) {
            (PartEffect::Needs(_) | PartEffect::Renews(_), None) => {}
            (PartEffect::Takes(_), None) => {
                self.gone.push((layer.to_owned(), part, stage.to_owned()));
            }
            (PartEffect::Brings(_) | PartEffect::Renews(_), Some(place)) => {
                self.gone.swap_remove(place);
            }
            (PartEffect::Brings(_), None) => {
                return Err(format!("the {part} of '{layer}' is there: nothing took it away"));
            }
            (PartEffect::Needs(_) | PartEffect::Takes(_), Some(place)) => {
                let (_, _, by) = &self.gone[place];
                return Err(format!(
                    "the {part} of '{layer}' is not there: stage '{by}' took it away"
                ));
            }
        }
        Ok(())
    }

    /// Refuses to fill a layer while a part whose fill level the goal refers to is missing.
    pub(crate) fn check_filled_parts(
        &self,
        layer: &str,
        stage: &StageHead,
    ) -> Result<(), Diagnostic> {
        let found = self.layers.iter().find(|found| found.name == layer);
        let Some(kind) = found.and_then(|found| layers::kind(&found.kind)) else { return Ok(()) };
        let needed = |part: &str| kind.fills.iter().any(|fills| fills.part == Some(part));
        let mut gone = self.gone.iter();
        let Some((_, part, by)) = gone.find(|(of, part, _)| of == layer && needed(part)) else {
            return Ok(());
        };
        let message = format!(
            "Stage '{}' fills '{layer}', whose {part} is not there: stage '{by}' took it away",
            stage.name
        );
        let help = kind.brings(part).map_or_else(
            || format!("put it before stage '{by}'"),
            |action| {
                format!(
                    "put it before stage '{by}', or put a stage with action = \"{}\" between them",
                    action.name
                )
            },
        );
        Err(Diagnostic::at(stage.places.at("do"), message, help).if_rest_is_right())
    }

    /// Notes that what is offered at `path` has another size from now on.
    pub(crate) fn resize(&mut self, path: &str, size: u64) {
        let inputs = self.layers.iter_mut().flat_map(|layer| layer.inputs.values_mut());
        inputs.filter(|offer| offer.path() == path).for_each(|offer| offer.resize(size));
    }

    /// The steps that change what the stage sets.
    pub(crate) fn change(&mut self, stage: &StageHead) -> Result<Vec<Step>, Diagnostic> {
        let mut steps = Vec::new();
        for setting in &stage.set {
            let (path, span) = (&setting.name, setting.at.clone());
            let (name, key) = path.split_once('.').unwrap_or((path, ""));
            let names = self.names();
            let found = self.layers.iter_mut().find(|layer| layer.name == name);
            let Some((layer, kind)) =
                found.and_then(|layer| layers::kind(&layer.kind).map(|kind| (layer, kind)))
            else {
                let near = nearest_hint(path, names.iter());
                let help =
                    format!("{near}write set.\"layer.key\"; its layers are: {}", names.join(", "));
                let message = format!("'{path}' names no setting of this stack");
                return Err(Diagnostic::at(span, message, help)
                    .fix_by_removing()
                    .if_name_is_right(name));
            };
            layer.settings.insert(key.to_owned(), setting.value.clone());
            let parsed = (kind.parse)(&layer.settings)
                .map_err(|e| Diagnostic::of_setting(span.clone(), &e, kind))?;
            let place = Place { name: &layer.name, run_tag: self.run_tag, inputs: &layer.inputs };
            let Some(change) = parsed.change(&place, key) else {
                let able = parsed.changeable().join(", ");
                let help = if able.is_empty() {
                    "no setting of it can".into()
                } else {
                    format!("these can: {able}")
                };
                let message = format!("'{key}' of '{name}' cannot change while it runs");
                return Err(Diagnostic::at(span, message, help).fix_by_removing());
            };
            if let Some(does) = kind.change {
                self.part(name, does, &stage.name)
                    .map_err(|why| change_out_of_order(path, span, kind, does, &why))?;
            }
            steps.extend(change);
        }
        Ok(steps)
    }
}

/// Returns the mistake for a change of a setting while a part of the layer is not in the state that the change needs.
fn change_out_of_order(
    path: &str,
    span: Range<usize>,
    kind: &Kind,
    does: PartEffect,
    why: &str,
) -> Diagnostic {
    let help = kind.brings(does.name()).map_or_else(
        || "leave it out".to_owned(),
        |action| format!("put a stage with action = \"{}\" before it", action.name),
    );
    Diagnostic::at(span, format!("'{path}' cannot change here: {why}"), help).if_rest_is_right()
}
