//! Requests for content that can be met but will not do what people expect.

use serde::{Deserialize, Serialize};

/// A doubt about a content. Typed, so that it can be stored with the result.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Warning {
    /// LZ4 compresses the blocks, but VDO's packer saves nothing: two of them do not fit into one physical block.
    CompressNotPackable {
        /// The compression that was asked for.
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
    /// Duplicates come so soon that compression of a larger record finds them too.
    NearDuplicates {
        /// Distinct blocks that duplicates reach back.
        blocks: u64,
        /// Distinct blocks in a record of 128 KiB.
        record_blocks: u64,
    },
    /// The cap on references is so near to their mean that each content has to be repeated at once.
    CapMeansPrevious {
        /// The cap.
        most: u64,
        /// The least cap that leaves distances free.
        enough: u64,
    },
    /// Making writes durable costs saving: flushes send blocks on before they found company.
    FlushesCost {
        /// New blocks between two flushes, or writes between two with FUA.
        every_blocks: u64,
        /// Saving of the packer without flushes, percent.
        without_percent: f64,
        /// Saving of the packer with them, about, percent.
        with_percent: f64,
    },
    /// Duplicates come so soon that VDO still has their content under way, and stores it whole.
    DuplicatesUnderWay {
        /// Fewest distinct blocks between a content and its duplicate.
        nearest_blocks: u64,
        /// Distinct blocks that VDO needs.
        enough_blocks: u64,
        /// Saving of the packer when they come no sooner, percent.
        without_percent: f64,
    },
    /// A load is so short that the few contents which its beginning repeats, and which VDO stores whole, show.
    ShortForPacking {
        /// Contents that are repeated before anything is old enough.
        contents: u64,
        /// Distinct blocks that are written in all.
        distinct_blocks: u64,
        /// Saving that was asked of the packer, percent.
        without_percent: f64,
        /// Saving that the packer reaches, percent.
        with_percent: f64,
    },
    /// Some sizes of a distribution are such as LZ4 cannot give.
    SizesCut {
        /// Share of blocks whose size was moved to the nearest possible one, percent.
        percent: f64,
    },
}

impl Warning {
    /// Tells whether it matters only on layers that deduplicate and pack as VDO does.
    pub fn is_of_reduction(&self) -> bool {
        match self {
            Self::CompressNotPackable { .. }
            | Self::ReferencesCapped { .. }
            | Self::FlushesCost { .. }
            | Self::DuplicatesUnderWay { .. }
            | Self::ShortForPacking { .. } => true,
            Self::NearDuplicates { .. } | Self::CapMeansPrevious { .. } | Self::SizesCut { .. } => {
                false
            }
        }
    }
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
            Self::NearDuplicates { blocks, record_blocks } => write!(
                f,
                "duplicates reach back {blocks} distinct blocks or less: a layer that compresses records of 128 KiB \
                 ({record_blocks} blocks) will find them as compressibility"
            ),
            Self::CapMeansPrevious { most, enough } => write!(
                f,
                "popularity = cap:{most} leaves no room for distances: every content is repeated at once; \
                 from cap:{enough} on duplicates reach back as asked"
            ),
            Self::FlushesCost { every_blocks, without_percent, with_percent } => write!(
                f,
                "writes made durable after every {every_blocks} new blocks leave VDO's packer a saving of about \
                 {with_percent:.0}% instead of {without_percent:.1}%: what is under way when a flush comes is stored whole, \
                 as is every write with FUA or O_DSYNC"
            ),
            Self::DuplicatesUnderWay { nearest_blocks, enough_blocks, without_percent } => write!(
                f,
                "duplicates come as soon as {nearest_blocks} distinct blocks after their content; VDO stores a content \
                 whole when one comes while it is under way, within some {enough_blocks}, so that its packer saves \
                 less than {without_percent:.1}%"
            ),
            Self::ShortForPacking { contents, distinct_blocks, without_percent, with_percent } => {
                write!(
                    f,
                    "the load is short: {contents} contents of {distinct_blocks} are repeated before VDO has packed them, \
                     and stored whole, so that its packer saves {with_percent:.1}% instead of {without_percent:.1}%"
                )
            }
            Self::SizesCut { percent } => write!(
                f,
                "{percent:.1}% of the sizes in compress cannot be reached by LZ4, and are replaced by the nearest that can"
            ),
        }
    }
}
