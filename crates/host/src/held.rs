//! Block devices that the steps of a cell name, and the check that each name still leads to the same one.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use sys::block::{Number, sysfs};

/// Block devices by the names that steps use. They are not opened: who holds a mapped device open keeps it from being taken down.
#[derive(Debug, Default)]
pub(crate) struct HeldDevices {
    held: BTreeMap<String, HeldDevice>,
    /// Those that were let go, to be told from others when they are held again.
    before: BTreeMap<String, HeldDevice>,
}

impl HeldDevices {
    /// Holds those of `names` that lead to block devices, and no others. One that was held before may have another number by now, since its
    /// layer made it anew, but not another UUID.
    ///
    /// # Errors
    /// When a name leads to a device with another UUID than before.
    pub(crate) fn hold(&mut self, names: &[String]) -> io::Result<()> {
        let found = |name: &String| Some((name.clone(), HeldDevice::at(name).ok()?));
        let held: BTreeMap<_, _> = names.iter().filter_map(found).collect();
        let replaced = held.iter().find(|(name, now)| {
            let before = self.before.get(*name).and_then(|before| before.uuid.as_ref());
            before.is_some_and(|uuid| now.uuid.as_ref() != Some(uuid))
        });
        let replaced = replaced.map(|(name, now)| other(name, &self.before[name], now));
        (self.held, self.before) = (held, BTreeMap::new());
        replaced.map_or(Ok(()), Err)
    }

    /// Lets all of them go, until they are held again: their layers are about to change them.
    pub(crate) fn release(&mut self) {
        self.before = std::mem::take(&mut self.held);
    }

    /// Returns nothing while every name leads to its device.
    ///
    /// # Errors
    /// When a name leads to another device, or nowhere.
    pub(crate) fn check(&self) -> io::Result<()> {
        self.held.iter().try_for_each(|(name, device)| {
            let now = HeldDevice::at(name).map_err(|error| lost(name, &error.to_string()))?;
            if device.is(&now) { Ok(()) } else { Err(other(name, device, &now)) }
        })
    }

    /// Returns nothing while the names in `text` lead to their devices; a device that is gone harms nobody.
    ///
    /// # Errors
    /// When a name leads to another device.
    pub(crate) fn check_named(&self, text: &str) -> io::Result<()> {
        let named = self.held.iter().filter(|(name, _)| is_named_in(name, text));
        named.into_iter().try_for_each(|(name, device)| match HeldDevice::at(name) {
            Ok(now) if !device.is(&now) => Err(other(name, device, &now)),
            _ => Ok(()),
        })
    }

    /// Returns nothing where `name` is not held, or was opened as the device that it is to lead to.
    ///
    /// # Errors
    /// When something else was opened.
    pub(crate) fn check_opened(&self, name: &str, opened: &File) -> io::Result<()> {
        let Some(device) = self.held.get(name) else { return Ok(()) };
        let now = HeldDevice::of(&opened.metadata()?).map_err(|e| lost(name, &e.to_string()))?;
        if device.is(&now) { Ok(()) } else { Err(other(name, device, &now)) }
    }

    /// Returns the number (`st_rdev`) that the device of this name has now; `None` where it is not held.
    pub(crate) fn number(&self, name: &Path) -> Option<u64> {
        let device = self.held.get(name.to_str()?)?;
        let now = HeldDevice::at(name).ok().filter(|now| device.is(now));
        Some(now.as_ref().unwrap_or(device).rdev)
    }
}

/// The facts by which a block device is told from others.
#[derive(Debug, Clone, PartialEq, Eq)]
struct HeldDevice {
    rdev: u64,
    /// The UUID that its maker gave it: it outlives a device number.
    uuid: Option<String>,
    /// The kernel's running number of disks (Linux 5.15 and later); a device number is given again.
    sequence: Option<u64>,
}

impl HeldDevice {
    /// Returns the device that `name` leads to.
    fn at(name: impl AsRef<Path>) -> io::Result<Self> {
        Self::of(&fs::metadata(name)?)
    }

    fn of(found: &fs::Metadata) -> io::Result<Self> {
        if !found.file_type().is_block_device() {
            return Err(io::Error::other("it is no block device now"));
        }
        let here = sysfs(Number::from_dev(found.rdev()));
        let read = |name: &str| fs::read_to_string(here.join(name)).ok();
        let said = |name: &str| read(name).map(|text| text.trim().to_owned());
        let uuid = said("dm/uuid").or_else(|| said("md/uuid")).filter(|uuid| !uuid.is_empty());
        let sequence = said("diskseq").and_then(|text| text.parse().ok());
        Ok(Self { rdev: found.rdev(), uuid, sequence })
    }

    fn is(&self, now: &Self) -> bool {
        match (&self.uuid, &now.uuid) {
            (None, None) => (self.rdev, self.sequence) == (now.rdev, now.sequence),
            (held, now) => held == now,
        }
    }

    fn show(&self) -> String {
        let uuid = self.uuid.as_ref().map_or_else(String::new, |uuid| format!(" (UUID {uuid})"));
        format!("device {}{uuid}", Number::from_dev(self.rdev))
    }
}

/// Tells whether `text` names `node`, as a word or as part of one (`origin=/dev/sdb`).
pub(crate) fn is_named_in(node: &str, text: &str) -> bool {
    let ends = |rest: &str| !rest.starts_with(|c: char| c.is_alphanumeric());
    text.match_indices(node).any(|(at, _)| ends(&text[at + node.len()..]))
}

/// Returns the paths of `/dev` that the text of a step names, whatever they lead to.
pub(crate) fn nodes_in(text: &str) -> impl Iterator<Item = &str> {
    let words = text.split(|c: char| c.is_whitespace() || "='\",;".contains(c));
    words.filter(|word| word.starts_with("/dev/"))
}

fn other(name: &str, was: &HeldDevice, now: &HeldDevice) -> io::Error {
    lost(name, &format!("it was {}, and is {}", was.show(), now.show()))
}

fn lost(name: &str, why: &str) -> io::Error {
    io::Error::other(format!(
        "{name} is no longer the device that the stack was built with ({why}); nothing is written to it. Find out what replaced it (a command of \
         this experiment, or another program), then run again"
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_step_names_nodes_as_words_and_as_parts_of_words() {
        let step = "dmsetup create x --table '0 8 linear /dev/sdb 0\n8 8 linear /dev/mapper/a+b-c 0' --origin=/dev/sdc";
        let named: Vec<_> = nodes_in(step).collect();
        assert_eq!(named, ["/dev/sdb", "/dev/mapper/a+b-c", "/dev/sdc"]);
        assert!(is_named_in("/dev/sdb", step) && !is_named_in("/dev/sd", step));
    }

    #[test]
    fn a_device_is_told_by_its_uuid_and_without_one_by_both_its_numbers() {
        let device = |rdev, uuid: &str, sequence| HeldDevice {
            rdev,
            uuid: (!uuid.is_empty()).then(|| uuid.to_owned()),
            sequence,
        };
        let held = device(5, "LVM-a", Some(7));
        assert!(held.is(&device(6, "LVM-a", Some(8))));
        assert!(!held.is(&device(5, "LVM-b", Some(7))));
        assert!(!held.is(&device(5, "", Some(7))));
        let held = device(5, "", Some(7));
        assert!(held.is(&device(5, "", Some(7))));
        assert!(!held.is(&device(5, "", Some(8))));
        assert!(!held.is(&device(6, "", Some(7))));
        assert!(!held.is(&device(5, "LVM-a", Some(7))));
    }

    #[test]
    fn what_is_no_block_device_is_not_held() {
        let mut devices = HeldDevices::default();
        devices.hold(&["/dev/null".into(), "/dev/fathom-no-such-node".into()]).unwrap();
        devices.check().unwrap();
        assert_eq!(devices.number(Path::new("/dev/null")), None);
    }
}
