//! The content that is asked for.

use reduce::BLOCK;
use serde::{Deserialize, Serialize};
use units::{Bytes, Percent};

use crate::{Compress, ContentError, Distance, Domain, Popularity, ProfileSource, Scope, Texture};

/// Default reach of duplicates, in distinct blocks.
const WINDOW: u64 = 16_384;

/// The content of written blocks, as asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContentSpec {
    /// Duplicates of earlier blocks: share of all written blocks, or of all that addresses hold (see `scope`).
    pub dedupe: Percent,
    /// The blocks that shares are counted among.
    #[serde(skip_serializing_if = "is_default")]
    pub scope: Scope,
    /// Distance of duplicates; within the window when `None`. Written scope only.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub distance: Option<Distance>,
    /// Reach of a duplicate of the distance `recent`, in distinct blocks; 16384 when `None`.
    pub window: Option<u64>,
    /// Popularity of contents: equal or unequal numbers of duplicates for each.
    #[serde(skip_serializing_if = "is_default")]
    pub popularity: Popularity,
    /// The jobs whose content a duplicate may repeat.
    #[serde(skip_serializing_if = "is_default")]
    pub domain: Domain,
    /// Compression by LZ4 of the blocks that are not zero.
    pub compress: Compress,
    /// Saving that VDO's packer is to reach on distinct blocks that are not zero. In the live scope: after random overwrites.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub vdo_saving: Option<Percent>,
    /// The texture of a compressible block; tail when `None`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub texture: Option<Texture>,
    /// Zero blocks: share of all written blocks, or of all that addresses hold.
    pub zero: Percent,
    /// Size of the blocks in which duplicates, zeros and LZ4 sizes are counted: a power of two from 512 B on.
    #[serde(skip_serializing_if = "is_default_block")]
    pub block: Bytes,
    /// Duplicates are out of line with blocks by this much.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub misaligned: Option<Bytes>,
    /// Reproduces the reducibility of real data; of the other keys it allows only `domain`, `texture`, and a `block` of the profile's size.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub profile: Option<ProfileSource>,
}

fn is_default<T: Default + PartialEq>(value: &T) -> bool {
    *value == T::default()
}

fn is_default_block(block: &Bytes) -> bool {
    block.0 == BLOCK as u64
}

impl Default for ContentSpec {
    fn default() -> Self {
        Self {
            dedupe: Percent(0.0),
            scope: Scope::Written,
            distance: None,
            window: None,
            popularity: Popularity::Uniform,
            domain: Domain::Job,
            compress: Compress::None,
            vdo_saving: None,
            texture: None,
            zero: Percent(0.0),
            block: Bytes(BLOCK as u64),
            misaligned: None,
            profile: None,
        }
    }
}

impl ContentSpec {
    /// Returns how far back a duplicate of the distance `recent` may reach, in distinct blocks.
    pub fn window_blocks(&self) -> u64 {
        self.window.unwrap_or(WINDOW)
    }

    /// Size of the blocks in which duplicates, zeros and LZ4 sizes are counted, bytes.
    pub fn unit(&self) -> usize {
        usize::try_from(self.block.0).unwrap_or(BLOCK)
    }

    /// The content on one line: `dedupe 50%, compress 2.5x`. Empty when nothing dedupes, compresses or is zero.
    pub fn describe(&self) -> String {
        let mut parts = Vec::new();
        if self.profile.is_some() {
            parts.push("as a profile".to_owned());
        }
        if self.dedupe.0 > 0.0 {
            let live = if self.scope == Scope::Live { " live" } else { "" };
            parts.push(format!("dedupe {}{live}", self.dedupe));
            parts.extend(self.distance.as_ref().map(|distance| format!("distance {distance}")));
            parts.extend(self.window.map(|window| format!("window {window}")));
            let popularity = self.popularity;
            parts.extend(
                (popularity != Popularity::Uniform).then(|| format!("popularity {popularity}")),
            );
            parts.extend(self.misaligned.map(|by| format!("misaligned by {by}")));
        }
        if self.compress != Compress::None {
            parts.push(format!("compress {}", self.compress));
        }
        parts.extend(self.vdo_saving.map(|saving| format!("VDO saving {saving}")));
        if self.compresses() {
            parts.push(format!("texture {}", self.texture()));
        }
        if self.zero.0 > 0.0 {
            parts.push(format!("zero {}", self.zero));
        }
        if !is_default_block(&self.block) {
            parts.push(format!("in blocks of {}", self.block));
        }
        parts.join(", ")
    }

    /// Reads the profile, when one is named and was not read yet; a path is relative to `folder`. To be called before
    /// [`ContentSpec::validate`].
    ///
    /// # Errors
    /// The file cannot be read, or holds no profile that can be used.
    pub fn load_profile(&mut self, folder: &std::path::Path) -> Result<(), ContentError> {
        self.profile.as_mut().map_or(Ok(()), |profile| profile.load(folder))
    }

    /// The texture of a compressible block.
    pub fn texture(&self) -> Texture {
        self.texture.unwrap_or_default()
    }

    /// Tells whether any block is to be compressible.
    pub fn compresses(&self) -> bool {
        self.compress != Compress::None || self.vdo_saving.is_some() || self.profile.is_some()
    }

    /// Tells whether blocks are all unique, none compressible, none zero.
    pub fn is_plain(&self) -> bool {
        self.dedupe.0 == 0.0 && self.zero.0 == 0.0 && !self.compresses()
    }

    /// Shares of duplicates and of zero blocks among all blocks.
    pub(crate) fn shares(&self) -> (f64, f64) {
        match self.profile.as_ref().and_then(ProfileSource::loaded) {
            Some(profile) => (profile.blocks.duplicate_share(), profile.blocks.zero_share()),
            None => (self.dedupe.fraction(), self.zero.fraction()),
        }
    }
}
