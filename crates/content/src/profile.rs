//! Profiles: how far real data dedupes and compresses, without a byte of it.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::error::{ContentError, PROFILE_VERSIONS};
use crate::sequences::ProfileTexture;

/// The longest profile that is read, bytes; `fathom estimate` writes some 300 KB at most.
const MAX_PROFILE_BYTES: u64 = 16 << 20;

/// The reducibility of some data: its duplicates and its compression.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Profile {
    /// [`Profile::VERSION`].
    pub fathom_profile: u32,
    /// Size of the blocks in which everything is counted, bytes.
    pub block_bytes: u64,
    /// Blocks by kind.
    pub blocks: ProfileBlocks,
    /// LZ4 sizes of the distinct blocks that are not zero.
    pub sizes: Vec<ProfileSize>,
    /// Counts of pairs of consecutive sizes, among the blocks on which `packer_saving_percent` was measured. From version 2 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub neighbours: Option<ProfileNeighbours>,
    /// Contents that come more than once.
    pub reuse: Vec<ProfileReuse>,
    /// Saving of VDO's packer on the distinct blocks in their own order, written once and without flushes, percent;
    /// without those of `sizes` that are near. It tells how closely blocks of similar sizes follow each other.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub packer_saving_percent: Option<f64>,
    /// The amount of work that its blocks are for LZ4. From version 3 on.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub texture: Option<ProfileTexture>,
}

/// Blocks of a profile by kind.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileBlocks {
    /// All: the sum of the others.
    pub total: u64,
    /// Zero.
    pub zero: u64,
    /// Blocks with a content that an earlier block has.
    pub duplicate: u64,
    /// Blocks with a content that no earlier block has.
    pub unique: u64,
}

/// Distinct blocks of one LZ4 size.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileSize {
    /// LZ4 size, bytes; that of the block where LZ4 gains nothing.
    pub lz4_bytes: u32,
    /// Distinct blocks of this size.
    pub blocks: u64,
    /// Those of `blocks` whose content came again while VDO's packer still held it: the packer stored it whole. From version 2 on.
    #[serde(default, skip_serializing_if = "none")]
    pub near: u64,
}

impl ProfileSize {
    /// Tells whether the packer stores such blocks as they are.
    pub(crate) fn is_whole(&self) -> bool {
        self.lz4_bytes as usize > reduce::LARGEST_FRAGMENT
    }
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
fn none(count: &u64) -> bool {
    *count == 0
}

/// Counts of pairs of consecutive LZ4 sizes, in a few classes.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileNeighbours {
    /// The largest size of each class, bytes, ascending; the last is that of the block.
    pub upto_bytes: Vec<u32>,
    /// A row for each class: how often each class came right after it.
    pub follows: Vec<Vec<u64>>,
}

/// Contents that come about equally often and about equally far apart. Contents that come once stand in no row.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileReuse {
    /// Fewest copies of a content, its first included.
    pub copies_from: u64,
    /// Most copies of a content.
    pub copies_to: u64,
    /// Nearest, in distinct blocks: contents that came for the first time since the content came last, plus 1.
    pub distance_from: u64,
    /// Farthest, in distinct blocks.
    pub distance_to: u64,
    /// Such contents.
    pub contents: u64,
    /// Their duplicates: all copies but the first.
    pub duplicates: u64,
}

impl ProfileBlocks {
    fn share(self, of: u64) -> f64 {
        if self.total == 0 { 0.0 } else { of as f64 / self.total as f64 }
    }

    /// Duplicates among all blocks, a fraction; 0 where there are no blocks.
    pub fn duplicate_share(self) -> f64 {
        self.share(self.duplicate)
    }

    /// Zero blocks among all blocks, a fraction; 0 where there are no blocks.
    pub fn zero_share(self) -> f64 {
        self.share(self.zero)
    }
}

impl Profile {
    /// The version that is written. [`Profile::OLDEST`] is still read: it does not say how sizes follow each other.
    pub const VERSION: u32 = PROFILE_VERSIONS.1;
    /// The oldest version that is read.
    pub const OLDEST: u32 = PROFILE_VERSIONS.0;
    /// The beginning of every profile that was written.
    pub const MARK: &str = "{\n  \"fathom_profile\": ";

    /// Reads a profile.
    ///
    /// # Errors
    /// Fails if it is not a profile, has another version, or has figures that contradict each other. `name` goes into the message.
    pub fn read(json: &str, name: &str) -> Result<Self, ContentError> {
        #[derive(Deserialize)]
        struct Version {
            fathom_profile: Option<u64>,
        }
        let damaged = |why: String| ContentError::ProfileDamaged { profile: name.to_owned(), why };
        let version: Version = serde_json::from_str(json).map_err(|e| damaged(e.to_string()))?;
        match version.fathom_profile {
            None => return Err(damaged("the key fathom_profile is missing".into())),
            Some(version)
                if (u64::from(Self::OLDEST)..=u64::from(Self::VERSION)).contains(&version) => {}
            Some(version) => {
                return Err(ContentError::ProfileVersion { profile: name.to_owned(), version });
            }
        }
        let profile: Self = serde_json::from_str(json).map_err(|e| damaged(e.to_string()))?;
        profile.contradiction().map_or(Ok(profile), |why| Err(damaged(why)))
    }

    /// The profile as it is stored.
    ///
    /// # Errors
    /// None that values of this type can cause.
    pub fn to_json(&self) -> Result<String, serde_json::Error> {
        serde_json::to_string_pretty(self)
    }

    fn contradiction(&self) -> Option<String> {
        let blocks = &self.blocks;
        let sum = [blocks.zero, blocks.duplicate, blocks.unique]
            .iter()
            .try_fold(0u64, |sum, &n| sum.checked_add(n));
        if sum != Some(blocks.total) {
            return Some("zero, duplicate and unique blocks do not sum to total".into());
        }
        if blocks.total == 0 {
            return Some("it holds no blocks".into());
        }
        let unit = self.block_bytes;
        if !unit.is_power_of_two() || !(512..=1 << 30).contains(&unit) {
            return Some(format!("block_bytes = {unit} is not a power of two from 512 on"));
        }
        if blocks.unique == 0 && blocks.duplicate > 0 {
            return Some("there are duplicates of nothing".into());
        }
        if blocks.unique > 0 && self.sizes.iter().all(|size| size.blocks == 0) {
            return Some("sizes is empty".into());
        }
        if let Some(size) =
            self.sizes.iter().find(|s| u64::from(s.lz4_bytes) > unit || s.lz4_bytes == 0)
        {
            return Some(format!("an LZ4 size of {} B for blocks of {unit} B", size.lz4_bytes));
        }
        if let Some(size) = self.sizes.iter().find(|size| size.near > size.blocks) {
            return Some(format!("more near blocks of {} B than blocks", size.lz4_bytes));
        }
        if let Some(why) = self.texture.as_ref().and_then(ProfileTexture::contradiction) {
            return Some(why);
        }
        if let Some(why) = self.neighbours.as_ref().and_then(|n| n.contradiction(unit)) {
            return Some(why);
        }
        let inverted = |row: &&ProfileReuse| {
            row.copies_from > row.copies_to || row.distance_from > row.distance_to
        };
        if let Some(row) = self.reuse.iter().find(inverted) {
            return Some(format!("a row of reuse runs backwards: {row:?}"));
        }
        let duplicates: u128 = self.reuse.iter().map(|row| u128::from(row.duplicates)).sum();
        let contents: u128 = self.reuse.iter().map(|row| u128::from(row.contents)).sum();
        // Rows may be estimates from a sample: what they cannot be is more than there is.
        let slack = |n: u64| u128::from(n) + u128::from(n) / 50 + 64;
        if duplicates > slack(blocks.duplicate) || contents > slack(blocks.unique) {
            return Some("reuse has more contents or duplicates than there are".into());
        }
        (blocks.duplicate > 0 && duplicates == 0)
            .then(|| "reuse lists none of the duplicates".into())
    }
}

impl ProfileNeighbours {
    /// Largest number of classes.
    const MOST: usize = 64;

    fn contradiction(&self, unit: u64) -> Option<String> {
        let (upto, classes) = (&self.upto_bytes, self.upto_bytes.len());
        let rising = upto.is_sorted_by(|a, b| a < b);
        let ends = upto.last().is_some_and(|&last| u64::from(last) == unit);
        if !rising || !ends || classes > Self::MOST {
            let most = Self::MOST;
            return Some(format!(
                "neighbours.upto_bytes is not at most {most} sizes that rise to {unit}"
            ));
        }
        let square =
            self.follows.len() == classes && self.follows.iter().all(|r| r.len() == classes);
        (!square).then(|| format!("neighbours.follows is not {classes} rows of {classes}"))
    }
}

/// A profile, or where to find it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum ProfileSource {
    /// In this file, not read yet.
    File(PathBuf),
    /// Read.
    Loaded(Box<Profile>),
}

impl ProfileSource {
    /// The profile, when it was read.
    pub fn loaded(&self) -> Option<&Profile> {
        match self {
            Self::File(_) => None,
            Self::Loaded(profile) => Some(profile),
        }
    }

    /// Reads the file, relative to `folder`, unless that was done.
    ///
    /// # Errors
    /// The file cannot be read, or holds no profile that can be used.
    pub fn load(&mut self, folder: &Path) -> Result<(), ContentError> {
        let Self::File(file) = self else { return Ok(()) };
        let path = folder.join(&*file);
        let name = path.display().to_string();
        let json = sys::input::read_text(&path, MAX_PROFILE_BYTES).map_err(|e| {
            ContentError::ProfileUnread { profile: name.clone(), why: e.to_string() }
        })?;
        *self = Self::Loaded(Box::new(Profile::read(&json, &name)?));
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sequences::ProfileSequences;

    fn profile() -> Profile {
        Profile {
            fathom_profile: Profile::VERSION,
            block_bytes: 4096,
            blocks: ProfileBlocks { total: 100, zero: 10, duplicate: 40, unique: 50 },
            sizes: vec![ProfileSize { lz4_bytes: 2000, blocks: 50, near: 7 }],
            neighbours: Some(ProfileNeighbours {
                upto_bytes: vec![2031, 4096],
                follows: vec![vec![40, 3], vec![3, 1]],
            }),
            reuse: vec![ProfileReuse {
                copies_from: 2,
                copies_to: 3,
                distance_from: 1,
                distance_to: 63,
                contents: 20,
                duplicates: 40,
            }],
            packer_saving_percent: None,
            texture: Some(ProfileTexture {
                shared_percent: 60.0,
                sequences: vec![ProfileSequences {
                    upto_bytes: 4095,
                    literals: vec![(0, 18_446_744), (3, 1)],
                    matches: vec![(4, 2)],
                    runs: Vec::new(),
                }],
            }),
        }
    }

    #[test]
    fn a_profile_is_read_back_as_it_was_written() {
        let json = profile().to_json().unwrap();
        assert!(json.starts_with(Profile::MARK), "{json}");
        assert_eq!(Profile::read(&json, "p").unwrap(), profile());
        let folder = tempfile::tempdir().unwrap();
        std::fs::write(folder.path().join("p.json"), &json).unwrap();
        let mut source: ProfileSource = serde_json::from_str("\"p.json\"").unwrap();
        source.load(folder.path()).unwrap();
        assert_eq!(source.loaded(), Some(&profile()));
        let travelled = serde_json::to_string(&source).unwrap();
        assert_eq!(serde_json::from_str::<ProfileSource>(&travelled).unwrap(), source);
        let mut missing = ProfileSource::File("nowhere.json".into());
        let error = missing.load(folder.path()).unwrap_err().to_string();
        assert!(error.contains("nowhere.json"), "{error}");
    }

    #[test]
    fn a_profile_of_the_first_version_is_still_read() {
        let json = r#"{"fathom_profile": 1, "block_bytes": 4096,
            "blocks": {"total": 3, "zero": 1, "duplicate": 0, "unique": 2},
            "sizes": [{"lz4_bytes": 1350, "blocks": 2}], "reuse": [], "packer_saving_percent": 50.0}"#;
        let profile = Profile::read(json, "p").unwrap();
        assert_eq!((profile.neighbours, profile.sizes[0].near), (None, 0));
    }

    #[test]
    fn what_is_no_profile_or_another_version_or_damaged_is_refused() {
        let json = profile().to_json().unwrap();
        let other = json.replace("\"fathom_profile\": 3", "\"fathom_profile\": 7");
        assert!(matches!(
            Profile::read(&other, "p"),
            Err(ContentError::ProfileVersion { version: 7, .. })
        ));
        for (from, to) in [
            ("\"total\": 100", "\"total\": 101"),
            ("\"fathom_profile\"", "\"something\""),
            ("\"lz4_bytes\": 2000", "\"lz4_bytes\": 5000"),
            ("\"lz4_bytes\": 2000", "\"lz4_bytes\": 0"),
            ("\"distance_to\": 63", "\"distance_to\": 0"),
            ("\"duplicates\": 40", "\"duplicates\": 4000"),
            ("\"duplicates\": 40", "\"duplicates\": 0"),
            ("\"block_bytes\": 4096", "\"block_bytes\": 1000"),
            ("\"contents\"", "\"content\""),
            ("\"near\": 7", "\"near\": 51"),
            ("2031,", "5000,"),
            ("4096\n    ]", "4000\n    ]"),
            ("40,", "40, 41,"),
            ("\"shared_percent\": 60.0", "\"shared_percent\": 101.0"),
            ("\"upto_bytes\": 4095", "\"upto_bytes\": 4097"),
            ("18446744", "18446744073709551615"),
            ("}", ""),
        ] {
            assert!(json.contains(from), "{from}");
            let error = Profile::read(&json.replace(from, to), "p.json").expect_err(to);
            assert!(error.to_string().contains("p.json"), "{error}");
            assert!(error.help().contains("fathom estimate"), "{}", error.help());
        }
    }
}
