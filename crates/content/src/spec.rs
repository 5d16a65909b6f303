//! What content is asked for.

use reduce::{BLOCK, fragments_per_block};
use serde::{Deserialize, Serialize};
use units::Percent;

use crate::schedule::Schedule;
use crate::texture::{self, TOLERANCE};
use crate::{Compress, ContentError, Warning};

/// References to one physical block that VDO can count.
const MOST_REFERENCES: u64 = 254;

/// The content of written blocks, as asked for.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct ContentSpec {
    /// Duplicates of earlier blocks, share of all written blocks.
    pub dedupe: Percent,
    /// How far back a duplicate may reach, in distinct blocks.
    pub window: u64,
    /// How far LZ4 compresses every block that is not zero.
    pub compress: Compress,
    /// Zero blocks, share of all written blocks.
    pub zero: Percent,
}

impl Default for ContentSpec {
    fn default() -> Self {
        Self { dedupe: Percent(0.0), window: 16_384, compress: Compress::None, zero: Percent(0.0) }
    }
}

/// What an ask comes to when it is met.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Expected {
    /// Duplicates among all written blocks, percent.
    pub duplicate_percent: f64,
    /// What LZ4 saves on distinct blocks that are not zero, percent.
    pub lz4_saving_percent: f64,
    /// Zero blocks among all written blocks, percent.
    pub zero_percent: f64,
    /// Blocks that VDO's packer puts into one physical block; 1 when it can do nothing.
    pub fragments_per_block: u32,
}

impl ContentSpec {
    /// Whether this content can be written.
    pub fn validate(&self) -> Result<(), ContentError> {
        let dedupe = self.dedupe.0;
        if dedupe > 0.0 && dedupe + self.zero.0 >= 100.0 || self.zero.0 > 100.0 {
            return Err(ContentError::NothingUnique { dedupe: self.dedupe, zero: self.zero });
        }
        if self.window == 0 {
            return Err(ContentError::NoWindow);
        }
        let bytes = self.lz4_target_bytes();
        let texture = texture::calibrate(bytes);
        if texture.lz4_bytes.abs_diff(bytes) > TOLERANCE {
            return Err(ContentError::Unreachable {
                asked: self.compress,
                bytes,
                nearest: match texture.lz4_bytes {
                    BLOCK => Compress::None,
                    bytes => self.compress.with_bytes(bytes),
                },
            });
        }
        Ok(())
    }

    /// What will not do what people expect of it.
    pub fn warnings(&self) -> Vec<Warning> {
        let mut warnings = Vec::new();
        let bytes = self.lz4_target_bytes();
        let fragments = fragments_per_block(bytes);
        if bytes < BLOCK && fragments < 2 {
            warnings.push(Warning::CompressNotPackable {
                asked: self.compress.to_string(),
                lz4_bytes: bytes,
                nearest: self.compress.with_bytes(reduce::PAYLOAD / 2).to_string(),
            });
        }
        let references = Schedule::new(self).most_references() * u64::from(fragments);
        if references > MOST_REFERENCES {
            warnings.push(Warning::ReferencesCapped { references, most: MOST_REFERENCES });
        }
        warnings
    }

    /// The LZ4 size of every block that is not zero, bytes; 4096 when LZ4 is to gain nothing.
    pub fn lz4_target_bytes(&self) -> usize {
        self.compress.lz4_bytes()
    }

    /// What the written blocks will be found to be.
    pub fn expected(&self) -> Expected {
        let bytes = self.lz4_target_bytes();
        Expected {
            duplicate_percent: self.dedupe.0,
            lz4_saving_percent: 100.0 * (1.0 - bytes as f64 / BLOCK as f64),
            zero_percent: self.zero.0,
            fragments_per_block: fragments_per_block(bytes),
        }
    }

    /// Whether blocks are all unique, none compressible, none zero.
    pub fn is_plain(&self) -> bool {
        self.dedupe.0 == 0.0 && self.zero.0 == 0.0 && self.lz4_target_bytes() == BLOCK
    }
}
