//! Requests, which go into a model, and events, which come out of it.

/// The operation that a request asks for.
#[derive(
    Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, serde::Serialize, serde::Deserialize,
)]
#[serde(rename_all = "lowercase")]
pub enum Op {
    /// Reads bytes from the disk.
    Read,
    /// Writes bytes to the disk.
    Write,
    /// Makes everything that was replied to before survive a power cut.
    Flush,
    /// Declares that bytes are not needed any more; they read as zeroes.
    Discard,
}

impl Op {
    /// All operations, in the order of their numbers in a trace.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Flush, Self::Discard];

    /// Its name.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Flush => "flush",
            Self::Discard => "discard",
        }
    }
}

/// A request to a disk: its arrival, its operation, and its place.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Chosen by the submitter; the reply carries it.
    pub id: u64,
    /// Its arrival, in nanoseconds since the disk was switched on.
    pub arrival: u64,
    /// The operation that it asks for.
    pub op: Op,
    /// Its first byte on the disk.
    pub offset: u64,
    /// Its length in bytes; 0 for a flush.
    pub length: u64,
    /// Reply only when the bytes survive a power cut (writes).
    pub fua: bool,
}

impl Request {
    /// Returns the first byte after it.
    pub(crate) fn end(&self) -> u64 {
        self.offset.saturating_add(self.length)
    }
}

/// Reason why a request failed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Failure {
    /// The medium or the device.
    Io,
    /// No room for what is written.
    Full,
}

/// A decision of a model: when a request ends, or when data reaches the medium.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Event {
    /// A request ends.
    Done {
        /// The id of the request.
        id: u64,
        /// Instant of its end.
        at: u64,
        /// The reason why it failed, if it did.
        failed: Option<Failure>,
    },
    /// Bytes survive a power cut from `at` on, as they stood after the write numbered `upto` (the first is 1).
    Stable {
        /// The first byte.
        offset: u64,
        /// The length in bytes.
        length: u64,
        /// The number of the last write that they include.
        upto: u64,
        /// Instant from which on they are safe.
        at: u64,
    },
}

impl Event {
    /// Returns when it happens.
    pub fn at(&self) -> u64 {
        match self {
            Self::Done { at, .. } | Self::Stable { at, .. } => *at,
        }
    }

    /// A request that ends well, at a computed instant.
    pub(crate) fn done(id: u64, at: f64) -> Self {
        Self::Done { id, at: instant(at), failed: None }
    }
}

/// A computed instant in whole nanoseconds: never before it.
pub(crate) fn instant(at: f64) -> u64 {
    at.max(0.0).ceil() as u64
}
