//! The kernel of an image, taken out of its packages or from the user: its file, and the directory of its modules.

use std::fs;
use std::path::{Path, PathBuf};

use super::apt::{Apt, Archived};
use super::kernels::{IMAGE, Kernel, KernelPackage};
use super::own_kernel::{OwnKernel, sha256};
use super::spec::{ImageSpec, KernelChoice};
use super::unpack::unpack;
use super::{suites, vmlinux};
use crate::cache::Cache;
use crate::event::{Event, Events};
use crate::{Error, Result};

/// The package that stands for the usual kernel: the full one, since the `-cloud-` flavour of 6.12 crashes under VDO.
const USUAL: &str = "linux-image-amd64";
/// Directories of modules in unpacked packages.
const MODULES: [&str; 2] = ["usr/lib/modules", "lib/modules"];

/// A kernel that is ready to be put into an image.
pub(super) struct Taken {
    /// Its release.
    pub(super) release: String,
    /// The kernel, uncompressed.
    pub(super) vmlinux: Vec<u8>,
    /// The SHA-256 of its file as it was packed.
    pub(super) sha256: String,
    /// The directory of its modules.
    pub(super) modules: PathBuf,
    /// The packages that it came in.
    pub(super) packages: Vec<KernelPackage>,
}

/// Takes the kernel of `spec`, unpacked below `aside`. `apt` is that of the userland's suite.
pub(super) fn take(
    (cache, apt): (&Cache, &Apt),
    spec: &ImageSpec,
    aside: &Path,
    events: Events,
) -> Result<Taken> {
    let (kernel, archives) = match &spec.kernel {
        KernelChoice::Own(kernel) => return own_one(kernel),
        KernelChoice::Listed(kernel) => {
            let archives = suites::archives(cache, kernel, spec.mirror.as_deref(), events)?;
            (kernel.clone(), archives)
        }
        KernelChoice::Usual => {
            let kernel = usual(apt, &spec.suite)?;
            events(Event::FetchingPackages { packages: kernel.packages.len() });
            let archives = suites::taken(apt, &kernel)?;
            (kernel, archives)
        }
    };
    events(Event::Unpacking { packages: archives.len() });
    unpacked(kernel, &archives, &aside.join("kernel"))
}

/// The usual kernel of a suite.
fn usual(apt: &Apt, suite: &str) -> Result<Kernel> {
    let find = || {
        let image = apt.versioned(USUAL, IMAGE)?;
        let mut kernels = suites::in_lists(apt, suite)?.into_iter();
        let is_named = |kernel: &Kernel| image.strip_prefix(IMAGE) == Some(&kernel.release);
        kernels.find(is_named).filter(Kernel::is_whole).ok_or_else(|| Error::KernelGone {
            release: image.trim_start_matches(IMAGE).to_owned(),
            suite: suite.to_owned(),
            gone: vec![image.clone()],
            near: Vec::new(),
        })
    };
    // Existing lists are used; lists are fetched if there are none, or if they turn out to be too old.
    find().or_else(|_| apt.update().and_then(|()| find()))
}

fn unpacked(kernel: Kernel, archives: &[Archived], into: &Path) -> Result<Taken> {
    for archive in archives {
        unpack(&archive.path, into)?;
    }
    let release = kernel.release;
    let lacks = |what: &str| {
        Error::bad_file(into)(format!("the packages of the kernel {release} have no {what}"))
    };
    let all = MODULES.map(|dir| into.join(dir).join(&release));
    // Where there are two directories, one has the modules and the other the lists of what is built in.
    let [first, second] = &all;
    if first.is_dir() && second.is_dir() && !same(first, second) {
        join(second, first)?;
    }
    let modules = all.iter().find(|dir| dir.is_dir()).ok_or_else(|| lacks("modules"))?;
    let files = [into.join(format!("boot/vmlinuz-{release}")), modules.join("vmlinuz")];
    let file = files.iter().find(|file| file.is_file()).ok_or_else(|| lacks("kernel"))?;
    let (vmlinux, sha256) = extracted(file)?;
    Ok(Taken { vmlinux, sha256, modules: modules.clone(), packages: kernel.packages, release })
}

fn same(one: &Path, other: &Path) -> bool {
    one.canonicalize().ok() == other.canonicalize().ok()
}

/// Moves the entries of `from` into `to`, except those that exist there.
fn join(from: &Path, to: &Path) -> Result<()> {
    for entry in fs::read_dir(from).map_err(Error::io("cannot list", from))?.flatten() {
        let new = to.join(entry.file_name());
        if !new.exists() {
            fs::rename(entry.path(), &new).map_err(Error::io("cannot move to", &new))?;
        }
    }
    Ok(())
}

fn own_one(kernel: &OwnKernel) -> Result<Taken> {
    let (vmlinux, sha256) = extracted(&kernel.file)?;
    if sha256 != kernel.sha256 {
        return Err(Error::bad_file(&kernel.file)("changed while it was read"));
    }
    let (release, modules) = (kernel.release.clone(), kernel.modules.clone());
    Ok(Taken { release, vmlinux, sha256, modules, packages: Vec::new() })
}

/// The kernel in a file, uncompressed, and the SHA-256 of the file.
fn extracted(file: &Path) -> Result<(Vec<u8>, String)> {
    let bytes = fs::read(file).map_err(Error::io("cannot read", file))?;
    let vmlinux = vmlinux::extract(&bytes).map_err(Error::bad_file(file))?;
    Ok((vmlinux, sha256(&bytes)))
}
