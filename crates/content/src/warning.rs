//! Asks that can be met, but will not do what people expect of them.

use serde::{Deserialize, Serialize};

/// What is doubtful about a content. Typed, so that it can be stored beside the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warning {
    /// LZ4 compresses the blocks, but VDO's packer saves nothing: two of them do not fit into one physical block.
    CompressNotPackable {
        /// What was asked for.
        asked: String,
        /// The LZ4 size of a block, bytes.
        lz4_bytes: usize,
        /// The least compression that does save.
        nearest: String,
    },
    /// Each content is written so often that VDO, which counts at most 254 references to a physical block, will store
    /// it more than once.
    ReferencesCapped {
        /// References that a physical block would get.
        references: u64,
        /// References that VDO can count.
        most: u64,
    },
}

impl std::fmt::Display for Warning {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        match self {
            Self::CompressNotPackable { asked, lz4_bytes, nearest } => write!(
                f,
                "compress = {asked} saves nothing on VDO: LZ4 makes {lz4_bytes} B of a block, and its packer can \
                 use nothing above 2030 B when all blocks are alike; the least that helps is {nearest}"
            ),
            Self::ReferencesCapped { references, most } => write!(
                f,
                "duplicates are so many that a physical block would be referred to up to {references} times; \
                 VDO counts at most {most} and stores more copies"
            ),
        }
    }
}
