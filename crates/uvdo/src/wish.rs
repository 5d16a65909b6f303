//! Wishes of clients in bytes, and their answers.

use std::sync::mpsc::Sender;

use volume::Failure;

/// A client's wish. Places and lengths are in bytes.
#[derive(Debug)]
pub enum Wish {
    /// Bytes of the volume.
    Read {
        /// The first byte.
        at: u64,
        /// Their number.
        length: u64,
    },
    /// New bytes.
    Write {
        /// The first byte.
        at: u64,
        /// The bytes.
        bytes: Vec<u8>,
        /// Answer only when they are durable.
        fua: bool,
    },
    /// Whole blocks in a range that are not needed any more.
    Discard {
        /// The first byte.
        at: u64,
        /// Their number.
        length: u64,
        /// Answer only when that is durable.
        fua: bool,
    },
    /// Zeros, which take no space.
    Zero {
        /// The first byte.
        at: u64,
        /// Their number.
        length: u64,
        /// Answer only when they are durable.
        fua: bool,
    },
    /// The promise that everything answered before survives a power cut.
    Flush,
}

impl Wish {
    /// Tells if it may change what the volume holds.
    pub fn changes(&self) -> bool {
        !matches!(self, Self::Read { .. } | Self::Flush)
    }

    /// Tells if its answer says that something is durable.
    pub fn is_durable(&self) -> bool {
        match self {
            Self::Read { .. } => false,
            Self::Write { fua, .. } | Self::Discard { fua, .. } | Self::Zero { fua, .. } => *fua,
            Self::Flush => true,
        }
    }
}

/// A wish and the channel for its answer.
#[derive(Debug)]
pub struct Asked {
    /// The connection that it came by.
    pub client: u64,
    /// The client's name for it.
    pub cookie: u64,
    /// The wish.
    pub wish: Wish,
    /// Bytes of memory that it takes until it is answered.
    pub memory: u64,
    /// The channel for the answer.
    pub reply: Sender<Answer>,
}

impl Asked {
    /// Answers that the wish is not fulfilled, unless the client is gone.
    pub fn refuse(self, refusal: Refusal) {
        let Self { cookie, memory, reply, .. } = self;
        let _ = reply.send(Answer { cookie, memory, result: Err(refusal) });
    }
}

/// The end of a wish.
#[derive(Debug)]
pub struct Answer {
    /// The client's name for it.
    pub cookie: u64,
    /// Bytes of memory that it took.
    pub memory: u64,
    /// The bytes that were read; none for other wishes.
    pub result: Result<Vec<u8>, Refusal>,
}

/// The reason that a wish is not fulfilled.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Refusal {
    /// The volume failed it.
    Volume(Failure),
    /// The protocol has no such wish, or not in this form, or it was not offered.
    Invalid,
    /// The server is stopping.
    Stopping,
}
