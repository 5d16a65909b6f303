//! Work of a cell's machines for others, while each of them had the cell.

use host::Meter;
use results::model::MachineLoad;
use sys::clock::Clock;

/// Work for others, and how long the machines that did it had the cell, nanoseconds.
pub(crate) type Work = (MachineLoad, u64);

/// Meter of a machine's work for others, which knows that of the machines before.
pub(crate) struct Metered {
    /// The meter, and when it began; `None` where nothing can be measured.
    meter: Option<(Meter, u64)>,
    before: Option<Work>,
}

impl Metered {
    /// Begins with a cell. In virtual time the machine does something else.
    pub(crate) fn begin(clock: &Clock) -> Self {
        let meter = if clock.is_simulated() { None } else { Meter::new().ok() };
        Self { meter: meter.map(|meter| (meter, clock.now().0)), before: None }
    }

    /// Goes on with a cell; where the work of the machines before is unknown, that of all is.
    pub(crate) fn go_on(clock: &Clock, before: Option<Work>) -> Self {
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
