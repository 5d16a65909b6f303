//! The tree that estimates are measured on: copies of real files, and as many random bytes.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::{Path, PathBuf};

use sys::interrupt::{Interrupt, Level};
use units::Seed;

/// Reason why the tree could not be made.
#[derive(Debug, thiserror::Error)]
#[error("cannot make {}", path.display())]
pub struct TreeError {
    pub(super) path: PathBuf,
    pub(super) source: io::Error,
}

/// A directory of our own, which is removed when this is dropped.
#[derive(Debug)]
pub struct Tree {
    path: PathBuf,
    sources: Vec<PathBuf>,
    bytes: u64,
    real: u64,
    interrupt: Interrupt,
}

impl Drop for Tree {
    fn drop(&mut self) {
        // A tree that cannot be removed stays in memory, where it can be found by its name.
        let _ = fs::remove_dir_all(&self.path);
    }
}

impl Tree {
    /// Makes a tree of about `bytes` bytes in `parent`: the first half from `sources`, in the order of names, as far as they
    /// reach; the rest random. If the user stops it, what was made is removed.
    pub fn make(
        parent: &Path,
        sources: &[PathBuf],
        bytes: u64,
        interrupt: &Interrupt,
    ) -> Result<Self, TreeError> {
        let path = parent.join(format!("fathom-bench-estimate-{}", std::process::id()));
        let failed = |path: &Path| {
            let path = path.to_owned();
            move |source| TreeError { path, source }
        };
        fs::create_dir(&path).map_err(failed(&path))?;
        let (sources_of, interrupt) = (sources.to_vec(), interrupt.clone());
        let mut tree = Self { path, sources: sources_of, bytes: 0, real: 0, interrupt };
        for (number, source) in sources.iter().enumerate() {
            let under = tree.path.join(number.to_string());
            tree.copy(source, &under, bytes / 2).map_err(failed(source))?;
        }
        tree.real = tree.bytes;
        let random = tree.path.join("random");
        tree.fill(&random, bytes).map_err(failed(&random))?;
        Ok(tree)
    }

    fn copy(&mut self, from: &Path, to: &Path, most: u64) -> io::Result<()> {
        let mut entries: Vec<_> = fs::read_dir(from)?.collect::<Result<_, _>>()?;
        entries.sort_by_key(fs::DirEntry::file_name);
        fs::create_dir_all(to)?;
        for entry in entries {
            self.fail_if_stopped()?;
            let (kind, path) = (entry.file_type()?, entry.path());
            if self.bytes >= most {
                break;
            } else if kind.is_dir() {
                self.copy(&path, &to.join(entry.file_name()), most)?;
            } else if kind.is_file() {
                // What this user may not read is left out.
                self.bytes += fs::copy(&path, to.join(entry.file_name())).unwrap_or(0);
            }
        }
        Ok(())
    }

    /// Fails when the user wants to stop.
    fn fail_if_stopped(&self) -> io::Result<()> {
        match self.interrupt.level() {
            Level::None => Ok(()),
            _ => Err(io::Error::new(io::ErrorKind::Interrupted, "stopped by the user")),
        }
    }

    fn fill(&mut self, path: &Path, most: u64) -> io::Result<()> {
        let mut file = File::create(path)?;
        let mut rng = Seed(4).derive("random").generator();
        let mut part = vec![0u8; 1 << 20];
        while self.bytes < most {
            self.fail_if_stopped()?;
            for word in part.as_chunks_mut::<8>().0 {
                *word = rng.next_u64().to_le_bytes();
            }
            file.write_all(&part)?;
            self.bytes += part.len() as u64;
        }
        Ok(())
    }

    /// Returns its path.
    pub fn path(&self) -> &Path {
        &self.path
    }

    /// Its bytes.
    pub fn bytes(&self) -> u64 {
        self.bytes
    }

    /// Describes what it is made of.
    pub fn sources(&self) -> Vec<String> {
        let from = self.sources.iter().map(|path| path.display().to_string());
        let sizes = [
            format!("{} bytes of real files", self.real),
            format!("{} random bytes", self.bytes - self.real),
        ];
        from.chain(sizes).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tree_has_the_size_asked_for_and_is_removed() {
        let dir = tempfile::tempdir().unwrap();
        let source = dir.path().join("source");
        fs::create_dir_all(source.join("sub")).unwrap();
        fs::write(source.join("sub/a"), vec![1; 3 << 20]).unwrap();
        fs::write(source.join("z"), vec![2; 3 << 20]).unwrap();
        let tree =
            Tree::make(dir.path(), std::slice::from_ref(&source), 8 << 20, &Interrupt::new())
                .unwrap();
        assert_eq!((tree.bytes(), tree.real), (8 << 20, 6 << 20));
        assert!(tree.path().join("0/sub/a").exists());
        let path = tree.path().to_owned();
        drop(tree);
        assert!(!path.exists());
        let interrupt = Interrupt::new();
        interrupt.request(Level::Finish);
        assert!(Tree::make(dir.path(), &[source], 8 << 20, &interrupt).is_err());
        assert!(!path.exists(), "what was made before the stop is removed");
    }
}
