//! Kernel modules: found by name, unpacked, and put into the order in which they can be loaded.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection};

use super::vmlinux::unpack_xz;
use crate::{Error, Result};

/// The modules of one kernel, as its package brings them.
#[derive(Debug)]
pub(super) struct Modules {
    release: String,
    files: BTreeMap<String, PathBuf>,
    built_in: Vec<String>,
}

/// One module, ready to be loaded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Module {
    /// Its name, with `-` for `_`.
    pub(super) name: String,
    /// Its ELF file, unpacked.
    pub(super) content: Vec<u8>,
}

impl Modules {
    /// Those below `dir`, the `modules/<release>` directory of the kernel's package.
    pub(super) fn list(dir: &Path, release: &str) -> Result<Self> {
        let mut files = BTreeMap::new();
        let mut open = vec![dir.to_path_buf()];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(&dir).map_err(Error::io("cannot list", &dir))? {
                let path = entry.map_err(Error::io("cannot list", &dir))?.path();
                if path.is_dir() {
                    open.push(path);
                } else if let Some(name) = module_name(&path) {
                    files.insert(name, path);
                }
            }
        }
        let built_in = fs::read_to_string(dir.join("modules.builtin")).unwrap_or_default();
        let built_in = built_in.lines().filter_map(|line| module_name(Path::new(line)));
        Ok(Self { release: release.to_owned(), files, built_in: built_in.collect() })
    }

    /// These modules with all they depend on, each after those it needs; what is built in is left out.
    pub(super) fn closure(&self, wanted: &[String]) -> Result<Vec<Module>> {
        let (mut begun, mut done) = (BTreeSet::new(), Vec::new());
        for name in wanted {
            self.add(&name.replace('_', "-"), &mut begun, &mut done)?;
        }
        Ok(done)
    }

    fn add(&self, name: &str, begun: &mut BTreeSet<String>, done: &mut Vec<Module>) -> Result<()> {
        // Two modules may wish for each other.
        if !begun.insert(name.to_owned()) || self.built_in.iter().any(|there| there == name) {
            return Ok(());
        }
        let path = self.files.get(name).ok_or_else(|| Error::MissingModule {
            module: name.to_owned(),
            kernel: self.release.clone(),
        })?;
        let bad = |why| Error::BadFile { path: path.clone(), why };
        let mut content = fs::read(path).map_err(Error::io("cannot read", path))?;
        if content.starts_with(b"\xfd7zXZ") {
            content = unpack_xz(&content).map_err(bad)?;
        }
        let (needed, wished) = depends(&content).map_err(bad)?;
        for needed in &needed {
            self.add(needed, begun, done)?;
        }
        for wished in wished {
            // The name of a service; what any processor can do it with is called so (`crc32c-generic` of `crc32c`).
            let names = [format!("{wished}-generic"), wished];
            if let Some(name) = names.iter().find(|name| self.files.contains_key(*name)) {
                self.add(name, begun, done)?;
            }
        }
        done.push(Module { name: name.to_owned(), content });
        Ok(())
    }
}

/// `dm-vdo` for `kernel/drivers/md/dm-vdo/dm-vdo.ko.xz`.
fn module_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let name = name.strip_suffix(".xz").unwrap_or(name);
    Some(name.strip_suffix(".ko")?.replace('_', "-"))
}

/// The modules that a module's own information says it depends on, and those that it asks for beforehand without a dependency:
/// file systems get their checksums so, and cannot be mounted without.
fn depends(module: &[u8]) -> Result<(Vec<String>, Vec<String>), String> {
    let file = object::File::parse(module).map_err(|error| error.to_string())?;
    let section = file.section_by_name(".modinfo").ok_or("has no section .modinfo")?;
    let info = section.data().map_err(|error| error.to_string())?;
    Ok((depends_in(info), wished_in(info)))
}

/// From `softdep=pre: NAME NAME post: NAME`.
fn wished_in(info: &[u8]) -> Vec<String> {
    let entries = info.split(|byte| *byte == 0);
    let wishes = entries.filter_map(|entry| entry.strip_prefix(b"softdep="));
    let names = wishes.flat_map(|wish| {
        let wish = String::from_utf8_lossy(wish).into_owned();
        let before = wish.split("post:").next().unwrap_or_default().replace("pre:", " ");
        before.split_whitespace().map(|name| name.replace('_', "-")).collect::<Vec<_>>()
    });
    names.collect()
}

fn depends_in(info: &[u8]) -> Vec<String> {
    info.split(|byte| *byte == 0)
        .filter_map(|entry| entry.strip_prefix(b"depends="))
        .flat_map(|names| names.split(|byte| *byte == b','))
        .filter(|name| !name.is_empty())
        .map(|name| String::from_utf8_lossy(name).replace('_', "-"))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_module_says_what_it_depends_on() {
        let info = b"license=GPL\0depends=dm_bufio,dm-mod,lz4_compress\0depends=\0name=dm_vdo\0";
        assert_eq!(depends_in(info), ["dm-bufio", "dm-mod", "lz4-compress"]);
        assert!(wished_in(info).is_empty());
        let info = b"softdep=pre: crc32c sha_256 post: other\0depends=";
        assert_eq!(wished_in(info), ["crc32c", "sha-256"]);
    }

    #[test]
    fn a_module_that_the_kernel_lacks_is_named() {
        let modules = Modules {
            release: "6.12".into(),
            files: BTreeMap::new(),
            built_in: vec!["virtio-pci".into()],
        };
        assert_eq!(modules.closure(&["virtio_pci".into()]).unwrap(), []);
        let error = modules.closure(&["dm-vdo".into()]).unwrap_err();
        assert_eq!(error.to_string(), "kernel 6.12 has no module dm-vdo");
    }
}
