//! Loads that cannot be run.

use content::ContentError;
use units::{Bytes, Nanos, show};

use crate::text;
use crate::{OpName, Pattern};

/// The most characters of a value that are shown.
const SHOWN: usize = 40;

/// Describes where a range starts, unless that is the start of the target.
fn behind(offset: Bytes) -> String {
    if offset.0 == 0 { String::new() } else { format!(" from offset {} on", offset.exact()) }
}

/// A value, shortened if it is long.
fn short(value: &str) -> String {
    match value.char_indices().nth(SHOWN) {
        Some((end, _)) => format!("{}…", &value[..end]),
        None => value.to_owned(),
    }
}

/// The multiples of `unit` on both sides of `value`, the nearer one first. Only an offset can be 0.
fn nearest(key: &str, value: u64, unit: u64) -> String {
    let down = value / unit * unit;
    let mut near = vec![down];
    near.extend(down.checked_add(unit));
    near.retain(|&n| n > 0 || key == "offset");
    near.sort_by_key(|n| n.abs_diff(value));
    let listed = |write: &dyn Fn(u64) -> String| -> String {
        near.iter().map(|&n| write(n)).collect::<Vec<_>>().join(" or ")
    };
    let bytes = listed(&|n| n.to_string());
    let short = listed(&|n| format!("\"{}\"", text::size(Bytes(n))));
    format!("the nearest multiple is {bytes} bytes: write {short}")
}

/// A mistake in a load, by the key whose value is wrong.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
pub enum WorkloadError {
    /// The load has no operation.
    #[error("ops names no operation")]
    NoOps,
    /// Shares do not sum to 100.
    #[error("{key}: the shares sum to {}, not to 100", show::significant(*.sum, 6))]
    ShareSum {
        /// The key.
        key: &'static str,
        /// Their sum, percent.
        sum: f64,
    },
    /// A share that no deck can keep exactly, or none at all.
    #[error("{key}: {part} = {share} cannot be kept exactly")]
    Share {
        /// The key.
        key: &'static str,
        /// The operation or size.
        part: String,
        /// Its share, percent.
        share: f64,
    },
    /// Nothing ends the load.
    #[error("nothing ends this load: duration, bytes, ios, passes and steady are all missing")]
    NoStop,
    /// A value that has to be above zero.
    #[error("{key} is 0")]
    Zero {
        /// The key.
        key: &'static str,
    },
    /// A value larger than the engine can handle.
    #[error("{key} is {value}; at most {most} are possible")]
    TooMany {
        /// The key.
        key: &'static str,
        /// Its value.
        value: u64,
        /// The most that is possible.
        most: u64,
    },
    /// A time outside the possible limits.
    #[error("{key} is {time}; {bound} is possible", time = text::duration(*.value))]
    Time {
        /// The key.
        key: &'static str,
        /// Its value.
        value: Nanos,
        /// The lower or upper limit, in words.
        bound: &'static str,
    },
    /// A size that is larger than any target.
    #[error("{key} is {}; at most {} are possible", .value.exact(), .most.exact())]
    TooLarge {
        /// The key.
        key: &'static str,
        /// Its value.
        value: Bytes,
        /// The most that is possible.
        most: Bytes,
    },
    /// A size or offset that is not a multiple of the required unit.
    #[error("{key} = {} is not a multiple of {}", .value.exact(), .unit.exact())]
    Unaligned {
        /// The key.
        key: &'static str,
        /// Its value.
        value: Bytes,
        /// The size that it has to be a multiple of.
        unit: Bytes,
    },
    /// Blocks of content are larger than I/Os.
    #[error(
        "block_size = {} cannot carry content that dedupes, compresses or is zero: content comes in blocks of {}",
        .block_size.exact(),
        .unit.exact()
    )]
    ContentBlock {
        /// The block size.
        block_size: Bytes,
        /// The block of the content.
        unit: Bytes,
    },
    /// Passes were asked for, but the pattern has none.
    #[error(
        "passes cannot end a load with the pattern {pattern}, which visits blocks again and again"
    )]
    EndlessPass {
        /// The pattern.
        pattern: Box<Pattern>,
    },
    /// `last_block` without a stride.
    #[error("last_block = true needs a strided pattern")]
    LastBlock,
    /// A value that makes no sense, by itself or together with another.
    #[error("{key} = {} makes no sense: {why}", short(.value))]
    Senseless {
        /// The key.
        key: &'static str,
        /// Its value.
        value: String,
        /// The mistake.
        why: &'static str,
        /// The remedy.
        help: &'static str,
    },
    /// An option is set for an operation that the load does not have, or that cannot have this option.
    #[error("each.{op} cannot be set: {why}")]
    OperationOverride {
        /// The operation.
        op: OpName,
        /// The mistake.
        why: &'static str,
        /// The remedy.
        help: &'static str,
    },
    /// The range reaches beyond the target.
    #[error("{key} = {}{} reaches beyond the end of the target, which has {}", .value.exact(), behind(*.offset), .target.exact())]
    Outside {
        /// The key.
        key: &'static str,
        /// Its value.
        value: Bytes,
        /// The offset at which the range starts, bytes.
        offset: Bytes,
        /// Bytes of the target.
        target: Bytes,
    },
    /// The range does not have room for one I/O, or not for one of each job.
    #[error(
        "the range of {} holds {blocks} places for I/Os of {}: not one for each of {jobs} jobs",
        .range.exact(),
        .block_size.exact()
    )]
    TooSmall {
        /// Bytes of the range.
        range: Bytes,
        /// Places in it.
        blocks: u64,
        /// The largest I/O.
        block_size: Bytes,
        /// Number of jobs.
        jobs: u32,
    },
    /// Zones do not fill the range, or one of them is smaller than a block.
    #[error(
        "pattern = {pattern}: the zones do not fill the range of {} with a block or more each",
        .range.exact()
    )]
    Zones {
        /// The pattern.
        pattern: Box<Pattern>,
        /// Bytes of the range.
        range: Bytes,
    },
    /// The content cannot be written.
    #[error(transparent)]
    Content(#[from] ContentError),
}

impl WorkloadError {
    /// Returns the path, in a load stage, of the key whose value is wrong: its name after those of the tables around it.
    pub fn path(&self) -> String {
        match self {
            Self::OperationOverride { op, .. } => format!("each.{op}"),
            // `jobs` is a key of the load itself, not of its content.
            Self::Content(error) if error.key() != "jobs" => format!("content.{}", error.key()),
            _ => self.key().to_owned(),
        }
    }

    /// The key whose value is wrong, as it is written in an experiment.
    pub fn key(&self) -> &'static str {
        match self {
            Self::NoOps => "ops",
            Self::NoStop => "duration",
            Self::ShareSum { key, .. }
            | Self::Share { key, .. }
            | Self::Senseless { key, .. }
            | Self::Zero { key }
            | Self::TooMany { key, .. }
            | Self::Time { key, .. }
            | Self::TooLarge { key, .. }
            | Self::Unaligned { key, .. }
            | Self::Outside { key, .. } => key,
            Self::ContentBlock { .. } => "block_size",
            Self::EndlessPass { .. } => "passes",
            Self::LastBlock => "last_block",
            Self::OperationOverride { .. } => "each",
            Self::TooSmall { .. } => "size",
            Self::Zones { .. } => "pattern",
            Self::Content(error) => error.key(),
        }
    }

    /// Returns the remedy.
    pub fn help(&self) -> String {
        match self {
            Self::NoOps => "say what it does, as in ops = { randwrite = 100 }".into(),
            Self::ShareSum { key, .. } => {
                let example = match *key {
                    "pattern" => "zones:90%/1G,10%/rest",
                    "block_size" | "each" => "4k=70,64k=30",
                    _ => "randwrite = 70, randread = 30",
                };
                format!("change the shares so that they sum to 100, as in {example}")
            }
            Self::Share { part, .. } => {
                format!("give {part} a share above 0 in steps of 0.01, or leave it out")
            }
            Self::NoStop => {
                "add one of duration (\"60s\"), bytes (\"10G\"), ios (100000), passes (1) or steady (\"iops:5%:60s\")"
                    .into()
            }
            Self::Zero { key } => format!("give {key} a value above 0, or leave it out"),
            Self::TooMany { key, most, .. } => format!("set {key} to {most} or less"),
            Self::Time { key, bound, .. } => format!("set {key} to {bound}"),
            Self::TooLarge { key, most, .. } => format!("set {key} to {} or less", text::size(*most)),
            Self::Unaligned { key, value, unit } => nearest(key, value.0, unit.0.max(1)),
            Self::ContentBlock { unit, .. } => format!(
                "use a block size that is a multiple of {}, or leave dedupe, compress and zero out",
                text::size(*unit)
            ),
            Self::EndlessPass { .. } => {
                "set pattern = \"permutation\" (each block once, in random order), or end it by duration, bytes or ios"
                    .into()
            }
            Self::LastBlock => "set pattern = \"strided:N\", or leave last_block out".into(),
            Self::Senseless { help, .. } | Self::OperationOverride { help, .. } => (*help).into(),
            Self::Outside { .. } => "make offset and size smaller, or use a larger target".into(),
            Self::TooSmall { .. } => "use a larger size, a smaller block_size, or fewer jobs".into(),
            Self::Zones { .. } => {
                "let the sizes sum to 100 %, or give the last zone the rest, as in zones:90%/1G,10%/rest".into()
            }
            Self::Content(error) => error.help(),
        }
    }
}
