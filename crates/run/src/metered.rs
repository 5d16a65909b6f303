//! The load that other programs put on a cell's machines while they ran the cell.

use host::Meter;
use results::model::MachineLoad;
use sys::clock::Clock;

/// Work of the machines for others, and the time for which they ran the cell, nanoseconds.
pub(crate) type Work = (MachineLoad, u64);

/// Meter of a machine's work for others, which adds that of the cell's earlier machines.
pub(crate) struct Metered {
    /// The meter, and when it began; `None` where nothing can be measured.
    meter: Option<(Meter, u64)>,
    before: Option<Work>,
}

impl Metered {
    /// Begins with a cell. In virtual time nothing is measured, since this machine does not run the cell.
    pub(crate) fn begin(clock: &Clock) -> Self {
        let meter = if clock.is_simulated() { None } else { Meter::new().ok() };
        Self { meter: meter.map(|meter| (meter, clock.now().0)), before: None }
    }

    /// Continues with a cell; if the work of its earlier machines is unknown, the total is unknown too.
    pub(crate) fn continue_with(clock: &Clock, before: Option<Work>) -> Self {
        let Self { meter, .. } = Self::begin(clock);
        Self { meter: meter.filter(|_| before.is_some()), before }
    }

    /// Returns the work so far.
    pub(crate) fn read(&self, clock: &Clock) -> Option<Work> {
        let (meter, since) = self.meter.as_ref()?;
        let (load, time) = (meter.read().ok()?, clock.now().0.saturating_sub(*since));
        Some(match self.before {
            Some(before) => (MachineLoad::over([before, (load, time)]), before.1 + time),
            None => (load, time),
        })
    }
}
