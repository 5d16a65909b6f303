//! A user's own kernels: a `bzImage` with the directory of its modules.

use std::fs;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use twox_hash::XxHash3_128;

use super::listing::listing;
use super::vmlinux;
use crate::{Error, Result};

/// The file by which a directory of modules is known.
const BUILT_IN: &str = "modules.builtin";

/// A user's own kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnKernel {
    /// Its release, as it says itself.
    pub release: String,
    /// Its file.
    pub file: PathBuf,
    /// The directory of its modules.
    pub modules: PathBuf,
    /// The SHA-256 of its file.
    pub sha256: String,
    /// A hash of its file and of the facts that show whether a module has changed.
    pub(super) key: String,
}

impl OwnKernel {
    /// Takes the kernel in the file `path`, or in the file `vmlinuz` of the directory `path`. Its modules are in the same directory, as in
    /// `/usr/lib/modules/RELEASE`, or where packages have them: for `boot/vmlinuz-RELEASE` in `../lib/modules/RELEASE`.
    pub fn at(path: &Path) -> Result<Self> {
        let file = if path.is_dir() { path.join("vmlinuz") } else { path.to_owned() };
        let file = file.canonicalize().map_err(Error::io("cannot find the kernel", &file))?;
        let bytes = fs::read(&file).map_err(Error::io("cannot read", &file))?;
        let release = vmlinux::release(&bytes).map_err(Error::bad_file(&file))?;
        let beside = file.parent().unwrap_or(Path::new("/"));
        let above = beside.parent().unwrap_or(beside);
        let modules = [
            beside.to_owned(),
            above.join("usr/lib/modules").join(&release),
            above.join("lib/modules").join(&release),
        ]
        .into_iter()
        .find(|dir| dir.join(BUILT_IN).is_file())
        .ok_or_else(|| Error::BadSpec {
            what: format!("the kernel {} has no directory of modules", file.display()),
            help: format!(
                "put it into the directory of its modules (which has {BUILT_IN}) as vmlinuz: make modules_install makes one"
            ),
        })?;
        let sha256 = sha256(&bytes);
        let mut hash = XxHash3_128::with_seed(0);
        hash.write(sha256.as_bytes());
        listing(&modules, &mut hash)?;
        let key = format!("{:032x}", hash.finish_128());
        Ok(Self { release, file, modules, sha256, key })
    }
}

impl OwnKernel {
    /// Returns an id that tells it from others of its release: it changes with its file and with any of its modules.
    pub fn id(&self) -> &str {
        self.key.get(..12).unwrap_or(&self.key)
    }
}

/// Returns the SHA-256 of these bytes, as sha256sum(1) prints it.
pub(super) fn sha256(bytes: &[u8]) -> String {
    Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A directory with a kernel of a release in `file` and modules in `modules`.
    fn made(file: &str, modules: &str) -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        for (path, bytes) in [
            (dir.path().join(file), vmlinux::with_release("6.5.0-mine")),
            (dir.path().join(modules).join(BUILT_IN), Vec::new()),
        ] {
            fs::create_dir_all(path.parent().unwrap()).unwrap();
            fs::write(path, bytes).unwrap();
        }
        dir
    }

    #[test]
    fn a_kernel_is_found_with_its_modules_beside_it_or_where_packages_have_them() {
        for (file, modules, given) in [
            ("m/vmlinuz", "m", "m"),
            ("m/bzImage", "m", "m/bzImage"),
            ("boot/vmlinuz-6.5.0-mine", "lib/modules/6.5.0-mine", "boot/vmlinuz-6.5.0-mine"),
            ("boot/vmlinuz", "usr/lib/modules/6.5.0-mine", "boot"),
        ] {
            let dir = made(file, modules);
            let kernel = OwnKernel::at(&dir.path().join(given)).unwrap();
            assert_eq!(kernel.release, "6.5.0-mine");
            assert!(kernel.modules.ends_with(modules), "{given}");
        }
        let error = OwnKernel::at(&made("boot/vmlinuz", "elsewhere").path().join("boot"));
        assert!(error.unwrap_err().to_string().ends_with("has no directory of modules"));
    }

    #[test]
    fn a_module_that_was_built_anew_makes_another_kernel() {
        let dir = made("vmlinuz", "");
        let before = OwnKernel::at(dir.path()).unwrap();
        fs::write(dir.path().join("dm-vdo.ko"), "new").unwrap();
        let after = OwnKernel::at(dir.path()).unwrap();
        assert_eq!(before.sha256, after.sha256);
        assert_ne!(before.key, after.key);
    }
}
