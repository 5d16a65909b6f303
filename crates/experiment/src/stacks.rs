//! The stacks of an experiment: each variant's layers, resolved from the file and raised on paper.

use std::collections::BTreeMap;
use std::ops::Range;

use layers::probe::{NamedDevice, Probe};
use layers::step::Step;
use layers::{Allocate, Place};
use results::model::LayerFacts;
use toml::Value;
use units::{Bytes, Key};

use crate::diagnostic::{Diagnostic, nearest};
use crate::document::{Named, Places, Table};
use crate::file::File;
use crate::names;
use crate::plan::{Needs, PlacedLayer};

/// One variant with its layers as written.
pub(crate) struct VariantStack {
    pub name: String,
    pub layers: Vec<WrittenLayer>,
    /// Where in the file the variant stands.
    pub span: Range<usize>,
}

/// One `[[stack]]` entry after the variant's `set` was applied.
#[derive(Debug, Clone)]
pub(crate) struct WrittenLayer {
    pub kind: String,
    pub name: String,
    pub on: Option<String>,
    pub settings: toml::Table,
    pub places: Places,
}

/// A stack raised on paper.
pub(crate) struct Built {
    pub layers: Vec<PlacedLayer>,
    pub facts: Vec<LayerFacts>,
    pub up: Vec<Step>,
    pub ready: Vec<Step>,
    pub settle: Vec<Step>,
    pub probes: Vec<Probe>,
    pub device: String,
    pub bytes: Bytes,
    pub allocate: Vec<(String, Allocate)>,
    pub needs: Needs,
}

/// The variants of the file; one called `default` when it names none.
pub(crate) fn resolve(file: &File) -> Result<Vec<VariantStack>, Vec<Diagnostic>> {
    let mut mistakes = Vec::new();
    let mut take =
        |result: Result<WrittenLayer, Diagnostic>| result.map_err(|m| mistakes.push(m)).ok();
    let mut base = Vec::new();
    for entry in &file.stack {
        base.extend(take(written(entry.clone())));
    }
    let mut variants = Vec::new();
    for variant in &file.variant {
        let mut own = Vec::new();
        for layer in &variant.stack {
            own.extend(take(written(layer.clone())));
        }
        let layers = if variant.stack.is_empty() { base.clone() } else { own };
        variants.push(VariantStack {
            name: variant.name.get_ref().clone(),
            layers,
            span: variant.name.span(),
        });
    }
    if variants.is_empty() {
        let span = file.stack.first().map_or(0..0, Table::at);
        variants.push(VariantStack { name: "default".into(), layers: base, span });
    }
    for (entry, variant) in file.variant.iter().zip(&mut variants) {
        for setting in &entry.set {
            mistakes.extend(set(variant, setting).err());
        }
    }
    // Of a layer that could not be read it was said already.
    let complete = mistakes.is_empty();
    mistakes.extend(check_names(&variants, complete));
    if mistakes.is_empty() { Ok(variants) } else { Err(mistakes) }
}

fn check_names(variants: &[VariantStack], complete: bool) -> Vec<Diagnostic> {
    let mut mistakes = Vec::new();
    for (i, variant) in variants.iter().enumerate() {
        if variants[..i].iter().any(|other| other.name == variant.name) {
            mistakes.push(Diagnostic::at(
                variant.span.clone(),
                format!("Two variants are called '{}'", variant.name),
                "give each its own name",
            ));
        }
        for (i, layer) in variant.layers.iter().enumerate() {
            if variant.layers[..i].iter().any(|other| other.name == layer.name) {
                mistakes.push(Diagnostic::at(
                    layer.places.table(),
                    format!("Two layers of one stack are called '{}'", layer.name),
                    "give one of them a name of its own: name = \"...\"",
                ));
            }
        }
        if complete && variant.layers.is_empty() {
            mistakes.push(Diagnostic::at(
                variant.span.clone(),
                format!("Variant '{}' has no stack", variant.name),
                "add [[stack]] for all variants, or [[variant.stack]] for this one",
            ));
        }
    }
    mistakes
}

const LAYER: Key = Key { name: "layer", takes: "a kind of layer", example: "\"vdo\"" };
const NAME: Key = Key { name: "name", takes: "a text of 1 to 64 characters", example: "\"upper\"" };
const ON: Key = Key { name: "on", takes: "the role of a device", example: "\"data\"" };

/// Splits a `[[stack]]` table into what the experiment reads and what the layer reads.
fn written(mut table: Table) -> Result<WrittenLayer, Diagnostic> {
    let places = table.places();
    let kinds = || layers::kinds().iter().map(|k| k.name);
    let known = kinds().collect::<Vec<_>>().join(", ");
    let kind: String = match table.take(&LAYER)? {
        Some(kind) => kind.into_inner(),
        None => {
            let message = "A layer of the stack does not say which it is";
            let help = format!("add layer = ...; there are: {known}");
            return Err(Diagnostic::at(table.at(), message, help));
        }
    };
    if layers::kind(&kind).is_none() {
        let near =
            nearest(&kind, kinds()).map_or(String::new(), |n| format!("did you mean '{n}'? "));
        return Err(Diagnostic::at(
            places.at("layer"),
            format!("There is no layer '{kind}'"),
            format!("{near}There are: {known}"),
        ));
    }
    let name = table.take(&NAME)?.map_or_else(|| kind.clone(), toml::Spanned::into_inner);
    if let Some(mistake) = names::check_plain("a layer", &name, &places.at("name")) {
        return Err(mistake);
    }
    let on = table.take(&ON)?.map(toml::Spanned::into_inner);
    let settings = table.values()?.into_iter().map(|Named { name, value, .. }| (name, value));
    Ok(WrittenLayer { kind, name, on, settings: settings.collect(), places })
}

/// Applies `set."layer.key" = value` to a variant.
fn set(variant: &mut VariantStack, setting: &Named<Value>) -> Result<(), Diagnostic> {
    let names: Vec<String> = variant.layers.iter().map(|l| l.name.clone()).collect();
    let (layer, key) = setting.name.split_once('.').unwrap_or((&setting.name, ""));
    match variant.layers.iter_mut().find(|l| l.name == layer && !key.is_empty()) {
        Some(found) => {
            found.settings.insert(key.to_owned(), setting.value.clone());
            found.places.set(key, setting.at.clone());
            Ok(())
        }
        None => Err(Diagnostic::at(
            setting.at.clone(),
            format!("'{}' names no setting of this variant's stack", setting.name),
            format!("write set.\"layer.key\"; its layers are: {}", names.join(", ")),
        )),
    }
}

/// Raises a variant's stack on paper: every step, probe and wait.
pub(crate) fn build(
    variant: &VariantStack,
    devices: &BTreeMap<String, Bytes>,
    run_tag: &str,
) -> Result<Built, Vec<Diagnostic>> {
    let one = |m: Diagnostic| vec![m];
    let mut built = Built::empty();
    let mut nodes: Vec<NamedDevice> = Vec::new();
    for (position, layer) in variant.layers.iter().enumerate() {
        if position == 0 {
            built.start(layer, devices, &mut nodes).map_err(one)?;
        } else if let Some(on) = &layer.on {
            return Err(one(Diagnostic::at(
                layer.places.at("on"),
                format!("Layer '{}' stands on '{on}', but it is not the lowest", layer.name),
                "only the lowest layer names a device; the others stand on the one before",
            )));
        }
        nodes.extend(built.add(layer, run_tag).map_err(one)?);
    }
    built.probes.extend(layers::machine::probes(&nodes));
    Ok(built)
}

impl Built {
    fn empty() -> Self {
        Self {
            layers: Vec::new(),
            facts: Vec::new(),
            up: Vec::new(),
            ready: Vec::new(),
            settle: Vec::new(),
            probes: Vec::new(),
            device: String::new(),
            bytes: Bytes(0),
            allocate: Vec::new(),
            needs: Needs::default(),
        }
    }

    /// Puts the device under the lowest layer.
    fn start(
        &mut self,
        lowest: &WrittenLayer,
        devices: &BTreeMap<String, Bytes>,
        nodes: &mut Vec<NamedDevice>,
    ) -> Result<(), Diagnostic> {
        let roles = devices.keys().cloned().collect::<Vec<_>>().join(", ");
        let Some((role, size)) = lowest.on.as_ref().and_then(|on| devices.get_key_value(on)) else {
            let on = lowest.on.as_deref().unwrap_or("nothing");
            return Err(Diagnostic::at(
                lowest.places.at("on"),
                format!("The lowest layer '{}' stands on {on}, which is no device", lowest.name),
                format!("write on = \"...\" with one of: {roles}"),
            ));
        };
        self.device = format!("{{device.{role}}}");
        self.bytes = *size;
        self.up.push(layers::fresh(&self.device));
        self.facts.push(LayerFacts {
            layer: "device".into(),
            name: role.clone(),
            settings: BTreeMap::from([("size".to_owned(), size.to_string())]),
        });
        nodes.push(NamedDevice { name: role.clone(), path: self.device.clone() });
        Ok(())
    }

    /// Adds one layer on top and gives its block nodes.
    fn add(
        &mut self,
        written: &WrittenLayer,
        run_tag: &str,
    ) -> Result<Vec<NamedDevice>, Diagnostic> {
        let mistake = |e: layers::SettingError| Diagnostic {
            message: e.to_string(),
            span: Some(written.places.at(&e.key)),
            help: Some(e.help.clone()),
        };
        let Some(kind) = layers::kind(&written.kind) else {
            return Err(Diagnostic::at(
                written.places.at("layer"),
                format!("There is no layer '{}'", written.kind),
                "fathom layers lists them",
            ));
        };
        let layer = (kind.parse)(&written.settings).map_err(mistake)?;
        layer.validate(self.bytes.0).map_err(mistake)?;
        let place =
            Place { name: &written.name, run_tag, below: &self.device, below_bytes: self.bytes.0 };
        let raised = layer.raise(&place).map_err(mistake)?;
        self.layers.push(PlacedLayer {
            kind: written.kind.clone(),
            name: written.name.clone(),
            below: self.device.clone(),
            below_bytes: self.bytes,
            settings: written.settings.clone(),
        });
        self.facts.push(LayerFacts {
            layer: written.kind.clone(),
            name: written.name.clone(),
            settings: layer.settings(),
        });
        self.up.extend(raised.up);
        self.ready.extend(raised.ready);
        self.settle.extend(raised.settle);
        self.probes.extend(raised.probes);
        self.allocate.extend(raised.allocate.map(|a| (written.name.clone(), a)));
        self.device = raised.device;
        self.bytes = Bytes(raised.bytes);
        self.needs =
            std::mem::take(&mut self.needs).with(&Needs::of(&kind.needs, raised.memory_bytes));
        Ok(raised.nodes)
    }
}
