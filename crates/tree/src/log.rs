//! Answers that a stream did not expect. A load that goes well keeps few of them, and with them all that was written can be found again.

use crate::StepOutcome;

/// Most surprises that are kept (32 MiB); where nearly everything fails, each operation causes one.
const MAX_SURPRISES: usize = 1 << 20;

/// The log of one worker.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Log {
    /// Numbers of operations and their answers.
    surprises: Vec<(u64, StepOutcome)>,
    /// Number of surprises that were left out because the log was full.
    left_out: u64,
}

impl Log {
    /// Operations that ended differently than expected, with their answers.
    pub fn surprises(&self) -> &[(u64, StepOutcome)] {
        &self.surprises
    }

    /// Tells whether everything went as the stream predicts.
    pub fn is_empty(&self) -> bool {
        self.surprises.is_empty()
    }

    /// Tells whether it holds all surprises: only then can the stream be replayed.
    pub fn is_whole(&self) -> bool {
        self.left_out == 0
    }

    pub(crate) fn surprise(&mut self, number: u64, outcome: StepOutcome) {
        match self.surprises.len() < MAX_SURPRISES {
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
    /// Returns the answer of operation `number` if it was a surprise; `number` must not decrease from call to call.
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
        (0..MAX_SURPRISES as u64).for_each(|number| log.surprise(number, StepOutcome::default()));
        assert!(log.is_whole());
        log.surprise(MAX_SURPRISES as u64, StepOutcome::default());
        assert_eq!((log.surprises().len(), log.is_whole()), (MAX_SURPRISES, false));
    }
}
