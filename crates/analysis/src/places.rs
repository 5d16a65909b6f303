//! Matches the devices of different variants for comparison: those at the same place of their stacks, whatever the experiment calls them.

use std::collections::BTreeMap;

use results::model::LayerFacts;

/// Word that stands for a device in a stack.
const DEVICE: &str = "device";

/// The devices of a variant: its own name of each device, by the name shared by all variants for the device at that place.
pub(crate) type Devices = BTreeMap<String, String>;

/// A device that variants have in common.
struct Common {
    name: String,
    place: Vec<String>,
}

/// Returns the devices of each stack. The shared name of a device is the one that the first stack with a device at this place gives it; a
/// device at a place that no other stack has is matched by its own name.
pub(crate) fn devices<'a>(stacks: impl Iterator<Item = &'a [LayerFacts]>) -> Vec<Devices> {
    let mut all: Vec<Common> = Vec::new();
    let of = |stack: &[LayerFacts]| {
        let mut devices = Devices::new();
        let mut rest = placed(stack);
        let same: [fn(&Common, &Common) -> bool; 2] =
            [|a, b| a.place == b.place, |a, b| a.name == b.name];
        for same in same {
            rest.retain(|device| {
                let free = |common: &&Common| !devices.contains_key(&common.name);
                let found = all.iter().filter(free).find(|common| same(common, device));
                let Some(common) = found else { return true };
                devices.insert(common.name.clone(), device.name.clone());
                false
            });
        }
        for device in rest {
            let mut common = device.name.clone();
            while all.iter().any(|known| known.name == common) {
                common.push('\'');
            }
            devices.insert(common.clone(), device.name);
            all.push(Common { name: common, place: device.place });
        }
        devices
    };
    stacks.map(of).collect()
}

/// Returns the devices of a stack, each with the path to it from the top: the inputs taken at layers that have several.
fn placed(stack: &[LayerFacts]) -> Vec<Common> {
    let devices = || stack.iter().filter(|layer| layer.layer == DEVICE);
    let several = devices().count() > 1;
    devices()
        .map(|device| {
            // In results that do not record which layer stands on which, only the order is known.
            let known = stack.iter().any(|layer| !layer.on.is_empty());
            let place = match (several, known) {
                (false, _) => Vec::new(),
                (true, true) => way(stack, &device.name),
                (true, false) => vec![device.name.clone()],
            };
            Common { name: device.name.clone(), place }
        })
        .collect()
}

/// Returns the inputs on the path from the top down to the layer called `below`, only at layers with more than one.
fn way(stack: &[LayerFacts], below: &str) -> Vec<String> {
    let mut inputs = Vec::new();
    let mut at = below;
    // No path is longer than the stack; the bound ends the walk through a damaged result with a cycle.
    for _ in stack {
        let on = |layer: &&LayerFacts| layer.on.values().any(|name| name == at);
        let Some(layer) = stack.iter().find(on) else { break };
        let input = layer.on.iter().find(|(_, name)| *name == at);
        inputs.extend(input.filter(|_| layer.on.len() > 1).map(|(input, _)| input.clone()));
        at = &layer.name;
    }
    let is_below = |layer: &&LayerFacts| {
        stack.iter().any(|other| other.on.values().any(|name| *name == layer.name))
    };
    let tops = stack.iter().filter(|layer| !is_below(layer)).count();
    inputs.extend((tops > 1).then(|| at.to_owned()));
    inputs
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(kind: &str, name: &str, on: &[(&str, &str)]) -> LayerFacts {
        LayerFacts {
            layer: kind.to_owned(),
            name: name.to_owned(),
            settings: BTreeMap::new(),
            on: on.iter().map(|(i, n)| ((*i).to_owned(), (*n).to_owned())).collect(),
            computed: Vec::new(),
        }
    }

    fn names_of(stacks: &[Vec<LayerFacts>]) -> Vec<Vec<(String, String)>> {
        let found = devices(stacks.iter().map(Vec::as_slice));
        found.into_iter().map(|names| names.into_iter().collect()).collect()
    }

    fn pairs(pairs: &[(&str, &str)]) -> Vec<(String, String)> {
        pairs.iter().map(|(a, b)| ((*a).to_owned(), (*b).to_owned())).collect()
    }

    #[test]
    fn the_disk_under_a_stack_is_one_whatever_its_role_and_however_many_layers_are_on_it() {
        let plain =
            vec![layer(DEVICE, "slow", &[]), layer("linear", "linear", &[("data", "slow")])];
        let deep = vec![
            layer(DEVICE, "sata", &[]),
            layer("linear", "linear", &[("data", "sata")]),
            layer("vdo", "vdo", &[("data", "linear")]),
        ];
        assert_eq!(
            names_of(&[plain, deep]),
            [pairs(&[("slow", "slow")]), pairs(&[("slow", "sata")])]
        );
        let old = vec![layer(DEVICE, "data", &[]), layer("vdo", "vdo", &[])];
        let other = vec![layer(DEVICE, "file", &[])];
        assert_eq!(
            names_of(&[old, other]),
            [pairs(&[("data", "data")]), pairs(&[("data", "file")])]
        );
    }

    #[test]
    fn of_several_devices_those_of_one_input_belong_together_and_the_rest_by_their_names() {
        let cached = |slow: &str, fast: &str| {
            vec![
                layer(DEVICE, slow, &[]),
                layer(DEVICE, fast, &[]),
                layer("lvmcache", "cache", &[("origin", slow), ("cache", fast)]),
            ]
        };
        let alone = vec![layer(DEVICE, "slow", &[])];
        let found = names_of(&[
            cached("slow", "fast"),
            cached("disk", "flash"),
            cached("fast", "slow"),
            alone,
        ]);
        assert_eq!(found[1], pairs(&[("fast", "flash"), ("slow", "disk")]));
        assert_eq!(found[2], pairs(&[("fast", "slow"), ("slow", "fast")]));
        assert_eq!(found[3], pairs(&[("slow", "slow")]));
    }
}
