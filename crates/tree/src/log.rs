//! Answers that a stream did not expect. A load that goes well keeps few of them, and with them all that was written can be found again.

use crate::StepOutcome;

/// Surprises that are kept, 32 MiB: where nearly everything fails, there is one with each operation.
const MOST: usize = 1 << 20;

/// The log of one worker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Log {
    /// Numbers of operations with what came of them.
    surprises: Vec<(u64, StepOutcome)>,
    /// Surprises that are not in it, because it is full.
    left_out: u64,
}

impl Log {
    /// Operations that came otherwise than expected, with what came of them.
    pub fn surprises(&self) -> &[(u64, StepOutcome)] {
        &self.surprises
    }

    /// Tells whether everything came as the stream says.
    pub fn is_empty(&self) -> bool {
        self.surprises.is_empty()
    }

    /// Tells whether all surprises are in it: only then can a stream be gone through again.
    pub fn is_whole(&self) -> bool {
        self.left_out == 0
    }

    pub(crate) fn surprise(&mut self, number: u64, outcome: StepOutcome) {
        match self.surprises.len() < MOST {
            true => self.surprises.push((number, outcome)),
            false => self.left_out += 1,
        }
    }

    pub(crate) fn reader(&self) -> Reader<'_> {
        Reader { log: self, surprise: 0 }
    }
}

/// A log that is read from its start.
pub(crate) struct Reader<'a> {
    log: &'a Log,
    surprise: usize,
}

impl Reader<'_> {
    /// Notes what came of an operation, if it was a surprise; numbers only grow.
    pub(crate) fn outcome(&mut self, number: u64) -> Option<StepOutcome> {
        let (at, outcome) = self.log.surprises.get(self.surprise)?;
        (*at == number).then(|| {
            self.surprise += 1;
            *outcome
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_log_of_nothing_but_surprises_ends_somewhere_and_says_so() {
        let mut log = Log::default();
        (0..MOST as u64).for_each(|number| log.surprise(number, StepOutcome::default()));
        assert!(log.is_whole());
        log.surprise(MOST as u64, StepOutcome::default());
        assert_eq!((log.surprises().len(), log.is_whole()), (MOST, false));
    }
}
