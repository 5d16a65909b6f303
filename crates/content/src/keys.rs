//! Keys of a content that are one of a few words.

use serde::{Deserialize, Serialize};
use units::{Bytes, QuantityError};

/// The blocks that the shares of duplicates and of zero blocks are counted among.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Scope {
    /// All blocks that are written, in the order of writing.
    #[default]
    Written,
    /// The blocks that the addresses hold, however often they are overwritten.
    Live,
}

/// The jobs whose content a duplicate may repeat.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Domain {
    /// Content of the same job.
    #[default]
    Job,
    /// Content of all jobs on the same target.
    Target,
    /// Content of all jobs on all targets of the load.
    All,
}

/// Places of the random bytes in a compressible block.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Texture {
    /// Random bytes, then zeros.
    #[default]
    Tail,
    /// In chunks of this size, each of random bytes and then zeros in the same proportion.
    Interleaved(Bytes),
    /// Text: LZ4 and zstd work on it as on real data.
    Natural,
}

impl std::str::FromStr for Scope {
    type Err = QuantityError;

    /// Reads `written` or `live`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        match text.trim() {
            "written" => Ok(Self::Written),
            "live" => Ok(Self::Live),
            _ => Err(unknown(text, "scope", "written or live")),
        }
    }
}

impl std::str::FromStr for Domain {
    type Err = QuantityError;

    /// Reads `job`, `target` or `all`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        match text.trim() {
            "job" => Ok(Self::Job),
            "target" => Ok(Self::Target),
            "all" => Ok(Self::All),
            _ => Err(unknown(text, "domain", "job, target or all")),
        }
    }
}

impl std::str::FromStr for Texture {
    type Err = QuantityError;

    /// Reads `tail`, `natural` or `interleaved:1k`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let error =
            || unknown(text, "texture", "tail, natural, or interleaved:CHUNK as in interleaved:1k");
        match text.trim().split_once(':') {
            None if text.trim() == "tail" => Ok(Self::Tail),
            None if text.trim() == "natural" => Ok(Self::Natural),
            Some(("interleaved", chunk)) => {
                chunk.parse().map(Self::Interleaved).map_err(|_| error())
            }
            _ => Err(error()),
        }
    }
}

impl std::fmt::Display for Texture {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::Tail => f.write_str("tail"),
            Self::Natural => f.write_str("natural"),
            Self::Interleaved(chunk) => write!(f, "interleaved:{}", chunk.0),
        }
    }
}

units::as_text!(Texture, "a texture: \"tail\", \"natural\" or \"interleaved:1k\"");

/// The error for a word that is none of a few.
pub(crate) fn unknown(text: &str, what: &'static str, example: &'static str) -> QuantityError {
    QuantityError { text: text.to_owned(), what, example }
}
