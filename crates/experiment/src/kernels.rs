//! Kernels as something that is compared: a factor from the command line, one format of file systems for all of them, and what each must have.

use std::collections::{BTreeMap, BTreeSet};

use layers::FORMAT;
use toml::Value;

use crate::machine;
use crate::plan::{CellPlan, Machine, Plan};
use crate::scale::{quoted, with_set};
use crate::stacks::VariantStack;

/// Returns the text of an experiment that runs on these kernels, each variant on each, with values that are set last of all.
pub fn with_kernels(text: String, kernels: &[String], set: &[(String, String)]) -> String {
    match kernels {
        [] => with_set(text, set),
        [one] => {
            let one = (format!("machine.{}", machine::KERNEL.name), quoted(one));
            with_set(text, &[std::slice::from_ref(&one), set].concat())
        }
        several => with_set(with_factor(text, several), set),
    }
}

fn with_factor(mut text: String, kernels: &[String]) -> String {
    let levels: Vec<_> = kernels.iter().map(|kernel| quoted(kernel)).collect();
    let key = format!("machine.{}", machine::KERNEL.name);
    text.push_str(&format!(
        "\n[[factor]]\nname = \"kernel\"\nkey = \"{key}\"\nlevels = [{}]\n",
        levels.join(", ")
    ));
    text
}

/// Has every file system made so that the oldest kernel of all variants can mount it, where an experiment does not say it: one that is made
/// otherwise for another kernel would be another file system.
pub(crate) fn fix_formats(machines: &[Machine], stacks: &mut [VariantStack]) {
    let Some(oldest) = oldest(machines) else { return };
    for layer in stacks.iter_mut().flat_map(|stack| &mut stack.layers) {
        let keys = layers::kind(&layer.kind).map_or(&[][..], |kind| kind.keys);
        if keys.iter().any(|key| key.name == FORMAT.name) {
            let format = || Value::String(oldest.clone());
            layer.settings.entry(FORMAT.name).or_insert_with(format);
        }
    }
}

/// Returns the first two numbers of the oldest kernel that is named by its version.
fn oldest(machines: &[Machine]) -> Option<String> {
    let version = |machine: &Machine| -> Option<(u64, u64)> {
        let mut numbers = machine.kernel.as_ref()?.split(|c: char| !c.is_ascii_digit());
        Some((numbers.next()?.parse().ok()?, numbers.next()?.parse().ok()?))
    };
    let (major, minor) = machines.iter().filter_map(version).min()?;
    Some(format!("{major}.{minor}"))
}

/// A kernel module that a cell needs, and the layer that it is for.
struct LayerModule {
    module: &'static str,
    /// Kind of the layer.
    layer: &'static str,
}

impl Plan {
    /// The kernels that its cells run on, in the order of the variants; `None` is the usual one.
    pub fn kernels(&self) -> Vec<Option<String>> {
        let mut kernels = Vec::new();
        for variant in &self.facts.variants {
            let cells = self.cells.iter().filter(|cell| cell.variant == variant.name);
            for kernel in cells.map(|cell| &cell.machine.kernel) {
                if !kernels.contains(kernel) {
                    kernels.push(kernel.clone());
                }
            }
        }
        kernels
    }

    /// Has cells and variants name their kernels by other names.
    pub fn name_kernels(&mut self, names: &BTreeMap<String, String>) {
        let cells = self.cells.iter_mut().filter_map(|cell| cell.machine.kernel.as_mut());
        let variants = self.facts.variants.iter_mut();
        let variants = variants.filter_map(|own| own.machine.get_mut(machine::KERNEL.name));
        for kernel in cells.chain(variants) {
            if let Some(name) = names.get(kernel) {
                kernel.clone_from(name);
            }
        }
    }

    /// Returns the modules that a kernel must have for the cells that run on it: those of their layers, and those that are no layer's.
    pub fn modules_on(&self, kernel: Option<&str>) -> Vec<String> {
        let all: BTreeSet<_> =
            self.cells.iter().flat_map(of_layers).map(|own| own.module).collect();
        let on = self.cells.iter().filter(|cell| cell.machine.kernel.as_deref() == kernel);
        let own: BTreeSet<_> = on.flat_map(of_layers).map(|own| own.module).collect();
        let needed =
            |module: &&String| own.contains(module.as_str()) || !all.contains(module.as_str());
        self.needs.modules.iter().filter(needed).cloned().collect()
    }

    /// Returns the variants on a kernel that need a module, with the kind of the layer that needs it.
    pub fn needing(&self, kernel: Option<&str>, module: &str) -> BTreeMap<String, String> {
        let same = |own: &LayerModule| own.module.replace('_', "-") == module;
        let on = self.cells.iter().filter(|cell| cell.machine.kernel.as_deref() == kernel);
        on.filter_map(|cell| {
            let own = of_layers(cell).find(same)?;
            Some((cell.variant.clone(), own.layer.to_owned()))
        })
        .collect()
    }
}

/// Returns the modules that the layers of a cell need.
fn of_layers(cell: &CellPlan) -> impl Iterator<Item = LayerModule> + '_ {
    let kinds = cell.stack.iter().filter_map(|placed| layers::kind(&placed.kind));
    kinds.flat_map(|kind| {
        kind.needs.modules.iter().map(|module| LayerModule { module, layer: kind.name })
    })
}
