//! The layers of a stack that receive what is written to another one.

use std::collections::{BTreeMap, BTreeSet};

use layers::Place;
use plan::CellPlan;

/// Returns for each layer the names of the layers whose writes reach it; `paths` are what the layers offer.
pub(crate) fn reached_from(cell: &CellPlan, paths: &[String]) -> Vec<BTreeSet<String>> {
    let mut reached: Vec<BTreeSet<String>> =
        cell.stack.iter().map(|layer| BTreeSet::from([layer.name.clone()])).collect();
    // A layer stands on earlier ones alone, so all that is above it is known before it.
    for below in (0..cell.stack.len()).rev() {
        let on = |above: &usize| {
            let inputs = &cell.stack[*above].inputs;
            inputs.values().any(|offer| offer.path() == paths[below])
        };
        let above = (below + 1..cell.stack.len()).filter(on);
        let names: Vec<String> = above.flat_map(|above| reached[above].clone()).collect();
        reached[below].extend(names);
    }
    reached
}

/// Returns for each layer, by name, the layer itself and those that it shares bytes with: all below and above it. `None` where a layer
/// cannot say what it offers.
pub(crate) fn share_bytes(
    cell: &CellPlan,
    run_tag: &str,
) -> Option<BTreeMap<String, BTreeSet<String>>> {
    let offer = |layer: &plan::PlacedLayer| {
        let settings = (layers::kind(&layer.kind)?.parse)(&layer.settings).ok()?;
        let at = Place { name: &layer.name, run_tag, inputs: &layer.inputs };
        Some(settings.raise(&at).ok()?.offer.path().to_owned())
    };
    let paths: Vec<String> = cell.stack.iter().map(offer).collect::<Option<_>>()?;
    let mut share: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for (layer, reached) in cell.stack.iter().zip(reached_from(cell, &paths)) {
        for above in reached {
            share.entry(above.clone()).or_default().insert(layer.name.clone());
            share.entry(layer.name.clone()).or_default().insert(above);
        }
    }
    Some(share)
}
