//! The files of a corpus, one after the other, and what each holds.

use std::path::PathBuf;

use reduce::BLOCK;
use units::{Percent, Seed};

use crate::CorpusSpec;
use crate::spec::Alike;

/// Number of directories in a directory, on every level but the first.
const FAN: u64 = 16;

/// A file of a corpus.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct PlannedFile {
    /// Its path in the corpus.
    pub path: PathBuf,
    /// Its bytes.
    pub size: u64,
    /// The bytes that it holds.
    pub holds: Bytewise,
}

/// The bytes of a file.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Bytewise {
    /// Blocks of the corpus' content, from this number on.
    Blocks {
        /// Number of the first block.
        first: u64,
        /// Number of the copy of the tree; each copy replaces some blocks by new ones. 0 is the first tree, which replaces none.
        copy: u32,
    },
    /// Blocks of changed content, from this number on: no other file has them.
    Changed {
        /// Number of the first block.
        first: u64,
    },
    /// Another name of this file.
    Link(PathBuf),
}

impl PlannedFile {
    /// Tells whether it is another name of an earlier file.
    pub fn is_link(&self) -> bool {
        matches!(self.holds, Bytewise::Link(_))
    }
}

/// A file of the first tree.
#[derive(Clone, Copy)]
struct File {
    size: u64,
    first: u64,
}

impl CorpusSpec {
    /// Returns all files in the order in which they are made; a link comes after its file.
    pub fn files(&self) -> impl Iterator<Item = PlannedFile> + '_ {
        let tree = self.tree();
        // Number of the next block of changed content.
        let mut next = 0;
        let trees = self.alike.trees();
        (0..trees).flat_map(move |number| {
            let files: Vec<PlannedFile> = (0..)
                .zip(&tree)
                .map(|(n, file)| {
                    let holds = match self.alike {
                        Alike::Generations { changed_files, .. } if number > 0 => {
                            if is_one_of(self.seed, "generation", number, n, changed_files) {
                                let first = next;
                                next += blocks(file.size);
                                Bytewise::Changed { first }
                            } else {
                                Bytewise::Link(self.path(number - 1, n))
                            }
                        }
                        _ => Bytewise::Blocks { first: file.first, copy: number },
                    };
                    PlannedFile { path: self.path(number, n), size: file.size, holds }
                })
                .collect();
            files
        })
    }

    /// Returns the files of the first tree, at most one more than a corpus may have.
    fn tree(&self) -> Vec<File> {
        let (sizes, mut draws) = (self.seed.derive("sizes"), self.seed.derive("twins").generator());
        let mut files: Vec<File> = Vec::new();
        let mut originals: Vec<usize> = Vec::new();
        let (mut left, mut next) = (self.size.0, 0);
        while left > 0 && files.len() as u64 <= crate::limits::MOST_ENTRIES {
            let n = files.len() as u64;
            let again = is_one_of(self.seed, "duplicate", 0, n, self.duplicate_files);
            let file = match originals.get(draws.below(originals.len() as u64) as usize) {
                Some(original) if again => files[*original],
                _ => {
                    originals.push(files.len());
                    File { size: self.file_size.at(originals.len() as u64, sizes), first: next }
                }
            };
            let file = File { size: file.size.min(left), ..file };
            left -= file.size;
            next = next.max(file.first + blocks(file.size));
            files.push(file);
        }
        files
    }

    /// Returns the number of directories that hold `files` files.
    pub(crate) fn directories(&self, files: u64) -> u64 {
        let trees = u64::from(self.alike.trees());
        let lowest = files.div_ceil(trees).div_ceil(self.files_per_directory.max(1));
        let of_level = |level| lowest.div_ceil(FAN.saturating_pow(level));
        trees * (1 + (0..self.levels).map(of_level).sum::<u64>())
    }

    /// Returns the path of file number `n` of a tree.
    fn path(&self, tree: u32, n: u64) -> PathBuf {
        let mut path = match self.alike {
            Alike::Alone => PathBuf::new(),
            Alike::Copies { .. } => PathBuf::from(format!("copy-{tree}")),
            Alike::Generations { .. } => PathBuf::from(format!("generation-{tree}")),
        };
        let directory = n / self.files_per_directory.max(1);
        for level in (0..self.levels).rev() {
            let number = directory / FAN.saturating_pow(level);
            // The first level has as many directories as are needed.
            let number = if level + 1 == self.levels { number } else { number % FAN };
            path.push(format!("d{number:02}"));
        }
        path.push(format!("f{n:06}"));
        path
    }
}

/// Tells whether number `n` belongs to the chosen share. The chosen numbers are spread evenly, and differ by seed, `what` and `which`.
pub(crate) fn is_one_of(seed: Seed, what: &str, which: u32, n: u64, share: Percent) -> bool {
    before(seed, what, which, n + 1, share) > before(seed, what, which, n, share)
}

/// Returns how many of the numbers below `n` belong to the chosen share.
pub(crate) fn before(seed: Seed, what: &str, which: u32, n: u64, share: Percent) -> u64 {
    let offset = seed.derive(&format!("{what} {which}")).generator().unit();
    (n as f64).mul_add(share.fraction(), offset).floor() as u64
}

/// Returns the blocks that a file of so many bytes takes.
pub(crate) fn blocks(bytes: u64) -> u64 {
    bytes.div_ceil(BLOCK as u64)
}
