//! Facts of the environment that figures depend on: how the kernel queues the I/Os of the devices under a stack, and settings of the machine.

use layers::environment::{ENVIRONMENT, SETTINGS};
use layers::probe::Source;

use super::Executor;

impl Executor {
    /// Stores as facts all settings of the environment, of each device that is bound (`data.scheduler`) and of the machine
    /// (`environment.cpu_governor`). With `again`, a fact that has changed since holds both values. Settings that cannot be read are left out.
    pub fn note_environment(&mut self, again: bool) {
        let devices = self.names.iter().filter_map(|(name, path)| {
            Some((name.strip_prefix("device.")?.to_owned(), path.clone()))
        });
        let devices: Vec<_> = devices.collect();
        for setting in SETTINGS {
            let of: Vec<_> = match setting.is_of_device() {
                true => devices.iter().map(|(role, path)| (&**role, Some(path.clone()))).collect(),
                false => vec![(ENVIRONMENT, None)],
            };
            for (of, device) in of {
                let source = Source::Environment { setting: setting.key.name.to_owned(), device };
                let value = self.machine.read(&source).unwrap_or_default();
                if value.is_empty() {
                    continue;
                }
                let name = format!("{of}.{}", setting.key.name);
                let before = self.facts.get(&name).filter(|before| again && **before != value);
                let both = before.map(|before| format!("{before}, then {value}"));
                self.facts.insert(name, both.unwrap_or(value));
            }
        }
    }
}
