//! Faults as data: on what, when, and what happens.

use std::ops::Range;
use std::time::Duration;

/// The requests that a fault concerns.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum On {
    /// Reads.
    Read,
    /// Writes.
    Write,
    /// Punched holes and zeroed ranges.
    Discard,
    /// fsync and fdatasync.
    Flush,
}

/// The conditions of a fault, which all have to hold; by default it always happens. Errors, short transfers and stalls look at
/// requests; corruption looks at each block of 4 KiB that a write covers whole.
#[derive(Debug, Clone, PartialEq)]
pub struct When {
    /// The fault hits only requests or blocks that start within these byte addresses.
    pub within: Option<Range<u64>>,
    /// Number of requests or blocks that it would concern and spares at first.
    pub after: u64,
    /// The share of the others that it hits, 0 to 1, drawn from a fixed seed.
    pub share: f64,
    /// The most times that it happens.
    pub most: Option<u64>,
}

impl Default for When {
    fn default() -> Self {
        Self { within: None, after: 0, share: 1.0, most: None }
    }
}

impl When {
    /// Hits a share of all, 0 to 1.
    pub fn share(share: f64) -> Self {
        Self { share, ..Self::default() }
    }

    /// Hits all but the first `count`.
    pub fn after(count: u64) -> Self {
        Self { after: count, ..Self::default() }
    }

    /// Hits what starts within these byte addresses.
    pub fn within(addresses: Range<u64>) -> Self {
        Self { within: Some(addresses), ..Self::default() }
    }

    /// Limits it to `count` times.
    pub fn at_most(self, count: u64) -> Self {
        Self { most: Some(count), ..self }
    }
}

/// The effect of a fault.
#[derive(Debug, Clone, PartialEq)]
pub enum What {
    /// The request fails with this error number and does nothing.
    Errno(i32),
    /// Only so many bytes are moved (at most what was asked).
    Short(u32),
    /// The request takes this long, or until the file goes away.
    Stall(Duration),
    /// Writes fail with ENOSPC once so many bytes have been written; one that crosses the limit is short.
    Full(u64),
    /// Only the first so many sectors of 512 bytes are stored; the rest of the block stays as it was.
    Torn(usize),
    /// The block is acknowledged and not stored.
    Stale,
    /// The block is stored so many bytes further (at the end: from the start) and not where it belongs.
    Misplaced(u64),
    /// These bits of the block are stored inverted.
    Flipped(Vec<usize>),
}

impl What {
    /// Tells whether it corrupts stored blocks, instead of affecting requests.
    pub(crate) fn is_corruption(&self) -> bool {
        matches!(self, Self::Torn(_) | Self::Stale | Self::Misplaced(_) | Self::Flipped(_))
    }
}

/// One fault.
#[derive(Debug, Clone, PartialEq)]
pub struct Fault {
    /// Requests that it concerns. Corruption concerns writes.
    pub on: On,
    /// The conditions under which it happens.
    pub when: When,
    /// The effect.
    pub what: What,
}

impl Fault {
    /// Creates a fault.
    pub fn new(on: On, when: When, what: What) -> Self {
        Self { on, when, what }
    }
}
