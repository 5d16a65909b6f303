//! Kernels that the cells of a plan run on, and the modules that each must have.

use std::collections::{BTreeMap, BTreeSet};

use crate::{CellPlan, Plan};

/// The key of a machine that names its kernel.
pub const KERNEL: &str = "kernel";

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

    /// Replaces the names of kernels in cells and variants.
    pub fn name_kernels(&mut self, names: &BTreeMap<String, String>) {
        let cells = self.cells.iter_mut().filter_map(|cell| cell.machine.kernel.as_mut());
        let variants = self.facts.variants.iter_mut();
        let variants = variants.filter_map(|own| own.machine.get_mut(KERNEL));
        for kernel in cells.chain(variants) {
            if let Some(name) = names.get(kernel) {
                kernel.clone_from(name);
            }
        }
    }

    /// Returns the modules that a kernel must have for the cells that run on it: those of their layers, and those that belong to no layer.
    pub fn modules_on(&self, kernel: Option<&str>) -> Vec<String> {
        let all: BTreeSet<_> =
            self.cells.iter().flat_map(of_layers).map(|one| one.module).collect();
        let on = self.cells.iter().filter(|cell| cell.machine.kernel.as_deref() == kernel);
        let kernel_modules: BTreeSet<_> = on.flat_map(of_layers).map(|one| one.module).collect();
        let needed = |module: &&String| {
            kernel_modules.contains(module.as_str()) || !all.contains(module.as_str())
        };
        self.needs.modules.iter().filter(needed).cloned().collect()
    }

    /// Returns the variants on a kernel that need a module, with the kind of the layer that needs it.
    pub fn needing(&self, kernel: Option<&str>, module: &str) -> BTreeMap<String, String> {
        let same = |own: &LayerModule| own.module.replace('_', "-") == module;
        let on = self.cells.iter().filter(|cell| cell.machine.kernel.as_deref() == kernel);
        on.filter_map(|cell| {
            let needing = of_layers(cell).find(same)?;
            Some((cell.variant.clone(), needing.layer.to_owned()))
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
