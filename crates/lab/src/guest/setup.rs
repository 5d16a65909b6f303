//! Prepares what the session needs before it starts: file systems, modules, directories, the disks.

use std::fs::{self, File};
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use rustix::mount::{MountFlags, mount};

use super::config::{GuestConfig, ORDER};
use super::supplies;
use crate::image::MODULE_LIST;

/// The directory in which a disk is found by its role.
const BY_ROLE: &str = "/dev/disk/by-role";
/// Time that disks may take to appear.
const PATIENCE: Duration = Duration::from_secs(10);

/// The node of the disk with this role.
pub(super) fn disk(role: &str) -> PathBuf {
    Path::new(BY_ROLE).join(role)
}

/// The order that the host has put into the root.
pub(super) fn config() -> Result<GuestConfig, String> {
    let text = fs::read(Path::new("/").join(ORDER))
        .map_err(|error| format!("cannot read the order: {error}"))?;
    serde_json::from_slice(&text).map_err(|error| format!("the order is none: {error}"))
}

/// Everything, in order.
pub(super) fn prepare() -> Result<(), String> {
    mount_all()?;
    let config = config()?;
    load_modules()?;
    for dir in ["/dev/shm", BY_ROLE] {
        fs::create_dir_all(dir).map_err(|error| format!("cannot make {dir}: {error}"))?;
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

/// Starts the processors that the command line has held back, now that no device is being mapped any more.
fn start_processors() -> Result<(), String> {
    let list = fs::read_dir("/sys/devices/system/cpu").into_iter().flatten().flatten();
    for switch in list.map(|entry| entry.path().join("online")) {
        if fs::read_to_string(&switch).is_ok_and(|state| state.trim() == "0") {
            fs::write(&switch, "1")
                .map_err(|error| format!("cannot switch on {}: {error}", switch.display()))?;
        }
    }
    Ok(())
}

fn mount_all() -> Result<(), String> {
    let plain = MountFlags::NOSUID;
    for (kind, place) in [
        ("devtmpfs", "/dev"),
        ("proc", "/proc"),
        ("sysfs", "/sys"),
        ("tmpfs", "/run"),
        ("tmpfs", "/tmp"),
    ] {
        mount(kind, place, kind, plain, None)
            .map_err(|error| format!("cannot mount {kind} on {place}: {error}"))?;
    }
    fs::create_dir_all("/dev/pts").map_err(|error| format!("cannot make /dev/pts: {error}"))?;
    // A kernel without pseudo terminals, or without tracing, does all the rest.
    let _ = mount("devpts", "/dev/pts", "devpts", plain, None);
    let _ = mount("debugfs", "/sys/kernel/debug", "debugfs", plain, None);
    let _ = mount("tracefs", "/sys/kernel/tracing", "tracefs", plain, None);
    Ok(())
}

fn load_modules() -> Result<(), String> {
    let list = Path::new("/").join(MODULE_LIST);
    let list = fs::read_to_string(&list)
        .map_err(|error| format!("cannot read {}: {error}", list.display()))?;
    for path in list.lines() {
        let loaded = File::open(path).map_err(|error| error.to_string()).and_then(|file| {
            rustix::system::finit_module(&file, c"", 0)
                .or_else(|errno| match errno {
                    // It is there already; or the processor, or the device, is not there that it is for: whoever needs it says so.
                    rustix::io::Errno::EXIST | rustix::io::Errno::NODEV => Ok(()),
                    errno => Err(errno),
                })
                .map_err(|errno| errno.to_string())
        });
        loaded.map_err(|error| format!("cannot load the module {path}: {error}"))?;
    }
    Ok(())
}

/// Waits for the disk whose serial number is `role` and gives it its name.
fn bind_disk(role: &str) -> Result<(), String> {
    let node = wait_for_disk(role)?;
    symlink(&node, disk(role)).map_err(|error| format!("cannot name the disk {role}: {error}"))
}

/// Lets the kernel take a disk for one that turns, or for one that does not, before anything stands on it.
fn tell_rotational(role: &str, turns: bool) -> Result<(), String> {
    let node = wait_for_disk(role)?;
    let name = node.file_name().unwrap_or_default();
    let switch = Path::new("/sys/block").join(name).join("queue/rotational");
    fs::write(&switch, if turns { "1" } else { "0" })
        .map_err(|error| format!("cannot tell whether the disk {role} turns: {error}"))
}

fn wait_for_disk(serial: &str) -> Result<PathBuf, String> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        if let Some(node) = find_disk(serial) {
            return Ok(node);
        }
        if Instant::now() > deadline {
            return Err(format!("no disk with the serial number {serial} appeared"));
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
