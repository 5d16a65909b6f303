//! Surprises, which a stream alone does not foretell: answers that were not expected, and the stretches in which the file system was full. Little of
//! it is kept of a load that goes well, and with it all that was written can be found again.

use crate::Answer;

/// Surprises that are kept, 32 MiB: where nearly everything fails, there is one with each operation.
const MOST: usize = 1 << 20;

/// The log of one worker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Log {
    /// Numbers of operations with what came of them.
    surprises: Vec<(u64, Answer)>,
    /// Numbers of operations from which on the file system was full, and was not any more, by turns.
    turns: Vec<u64>,
    /// Surprises that are not in it, because it is full.
    left_out: u64,
}

impl Log {
    /// Operations that came otherwise than expected, with what came of them.
    pub fn surprises(&self) -> &[(u64, Answer)] {
        &self.surprises
    }

    /// Tells whether everything came as the stream says.
    pub fn is_empty(&self) -> bool {
        self.surprises.is_empty() && self.turns.is_empty()
    }

    /// Tells whether all surprises are in it: only then can a stream be gone through again.
    pub fn is_whole(&self) -> bool {
        self.left_out == 0
    }

    pub(crate) fn surprise(&mut self, number: u64, answer: Answer) {
        match self.surprises.len() < MOST {
            true => self.surprises.push((number, answer)),
            false => self.left_out += 1,
        }
    }

    pub(crate) fn set_full(&mut self, number: u64, full: bool) {
        debug_assert_eq!(self.turns.len().is_multiple_of(2), full);
        self.turns.push(number);
    }

    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { log: self, surprise: 0, turn: 0 }
    }
}

/// A log that is read from its start.
pub(crate) struct Reader<'a> {
    log: &'a Log,
    surprise: usize,
    turn: usize,
}

impl Reader<'_> {
    /// Tells whether the file system was full before an operation; numbers only grow.
    pub(crate) fn is_full(&mut self, number: u64) -> bool {
        while self.log.turns.get(self.turn).is_some_and(|&from| from <= number) {
            self.turn += 1;
        }
        self.turn % 2 == 1
    }

    /// Notes what came of an operation, if it was a surprise; numbers only grow.
    pub(crate) fn answer(&mut self, number: u64) -> Option<Answer> {
        let (at, answer) = self.log.surprises.get(self.surprise)?;
        (*at == number).then(|| {
            self.surprise += 1;
            *answer
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_of_nothing_but_surprises_ends_somewhere_and_says_so() {
        let mut log = Log::default();
        (0..MOST as u64).for_each(|number| log.surprise(number, Answer::default()));
        assert!(log.is_whole());
        log.surprise(MOST as u64, Answer::default());
        assert_eq!((log.surprises().len(), log.is_whole()), (MOST, false));
    }
}
