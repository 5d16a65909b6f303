//! Progress of `fathom advise`.

use std::time::{Duration, Instant};

use indicatif::ProgressBar;
use units::show::grouped;

use super::{bar, live, time_left};

/// Time before progress is shown.
const QUICK: Duration = Duration::from_secs(2);

/// Shows how much was read so far, on standard error; gone when dropped.
pub struct AdviseView {
    begun: Instant,
    live: bool,
    bar: Option<ProgressBar>,
}

impl AdviseView {
    pub fn new() -> Self {
        Self { begun: Instant::now(), live: live(), bar: None }
    }

    /// Shows how many records files have so far, while it is not known how many there are.
    pub fn note_records(&mut self, records: u64) {
        self.say(|| format!("{} records looked at", grouped(records)));
    }

    /// Shows how many of the I/Os were taken.
    pub fn note_ios(&mut self, ios: u64, all: u64) {
        self.say(|| format!("{} of {} I/Os", grouped(ios), grouped(all)));
    }

    fn say(&mut self, what: impl Fn() -> String) {
        let elapsed = self.begun.elapsed();
        if !self.live || elapsed < QUICK {
            return;
        }
        let so_far = time_left(None, u64::try_from(elapsed.as_nanos()).unwrap_or(u64::MAX));
        self.bar.get_or_insert_with(bar).set_message(format!("{so_far}  {}", what()));
    }
}

impl Drop for AdviseView {
    fn drop(&mut self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}
