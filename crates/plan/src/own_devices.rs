//! A plan on devices of the host instead of virtual disks.

use crate::Plan;

/// Keys of a device that only a virtual disk can satisfy, apart from those of its model.
pub const ATTRIBUTES: [&str; 6] =
    ["limit", "logical_block", "rotational", "write_cache", "discard", "destage"];

impl Plan {
    /// Adapts the plan to devices of the host, which are as they are: removes what only a virtual disk can satisfy. Returns, for each device
    /// with such keys, its role and the keys that have no effect.
    pub fn on_own_devices(&mut self) -> Vec<(String, Vec<String>)> {
        let mut without = Vec::new();
        for (role, device) in &mut self.devices {
            let model = device.model.take();
            let attributes = std::mem::take(&mut device.attributes);
            let like = model.as_ref().map(|_| "like".to_owned());
            let faults =
                model.filter(|model| !model.faults.is_empty()).map(|_| "faults".to_owned());
            let others = attributes.shown().into_iter().map(|(key, _)| key.to_owned());
            let keys: Vec<String> = like.into_iter().chain(faults).chain(others).collect();
            if !keys.is_empty() {
                without.push((role.clone(), keys));
            }
        }
        let stacks = self.facts.variants.iter_mut().flat_map(|variant| &mut variant.stack);
        for device in stacks.filter(|layer| layer.layer == "device") {
            device.settings.retain(|key, _| key != "like" && !ATTRIBUTES.contains(&key.as_str()));
        }
        without
    }
}
