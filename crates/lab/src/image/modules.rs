//! Kernel modules: found by name, unpacked, and put into the order in which they can be loaded.

use std::cell::OnceCell;
use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use object::{Object, ObjectSection};

use super::vmlinux;
use crate::error::Cause;
use crate::{Error, Result};

/// Directories of a kernel's modules with services that other modules ask for by an alias (`crypto-crc32c`).
const SERVICES: [&str; 3] = ["kernel/crypto", "kernel/lib", "kernel/arch"];

/// The modules of one kernel, as its package brings them.
#[derive(Debug)]
pub(super) struct Modules {
    release: String,
    files: BTreeMap<String, PathBuf>,
    built_in: BTreeSet<String>,
    services: Vec<PathBuf>,
    /// Modules by their aliases; read when the first alias is asked for.
    aliases: OnceCell<BTreeMap<String, Vec<String>>>,
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
    /// Lists the modules below `dir`, the `modules/<release>` directory of the kernel's package.
    pub(super) fn list(dir: &Path, release: &str) -> Result<Self> {
        let mut files = BTreeMap::new();
        let mut open = vec![dir.to_path_buf()];
        while let Some(dir) = open.pop() {
            for entry in fs::read_dir(&dir).map_err(Error::io("cannot list", &dir))? {
                let path = entry.map_err(Error::io("cannot list", &dir))?.path();
                // Links (`build`, `source`) lead out of the directory.
                if path.is_dir() && !path.is_symlink() {
                    open.push(path);
                } else if let Some(name) = module_name(&path) {
                    files.insert(name, path);
                }
            }
        }
        let list = fs::read_to_string(dir.join("modules.builtin")).unwrap_or_default();
        let names = list.lines().filter_map(|line| module_name(Path::new(line)));
        let info = fs::read(dir.join("modules.builtin.modinfo")).unwrap_or_default();
        let built_in = names.chain(built_in_aliases(&info)).collect();
        let services = SERVICES.map(|service| dir.join(service)).to_vec();
        let aliases = OnceCell::new();
        Ok(Self { release: release.to_owned(), files, built_in, services, aliases })
    }

    /// Returns these modules with all they depend on, each after those it needs. What is built in is left out, and so are those of `faster` that the
    /// kernel does not have.
    pub(super) fn closure(&self, wanted: &[String], faster: &[String]) -> Result<Vec<Module>> {
        let (mut begun, mut done) = (BTreeSet::new(), Vec::new());
        let has = |name: &&String| self.named(&name.replace('_', "-")).is_ok_and(|n| !n.is_empty());
        for name in wanted.iter().chain(faster.iter().filter(has)) {
            self.add(&name.replace('_', "-"), &mut begun, &mut done)?;
        }
        Ok(done)
    }

    fn add(&self, name: &str, begun: &mut BTreeSet<String>, done: &mut Vec<Module>) -> Result<()> {
        // Two modules may have soft dependencies on each other.
        if !begun.insert(name.to_owned()) || self.built_in.contains(name) {
            return Ok(());
        }
        let Some(path) = self.files.get(name) else {
            let named = self.named(name)?;
            if named.is_empty() {
                let (module, kernel) = (name.to_owned(), self.release.clone());
                return Err(Error::MissingModule { module, kernel });
            }
            return named.iter().try_for_each(|name| self.add(name, begun, done));
        };
        let (content, info) = read(path)?;
        for needed in depends_in(&info) {
            self.add(&needed, begun, done)?;
        }
        for wished in wished_in(&info) {
            for name in self.named(&wished)? {
                self.add(&name, begun, done)?;
            }
        }
        done.push(Module { name: name.to_owned(), content });
        Ok(())
    }

    /// Returns the modules that a name stands for: the one of that name, or else all that have it as an alias, or, if one of these is the portable
    /// module, only that one. Empty for what is built in, and for what the kernel does not have.
    fn named(&self, name: &str) -> Result<Vec<String>> {
        if self.built_in.contains(name) {
            return Ok(Vec::new());
        }
        if self.files.contains_key(name) {
            return Ok(vec![name.to_owned()]);
        }
        let aliases = match self.aliases.get() {
            Some(aliases) => aliases,
            None => {
                let read = self.read_aliases()?;
                self.aliases.get_or_init(|| read)
            }
        };
        let named = aliases.get(name).cloned().unwrap_or_default();
        let portable = named.iter().find(|module| module.ends_with("-generic")).cloned();
        Ok(portable.map_or(named, |portable| vec![portable]))
    }

    fn read_aliases(&self) -> Result<BTreeMap<String, Vec<String>>> {
        let mut aliases: BTreeMap<String, Vec<String>> = BTreeMap::new();
        let of_services = |path: &PathBuf| self.services.iter().any(|dir| path.starts_with(dir));
        for (name, path) in self.files.iter().filter(|(_, path)| of_services(path)) {
            for alias in aliases_in(&read(path)?.1) {
                aliases.entry(alias).or_default().push(name.clone());
            }
        }
        Ok(aliases)
    }
}

/// Reads a module: its ELF file, unpacked, and its own description.
fn read(path: &Path) -> Result<(Vec<u8>, Vec<u8>)> {
    let content = fs::read(path).map_err(Error::io("cannot read", path))?;
    let content = vmlinux::unpack(content).map_err(Error::bad_file(path))?;
    let info = information(&content).map_err(Error::bad_file(path))?;
    Ok((content, info))
}

/// Returns the name of a module: `dm-vdo` for `kernel/drivers/md/dm-vdo/dm-vdo.ko.xz`.
fn module_name(path: &Path) -> Option<String> {
    let name = path.file_name()?.to_str()?;
    let name = [".xz", ".zst", ".gz"].iter().find_map(|end| name.strip_suffix(end)).unwrap_or(name);
    Some(name.strip_suffix(".ko")?.replace('_', "-"))
}

/// Returns the description that a module holds of itself: entries that end in a zero byte.
fn information(module: &[u8]) -> Result<Vec<u8>, Cause> {
    let file = object::File::parse(module)?;
    let section = file.section_by_name(".modinfo").ok_or("has no section .modinfo")?;
    Ok(section.data()?.to_vec())
}

/// Returns the aliases of a module: `alias=NAME`.
fn aliases_in(info: &[u8]) -> Vec<String> {
    let entries = info.split(|byte| *byte == 0).filter_map(|entry| entry.strip_prefix(b"alias="));
    entries.map(|name| String::from_utf8_lossy(name).replace('_', "-")).collect()
}

/// Returns the aliases of what is built in: `MODULE.alias=NAME`.
fn built_in_aliases(info: &[u8]) -> Vec<String> {
    let entries = info.split(|byte| *byte == 0).map(String::from_utf8_lossy);
    entries.filter_map(|entry| Some(entry.split_once(".alias=")?.1.replace('_', "-"))).collect()
}

/// Returns the modules that a module asks to have loaded before it without depending on them: file systems get their checksums this way, and cannot
/// be mounted without. From `softdep=pre: NAME NAME post: NAME`.
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

    fn modules(files: &[&str], built_in: &[&str], aliases: &[(&str, &[&str])]) -> Modules {
        let owned = |names: &[&str]| names.iter().map(ToString::to_string).collect::<Vec<_>>();
        let aliases = aliases.iter().map(|(name, of)| ((*name).to_owned(), owned(of)));
        let aliases: BTreeMap<_, _> = aliases.collect();
        Modules {
            release: "6.12".into(),
            files: owned(files).into_iter().map(|name| (name.clone(), name.into())).collect(),
            built_in: owned(built_in).into_iter().collect(),
            services: Vec::new(),
            aliases: OnceCell::from(aliases),
        }
    }

    #[test]
    fn a_module_that_the_kernel_lacks_is_named_and_one_that_only_makes_faster_is_left_out() {
        let modules = modules(&[], &["virtio-pci"], &[]);
        let faster = ["aesni_intel".to_owned()];
        assert_eq!(modules.closure(&["virtio_pci".into()], &faster).unwrap(), []);
        let error = modules.closure(&["dm-vdo".into()], &[]).unwrap_err();
        assert_eq!(error.to_string(), "kernel 6.12 has no module dm-vdo");
    }

    #[test]
    fn what_a_module_wishes_for_is_found_by_the_other_names_of_modules() {
        let old = modules(
            &["crc32c-generic", "crc32c-intel"],
            &[],
            &[("crc32c", &["crc32c-generic", "crc32c-intel"])],
        );
        assert_eq!(old.named("crc32c").unwrap(), ["crc32c-generic"]);
        let new = modules(&["crc32c-cryptoapi"], &[], &[("crypto-crc32c", &["crc32c-cryptoapi"])]);
        assert_eq!(new.named("crypto-crc32c").unwrap(), ["crc32c-cryptoapi"]);
        let newer = modules(&[], &["crypto-crc32c"], &[]);
        assert!(newer.named("crypto-crc32c").unwrap().is_empty());
        let info = b"crc32c_x.alias=crypto-crc32c\0crc32c_x.license=GPL\0";
        assert_eq!(built_in_aliases(info), ["crypto-crc32c"]);
        assert_eq!(
            aliases_in(b"alias=crypto-crc32c\0alias=a_b\0depends="),
            ["crypto-crc32c", "a-b"]
        );
    }
}
