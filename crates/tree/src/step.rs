//! One operation on a file tree: what to do, the predicted outcome, and the actual outcome.

use units::{Seed, SplitMix64};

use crate::TreeOp;

/// Error numbers of the kernel (errno).
pub mod errno {
    /// There is no such name.
    pub const NO_ENTRY: i32 = 2;
    /// The name is there already.
    pub const EXISTS: i32 = 17;
    /// A hole of no length cannot be punched.
    pub const INVALID: i32 = 22;
    /// The device is full.
    pub const NO_SPACE: i32 = 28;
    /// The quota is used up.
    pub const QUOTA: i32 = 122;
}

/// Predicted outcome of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// It succeeds.
    Done,
    /// The kernel refuses it with this error number.
    Errno(i32),
    /// It is not attempted.
    Skip(Skip),
}

/// The reason why an operation is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    /// No name is left to pick: none has a file, or all have one (`pick = "live"`).
    NoName,
    /// The file has reached the limit of hard links.
    Links,
}

/// The call that makes a file durable after an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// fsync, which includes the metadata.
    Fsync,
    /// fdatasync, for the data only.
    Fdatasync,
}

/// One operation to be carried out.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its number among those of its worker.
    pub number: u64,
    /// The call to be made.
    pub op: TreeOp,
    /// Index of the name that it works on.
    pub index: u64,
    /// Index of the second name, for operations with two.
    pub second: Option<u64>,
    /// The predicted outcome.
    pub expected: Expectation,
    /// Size of the file before the operation, bytes.
    pub size: u64,
    /// Link count of the file before the operation; a file with another count was not made by this load.
    pub links: u32,
    /// Bytes to read, write, preallocate or punch out; for a truncation, the size afterwards.
    pub amount: u64,
    /// Offset in the file, bytes.
    pub offset: u64,
    /// Size of a request, bytes.
    pub record: u64,
    /// Sync call that follows if the operation succeeds.
    pub sync: Option<Sync>,
    /// Tells whether a soft link beside the name is removed with it.
    pub soft: bool,
    /// Link count of another file that loses a name: the file of the hard link that is removed with this name, or the file that a rename replaces. 0
    /// if there is none.
    pub other_links: u32,
    pub(crate) seed: Seed,
}

/// One request of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Its offset, bytes.
    pub offset: u64,
    /// Its length, bytes.
    pub bytes: u64,
}

impl Step {
    /// Returns the requests of a read or write: consecutive, or at random among the file's records.
    pub fn requests(&self) -> Requests {
        let moves = self.op.writes() || matches!(self.op, TreeOp::Read | TreeOp::Randread);
        let left = if moves { self.amount } else { 0 };
        Requests {
            left,
            next: self.offset,
            record: self.record.max(1),
            within: self.op.is_random().then_some(self.size),
            rng: self.seed.generator(),
        }
    }
}

/// The requests of an operation.
#[derive(Debug, Clone)]
pub struct Requests {
    left: u64,
    next: u64,
    record: u64,
    /// Size of the file, if its records are drawn at random.
    within: Option<u64>,
    rng: SplitMix64,
}

impl Iterator for Requests {
    type Item = Request;

    #[inline]
    fn next(&mut self) -> Option<Request> {
        if self.left == 0 {
            return None;
        }
        let mut bytes = self.record.min(self.left);
        let offset = match self.within {
            Some(size) => {
                let at = self.rng.below(size.div_ceil(self.record)) * self.record;
                bytes = bytes.min(size - at);
                at
            }
            None => self.next,
        };
        self.next += bytes;
        self.left -= bytes;
        Some(Request { offset, bytes })
    }
}

/// Actual outcome of an operation that was attempted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct StepOutcome {
    /// Bytes that were read, written or copied.
    pub bytes: u64,
    /// The errno with which it failed; 0 if it did not.
    pub errno: i32,
    /// Tells whether the operation made a file, even if it failed afterwards.
    pub made: bool,
}

impl StepOutcome {
    /// Returns the predicted outcome of a step.
    pub fn expected(step: &Step) -> Self {
        match step.expected {
            Expectation::Done => Self { bytes: step.moved(), errno: 0, made: true },
            Expectation::Errno(errno) => Self { errno, ..Self::default() },
            Expectation::Skip(_) => Self::default(),
        }
    }
}

impl Step {
    /// Tells whether the step removes or renames a name that does not exist.
    pub fn removes_nothing(&self) -> bool {
        let removes = matches!(self.op, TreeOp::Delete | TreeOp::Rename | TreeOp::Rmdir);
        removes && self.expected == Expectation::Errno(errno::NO_ENTRY)
    }

    /// Returns the bytes that the step moves if it succeeds.
    pub fn moved(&self) -> u64 {
        let moves = self.op.writes() || self.op.copies();
        let reads = matches!(self.op, TreeOp::Read | TreeOp::Randread);
        if moves || reads { self.amount } else { 0 }
    }
}

/// Verdict on an operation: its actual outcome compared with the predicted one.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It was done completely.
    Done,
    /// It failed as it had to: there was no such name, or it was there already, or no space was left.
    Expected,
    /// It failed in another way, moved too few bytes, or succeeded where it had to fail.
    Unexpected,
    /// It was not attempted.
    Skipped,
}
