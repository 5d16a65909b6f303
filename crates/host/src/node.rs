//! The node of a claimed block device, and the check that it still is that device.

use std::fs::File;
use std::io;
use std::os::unix::fs::{FileTypeExt, MetadataExt};
use std::path::{Path, PathBuf};

use sys::block::{MAX_DEPTH, Number, sysfs};

use crate::held::HeldDevice;
use crate::opened::way;
use crate::usage;

/// A block device that a run claimed. Its claim holds it open, so the kernel gives its number to no other device as long as the claim lasts.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ClaimedDevice {
    /// The node that steps name.
    pub node: PathBuf,
    /// The device number that the node had when it was claimed.
    pub number: Number,
    /// The device as it was then.
    was: HeldDevice,
}

impl ClaimedDevice {
    /// Checks that the node is still the claimed device, and that nobody uses what is on it under another name.
    ///
    /// # Errors
    /// When the node is gone, leads to another device or to something else, or a loop device on the same bytes has a user.
    pub fn check(&self) -> io::Result<()> {
        self.is_itself()?;
        match usage::of_twins(self.number)? {
            None => Ok(()),
            Some(used) => Err(io::Error::other(format!(
                "Somebody uses what is on {} by another name: {used}; nothing is written to it. Free it, then run again",
                self.node.display()
            ))),
        }
    }

    /// Checks that the node is still the claimed device.
    fn is_itself(&self) -> io::Result<()> {
        let lost = |why: String| {
            let node = self.node.display();
            io::Error::other(format!(
                "{node} is no longer the device that was claimed ({why}); nothing is written to it. Find out what replaced it, then run again"
            ))
        };
        // If the node was replaced by a link, that is a replacement, too.
        let found = std::fs::symlink_metadata(&self.node).map_err(|e| lost(e.to_string()))?;
        if !found.file_type().is_block_device() {
            return Err(lost("it is not a block device now".into()));
        }
        if Number::from_dev(found.rdev()) != self.number {
            return Err(lost("its device number is another one".into()));
        }
        let now = HeldDevice::numbered(self.number, MAX_DEPTH);
        match self.was.is(&now) {
            true => Ok(()),
            false => Err(lost(format!("it was {}, and is {}", self.was.show(), now.show()))),
        }
    }

    /// Returns a device by its node and number, as it is now.
    pub(crate) fn new(node: PathBuf, number: Number) -> Self {
        Self { node, number, was: HeldDevice::numbered(number, MAX_DEPTH) }
    }

    /// Checks that this device was opened, where it was opened by its node.
    ///
    /// # Errors
    /// When the node was opened, and led to something else.
    pub(crate) fn check_opened(&self, node: &Path, opened: &File) -> io::Result<()> {
        if node != self.node || opened.metadata()?.rdev() == self.number.to_dev() {
            return Ok(());
        }
        Err(io::Error::other(format!(
            "{} is no longer the device that was claimed (another one was opened); nothing is written to it. Find out what replaced it, then run \
             again",
            self.node.display()
        )))
    }
}

impl ClaimedDevice {
    /// Tells whether the text of a step names the node, as a word or as part of one (`origin=/dev/sdb`).
    pub(crate) fn is_named_in(&self, text: &str) -> bool {
        crate::held::is_named_in(&self.node.display().to_string(), text)
    }
}

/// Tells whether `path` itself, not a link, names what was opened.
pub(crate) fn names(path: &Path, file: &File) -> bool {
    let (Ok(found), Ok(opened)) = (std::fs::symlink_metadata(path), file.metadata()) else {
        return false;
    };
    (found.dev(), found.ino()) == (opened.dev(), opened.ino())
}

/// Returns the node and number of the block device that was opened: the kernel's own node where there is one, else the name by which
/// the file was opened, links resolved.
///
/// # Errors
/// When it is not a block device, or has no node that leads to it.
pub(crate) fn of_opened(file: &File) -> io::Result<(PathBuf, Number)> {
    let found = file.metadata()?;
    if !found.file_type().is_block_device() {
        return Err(io::Error::other("it is not a block device"));
    }
    let number = Number::from_dev(found.rdev());
    let opened = std::fs::read_link(way(file))?;
    let uevent = std::fs::read_to_string(sysfs(number).join("uevent")).unwrap_or_default();
    let devname = uevent.lines().find_map(|line| line.strip_prefix("DEVNAME="));
    let nodes = devname.map(|name| Path::new("/dev").join(name)).into_iter().chain([opened]);
    nodes
        .map(|node| ClaimedDevice::new(node, number))
        .find(|device| device.is_itself().is_ok())
        .map(|device| (device.node, number))
        .ok_or_else(|| io::Error::other("no node leads to the device that was opened"))
}
