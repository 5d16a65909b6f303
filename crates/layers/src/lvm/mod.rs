//! Parts that layers on logical volumes share: names, sizes and the steps that make and remove them.

pub(crate) mod tier;
pub(crate) mod tier_actions;
mod twin;

pub(crate) use twin::GroupTwin;

use crate::kind::Absence;
use crate::layer::{Place, Restart};
use crate::objects::{Fact, FactSource, Listing, Objects};
use crate::settings::{SettingError, size_text};
use crate::step::{Action, Mark, Step};

/// Size of a physical extent, bytes: lvm's default.
pub(crate) const EXTENT: u64 = 4 << 20;
/// The place of a physical volume's id: its label is in the second sector.
const ID_AT: u64 = 512 + 32;
/// Space of a physical volume that lvm keeps for its own metadata, bytes.
const HEADER: u64 = 1 << 20;

/// The configuration of lvm in the lab's guest.
pub(crate) const GUEST_FILES: &[(&str, &str)] = &[("etc/lvm/lvm.conf", include_str!("lvm.conf"))];

/// Names of a layer's volume group and what is in it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Group {
    /// The volume group.
    pub(crate) name: String,
    /// The devices that it stands on.
    devices: Vec<String>,
    /// The id of each of them in lvm: 32 letters and digits that begin with the run's tag.
    ids: Vec<String>,
    /// Settings of lvm for its commands, where one of the devices is a layer's.
    config: Option<String>,
}

/// Tells whether a layer offers this device, and not the machine.
fn is_of_layer(device: &str) -> bool {
    device.starts_with("/dev/mapper/") || device.starts_with('{') && !device.starts_with("{device.")
}

/// Returns the settings by which lvm takes these devices and no others, though they are logical volumes, or show what the device below them holds,
/// too. A sign that means something in a pattern is any sign there.
fn only(devices: &[String]) -> String {
    let pattern = |device: &String| -> String {
        let plain = |c: char| c.is_ascii_alphanumeric() || "/_-{}".contains(c);
        device.chars().map(|c| if plain(c) { c } else { '.' }).collect()
    };
    let taken: Vec<_> =
        devices.iter().map(|device| format!("\"a|^{}$|\"", pattern(device))).collect();
    let taken = taken.join(",");
    format!("devices/use_devicesfile=0 devices/scan_lvs=1 devices/filter=[{taken},\"r|.*|\"]")
}

/// An id as lvm's commands take it: six characters, five times four, six.
fn hyphened(id: &str) -> String {
    let ends = [0, 6, 10, 14, 18, 22, 26, id.len()];
    ends.windows(2).filter_map(|pair| id.get(pair[0]..pair[1])).collect::<Vec<_>>().join("-")
}

/// Messages by which lvm says that an object is not there.
pub(crate) const ABSENCE: &[Absence] = &[Absence {
    program: "lvm",
    gone: &[
        "not found",
        "No such",
        "does not exist",
        "Failed to find",
        "No PV found",
        "No PV label found",
    ],
    held: &["in use", "busy", "is used by", "Can't open"],
}];

/// A setting with which lvm finds groups on logical volumes, too.
const SCAN_ALL: &str = "devices/scan_lvs=1";

/// Objects that outlive a run: its volume groups.
pub(crate) const OBJECTS: &[Objects] = &[Objects {
    called: "volume group",
    listed: Listing::Tool {
        names: &["lvm", "vgs", "--config", SCAN_ALL, "--noheadings", "--options", "vg_name"],
        devices: &[
            "lvm",
            "pvs",
            "--config",
            SCAN_ALL,
            "--noheadings",
            "--separator",
            ",",
            "--options",
            "pv_name,vg_name",
        ],
    },
    remove: |name| {
        let argv = ["lvm", "vgremove", "--config", SCAN_ALL, "--yes", "--force", name];
        vec![Action::Command {
            argv: argv.map(str::to_owned).into(),
            removes: Some(name.to_owned()),
        }]
    },
}];

/// The version of lvm2. On a machine without device-mapper lvm prints only complaints.
pub(crate) const VERSION: Fact = Fact {
    name: "lvm",
    from: FactSource::Command {
        argv: &["lvm", "version"],
        after: "LVM version:",
        needs: "/dev/mapper/control",
    },
};

impl Group {
    /// The volume group of a layer, on the devices of these inputs.
    pub(crate) fn of(at: &Place, inputs: &[&str]) -> Self {
        let devices: Vec<_> = inputs.iter().map(|input| at.block(input).0.to_owned()).collect();
        let on_layer = devices.iter().any(|device| is_of_layer(device));
        let uuid: String = at.uuid().iter().map(|byte| format!("{byte:02x}")).collect();
        let ids = (0..inputs.len()).map(|index| format!("{}{}", &uuid[..31], index % 10)).collect();
        let config = on_layer.then(|| only(&devices));
        Self { name: at.tagged(), devices, ids, config }
    }

    /// Returns a command line of lvm that sees the devices of the group.
    fn argv(&self, verb: &str, arguments: &[&str]) -> Vec<String> {
        let config = self.config.iter().flat_map(|config| ["--config", config]);
        let words = ["lvm", verb].into_iter().chain(config).chain(arguments.iter().copied());
        words.map(str::to_owned).collect()
    }

    /// A command on the group, or on a device or a volume of it.
    fn command(&self, verb: &str, arguments: &[&str]) -> Action {
        Action::Command { argv: self.argv(verb, arguments), removes: None }
    }

    /// A command of teardown, which removes `object`.
    fn gone(&self, verb: &str, options: &[&str], object: &str) -> Action {
        let argv = self.argv(verb, &[options, &[object]].concat());
        Action::Command { argv, removes: Some(object.to_owned()) }
    }

    /// Name of a volume's device-mapper node. The group's name has no hyphen, which would be doubled.
    pub(crate) fn node(&self, volume: &str) -> String {
        format!("{}-{volume}", self.name)
    }

    /// Path of a volume's block device.
    pub(crate) fn path(&self, volume: &str) -> String {
        format!("/dev/mapper/{}", self.node(volume))
    }

    /// Steps that make the physical volumes and the volume group.
    pub(crate) fn up(&self) -> Vec<Step> {
        let physical = self.devices.iter().zip(&self.ids).map(|(device, id)| Step {
            about: "make the device a physical volume".into(),
            action: self.command(
                "pvcreate",
                &["--yes", "--norestorefile", "--uuid", &hyphened(id), device],
            ),
            undo: vec![
                self.gone("pvremove", &["--yes"], device),
                Action::Wipe {
                    device: device.clone(),
                    mark: Some(Mark { at: ID_AT, bytes: id.clone().into_bytes() }),
                },
            ],
            deadline_s: 60,
        });
        let devices: Vec<&str> = self.devices.iter().map(String::as_str).collect();
        let group = Step {
            about: "make the volume group".into(),
            action: self.command("vgcreate", &[&["--yes", &*self.name], &devices[..]].concat()),
            undo: vec![self.gone("vgremove", &["--yes", "--force"], &self.name)],
            deadline_s: 60,
        };
        physical.chain([group]).collect()
    }

    /// A step that makes volumes; they and their nodes (top first) are removed by its undo.
    pub(crate) fn create(
        &self,
        about: &str,
        arguments: &[&str],
        volume: &str,
        nodes: &[&str],
    ) -> Step {
        // lvm must not prompt. Since the device is empty, there is no signature to ask about.
        let quiet = ["--wipesignatures", "n", "--zero", "n"];
        self.make(about, &[&quiet, arguments].concat(), volume, nodes)
    }

    /// As [`Self::create`], with all of `lvcreate`'s arguments.
    pub(crate) fn make(
        &self,
        about: &str,
        arguments: &[&str],
        volume: &str,
        nodes: &[&str],
    ) -> Step {
        let full = format!("{}/{volume}", self.name);
        Step {
            about: about.to_owned(),
            action: self.command("lvcreate", &[&["--yes"], arguments].concat()),
            undo: vec![
                self.gone("lvremove", &["--yes", "--force"], &full),
                Action::RemoveNodes { nodes: nodes.iter().map(|n| self.node(n)).collect() },
            ],
            deadline_s: 120,
        }
    }
}

impl Group {
    /// A step that turns a volume into another kind, with others of the group; it and its nodes (top first) are removed by
    /// its undo.
    pub(crate) fn convert(
        &self,
        about: &str,
        arguments: &[&str],
        volume: &str,
        nodes: &[&str],
    ) -> Step {
        let full = format!("{}/{volume}", self.name);
        let arguments = [&["--yes"], arguments, &[&*full]].concat();
        let action = self.command("lvconvert", &arguments);
        Step { action, ..self.create(about, &[], volume, nodes) }
    }

    /// A step that changes a volume that is up; it has no undo but the removal of the volume.
    pub(crate) fn change(&self, about: &str, arguments: &[&str], volume: &str) -> Step {
        let full = format!("{}/{volume}", self.name);
        let arguments = [&["--yes"], arguments, &[&*full]].concat();
        let action = self.command("lvchange", &arguments);
        Step { about: about.to_owned(), action, undo: Vec::new(), deadline_s: 120 }
    }
}

impl Group {
    /// Steps that take a volume down and bring it up again.
    pub(crate) fn restart(&self, volume: &str) -> Vec<Step> {
        self.stopped(volume, None)
    }

    /// Restarts the volume, with something done while it is down.
    pub(crate) fn stopped(&self, volume: &str, meanwhile: Option<Step>) -> Vec<Step> {
        let down = self.change("take the volume down", &["--activate", "n"], volume);
        let up = self.change("bring the volume up again", &["--activate", "y"], volume);
        [down].into_iter().chain(meanwhile).chain([up]).collect()
    }

    /// Steps that take all volumes of the group down and bring them up again.
    pub(crate) fn again(&self) -> Restart {
        let activate = |about: &str, word: &str| Step {
            about: about.to_owned(),
            action: self.command("vgchange", &["--yes", "--activate", word, &self.name]),
            undo: Vec::new(),
            deadline_s: 1800,
        };
        Restart {
            down: vec![activate("take the volumes of the group down", "n")],
            up: vec![activate("bring the volumes of the group up", "y")],
            renews: None,
        }
    }

    /// A step that removes the cache of a volume, which stays up; dirty data is written back first.
    pub(crate) fn split(&self, about: &str, volume: &str) -> Step {
        let full = format!("{}/{volume}", self.name);
        let action = self.command("lvconvert", &["--yes", "--splitcache", &full]);
        Step { about: about.to_owned(), action, undo: Vec::new(), deadline_s: 1800 }
    }

    /// A step that makes a volume larger.
    pub(crate) fn extend(&self, about: &str, volume: &str, bytes: u64) -> Step {
        let full = format!("{}/{volume}", self.name);
        let size = format!("{bytes}b");
        let action = self.command("lvextend", &["--yes", "--size", &size, &full]);
        Step { about: about.to_owned(), action, undo: Vec::new(), deadline_s: 120 }
    }
}

/// Returns what a volume group on a device of `below_bytes` can give to volumes, bytes.
pub(crate) fn usable(below_bytes: u64) -> u64 {
    below_bytes.saturating_sub(HEADER) / EXTENT * EXTENT
}

/// `bytes` rounded up to whole extents.
pub(crate) fn round_up(bytes: u64) -> u64 {
    bytes.div_ceil(EXTENT).saturating_mul(EXTENT)
}

/// Refuses a size that lvm would round up from less than an extent.
pub(crate) fn at_least_an_extent(
    layer: &str,
    key: &str,
    size: Option<u64>,
) -> Result<(), SettingError> {
    let Some(size) = size.filter(|&size| size < EXTENT) else { return Ok(()) };
    Err(SettingError::new(
        key,
        format!("{key} of layer '{layer}' cannot be {}: lvm counts in 4 MiB", size_text(size)),
        "write at least 4M, such as \"10G\", or leave it out",
    ))
}

/// Returns lvm's arguments for the size of a volume: `None` takes all free extents, however many alignment leaves.
pub(crate) fn size_arguments(bytes: Option<u64>) -> [String; 2] {
    match bytes {
        Some(bytes) => ["--size".to_owned(), format!("{bytes}b")],
        None => ["--extents".to_owned(), "100%FREE".to_owned()],
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::on_device;

    /// Returns the first command of a group on this device.
    fn first(device: &str) -> String {
        let inputs = on_device(device, 1 << 30);
        let at = Place { name: "v", run_tag: "00000001", inputs: &inputs };
        Group::of(&at, &["data"]).up()[0].action.show()
    }

    #[test]
    fn on_another_layer_lvm_sees_that_device_alone_though_it_is_a_logical_volume() {
        let config = |device: &str| first(device).contains("--config");
        assert!(!config("{device.data}") && !config("/dev/sim"));
        assert!(config("{bcache.device}"));
        assert!(first("/dev/mapper/fathom_00000001_a+b").contains(
            "lvm pvcreate --config 'devices/use_devicesfile=0 devices/scan_lvs=1 \
             devices/filter=[\"a|^/dev/mapper/fathom_00000001_a.b$|\",\"r|.*|\"]' --yes"
        ));
    }
}
