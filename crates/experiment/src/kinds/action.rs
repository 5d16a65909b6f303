//! `do = "layer"`: something that a kind of layer declares it can do while it stands (`restart`, `grow`, `index-create`).

use std::ops::Range;

use layers::{ActionKind, ActionRequest, Kind, PartEffect, Place};
use results::model::StageData;
use toml::{Spanned, Table as Settings};
use units::{Key, Nanos, key};

use crate::kinds::targets;
use crate::stages::{KindFacts, Planner, StageHead, StageKind, StageTask, WorksOn};
use crate::written::diagnostic::{Diagnostic, Mend, among, nearest, with_article};
use crate::written::document::{Named, Table};
use plan::StagePlan;

pub(crate) const KIND: StageKind =
    StageKind { facts: FACTS, read: |table, _| Ok(Box::new(Act::read(table)?)) };
const FACTS: KindFacts = KindFacts {
    cannot: "do that",
    ..KindFacts::new("layer", "What a layer does", WorksOn::One, StageData::Nothing).timed().down()
};

const ACTION: Key = key("action", "the name of an action of the layer", "\"restart\"");

/// An action as written.
#[derive(Debug, Clone)]
pub(crate) struct Act {
    action: Spanned<String>,
    /// The remaining keys, which are those of the action.
    keys: Settings,
    at: Range<usize>,
}

impl Act {
    /// An action with nothing set, as a stage at `at` asks for it.
    pub(crate) fn plain(action: &str, at: Range<usize>) -> Self {
        let action = Spanned::new(at.clone(), action.to_owned());
        Self { action, keys: Settings::new(), at }
    }

    /// Reads the keys that are left.
    fn read(mut table: Table) -> Result<Self, Diagnostic> {
        let action = table.need::<String>(&ACTION)?;
        let at = table.at();
        let keys = table.values()?.into_iter().map(|Named { name, value, .. }| (name, value));
        Ok(Self { action, keys: keys.collect(), at })
    }

    /// Returns the mistake for an action at a time when a part of the layer is not in the state that it needs.
    fn out_of_order(&self, does: PartEffect, kind: &Kind, why: &str) -> Diagnostic {
        let remedy = |other: &&ActionKind| match (does, other.part) {
            (PartEffect::Brings(part), Some(PartEffect::Takes(other)))
            | (
                PartEffect::Needs(part) | PartEffect::Takes(part),
                Some(PartEffect::Brings(other)),
            ) => part == other,
            _ => false,
        };
        let before = kind.actions.iter().find(remedy);
        let help = before.map_or_else(
            || "leave it out".to_owned(),
            |other| {
                format!("put a stage with action = \"{}\" before it, or leave it out", other.name)
            },
        );
        let message = format!("The action '{}' cannot be here: {why}", self.action.get_ref());
        Diagnostic::at(self.action.span(), message, help).if_rest_is_right()
    }
}

impl StageTask for Act {
    /// Plans the steps on this stack, and notes there the layer's settings and what it offers afterwards.
    fn plan(&self, stage: &StageHead, on: &mut Planner) -> Result<Vec<StagePlan>, Diagnostic> {
        let Planner { stack, running, .. } = on;
        let target = targets::of(stage, stack)?;
        let name = self.action.get_ref();
        let no_layer = || {
            let message = format!("'{}' is not a layer", target.name);
            Diagnostic::at(stage.places.at("target"), message, "name one").if_rest_is_right()
        };
        let (_, kind, _) = running.layer(&target.name).ok_or_else(no_layer)?;
        let Some(declared) = kind.actions.iter().find(|action| action.name == *name) else {
            let names: Vec<&str> = kind.actions.iter().map(|action| action.name).collect();
            let message =
                format!("'{}', {}, has no action '{name}'", target.name, with_article(kind.name));
            let help = match names[..] {
                [] => "name a layer that has actions: fathom layers NAME shows them".to_owned(),
                _ => among(name, names.iter().copied()),
            };
            let mistake = Diagnostic::at(self.action.span(), message, help);
            return Err(mistake.near(name, names));
        };
        if declared.alone {
            targets::free(stage, stack)?;
        }
        if let Some(strange) =
            self.keys.keys().find(|key| !declared.keys.iter().any(|k| k.name == **key))
        {
            let names: Vec<&str> = declared.keys.iter().map(|key| key.name).collect();
            let near = nearest(strange, names.iter().copied());
            let instead = near.map_or(Mend::Without, |near| Mend::Named(near.into()));
            let near = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
            let help = match names[..] {
                [] => "it has no keys of its own".to_owned(),
                _ => format!("{near}It has: {}", names.join(", ")),
            };
            let message = format!(
                "The action '{name}' of {} has no key '{strange}'",
                with_article(kind.name)
            );
            let mistake = Diagnostic::at(stage.places.at(strange), message, help);
            return Err(Diagnostic { instead: Some(instead), ..mistake });
        }
        let (layer, _, run_tag) = running.layer(&target.name).ok_or_else(no_layer)?;
        let mistake = |error: layers::SettingError| {
            let written = self.keys.contains_key(&error.key);
            let at = match &*error.key {
                key if written => stage.places.at(key),
                "action" => self.action.span(),
                _ => self.at.clone(),
            };
            Diagnostic::of_setting(at, &error, kind).if_rest_is_right()
        };
        let of_layer = |key: &&String| kind.keys.iter().any(|known| known.name == **key);
        let new = self.keys.iter().filter(|(key, _)| of_layer(key));
        let mut settings = layer.settings.clone();
        settings.extend(new.map(|(key, value)| (key.clone(), value.clone())));
        let parsed = (kind.parse)(&settings).map_err(mistake)?;
        let place = Place { name: &layer.name, run_tag, inputs: &layer.inputs };
        let request = ActionRequest { action: name, keys: &self.keys, before: &layer.settings };
        let acted = parsed.act(&place, &request).map_err(mistake)?;
        layer.settings = settings;
        if let Some(does) = declared.part {
            let planned = running.part(&target.name, does, &stage.name);
            planned.map_err(|why| self.out_of_order(does, kind, &why))?;
        }
        if let Some(bytes) = acted.bytes {
            running.resize(target.offer.path(), bytes);
            stack.resize(&target.name, bytes);
        }
        let target = stack.layer(&target.name).unwrap_or(target);
        let planned = stage.doing(acted.steps, target, Nanos::from_secs(1))?;
        Ok(vec![StagePlan { loses: declared.loses, ..planned }])
    }
}
