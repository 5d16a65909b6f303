//! Operations by name.

use serde::{Deserialize, Serialize};

/// The operation of an I/O, by name. Its figures have this name everywhere, whatever pattern is set.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum OpName {
    /// Reads, one block after the other unless a pattern is set.
    Read,
    /// Writes, one block after the other unless a pattern is set.
    Write,
    /// Reads at random unless a pattern is set.
    Randread,
    /// Writes at random unless a pattern is set.
    Randwrite,
    /// Gives blocks back to the target, one after the other unless a pattern is set.
    Discard,
    /// Gives blocks back to the target, at random unless a pattern is set.
    Randdiscard,
    /// Has the target zero blocks itself, one after the other unless a pattern is set.
    Writezeroes,
    /// Has the target zero blocks itself, at random unless a pattern is set.
    Randwritezeroes,
    /// Makes written data durable; has neither place nor size.
    Flush,
}

/// The request that an operation makes of the target, whatever its order.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum OpKind {
    /// Moves bytes from the target.
    Read,
    /// Moves bytes to the target.
    Write,
    /// Gives a range back.
    Discard,
    /// Zeroes a range without moving bytes.
    WriteZeroes,
    /// Makes written data durable.
    Flush,
}

impl OpName {
    /// All operations.
    pub const ALL: [Self; 9] = [
        Self::Read,
        Self::Write,
        Self::Randread,
        Self::Randwrite,
        Self::Discard,
        Self::Randdiscard,
        Self::Writezeroes,
        Self::Randwritezeroes,
        Self::Flush,
    ];

    /// Returns the request that it makes of the target.
    pub const fn kind(self) -> OpKind {
        match self {
            Self::Read | Self::Randread => OpKind::Read,
            Self::Write | Self::Randwrite => OpKind::Write,
            Self::Discard | Self::Randdiscard => OpKind::Discard,
            Self::Writezeroes | Self::Randwritezeroes => OpKind::WriteZeroes,
            Self::Flush => OpKind::Flush,
        }
    }

    /// Tells whether it moves bytes to the target.
    pub const fn is_write(self) -> bool {
        matches!(self.kind(), OpKind::Write)
    }

    /// Tells whether it changes what the target holds.
    pub const fn changes(self) -> bool {
        matches!(self.kind(), OpKind::Write | OpKind::Discard | OpKind::WriteZeroes)
    }

    /// Tells whether it goes to a place and has a size.
    pub const fn has_place(self) -> bool {
        !matches!(self, Self::Flush)
    }

    /// Tells whether its own pattern is random.
    pub const fn is_random(self) -> bool {
        matches!(self, Self::Randread | Self::Randwrite | Self::Randdiscard | Self::Randwritezeroes)
    }

    /// The name in files, flags and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Randread => "randread",
            Self::Randwrite => "randwrite",
            Self::Discard => "discard",
            Self::Randdiscard => "randdiscard",
            Self::Writezeroes => "writezeroes",
            Self::Randwritezeroes => "randwritezeroes",
            Self::Flush => "flush",
        }
    }
}

impl std::fmt::Display for OpName {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        f.pad(self.name())
    }
}

impl std::str::FromStr for OpName {
    type Err = units::QuantityError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let found = Self::ALL.into_iter().find(|op| op.name() == text.trim());
        found.ok_or_else(|| units::QuantityError {
            text: text.to_owned(),
            what: "operation",
            example: crate::fio::fio_operation(text.trim()).unwrap_or(ALL_NAMES),
        })
    }
}

/// The operations in words.
const ALL_NAMES: &str = "read, write, discard, writezeroes (one after the other), randread, randwrite, randdiscard, randwritezeroes (at random) or flush";
