//! One operation: what is to be done, what the books say will come of it, and what came of it.

use units::{Seed, SplitMix64};

use crate::TreeOp;

/// Numbers by which the kernel says why a call failed.
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

/// The outcome of an operation that the books foretell.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Expectation {
    /// It is done.
    Done,
    /// The kernel refuses it with this number.
    Errno(i32),
    /// It is not even tried.
    Skip(Skip),
}

/// The reason why an operation is skipped.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Skip {
    /// The file system is as full as it may be.
    Full,
    /// No name has a file, or all have one (`pick = "live"`).
    NoName,
    /// The file has as many names as it may have.
    Links,
}

/// The call that makes a file durable after an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Sync {
    /// fsync: its metadata, too.
    Fsync,
    /// Its data alone.
    Fdatasync,
}

/// One operation that is to be done.
#[derive(Debug, Clone, PartialEq)]
pub struct Step {
    /// Its number among those of its worker.
    pub number: u64,
    /// The call to be made.
    pub op: TreeOp,
    /// The index of its name.
    pub index: u64,
    /// The index of its second name.
    pub second: Option<u64>,
    /// The outcome that the books foretell.
    pub expected: Expectation,
    /// Size of the file before it, bytes.
    pub size: u64,
    /// Names that the file has before it: a file with another count is not ours.
    pub links: u32,
    /// Bytes that it reads, writes, sets aside or punches out; of a truncation, the size afterwards.
    pub amount: u64,
    /// Its first byte in the file.
    pub offset: u64,
    /// Bytes of a request.
    pub record: u64,
    /// The call that follows it when it is done.
    pub sync: Option<Sync>,
    /// A soft link beside the name, which goes with it.
    pub soft: bool,
    /// Names of the other file that loses one: that of the hard link beside the name, which goes with it, or that of the name that a rename takes
    /// the place of. 0 where there is none.
    pub other_links: u32,
    pub(crate) seed: Seed,
}

/// One request of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Request {
    /// Its beginning.
    pub offset: u64,
    /// Its length, bytes.
    pub bytes: u64,
}

impl Step {
    /// The requests that it reads or writes by: one after the other, or at random among the file's whole records.
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
    /// The size of a file whose records are drawn.
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

/// The outcome of an operation that was tried.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Answer {
    /// Bytes that were read, written or copied.
    pub bytes: u64,
    /// The errno with which it failed in the end; 0 where it did not.
    pub errno: i32,
    /// Tells, of an operation that makes a file, that it made it, even if it failed afterwards.
    pub made: bool,
}

impl Answer {
    /// The outcome of a step that the books foretell.
    pub fn expected(step: &Step) -> Self {
        match step.expected {
            Expectation::Done => Self { bytes: step.moved(), errno: 0, made: true },
            Expectation::Errno(errno) => Self { errno, ..Self::default() },
            Expectation::Skip(_) => Self::default(),
        }
    }
}

impl Step {
    /// Tells whether it takes away a name that is not there.
    pub fn removes_nothing(&self) -> bool {
        let removes = matches!(self.op, TreeOp::Delete | TreeOp::Rename | TreeOp::Rmdir);
        removes && self.expected == Expectation::Errno(errno::NO_ENTRY)
    }

    /// Bytes that it moves when it is done.
    pub fn moved(&self) -> u64 {
        let moves = self.op.writes() || self.op.copies();
        let reads = matches!(self.op, TreeOp::Read | TreeOp::Randread);
        if moves || reads { self.amount } else { 0 }
    }
}

/// The outcome of an operation.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Verdict {
    /// It was done, all of it.
    Done,
    /// It failed as it had to: there was no such name, or it was there already, or no space was left.
    Expected,
    /// It failed otherwise, came short, or did what it should not have been able to.
    Unexpected,
    /// It was not tried.
    Skipped,
}
