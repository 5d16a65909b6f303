//! Block devices that the steps of a cell name, and the check that each name still leads to the same one.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::Path;

use sys::block::{Backing, MAX_DEPTH, Number, members, sysfs};

use crate::backing::backing;

/// Block devices by the names that steps use. They are not opened: an open descriptor would keep a mapped device from being taken down.
#[derive(Debug, Default)]
pub(crate) struct HeldDevices {
    held: BTreeMap<String, HeldDevice>,
    /// Devices that were released, to be compared with those that are held next.
    before: BTreeMap<String, HeldDevice>,
}

impl HeldDevices {
    /// Holds those of `names` that lead to block devices, and no others. A device that was held before may have a new number, since its
    /// layer recreated it, but it must have the same UUID or, without one, stand on the same disks.
    ///
    /// # Errors
    /// When a name leads to another device than before (the old one stays held), or one of `needed` leads nowhere.
    pub(crate) fn hold(&mut self, names: &[String], needed: &[String]) -> io::Result<()> {
        let before = std::mem::take(&mut self.before);
        self.held.clear();
        let mut wrong = None;
        for name in names {
            match (HeldDevice::at(name), before.get(name)) {
                (Ok(now), Some(before)) if !before.is_made_anew_as(&now) => {
                    wrong.get_or_insert_with(|| other(name, before, &now));
                    // Later checks must still find that the device is another one.
                    self.held.insert(name.clone(), before.clone());
                }
                (Ok(now), _) => {
                    self.held.insert(name.clone(), now);
                }
                (Err(error), _) if needed.contains(name) => {
                    wrong.get_or_insert_with(|| lost(name, &error.to_string()));
                    self.held.extend(before.get(name).map(|before| (name.clone(), before.clone())));
                }
                (Err(_), _) => {}
            }
        }
        wrong.map_or(Ok(()), Err)
    }

    /// Releases all of them until they are held again, because their layers are about to change them.
    pub(crate) fn release(&mut self) {
        self.before = std::mem::take(&mut self.held);
    }

    /// Checks that every name still leads to its device.
    ///
    /// # Errors
    /// When a name leads to another device, or nowhere.
    pub(crate) fn check(&self) -> io::Result<()> {
        self.held.iter().try_for_each(|(name, device)| {
            let now = HeldDevice::at(name).map_err(|error| lost(name, &error.to_string()))?;
            if device.is(&now) { Ok(()) } else { Err(other(name, device, &now)) }
        })
    }

    /// Checks that the names in `text` still lead to their devices; a device that is gone does no harm.
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

    /// Checks that `name` was opened as the device that it has to lead to; passes where it is not held.
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

/// The facts that distinguish a block device from others, and from itself on top of something else.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct HeldDevice {
    rdev: u64,
    /// The UUID that its maker gave it: it outlives a device number.
    uuid: Option<String>,
    /// The kernel's running number of disks (Linux 5.15 and later), since device numbers are reused.
    sequence: Option<u64>,
    /// The file or device below a loop device, even if that was renamed.
    backing: Option<Backing>,
    /// For a loop device or a partition: where its bytes lie on what is below.
    part: [Option<String>; 3],
    /// The devices that it is made of, as its table says now.
    below: Vec<HeldDevice>,
}

impl HeldDevice {
    /// Returns the device that `name` leads to.
    fn at(name: impl AsRef<Path>) -> io::Result<Self> {
        Self::of(&fs::metadata(name)?)
    }

    fn of(found: &fs::Metadata) -> io::Result<Self> {
        if !found.file_type().is_block_device() {
            return Err(io::Error::other("it is not a block device now"));
        }
        Ok(Self::numbered(Number::from_dev(found.rdev()), MAX_DEPTH))
    }

    /// Returns the device of this number, and those below it.
    pub(crate) fn numbered(number: Number, deeper: u32) -> Self {
        let here = sysfs(number);
        let read = |name: &str| fs::read_to_string(here.join(name)).ok();
        let attribute = |name: &str| read(name).map(|text| text.trim().to_owned());
        let uuid =
            attribute("dm/uuid").or_else(|| attribute("md/uuid")).filter(|uuid| !uuid.is_empty());
        let sequence = attribute("diskseq").and_then(|text| text.parse().ok());
        let part = ["loop/offset", "loop/sizelimit", "start"].map(attribute);
        let mut below = match deeper.checked_sub(1) {
            Some(deeper) => {
                members(number).into_iter().map(|one| Self::numbered(one, deeper)).collect()
            }
            None => Vec::new(),
        };
        below.sort_by_key(|one: &Self| (one.uuid.clone(), one.rdev));
        Self { rdev: number.to_dev(), uuid, sequence, backing: backing(number), part, below }
    }

    /// Tells whether it is the same device, on top of the same devices.
    pub(crate) fn is(&self, now: &Self) -> bool {
        let same = match (&self.uuid, &now.uuid) {
            (None, None) => (self.rdev, self.sequence) == (now.rdev, now.sequence),
            (held, now) => held == now,
        };
        let grounds = self.below.iter().zip(&now.below);
        same && (self.backing, &self.part) == (now.backing, &now.part)
            && self.below.len() == now.below.len()
            && grounds.into_iter().all(|(held, now)| held.is(now))
    }

    /// Tells whether `now` may be this device, recreated by its layer.
    fn is_made_anew_as(&self, now: &Self) -> bool {
        match &self.uuid {
            Some(_) => self.uuid == now.uuid,
            None => now.uuid.is_none() && (self.is_still(now) || self.disks() == now.disks()),
        }
    }

    /// Tells whether the kernel has not recreated it: it has kept its running number, whatever it stands on now.
    fn is_still(&self, now: &Self) -> bool {
        self.sequence.is_some() && (self.rdev, self.sequence) == (now.rdev, now.sequence)
    }

    /// Returns the numbers of the disks at the bottom.
    fn disks(&self) -> BTreeSet<u64> {
        match self.below[..] {
            [] => BTreeSet::from([self.rdev]),
            _ => self.below.iter().flat_map(Self::disks).collect(),
        }
    }

    /// Returns a description of it and of what it stands on.
    pub(crate) fn show(&self) -> String {
        let uuid = self.uuid.as_ref().map_or_else(String::new, |uuid| format!(" (UUID {uuid})"));
        let part = match (self.backing, &self.part[0]) {
            (Some(Backing::File { inode, .. }), Some(offset)) => {
                format!(" on the file of inode {inode} from byte {offset}")
            }
            (Some(Backing::Device(on)), Some(offset)) => format!(" on {on} from byte {offset}"),
            _ => String::new(),
        };
        let below: Vec<_> = self.below.iter().map(Self::show).collect();
        let on =
            if below.is_empty() { String::new() } else { format!(" on {}", below.join(" and ")) };
        format!("device {}{uuid}{part}{on}", Number::from_dev(self.rdev))
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
            backing: None,
            part: [const { None }; 3],
            below: Vec::new(),
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
        // A table that was reloaded leaves name, number and UUID as they were.
        let on = |below: Vec<HeldDevice>| HeldDevice { below, ..device(5, "LVM-a", Some(7)) };
        assert!(on(vec![device(8, "", Some(1))]).is(&on(vec![device(8, "", Some(1))])));
        assert!(!on(vec![device(8, "", Some(1))]).is(&on(vec![device(9, "", Some(2))])));
        assert!(!on(vec![device(8, "", Some(1))]).is(&on(Vec::new())));
        let held_as = |uuid| device(5, uuid, Some(7));
        let on_file = |inode, offset: &str| HeldDevice {
            backing: Some(Backing::File { device: 1, inode }),
            part: [Some(offset.into()), None, None],
            ..device(7, "", Some(1))
        };
        assert!(on_file(2, "0").is(&on_file(2, "0")));
        assert!(!on_file(2, "0").is(&on_file(2, "4096")) && !on_file(2, "0").is(&on_file(3, "0")));
        let over =
            |disk| HeldDevice { below: vec![device(disk, "", Some(1))], ..device(9, "", Some(3)) };
        let again = HeldDevice { rdev: 10, sequence: Some(4), ..over(1) };
        assert!(over(1).is_made_anew_as(&again) && !over(2).is_made_anew_as(&again));
        // Its layer removed a disk below it.
        let fewer = HeldDevice { below: Vec::new(), ..over(1) };
        assert!(over(1).is_made_anew_as(&fewer) && !over(1).is(&fewer));
        let other = HeldDevice { sequence: Some(4), ..fewer };
        assert!(!over(1).is_made_anew_as(&other));
        assert!(!over(1).is(&again) && !held_as("LVM-a").is_made_anew_as(&held_as("LVM-b")));
        assert_eq!(on_file(2, "4096").show(), "device 0:7 on the file of inode 2 from byte 4096");
    }

    #[test]
    fn what_is_no_block_device_is_not_held() {
        let mut devices = HeldDevices::default();
        let names = ["/dev/null".to_owned(), "/dev/fathom-no-such-node".to_owned()];
        devices.hold(&names, &[]).unwrap();
        devices.check().unwrap();
        assert_eq!(devices.number(Path::new("/dev/null")), None);
        let error = devices.hold(&names, &names[1..]).unwrap_err().to_string();
        assert!(error.contains("/dev/fathom-no-such-node is no longer"), "{error}");
    }
}
