//! A corpus as asked for.

use content::ContentSpec;
use serde::{Deserialize, Serialize};
use twox_hash::XxHash3_128;
use units::{Bytes, Percent, Seed};

use crate::limits::{MOST_BYTES, MOST_ENTRIES};
use crate::{CorpusError, FileSizes};

/// Version of the generator, part of a spec's id: it changes whenever an equal spec would give other bytes.
const RECIPE: &str = "1";

/// A corpus as asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CorpusSpec {
    /// Bytes of the files of one tree.
    pub size: Bytes,
    /// Size of a file.
    pub file_size: FileSizes,
    /// Files of one directory.
    pub files_per_directory: u64,
    /// Levels of directories above the files; 0 puts all files into one.
    pub levels: u32,
    /// Files that hold the same as an earlier one: share of all files.
    pub duplicate_files: Percent,
    /// The content of the other files.
    pub content: ContentSpec,
    /// More trees that are like the first.
    pub alike: Alike,
    /// The seed of names, sizes and bytes.
    pub seed: Seed,
}

/// Trees that are like the first.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Alike {
    /// There is one tree.
    Alone,
    /// Copies in which a share of the blocks of 4 KiB differs: images of one system.
    Copies {
        /// Trees in all, the first among them.
        trees: u32,
        /// Blocks of each further copy that differ from the first.
        changed_blocks: Percent,
    },
    /// Later states: files that did not change are hard links to those of the state before.
    Generations {
        /// Trees in all, the first among them.
        trees: u32,
        /// Files that change from one to the next.
        changed_files: Percent,
    },
}

impl Alike {
    /// Returns how many trees there are.
    pub fn trees(self) -> u32 {
        match self {
            Self::Alone => 1,
            Self::Copies { trees, .. } | Self::Generations { trees, .. } => trees.max(1),
        }
    }
}

impl CorpusSpec {
    /// Checks that it can be made and is not too large.
    ///
    /// # Errors
    /// No bytes, too many bytes or entries, content that cannot be written.
    pub fn check(&self) -> Result<(), CorpusError> {
        self.content.validate()?;
        if self.size.0 == 0 {
            return Err(CorpusError::Empty);
        }
        if self.size > MOST_BYTES {
            return Err(CorpusError::TooLarge { bytes: self.size });
        }
        let files = self.files().take(MOST_ENTRIES as usize + 1).count() as u64;
        if files + self.directories(files) > MOST_ENTRIES {
            return Err(CorpusError::TooMany);
        }
        match self.bytes() {
            bytes if bytes > MOST_BYTES => Err(CorpusError::TooLarge { bytes }),
            _ => Ok(()),
        }
    }

    /// Returns the bytes that all files take; those of hard links count once.
    pub fn bytes(&self) -> Bytes {
        Bytes(self.files().filter(|file| !file.is_link()).map(|file| file.size).sum())
    }

    /// Returns the name of the spec: equal specs have the same one, of 32 hexadecimal digits.
    pub fn id(&self) -> String {
        let mut hash = XxHash3_128::with_seed(0);
        hash.write(RECIPE.as_bytes());
        // A spec has nothing that JSON could not hold.
        hash.write(&serde_json::to_vec(self).unwrap_or_default());
        format!("{:032x}", hash.finish_128())
    }

    /// Returns it in words: `256 MiB in files of 4 KiB to 1 MiB`.
    pub fn describe(&self) -> String {
        let mut text = format!("{} in files of {}", self.size, self.file_size);
        if self.duplicate_files.0 > 0.0 {
            text.push_str(&format!(", {} of them duplicates", self.duplicate_files));
        }
        match self.alike {
            Alike::Alone => {}
            Alike::Copies { trees, changed_blocks } => text.push_str(&format!(
                "; {trees} trees, each with {changed_blocks} of its blocks changed from the first"
            )),
            Alike::Generations { trees, changed_files } => text.push_str(&format!(
                "; {trees} generations with hard links, {changed_files} of the files changed in each"
            )),
        }
        text
    }
}
