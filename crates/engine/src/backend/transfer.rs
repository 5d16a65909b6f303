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
    /// Makes what was written durable, with all that is known about the file (`fsync`).
    Fsync,
    /// Makes what was written durable (`fdatasync`).
    Fdatasync,
}

impl Verb {
    /// Tells whether bytes go between memory and target, so that less than all can be moved.
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
    /// Place of its target in the load's.
    pub target: u16,
    /// Its whole length, bytes.
    pub length: u32,
    /// Bytes of it that earlier attempts moved.
    pub done: u32,
    /// Its first byte in the target.
    pub offset: u64,
}

impl Transfer {
    /// Returns what is left to be moved, bytes.
    #[inline]
    pub(crate) const fn left(&self) -> u32 {
        self.length - self.done
    }

    /// Returns where what is left starts in the target, bytes.
    #[inline]
    pub(crate) const fn at(&self) -> u64 {
        self.offset + self.done as u64
    }

    /// Returns what a backend reports for a call that gave `result`: calls that move no bytes give 0 when they succeed.
    #[inline]
    pub(crate) const fn moved(&self, result: i32) -> i32 {
        if result == 0 && !self.verb.moves() { self.length as i32 } else { result }
    }

    pub(crate) const fn is_write(&self) -> bool {
        matches!(self.verb, Verb::Write)
    }
}
