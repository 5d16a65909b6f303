//! The work that a backend is asked to do.

/// The operation on a range of the target.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) enum Verb {
    /// Moves bytes from the target.
    #[default]
    Read,
    /// Moves bytes to the target.
    Write,
    /// Gives the range back to the target.
    Discard,
    /// Has the target zero the range itself.
    WriteZeroes,
    /// Makes written data durable, and all metadata of the file (`fsync`).
    Fsync,
    /// Makes written data durable (`fdatasync`).
    Fdatasync,
}

impl Verb {
    /// Tells whether bytes go between memory and target, so that a call may move only part of them.
    pub(crate) const fn moves(self) -> bool {
        matches!(self, Self::Read | Self::Write)
    }
}

/// The work to be done for a slot.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Transfer {
    pub verb: Verb,
    /// Tells whether a write is durable when it ends (FUA, `RWF_DSYNC`).
    pub durable: bool,
    /// Index of its target among the load's targets.
    pub target: u16,
    /// Total length in bytes.
    pub length: u32,
    /// Bytes of it that earlier attempts moved.
    pub done: u32,
    /// Its first byte in the target.
    pub offset: u64,
}

impl Transfer {
    /// Returns the number of bytes that remain to be moved.
    #[inline]
    pub(crate) const fn left(&self) -> u32 {
        self.length - self.done
    }

    /// Returns the offset in the target at which the remaining part starts, bytes.
    #[inline]
    pub(crate) const fn at(&self) -> u64 {
        self.offset + self.done as u64
    }

    /// Returns what a backend reports for a call that returned `result`: the transfer's length where a call that moves no bytes succeeded.
    #[inline]
    pub(crate) const fn moved(&self, result: i32) -> i32 {
        if result == 0 && !self.verb.moves() { self.length as i32 } else { result }
    }

    pub(crate) const fn is_write(&self) -> bool {
        matches!(self.verb, Verb::Write)
    }
}
