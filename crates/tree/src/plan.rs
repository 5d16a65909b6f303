//! Effects of an operation on the books: its predicted outcome before it, and its actual outcome after it.

use crate::TreeOp;
use crate::books::Books;
use crate::step::{Expectation, Skip, Step, StepOutcome, Verdict, errno};

/// The names of an operation in a worker's own part of the range.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Names {
    pub(crate) first: u32,
    pub(crate) second: u32,
}

impl Books {
    /// Predicts the outcome of an operation.
    pub(crate) fn expect(&self, op: TreeOp, names: Names) -> Expectation {
        let Names { first, second } = names;
        let there =
            |is: bool| if is { Expectation::Done } else { Expectation::Errno(errno::NO_ENTRY) };
        let absent =
            |is: bool| if is { Expectation::Errno(errno::EXISTS) } else { Expectation::Done };
        match op {
            TreeOp::Create => absent(self.has(first)),
            TreeOp::Mkdir => absent(self.has_directory(first)),
            TreeOp::Rmdir => there(self.has_directory(first)),
            TreeOp::Readdir => Expectation::Done,
            _ if !self.has(first) => there(false),
            TreeOp::Punch if self.size(first) == Some(0) => Expectation::Errno(errno::INVALID),
            TreeOp::Softlink => absent(self.has_soft_link(second)),
            TreeOp::Hardlink if self.hard_link(second).is_some() => absent(true),
            TreeOp::Hardlink if !self.may_link(first) => Expectation::Skip(Skip::Links),
            TreeOp::Reflink | TreeOp::CopyFileRange => absent(self.has(second)),
            _ => Expectation::Done,
        }
    }

    /// Fills in the bytes and offset of an operation, from a drawn size and a random number.
    pub(crate) fn measure(&self, step: &mut Step, names: Names, drawn: u64, random: u64) {
        let file = self.file(names.first).unwrap_or_default();
        (step.size, step.links) = (file.size, file.links);
        let below = |n: u64| ((u128::from(random) * u128::from(n)) >> 64) as u64;
        (step.offset, step.amount) = match step.op {
            TreeOp::Create | TreeOp::Write => (0, drawn),
            TreeOp::Append | TreeOp::Fallocate => {
                (file.size, drawn.min(crate::size::LARGEST - file.size))
            }
            TreeOp::Read | TreeOp::Randread | TreeOp::Randwrite => (0, drawn.min(file.size)),
            TreeOp::Truncate => (0, below(file.size + 1)),
            TreeOp::Punch => {
                let offset = below(file.size.div_ceil(step.record)) * step.record;
                (offset, drawn.min(file.size - offset))
            }
            TreeOp::Reflink | TreeOp::CopyFileRange => (0, file.size),
            _ => (0, 0),
        };
        match step.op {
            TreeOp::Delete => {
                step.soft = self.has_soft_link(names.first);
                step.other_links = self.beside(names.first).map_or(0, |file| file.links);
            }
            TreeOp::Rename => step.other_links = self.links(names.second),
            _ => {}
        }
    }

    /// Enters the outcome of an operation into the books, and judges it.
    pub(crate) fn book(&mut self, step: &Step, names: Names, outcome: StepOutcome) -> Verdict {
        let done = outcome.errno == 0;
        match step.expected {
            Expectation::Skip(_) => return Verdict::Skipped,
            Expectation::Errno(errno) if outcome.errno == errno => return Verdict::Expected,
            // This should not have been possible, so the books do not know what exists now.
            Expectation::Errno(_) => return Verdict::Unexpected,
            Expectation::Done => {}
        }
        let Names { first, second } = names;
        match step.op {
            TreeOp::Create if done || outcome.made => self.create(first, outcome.bytes),
            TreeOp::Reflink | TreeOp::CopyFileRange if done || outcome.made => {
                self.create(second, outcome.bytes);
            }
            TreeOp::Write | TreeOp::Append if outcome.bytes > 0 => {
                self.resize(first, step.size.max(step.offset + outcome.bytes));
            }
            TreeOp::Fallocate if done => self.resize(first, step.size + step.amount),
            TreeOp::Truncate if done => self.resize(first, step.amount),
            TreeOp::Delete if done => self.delete(first),
            TreeOp::Rename if done => self.rename(first, second),
            TreeOp::Softlink if done => self.soft_link(second),
            TreeOp::Hardlink if done => self.make_hard_link(first, second),
            TreeOp::Mkdir if done => self.set_directory(first, true),
            TreeOp::Rmdir if done => self.set_directory(first, false),
            _ => {}
        }
        match outcome.errno {
            0 if outcome.bytes == step.moved() => Verdict::Done,
            // On file systems that do not write blocks in place, any change may run out of space, and so may a new name on any file system.
            errno::NO_SPACE | errno::QUOTA => Verdict::Expected,
            _ => Verdict::Unexpected,
        }
    }
}
