//! The stack of a variant: its layers as written.

use std::collections::BTreeMap;
use std::ops::Range;

use toml::Value;
use units::{Key, key};

use crate::written::diagnostic::{Diagnostic, Mend, among, nearest};
use crate::written::document::{Named, Places, Table};
use crate::written::file::Device;
use crate::written::names;
use crate::written::variants::Variant;

/// A variant's layers as written.
pub(crate) struct VariantStack {
    pub layers: Vec<WrittenLayer>,
    /// The devices whose writes are recorded.
    pub recorded: Vec<String>,
}

impl VariantStack {
    /// Names of what it consists of: layers, and what they stand on.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        self.layers.iter().flat_map(|l| std::iter::once(l.name.as_str()).chain(l.on.names()))
    }
}

/// Inputs of a layer, as it names them.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum On {
    /// Nothing: it stands on the entry before it.
    Before,
    /// `on = "data"`: its only input.
    One(String),
    /// `on = { origin = "slow", cache = "fast" }`: each input by its name.
    Each(BTreeMap<String, String>),
    /// `on = ["one", "two"]`: its inputs in their order.
    List(Vec<String>),
}

impl On {
    /// Names of the devices and layers that it names.
    pub(crate) fn names(&self) -> impl Iterator<Item = &str> {
        let (list, each) = match self {
            Self::Before => (&[][..], None),
            Self::One(name) => (std::slice::from_ref(name), None),
            Self::Each(names) => (&[][..], Some(names.values())),
            Self::List(names) => (&names[..], None),
        };
        list.iter().chain(each.into_iter().flatten()).map(String::as_str)
    }

    fn read(value: Option<Value>, at: Range<usize>) -> Result<Self, Diagnostic> {
        let wrong =
            || Diagnostic::at(at.clone(), "'on' names no device or layer", ON.help(ON.name));
        match value {
            None => Ok(Self::Before),
            Some(Value::String(name)) => Ok(Self::One(name)),
            Some(Value::Table(names)) => {
                let name = |(input, value): (String, Value)| match value {
                    Value::String(name) => Ok((input, name)),
                    _ => Err(wrong()),
                };
                names.into_iter().map(name).collect::<Result<_, _>>().map(Self::Each)
            }
            Some(Value::Array(names)) => {
                let name = |value: Value| value.as_str().map(str::to_owned).ok_or_else(wrong);
                names.into_iter().map(name).collect::<Result<_, _>>().map(Self::List)
            }
            Some(_) => Err(wrong()),
        }
    }
}

/// One `[[stack]]` entry, with what the variant sets.
#[derive(Debug, Clone)]
pub(crate) struct WrittenLayer {
    pub kind: String,
    pub name: String,
    pub on: On,
    pub settings: toml::Table,
    pub places: Places,
}

/// The layers of a variant.
pub(crate) fn read(variant: &Variant) -> Result<VariantStack, Vec<Diagnostic>> {
    let mut mistakes = Vec::new();
    let mut layers: Vec<WrittenLayer> = Vec::new();
    for entry in &variant.stack {
        match written(entry.clone()) {
            Ok(layer) => layers.push(layer),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    for (i, layer) in layers.iter().enumerate() {
        if layers[..i].iter().any(|other| other.name == layer.name) {
            // The mistake is at the layer's own name or kind, not at keys that a variant sets, which are elsewhere in the file.
            let key = if layer.places.has("name") { "name" } else { "layer" };
            mistakes.push(Diagnostic::at(
                layer.places.at(key),
                format!("Two layers of one stack are called '{}'", layer.name),
                "give one of them a name of its own: name = \"...\"",
            ));
        }
    }
    if variant.stack.is_empty() {
        mistakes.push(Diagnostic::at(
            variant.span.clone(),
            format!("Variant '{}' has no stack", variant.name),
            "add [[stack]] for all variants, or [[variant.stack]] for this one",
        ));
    }
    let recorded = |device: &&Named<Device>| {
        device.value.write_runs.as_ref().is_some_and(|runs| *runs.get_ref())
    };
    let recorded =
        variant.devices.iter().filter(recorded).map(|device| device.name.clone()).collect();
    if mistakes.is_empty() { Ok(VariantStack { layers, recorded }) } else { Err(mistakes) }
}

const LAYER: Key = key("layer", "a kind of layer", "\"vdo\"");
const NAME: Key = key("name", "a text of 1 to 64 characters", "\"upper\"");
const ON: Key = key(
    "on",
    "a device or a layer, or one for each input of the layer, by name or as a list",
    "{ origin = \"slow\", cache = \"fast\" }",
);

/// Splits a `[[stack]]` table into what the experiment reads and what the layer reads.
fn written(mut table: Table) -> Result<WrittenLayer, Diagnostic> {
    let places = table.places();
    let kinds = || layers::kinds().iter().map(|k| k.name);
    let kind: String = match table.take(&LAYER)? {
        Some(kind) => kind.into_inner(),
        None => {
            let message = "A layer of the stack does not say which it is";
            let help = format!("add layer = ...; {}", among("", kinds()));
            let unsaid = || Diagnostic::at(table.at(), message, help);
            return Err(table.misspelt(&LAYER).unwrap_or_else(unsaid));
        }
    };
    if layers::kind(&kind).is_none() {
        let message = format!("There is no layer '{kind}'");
        // Its settings would be strange to any other kind.
        let instead = nearest(&kind, kinds()).map(|near| Mend::With(format!("{near:?}").into()));
        let mistake = Diagnostic::at(places.at("layer"), message, among(&kind, kinds()));
        return Err(Diagnostic { instead, ..mistake });
    }
    let name = table.take(&NAME)?.map_or_else(|| kind.clone(), toml::Spanned::into_inner);
    if let Some(mistake) = names::check_plain("a layer", &name, &places.at("name")) {
        return Err(mistake.renamed());
    }
    let on = table.take::<Value>(&ON)?.map(toml::Spanned::into_inner);
    let on = On::read(on, places.at("on"))?;
    let settings = table.values()?.into_iter().map(|Named { name, value, .. }| (name, value));
    Ok(WrittenLayer { kind, name, on, settings: settings.collect(), places })
}
