//! Prepares what the session needs before it starts: file systems, modules, directories, the disks.

use std::fs::{self, File};
use std::io::{self, ErrorKind};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::mount::{MountFlags, mount};

use super::config::{GuestConfig, ORDER};
use super::supplies;
use crate::image::MODULE_LIST;
use crate::{Error, Result};

/// The directory in which a disk is found by its role.
const BY_ROLE: &str = "/dev/disk/by-role";
/// Time that disks may take to appear.
const PATIENCE: Duration = Duration::from_secs(10);

/// The node of the disk with this role.
pub(super) fn disk(role: &str) -> PathBuf {
    Path::new(BY_ROLE).join(role)
}

/// The order that the host has put into the root.
pub(super) fn config() -> Result<GuestConfig> {
    let path = Path::new("/").join(ORDER);
    let text = fs::read(&path).map_err(Error::io("cannot read the order", &path))?;
    serde_json::from_slice(&text).map_err(Error::bad_file(path))
}

/// Prepares everything, in order.
pub(super) fn prepare() -> Result<()> {
    mount_all()?;
    let config = config()?;
    load_modules()?;
    for dir in ["/dev/shm", BY_ROLE] {
        fs::create_dir_all(dir).map_err(Error::io("cannot make", dir))?;
    }
    for role in &config.roles {
        bind_disk(role)?;
    }
    for (role, turns) in &config.rotational {
        tell_rotational(role, *turns)?;
    }
    for supply in &config.supplies {
        supplies::bring(supply, &wait_for_disk(&supply.serial)?)?;
    }
    start_processors()
}

/// Starts the processors that the command line has held back, now that devices are no longer being mapped.
fn start_processors() -> Result<()> {
    let list = fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    for switch in list.map(|entry| entry.path().join("online")) {
        if fs::read_to_string(&switch).is_ok_and(|state| state.trim() == "0") {
            fs::write(&switch, "1").map_err(Error::io("cannot switch on", &switch))?;
        }
    }
    Ok(())
}

fn mount_all() -> Result<()> {
    let plain = MountFlags::NOSUID;
    for (kind, place) in [
        ("devtmpfs", "/dev"),
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("tmpfs", "/run"),
        ("tmpfs", "/tmp"),
    ] {
        mount(kind, place, kind, plain, None)
            .map_err(Error::io(format!("cannot mount {kind} on"), place))?;
    }
    fs::create_dir_all("/dev/pts").map_err(Error::io("cannot make", "/dev/pts"))?;
    // A kernel without pseudo terminals, or without tracing, can do all the rest.
    let _ = mount("devpts", "/dev/pts", "devpts", plain, None);
    let _ = mount("debugfs", "/sys/kernel/debug", "debugfs", plain, None);
    let _ = mount("tracefs", "/sys/kernel/tracing", "tracefs", plain, None);
    Ok(())
}

fn load_modules() -> Result<()> {
    let list = Path::new("/").join(MODULE_LIST);
    let list = fs::read_to_string(&list).map_err(Error::io("cannot read", &list))?;
    for path in list.lines() {
        let loaded = File::open(path).and_then(|file| {
            match rustix::system::finit_module(&file, c"", 0) {
                // It is loaded already, or the processor or device that it is for is missing: whoever needs it says so.
                Err(rustix::io::Errno::EXIST | rustix::io::Errno::NODEV) => Ok(()),
                loaded => loaded.map_err(io::Error::from),
            }
        });
        loaded.map_err(Error::io("cannot load the module", path))?;
    }
    Ok(())
}

/// Waits for the disk whose serial number is `role` and gives it its name.
fn bind_disk(role: &str) -> Result<()> {
    let node = wait_for_disk(role)?;
    symlink(&node, disk(role)).map_err(Error::system(format!("cannot name the disk {role}")))
}

/// Makes the kernel treat a disk as rotational, or as not, before anything stands on it.
fn tell_rotational(role: &str, turns: bool) -> Result<()> {
    let node = wait_for_disk(role)?;
    let name = node.file_name().unwrap_or_default();
    let switch = Path::new("/sys/block").join(name).join("queue/rotational");
    fs::write(&switch, if turns { "1" } else { "0" })
        .map_err(Error::system(format!("cannot set whether disk {role} is rotational")))
}

fn wait_for_disk(serial: &str) -> Result<PathBuf> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(node) = find_disk(serial) {
            return Ok(node);
        }
        if Instant::now() > deadline {
            return Err(Error::io("no disk with the serial number", serial)(ErrorKind::TimedOut));
        }
        std::thread::sleep(Duration::from_millis(5));
    }
}

fn find_disk(role: &str) -> Option<PathBuf> {
    let list = fs::read_dir("/sys/block").ok()?;
    list.flatten().find_map(|entry| {
        let serial = fs::read_to_string(entry.path().join("serial")).ok()?;
        let node = Path::new("/dev").join(entry.file_name());
        (serial.trim() == role && node.exists()).then_some(node)
    })
}
