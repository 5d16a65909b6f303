//! The thread that takes the census of what workers write.

use std::time::Duration;

use reduce::Census;

use crate::error::{EngineError, Kind};
use crate::sample::{Shift, Tap};

/// Blocks (all together, copies included) that the sample is cut down to when the amount is known beforehand, and
/// contents that it may hold when it is not. The share of duplicates is then right to some 0.2 points.
pub(crate) const SAMPLE: u64 = 32_768;

/// By how many halvings the sample of what the addresses hold may be larger, where that is what was asked for. Overwritten ten times, they
/// hold a tenth of the contents that were written.
pub(crate) const AHEAD: u32 = 2;

/// Bytes of blocks that all queues together hold, one block for each at least.
pub(crate) const QUEUED_BYTES: usize = 32 << 20;

/// How long the thread sleeps between two looks at the queues: the less was in them the longer. Each look wakes a CPU, and
/// gives the kernel cause to move threads of the load.
const PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(80);
/// Of this part of a queue and less a look finds little, and the next one comes later.
const LITTLE: usize = 64;

/// What the thread gives when all workers have ended.
pub(crate) struct Taken {
    pub census: Census,
    /// CPU time that it took, as (user, kernel).
    pub cpu: (Duration, Duration),
}

/// Starts the thread that shows `census` what comes through the queues of all workers.
pub(crate) fn start(
    mut taps: Vec<Tap>,
    shift: Shift,
    mut census: Census,
) -> Result<std::thread::JoinHandle<Taken>, EngineError> {
    let take = move || {
        sys::usage::yield_to_others();
        let mut pause = PAUSE;
        loop {
            let (mut more, mut much) = (false, false);
            for tap in &mut taps {
                // First what was queued: the contents that a load repeats most stand at its beginning, before a worker that finds its
                // queue full becomes stricter.
                let mut found = 0;
                more |= tap.drain(|place, block| {
                    census.add_at(place, block);
                    found += 1;
                });
                much |= found > tap.length() / LITTLE;
                census.tighten_to(shift.get());
                shift.raise(census.shift());
            }
            if !more {
                // A worker may have raised the shift with its last block.
                census.tighten_to(shift.get());
                return Taken { census, cpu: sys::usage::thread() };
            }
            pause = if much { PAUSE } else { LONGEST_PAUSE.min(2 * pause) };
            std::thread::park_timeout(pause);
        }
    };
    std::thread::Builder::new().name("census".into()).spawn(take).map_err(|e| {
        EngineError::new(
            Kind::Environment,
            "The thread that measures the content cannot be started",
            "raise the limit of threads (ulimit -u)",
        )
        .because(e)
    })
}
