//! The guest's root, put together from unpacked packages: programs, the libraries they need, modules, settings.

use std::collections::{BTreeMap, BTreeSet};
use std::fs;
use std::path::{Path, PathBuf};

use super::archive::Archive;
use super::elf::linkage;
use super::modules::Module;
use crate::{Error, Result};

/// Version of the recipe: changed whenever the same needs would give another root.
pub(super) const RECIPE: &str = "4";
/// The guest's directory of libraries: the one in which Debian's dynamic linker looks by itself.
const LIBRARIES: &str = "usr/lib/x86_64-linux-gnu";
/// Directories of libraries in unpacked packages.
const LIBRARY_DIRS: [&str; 4] = [LIBRARIES, "lib/x86_64-linux-gnu", "usr/lib", "lib"];
/// Directories of programs in unpacked packages.
const PROGRAM_DIRS: [&str; 4] = ["usr/sbin", "usr/bin", "sbin", "bin"];
/// The file that names the modules to load, one path a line, in order.
pub(crate) const MODULE_LIST: &str = "lab/modules";

/// The guest's root while it is put together.
#[derive(Debug)]
pub(super) struct Root {
    unpacked: PathBuf,
    packages: String,
    archive: Archive,
    placed: BTreeSet<String>,
}

impl Root {
    /// An empty root, to be filled from the packages unpacked in `unpacked`.
    pub(super) fn new(unpacked: &Path, packages: &[String]) -> Result<Self> {
        let mut archive = Archive::default();
        for dir in
            ["proc", "sys", "dev", "run", "tmp", "root", "mnt", "usr/bin", "usr/lib64", LIBRARIES]
        {
            archive.directory(dir)?;
        }
        // All programs are in one directory, whatever path they are called by.
        for (link, target) in [
            ("bin", "usr/bin"),
            ("sbin", "usr/bin"),
            ("usr/sbin", "bin"),
            ("lib", "usr/lib"),
            ("lib64", "usr/lib64"),
            ("etc/mtab", "/proc/mounts"),
        ] {
            archive.link(link, target)?;
        }
        archive.character_device("dev/console", 5, 1)?;
        archive.character_device("dev/null", 1, 3)?;
        archive.file("etc/passwd", 0o644, b"root:x:0:0:root:/root:/bin/sh\n")?;
        archive.file("etc/group", 0o644, b"root:x:0:\ndisk:x:6:\n")?;
        Ok(Self {
            unpacked: unpacked.to_path_buf(),
            packages: packages.join(", "),
            archive,
            placed: BTreeSet::new(),
        })
    }

    /// Adds a program with the libraries that it needs, and with every link in its directory that points to it.
    pub(super) fn tool(&mut self, name: &str) -> Result<()> {
        let missing =
            || Error::MissingTool { tool: name.to_owned(), packages: self.packages.clone() };
        let (dir, real) = PROGRAM_DIRS
            .iter()
            .map(|dir| self.unpacked.join(dir))
            .find_map(|dir| Some((dir.clone(), resolve(&self.unpacked, &dir.join(name))?)))
            .ok_or_else(missing)?;
        let real_name = file_name(&real);
        for link in links_to(&self.unpacked, &dir, &real)? {
            if link != real_name {
                self.archive.link(&format!("usr/bin/{link}"), &real_name)?;
            }
        }
        self.program(&format!("usr/bin/{real_name}"), &real)
    }

    /// Adds files with these texts, by their paths below the root.
    pub(super) fn files(&mut self, files: &BTreeMap<String, String>) -> Result<()> {
        files.iter().try_for_each(|(path, text)| self.archive.file(path, 0o644, text.as_bytes()))
    }

    /// Adds a link among the programs.
    pub(super) fn alias(&mut self, name: &str, program: &str) -> Result<()> {
        self.archive.link(&format!("usr/bin/{name}"), program)
    }

    /// The root's archive.
    pub(super) fn finish(self) -> Result<Vec<u8>> {
        self.archive.finish()
    }

    fn program(&mut self, path: &str, source: &Path) -> Result<()> {
        if !self.placed.insert(path.to_owned()) {
            return Ok(());
        }
        let content = fs::read(source).map_err(Error::io("cannot read", source))?;
        let linkage = linkage(&content).map_err(Error::bad_file(source))?;
        self.archive.file(path, 0o755, &content)?;
        if let Some(interpreter) = &linkage.interpreter {
            let name = file_name(Path::new(interpreter));
            let source = self.library(&name)?;
            self.program(&format!("usr/lib64/{name}"), &source)?;
        }
        for library in &linkage.libraries {
            let source = self.library(library)?;
            self.program(&format!("{LIBRARIES}/{library}"), &source)?;
        }
        Ok(())
    }

    fn library(&self, name: &str) -> Result<PathBuf> {
        LIBRARY_DIRS
            .iter()
            .chain(&["usr/lib64", "lib64"])
            .find_map(|dir| resolve(&self.unpacked, &self.unpacked.join(dir).join(name)))
            .or_else(|| self.private_library(name))
            .ok_or_else(|| Error::MissingTool {
                tool: name.to_owned(),
                packages: self.packages.clone(),
            })
    }
}

/// The archive of modules, with the list of the order to load them in; it follows that of the root.
pub(super) fn modules(modules: &[Module]) -> Result<Vec<u8>> {
    let mut archive = Archive::default();
    let mut list = String::new();
    for module in modules {
        let path = format!("lab/ko/{}.ko", module.name);
        archive.file(&path, 0o644, &module.content)?;
        list += &format!("/{path}\n");
    }
    archive.file(MODULE_LIST, 0o644, list.as_bytes())?;
    archive.finish()
}

impl Root {
    /// A library that its package keeps in a separate folder (`ceph/libceph-common.so.2`) and finds by a run path. In
    /// the guest it stands among the others, where the linker looks anyway.
    fn private_library(&self, name: &str) -> Option<PathBuf> {
        let folders = fs::read_dir(self.unpacked.join(LIBRARIES)).ok()?.flatten();
        let mut folders: Vec<_> =
            folders.map(|entry| entry.path()).filter(|p| p.is_dir()).collect();
        folders.sort();
        folders.iter().find_map(|folder| resolve(&self.unpacked, &folder.join(name)))
    }
}

/// The file that `path` leads to; absolute links are taken as within `root`, not within this machine.
fn resolve(root: &Path, path: &Path) -> Option<PathBuf> {
    let mut path = path.to_path_buf();
    for _ in 0..8 {
        let Ok(target) = fs::read_link(&path) else {
            return path.is_file().then_some(path);
        };
        path = match target.strip_prefix("/") {
            Ok(inside) => root.join(inside),
            Err(_) => path.parent()?.join(target),
        };
    }
    None
}

/// Names in `dir` that lead to the file `real`.
fn links_to(root: &Path, dir: &Path, real: &Path) -> Result<Vec<String>> {
    let wanted = real.canonicalize().map_err(Error::io("cannot find", real))?;
    let mut names = Vec::new();
    for entry in fs::read_dir(dir).map_err(Error::io("cannot list", dir))? {
        let path = entry.map_err(Error::io("cannot list", dir))?.path();
        let leads = resolve(root, &path).and_then(|target| target.canonicalize().ok());
        if leads.as_ref() == Some(&wanted) {
            names.push(file_name(&path));
        }
    }
    names.sort();
    Ok(names)
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::symlink;

    use super::*;

    fn unpacked() -> tempfile::TempDir {
        let dir = tempfile::tempdir().unwrap();
        let bin = dir.path().join("usr/sbin");
        fs::create_dir_all(&bin).unwrap();
        fs::write(bin.join("lvm"), "#!/bin/sh\n").unwrap();
        symlink("lvm", bin.join("lvcreate")).unwrap();
        symlink("/usr/sbin/lvcreate", bin.join("vgcreate")).unwrap();
        symlink("/etc/passwd", bin.join("outside")).unwrap();
        dir
    }

    #[test]
    fn a_tool_brings_the_links_that_lead_to_it() {
        let dir = unpacked();
        let mut root = Root::new(dir.path(), &["lvm2".into()]).unwrap();
        root.tool("vgcreate").unwrap();
        let archive = root.finish().unwrap();
        let has = |name: &[u8]| archive.windows(name.len()).any(|window| window == name);
        assert!(has(b"usr/bin/lvm\0") && has(b"usr/bin/lvcreate\0") && has(b"usr/bin/vgcreate\0"));
        assert!(!has(b"outside"));
    }

    #[test]
    fn a_tool_in_no_package_is_an_error_that_names_both() {
        let dir = unpacked();
        let mut root = Root::new(dir.path(), &["lvm2".into(), "vdo".into()]).unwrap();
        let error = root.tool("outside").unwrap_err();
        assert!(error.to_string().ends_with("in none of the packages lvm2, vdo"), "{error}");
    }

    #[test]
    fn a_library_in_a_folder_of_its_package_is_found_and_others_are_not() {
        let dir = unpacked();
        let folder = dir.path().join(LIBRARIES).join("ceph");
        fs::create_dir_all(&folder).unwrap();
        fs::write(folder.join("libprivate.so.2"), "x").unwrap();
        let root = Root::new(dir.path(), &["fio".into()]).unwrap();
        assert!(root.library("libprivate.so.2").unwrap().ends_with("ceph/libprivate.so.2"));
        assert!(root.library("libmissing.so.1").is_err());
    }

    #[test]
    fn equal_packages_give_equal_bytes() {
        let dir = unpacked();
        let make = || {
            let mut root = Root::new(dir.path(), &[]).unwrap();
            root.tool("lvm").unwrap();
            root.finish().unwrap()
        };
        assert_eq!(make(), make());
    }
}
