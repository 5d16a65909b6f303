//! The census thread: takes the sampled blocks from the workers' queues and counts them.

use std::time::Duration;

use reduce::Census;

use crate::error::{EngineError, ErrorKind};
use crate::sample::{self, SampleReceiver, SharedSampling};

/// Size of the sample: in blocks (duplicates included) if the load's amount is known beforehand, else in distinct contents. It keeps the error of the
/// duplicate share near 0.2 points.
pub(crate) const SAMPLE: u64 = 32_768;

/// log2 of the factor by which the sample is enlarged if shares refer to live data (the contents of the addresses at the end): after ten overwrites
/// live data are a tenth of the contents written.
pub(crate) const AHEAD: u32 = 2;

/// Capacity of all queues together: names (48 bytes each), and bytes of blocks whose LZ4 size is measured; each worker gets a minimum of both. The
/// memory is touched when a load starts: each page costs as much as a few writes.
pub(crate) const QUEUED_NAMES: usize = 16_384;
pub(crate) const QUEUED_BYTES: usize = 4 << 20;

/// Sleep between two polls of the queues; longer when little was found. Each poll wakes a CPU and gives the scheduler a reason to move
/// threads of the load. Polls are frequent soon after the start, since every block is queued then.
const FIRST_PAUSE: Duration = Duration::from_millis(1);
const PAUSE: Duration = Duration::from_millis(5);
const LONGEST_PAUSE: Duration = Duration::from_millis(80);

/// Result of the thread, once all workers have ended.
pub(crate) struct Taken {
    pub census: Census,
    /// CPU time that it took, as (user, kernel).
    pub cpu: (Duration, Duration),
}

/// Starts the thread that feeds `census` from the queues of all workers.
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
            let found = sample::feed_census(&mut receivers, &mut census, &common);
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
