//! Operations by name.

use serde::{Deserialize, Serialize};

/// What an I/O does. The name stands for its figures everywhere, whatever pattern was set.
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
}

impl OpName {
    /// All operations.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Randread, Self::Randwrite];

    /// Whether it changes the target.
    pub const fn is_write(self) -> bool {
        matches!(self, Self::Write | Self::Randwrite)
    }

    /// Whether its own pattern is random.
    pub const fn is_random(self) -> bool {
        matches!(self, Self::Randread | Self::Randwrite)
    }

    /// The name in files, flags and results.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Randread => "randread",
            Self::Randwrite => "randwrite",
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
            example: "read, write, randread or randwrite",
        })
    }
}
