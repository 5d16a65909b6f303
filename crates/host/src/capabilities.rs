//! Capabilities of this machine, each with a remedy where one is needed.

use std::collections::BTreeSet;
use std::fs::OpenOptions;
use std::path::{Path, PathBuf};

use serde::Serialize;
use sys::dm::Dm;
use units::Bytes;

use crate::facts;
use crate::modules::{loaded, module};
use crate::packages::install;

/// The degree to which something can be done here.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum CapabilityState {
    /// Yes.
    Ok,
    /// It can be done in part, or more slowly.
    Limited,
    /// No.
    Missing,
}

/// One thing that this machine can or cannot do.
#[derive(Debug, Clone, PartialEq, Eq, Serialize)]
pub struct Capability {
    /// Its id, for scripts.
    pub id: &'static str,
    /// Its name.
    pub name: String,
    /// The degree to which it is available.
    pub state: CapabilityState,
    /// Description of what was found.
    pub detail: String,
    /// The remedy; `None` when nothing needs to be done.
    pub remedy: Option<String>,
}

use CapabilityState::{Limited, Missing, Ok as Fine};

/// Room that the guest's image and a few virtual disks need.
const ROOM: Bytes = Bytes(10 * Bytes::GIB);

/// Everything that Fathom can make use of on this machine.
pub fn capabilities() -> Vec<Capability> {
    let targets = Dm::open().and_then(|dm| dm.targets()).unwrap_or_default();
    let targets: BTreeSet<String> = targets.into_iter().map(|(name, _)| name).collect();
    let layers = layers::kinds().iter().map(|kind| layer(kind, &targets));
    let machine = [
        root(),
        io_uring(),
        device_mapper(),
        loop_devices(),
        qemu(),
        kvm(),
        programs(
            "image_tools",
            "tools that make the lab's guest",
            &["apt-get", "dpkg-deb"],
            &["apt", "dpkg"],
        ),
        memory(),
        room(),
    ];
    machine.into_iter().chain(layers).collect()
}

fn capability(
    id: &'static str,
    name: impl Into<String>,
    state: CapabilityState,
    detail: impl Into<String>,
    remedy: &str,
) -> Capability {
    let remedy = (state != Fine).then(|| remedy.to_owned());
    Capability { id, name: name.into(), state, detail: detail.into(), remedy }
}

fn root() -> Capability {
    let root = rustix::process::geteuid().is_root();
    let (state, detail) = if root { (Fine, "yes") } else { (Limited, "no") };
    let remedy =
        "Stacks on this machine's own devices need root (sudo); the lab and loads on files do not.";
    capability("root", "root", state, detail, remedy)
}

fn io_uring() -> Capability {
    let value = facts::file("/proc/sys/kernel/io_uring_disabled");
    let (state, detail) = match value.as_deref() {
        Some("0") => (Fine, "allowed to all".to_owned()),
        Some("1") => (Limited, "allowed to some (kernel.io_uring_disabled = 1)".to_owned()),
        Some(other) => (Missing, format!("forbidden (kernel.io_uring_disabled = {other})")),
        None => {
            // Older kernels have no switch: the system call is there when its symbol is.
            let symbols = std::fs::read_to_string("/proc/kallsyms").unwrap_or_default();
            match symbols.contains(" __do_sys_io_uring_setup") {
                true => (Fine, "there; this kernel has no switch that forbids it".to_owned()),
                false => (Limited, "not found; known only when a load starts".to_owned()),
            }
        }
    };
    capability("io_uring", "io_uring", state, detail, "sysctl kernel.io_uring_disabled=0")
}

fn device_mapper() -> Capability {
    const REMEDY: &str = "modprobe dm-mod; where the kernel has none: fathom lab run";
    let (state, detail) = match Dm::open().and_then(|dm| dm.names()) {
        Ok(names) => (Fine, format!("{} devices", names.len())),
        Err(_) if module("dm-mod") => (Limited, "the module is there and not loaded".to_owned()),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            (Limited, "there; needs root".to_owned())
        }
        Err(_) => (Missing, "this kernel has none".to_owned()),
    };
    capability("device_mapper", "device mapper", state, detail, REMEDY)
}

/// Tells whether stacks with this kind of layer can be raised here: its programs are installed, and the kernel has its modules.
fn layer(kind: &'static layers::Kind, targets: &BTreeSet<String>) -> Capability {
    let name = format!("layer {}", kind.name);
    let programs = kind.needs.tools.iter().filter(|tool| program(tool).is_none());
    let programs: Vec<_> = programs.copied().collect();
    if !programs.is_empty() {
        let detail = format!("not installed: {}", programs.join(", "));
        let remedy = install(kind.needs.packages);
        return capability(kind.name, name, Missing, detail, &remedy);
    }
    // A target of device-mapper may come from a module of another name, or be built in.
    let target = |module: &str| targets.contains(module.strip_prefix("dm-").unwrap_or(module));
    let unknown = |name: &&&str| !module(name) && !target(name);
    let absent: Vec<_> = kind.needs.modules.iter().filter(unknown).copied().collect();
    let idle = |name: &&&str| !loaded(name) && !target(name);
    let idle: Vec<_> = kind.needs.modules.iter().filter(idle).copied().collect();
    let remedy = format!("modprobe {}; where the kernel has none: fathom lab run", idle.join(" "));
    let (state, detail) = if !absent.is_empty() {
        (Missing, format!("not in this kernel: {}", absent.join(", ")))
    } else if !idle.is_empty() {
        (Limited, format!("there and not loaded: {}", idle.join(", ")))
    } else {
        (Fine, kind.needs.tools.join(", "))
    };
    capability(kind.name, name, state, detail, &remedy)
}

/// Returns where a program is.
pub(crate) fn program(name: &str) -> Option<PathBuf> {
    let path = std::env::var("PATH").unwrap_or_default();
    let system = ["/usr/local/sbin", "/usr/sbin", "/sbin"];
    let folders = path.split(':').chain(system).filter(|folder| !folder.is_empty());
    folders.map(|folder| Path::new(folder).join(name)).find(|file| file.is_file())
}

fn programs(id: &'static str, name: &'static str, names: &[&str], packages: &[&str]) -> Capability {
    let missing: Vec<_> = names.iter().filter(|n| program(n).is_none()).copied().collect();
    let (state, detail) = if missing.is_empty() {
        (Fine, names.join(", "))
    } else {
        (Missing, format!("not installed: {}", missing.join(", ")))
    };
    capability(id, name, state, detail, &install(packages))
}

fn loop_devices() -> Capability {
    let there = Path::new("/dev/loop-control").exists();
    let (state, detail) = if there { (Fine, "there") } else { (Missing, "none") };
    capability("loop", "loop devices", state, detail, "modprobe loop")
}

fn qemu() -> Capability {
    const NAME: &str = "qemu-system-x86_64";
    let (state, detail) = match program(NAME) {
        Some(path) => (Fine, path.display().to_string()),
        None => (Missing, format!("not installed: {NAME}")),
    };
    let remedy = "apt-get install --no-install-recommends qemu-system-x86, or dnf install it: the lab runs in it";
    capability("qemu", "QEMU", state, detail, remedy)
}

fn kvm() -> Capability {
    const JOIN: &str = "Join the group kvm (adduser USER kvm). Without KVM ratios still count, absolute speed does not.";
    const SWITCH: &str = "Switch virtualisation on in the firmware. Without KVM ratios still count, absolute speed does not.";
    const PROVE: &str =
        "fathom lab run proves it by a probe boot, and says in the result what it used.";
    let node = OpenOptions::new().read(true).write(true).open("/dev/kvm");
    let (detail, remedy) = match node {
        // A node that opens proves nothing: nested virtualisation may hang without a word.
        Ok(_) => ("the node opens; not proved", PROVE),
        Err(error) if error.kind() == std::io::ErrorKind::PermissionDenied => {
            ("there is a node, and you may not open it", JOIN)
        }
        Err(_) => ("no /dev/kvm: the lab emulates the CPU", SWITCH),
    };
    capability("kvm", "KVM", Limited, detail, remedy)
}

fn memory() -> Capability {
    let bytes = facts::memory();
    let (state, detail) = match bytes {
        Some(bytes) if bytes.0 >= 3 * Bytes::GIB => (Fine, bytes.to_string()),
        Some(bytes) => (Limited, bytes.to_string()),
        None => (Limited, "unknown".to_owned()),
    };
    capability(
        "memory",
        "memory",
        state,
        detail,
        "The lab's guest takes 1 to 2 GiB: close other programs.",
    )
}

fn room() -> Capability {
    let cache = std::env::var_os("XDG_CACHE_HOME").map(PathBuf::from);
    let home = std::env::var_os("HOME").map(|home| Path::new(&home).join(".cache"));
    let wanted = cache.or(home).unwrap_or_else(std::env::temp_dir);
    let there = wanted.ancestors().find(|folder| folder.is_dir()).unwrap_or(Path::new("/"));
    let free = rustix::fs::statvfs(there).ok().map(|fs| Bytes(fs.f_bavail * fs.f_frsize));
    let (state, detail) = match free {
        Some(free) if free >= ROOM => (Fine, format!("{free} free below {}", there.display())),
        Some(free) => (Limited, format!("{free} free below {}", there.display())),
        None => (Limited, format!("free space below {} is unknown", there.display())),
    };
    let remedy = "The guest and its virtual disks need some GiB: free room, or set XDG_CACHE_HOME.";
    capability("room", "room for virtual disks", state, detail, remedy)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_fine_says_what_to_do_and_what_is_fine_does_not() {
        let all = capabilities();
        for one in &all {
            assert_eq!(one.remedy.is_none(), one.state == Fine, "{one:?}");
            assert!(!one.detail.is_empty());
        }
        assert_eq!(all.iter().map(|c| c.id).collect::<BTreeSet<_>>().len(), all.len());
    }

    #[test]
    fn a_program_that_nobody_has_is_missing_with_its_package() {
        let one = programs("x", "x", &["sh", "fathom-no-such"], &["some-package"]);
        assert_eq!(one.state, Missing);
        assert!(one.detail.contains("fathom-no-such") && !one.detail.contains("sh,"));
        assert!(one.remedy.unwrap().contains("some-package"));
    }
}
