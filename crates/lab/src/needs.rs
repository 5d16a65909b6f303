//! The needs of an experiment in the guest, as plain names: the lab knows no layer.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use units::Bytes;

/// The least memory that holds the root and a kernel.
pub const LEAST_MEMORY: Bytes = Bytes(256 * Bytes::MIB);

/// Debian packages, kernel modules and programs that must be there in the guest.
///
/// A shell (busybox), the kernel, and what the lab itself needs are always there.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct ImageNeeds {
    /// Debian packages to take programs from (`lvm2`, `vdo`); what they depend on comes with them.
    pub packages: Vec<String>,
    /// Kernel modules to load before the first step, without `.ko` (`dm-vdo`); what they depend on comes with them.
    pub modules: Vec<String>,
    /// Kernel modules that make others faster, without `.ko`: loaded where the kernel has them.
    #[serde(default)]
    pub faster: Vec<String>,
    /// Programs to put in (`lvm`, `dmsetup`), with every link of the same package that points to them.
    pub tools: Vec<String>,
    /// Files to write: path below the guest's root, and text.
    #[serde(default)]
    pub files: BTreeMap<String, String>,
}

impl ImageNeeds {
    /// Needs from three lists of names.
    pub fn new(packages: &[&str], modules: &[&str], tools: &[&str]) -> Self {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect();
        Self {
            packages: owned(packages),
            modules: owned(modules),
            tools: owned(tools),
            ..Self::default()
        }
    }

    /// Adds what `other` needs.
    pub fn merge(&mut self, other: &Self) {
        self.packages.extend_from_slice(&other.packages);
        self.modules.extend_from_slice(&other.modules);
        self.faster.extend_from_slice(&other.faster);
        self.tools.extend_from_slice(&other.tools);
        self.files.extend(other.files.clone());
    }

    /// Normalises the needs: packages and tools sorted, nothing named twice, modules in the order given.
    pub(crate) fn canonical(&self) -> Self {
        let sorted = |names: &[String]| {
            let mut names = names.to_vec();
            names.sort();
            names.dedup();
            names
        };
        let in_order = |names: &[String]| {
            let mut modules: Vec<String> = Vec::new();
            for module in names {
                let module = module.replace('_', "-");
                if !modules.contains(&module) {
                    modules.push(module);
                }
            }
            modules
        };
        Self {
            packages: sorted(&self.packages),
            modules: in_order(&self.modules),
            faster: in_order(&self.faster),
            tools: sorted(&self.tools),
            files: self.files.clone(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn order_and_repetition_of_packages_do_not_matter() {
        let one = ImageNeeds::new(&["vdo", "lvm2", "vdo"], &["dm_vdo"], &["lvm"]);
        let other = ImageNeeds::new(&["lvm2", "vdo"], &["dm-vdo"], &["lvm", "lvm"]);
        assert_eq!(one.canonical(), other.canonical());
    }

    #[test]
    fn needs_of_several_layers_add_up() {
        let mut needs = ImageNeeds::new(&["lvm2"], &["dm-mod"], &["lvm"]);
        needs.merge(&ImageNeeds::new(&["vdo"], &["dm-vdo"], &["vdoformat"]));
        assert_eq!(needs.canonical().packages, ["lvm2", "vdo"]);
        assert_eq!(needs.canonical().modules, ["dm-mod", "dm-vdo"]);
    }
}
