//! Devices that are joined: what they must have in common.

use std::collections::BTreeMap;

use results::model::LayerFacts;

use crate::written::diagnostic::Diagnostic;
use crate::written::stacks::WrittenLayer;

/// The size of logical blocks of a device for which none is given.
const USUAL: &str = "512 B";

/// Refuses a layer on devices whose logical blocks have several sizes.
pub(crate) fn block_sizes(
    written: &WrittenLayer,
    on: &BTreeMap<String, String>,
    facts: &[LayerFacts],
) -> Result<(), Diagnostic> {
    let mut sizes: BTreeMap<&str, &str> = BTreeMap::new();
    for device in on.values().flat_map(|name| devices(name, facts)) {
        let size = device.settings.get("logical_block").map_or(USUAL, String::as_str);
        sizes.entry(size).or_insert(&device.name);
    }
    if sizes.len() < 2 {
        return Ok(());
    }
    let each: Vec<String> =
        sizes.iter().map(|(size, device)| format!("{size} ('{device}')")).collect();
    Err(Diagnostic::at(
        written.places.at("on"),
        format!(
            "Layer '{}' joins devices whose logical blocks differ: {}",
            written.name,
            each.join(", ")
        ),
        "give all of them the same logical_block: lvm takes no others into one group",
    ))
}

/// The devices under a device or layer.
fn devices<'a>(name: &str, facts: &'a [LayerFacts]) -> Vec<&'a LayerFacts> {
    let Some(layer) = facts.iter().find(|facts| facts.name == name) else { return Vec::new() };
    if layer.on.is_empty() {
        return vec![layer];
    }
    layer.on.values().flat_map(|below| devices(below, facts)).collect()
}
