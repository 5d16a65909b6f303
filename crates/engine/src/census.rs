//! The census thread: takes the sample of what workers write out of their queues and counts it.

use std::time::Duration;

use reduce::Census;

use crate::error::{EngineError, ErrorKind};
use crate::sample::{self, SampleReceiver, SharedSampling};

/// Size of the sample: blocks, copies included, where the amount is known beforehand; distinct contents where it is not. It keeps the error
/// of the duplicate share near 0.2 points.
pub(crate) const SAMPLE: u64 = 32_768;

/// Number of doublings by which the sample may be larger where shares are of live data (the contents that the addresses hold): after ten overwrites
/// live data are a tenth of the contents written.
pub(crate) const AHEAD: u32 = 2;

/// Capacity of all queues together: names (48 bytes each), and bytes of blocks whose size is to be taken; each worker gets at least one of
/// both. The memory is touched when a load starts: each page costs as much as a few writes.
pub(crate) const QUEUED_NAMES: usize = 16_384;
pub(crate) const QUEUED_BYTES: usize = 4 << 20;

/// Sleep between two polls of the queues; longer when little was found. Each poll wakes a CPU and gives the scheduler a reason to move
/// threads of the load. Polls are frequent soon after the start, since every block is queued then.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(80);

/// The results of the thread, when all workers have ended.
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
