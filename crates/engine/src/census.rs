//! The census thread: takes the sample of what workers write out of their queues and counts it.

use std::time::Duration;

use reduce::Census;

use crate::error::{EngineError, ErrorKind};
use crate::sample::{self, SampleReceiver, SharedSampling};

/// Blocks (all together, copies included) that the sample is cut down to when the amount is known beforehand, and
/// contents that it may hold when it is not. The share of duplicates is then right to some 0.2 points.
pub(crate) const SAMPLE: u64 = 32_768;

/// By how many halvings the sample of what the addresses hold may be larger, where that is what was asked for. Overwritten ten times, they
/// hold a tenth of the contents that were written.
pub(crate) const AHEAD: u32 = 2;

/// Names that all queues together hold (48 bytes each), and the bytes of blocks to be sized; one of each for every worker at least.
/// The kernel makes each page of them when a load starts, which costs as much as a few writes do.
pub(crate) const QUEUED_NAMES: usize = 16_384;
pub(crate) const QUEUED_BYTES: usize = 4 << 20;

/// How long the thread sleeps between two looks at the queues: the less was in them the longer. Each look wakes a CPU, and
/// gives the kernel cause to move threads of the load. Soon after the start it looks more often, as all blocks are queued then.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(80);

/// What the thread gives when all workers have ended.
pub(crate) struct Taken {
    pub census: Census,
    /// CPU time that it took, as (user, kernel).
    pub cpu: (Duration, Duration),
}

/// Starts the thread that shows `census` what comes through the queues of all workers.
pub(crate) fn start(
    mut receivers: Vec<SampleReceiver>,
    common: &SharedSampling,
    mut census: Census,
) -> Result<std::thread::JoinHandle<Taken>, EngineError> {
    let common = common.clone();
    let take = move || {
        sys::usage::yield_to_others();
        let mut pause = FIRST_PAUSE;
        loop {
            let found = sample::look(&mut receivers, &mut census, &common);
            if !found.more {
                return Taken { census, cpu: sys::usage::thread() };
            }
            pause = (2 * pause).min(if found.much { PAUSE } else { LONGEST_PAUSE });
            std::thread::park_timeout(pause);
        }
    };
    std::thread::Builder::new().name("census".into()).spawn(take).map_err(|e| {
        EngineError::new(
            ErrorKind::Environment,
            "The thread that measures the content cannot be started",
            "raise the limit of threads (ulimit -u)",
        )
        .because(e)
    })
}
