//! Mounts the supplies that commands need in addition to the root.

use std::ffi::CString;
use std::fs;
use std::path::Path;

use rustix::mount::{MountFlags, mount};

use crate::supply::Mount;
use crate::{Error, Result};

/// The directory in memory that takes the writes to directories of the root that are overlaid with packages.
const WRITTEN: &str = "/run/overlay";

/// Mounts one supply, whose disk has this node.
pub(super) fn bring(supply: &Mount, node: &Path) -> Result<()> {
    let place = supply.place.as_str();
    fs::create_dir_all(place).map_err(Error::io("cannot make", place))?;
    mount(node, place, "squashfs", MountFlags::RDONLY, None)
        .map_err(Error::io(format!("cannot mount {} on", supply.serial), place))?;
    if !supply.over_root {
        return Ok(());
    }
    // Packages lie above the root's own programs, because the root's link from sbin to bin would hide theirs; what packages do not have shows
    // through. Settings of the root win over those of packages.
    overlay("/usr", &format!("lowerdir={place}/usr:/usr"))?;
    overlay("/etc", &writable("etc", &format!("/etc:{place}/etc"))?)?;
    overlay("/var", &writable("var", &format!("{place}/var"))?)
}

/// Options of an overlay that can be written to.
fn writable(name: &str, lower: &str) -> Result<String> {
    let [upper, work] = ["upper", "work"].map(|what| format!("{WRITTEN}/{name}.{what}"));
    for dir in [&upper, &work] {
        fs::create_dir_all(dir).map_err(Error::io("cannot make", dir))?;
    }
    Ok(format!("lowerdir={lower},upperdir={upper},workdir={work}"))
}

fn overlay(place: &str, options: &str) -> Result<()> {
    fs::create_dir_all(place).map_err(Error::io("cannot make", place))?;
    let cannot = format!("cannot lay packages ({options}) over");
    let words = CString::new(options).map_err(Error::io(cannot.clone(), place))?;
    mount("overlay", place, "overlay", MountFlags::empty(), Some(words.as_c_str()))
        .map_err(Error::io(cannot, place))
}
