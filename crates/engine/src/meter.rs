//! CPU time of the load while it runs.

use std::time::Duration;

use crate::load::Context;

/// CPU time as (user, kernel).
pub(crate) type Cpu = (Duration, Duration);

/// CPU time of the process, and of the threads in it that are not the load's.
pub(crate) fn usage(context: &Context) -> (Cpu, Cpu) {
    (sys::usage::process(), context.foreign_cpu.map_or_else(Default::default, |cpu| cpu()))
}

/// Returns the CPU time between two readings.
pub(crate) fn since(now: Cpu, then: Cpu) -> Cpu {
    (now.0.saturating_sub(then.0), now.1.saturating_sub(then.1))
}

/// CPU time per I/O since the last call, without the samplers' share. The census and the writing of logs are included: their share is known
/// only at the end.
pub(crate) struct Meter<'a> {
    context: &'a Context<'a>,
    last: (Cpu, Cpu),
    /// I/Os that had ended at the last call.
    ended: u64,
}

impl<'a> Meter<'a> {
    pub(crate) fn new(context: &'a Context<'a>) -> Self {
        Self { context, last: usage(context), ended: 0 }
    }

    /// CPU time in microseconds per I/O that ended since the last call, where `ended` is the total so far; `None` when none did.
    pub(crate) fn per_io_us(&mut self, ended: u64) -> Option<f64> {
        let ios = ended.saturating_sub(self.ended);
        self.ended = ended;
        let now = usage(self.context);
        let (all, foreign) = (since(now.0, self.last.0), since(now.1, self.last.1));
        self.last = now;
        let used = since(all, foreign);
        (ios > 0).then(|| (used.0 + used.1).as_secs_f64() * 1e6 / ios as f64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sys::clock::Clock;
    use sys::interrupt::Interrupt;

    #[test]
    fn what_others_used_is_not_the_loads_and_no_io_has_no_cost() {
        let (clock, interrupt) = (Clock::real(), Interrupt::new());
        let hour = || (Duration::from_secs(3600), Duration::ZERO);
        let context = Context { clock: &clock, interrupt: &interrupt, foreign_cpu: Some(&hour) };
        let mut meter = Meter::new(&context);
        assert_eq!(meter.per_io_us(0), None);
        let begun = sys::usage::process().0;
        while sys::usage::process().0 - begun < Duration::from_millis(20) {
            std::hint::black_box(0);
        }
        let cost = meter.per_io_us(100).unwrap();
        assert!((100.0..1e6).contains(&cost), "{cost}");
    }
}
