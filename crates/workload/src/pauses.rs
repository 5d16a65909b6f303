//! Pauses between I/Os, and writes that are made durable at a cadence.

use std::fmt;

use units::{Nanos, QuantityError};

use crate::text;

/// A pause of a job after every n-th I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Think {
    /// Its length.
    pub time: Nanos,
    /// Number of I/Os of a job between pauses.
    pub every: u32,
}

impl std::str::FromStr for Think {
    type Err = QuantityError;

    /// Reads `1ms` (after each I/O) and `1ms:8` (after each eight).
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let (time, every) = text.split_once(':').unwrap_or((text, "1"));
        match (time.parse(), every.trim().parse()) {
            (Ok(time), Ok(every)) if every > 0 => Ok(Self { time, every }),
            _ => Err(QuantityError {
                text: text.to_owned(),
                what: "think time",
                example: "a duration, and after how many I/Os if not after each, as in 1ms or 1ms:8",
            }),
        }
    }
}

impl fmt::Display for Think {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        f.write_str(&text::duration(self.time))?;
        if self.every == 1 { Ok(()) } else { write!(f, ":{}", self.every) }
    }
}

units::as_text!(Think, "a think time such as \"1ms\" or \"1ms:8\"");

/// The means by which writes are made durable.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum SyncMethod {
    /// By `fsync` after some of a job's writes.
    Fsync,
    /// By `fdatasync` after some of a job's writes.
    Fdatasync,
    /// By the flag FUA (`RWF_DSYNC`) on some of a job's writes.
    Fua,
    /// By opening the target with `O_DSYNC`: all writes.
    Dsync,
}

impl SyncMethod {
    const ALL: [(Self, &str); 4] = [
        (Self::Fsync, "fsync"),
        (Self::Fdatasync, "fdatasync"),
        (Self::Fua, "fua"),
        (Self::Dsync, "dsync"),
    ];
}

/// The means by which a job makes its changes to the target durable, and the number of changes after which it does so.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct SyncPolicy {
    /// The means.
    pub how: SyncMethod,
    /// Number of writes of a job (discards and zeroed ranges count too) after which it happens; 1 with `dsync`.
    pub every: u32,
}

impl SyncPolicy {
    /// Tells whether separate flushes follow the writes; they count under the name `flush`.
    pub fn adds_flushes(self) -> bool {
        matches!(self.how, SyncMethod::Fsync | SyncMethod::Fdatasync)
    }
}

impl std::str::FromStr for SyncPolicy {
    type Err = QuantityError;

    /// Reads `fdatasync:32`, `fsync`, `fua`, `fua:8`, `dsync`.
    fn from_str(text: &str) -> Result<Self, QuantityError> {
        let (how, every) = text.split_once(':').unwrap_or((text, "1"));
        let how = SyncMethod::ALL.iter().find(|(_, name)| *name == how.trim()).map(|(how, _)| *how);
        match (how, every.trim().parse()) {
            (Some(SyncMethod::Dsync), Ok(1)) => Ok(Self { how: SyncMethod::Dsync, every: 1 }),
            (Some(how), Ok(every)) if every > 0 && how != SyncMethod::Dsync => {
                Ok(Self { how, every })
            }
            _ => Err(QuantityError {
                text: text.to_owned(),
                what: "sync cadence",
                example: "fsync:N, fdatasync:N or fua:N (every N writes of a job; 1 unless given), or dsync",
            }),
        }
    }
}

impl fmt::Display for SyncPolicy {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        let name =
            SyncMethod::ALL.iter().find(|(how, _)| *how == self.how).map_or("", |(_, name)| name);
        f.write_str(name)?;
        if self.every == 1 { Ok(()) } else { write!(f, ":{}", self.every) }
    }
}

units::as_text!(SyncPolicy, "a sync cadence such as \"fdatasync:32\", \"fua\" or \"dsync\"");

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn pauses_and_cadences_are_read_back_from_what_they_print() {
        for text in ["1ms", "1500us:8", "0ns"] {
            assert_eq!(text.parse::<Think>().unwrap().to_string(), text);
        }
        for text in ["fsync", "fdatasync:32", "fua", "fua:8", "dsync"] {
            assert_eq!(text.parse::<SyncPolicy>().unwrap().to_string(), text);
        }
    }

    #[test]
    fn refuses_what_is_neither_and_says_how_to_write_one() {
        for text in ["", "1ms:", "1ms:0", "8:1ms", "1ms:8:8"] {
            assert!(text.parse::<Think>().unwrap_err().to_string().contains("1ms:8"));
        }
        for text in ["", "sync", "fsync:0", "fsync:", "dsync:2", "fua:-1"] {
            assert!(text.parse::<SyncPolicy>().unwrap_err().to_string().contains("fdatasync:N"));
        }
    }
}
