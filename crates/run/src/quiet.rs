//! A machine that others leave alone: a cell waits for it.

use std::str::FromStr;
use std::time::Duration;

use host::Others;
use sys::interrupt::{Interrupt, Level};
use units::{Nanos, Percent};

use crate::{Event, Ledger, RunError};

/// Conditions for starting a cell: how quiet the machine has to be, and how long cells may wait for that.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct QuietMachine {
    /// Largest share of all CPUs that other processes may take.
    pub others: Percent,
    /// The longest time that all cells together wait.
    pub time: Nanos,
}

/// The default of the longest wait.
const USUAL: Nanos = Nanos::from_secs(600);
/// The window over which the CPU time of others is measured.
const WINDOW: Duration = Duration::from_secs(1);

impl FromStr for QuietMachine {
    type Err = String;

    /// Reads `5%` and `5%:10m`.
    fn from_str(text: &str) -> Result<Self, String> {
        let (share, time) = match text.split_once(':') {
            Some((share, time)) => (share, time.parse().map_err(|e| format!("{e}"))?),
            None => (text, USUAL),
        };
        let others: Percent = share.parse().map_err(|e| format!("{e}"))?;
        if !(others.0 > 0.0 && others.0 < 100.0) {
            return Err(format!(
                "others take 0 to 100 % of the CPUs, so {share} is not a useful limit; write 5%, or 5%:10m"
            ));
        }
        Ok(Self { others, time })
    }
}

#[cfg(test)]
mod tests;

/// Waits before a cell until the machine is quiet.
pub(crate) struct Waiting {
    wanted: QuietMachine,
    left: Duration,
    /// The share of all CPUs that others take in the next window; `None` where it cannot be known.
    measure: Box<dyn FnMut(Duration) -> Option<f64> + Send>,
}

impl Waiting {
    pub(crate) fn new(wanted: QuietMachine) -> Self {
        let measure = Box::new(|window| {
            let mut others = Others::new().ok()?;
            std::thread::sleep(window);
            others.share().ok()?
        });
        Self { wanted, left: wanted.time.into(), measure }
    }

    /// Waits until the machine is quiet or the time for waiting is used up; reports the wait, and marks the cell if the machine is not quiet.
    pub(crate) fn before(
        &mut self,
        cell: usize,
        ledger: &mut Ledger,
        interrupt: &Interrupt,
    ) -> Result<(), RunError> {
        let most = self.wanted.others.fraction();
        let mut waited = Duration::ZERO;
        // The first window is needed to know whether to wait at all.
        let mut share = (self.measure)(WINDOW);
        while share.is_some_and(|share| share > most)
            && !self.left.is_zero()
            && interrupt.level() == Level::None
        {
            let window = self.left.min(WINDOW);
            share = (self.measure)(window);
            waited += window;
            self.left -= window;
        }
        let time = Nanos(waited.as_nanos() as u64);
        let others = share.map_or_else(|| "?".into(), |s| Percent(100.0 * s).to_string());
        let text = match share {
            None => Some("whether the machine is quiet cannot be known".to_owned()),
            Some(share) if share > most => {
                ledger.disturbed(cell, 100.0 * share)?;
                let waited = if waited.is_zero() {
                    ", and the time to wait is used up".to_owned()
                } else {
                    format!(" after {time} of waiting")
                };
                Some(format!(
                    "the machine is not quiet: others take {others} of its CPUs{waited}; the cell runs and is marked"
                ))
            }
            Some(_) if waited.is_zero() => None,
            Some(_) => Some(format!(
                "waited {time} until the machine was quiet: others take {others} of its CPUs"
            )),
        };
        if let Some(text) = text {
            ledger.tell(&Event::Notice { cell: Some(cell), text });
        }
        Ok(())
    }
}
