//! The host's end of the link: a thread that reads frames, notes what concerns the lab, and hands the rest on.

use std::os::unix::net::UnixStream;
use std::sync::mpsc::{Receiver, SyncSender, sync_channel};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use super::handle::Handle;
use crate::facts::{DiskFacts, LabFacts, Timings};
use crate::guest::Up;
use crate::link::{Frame, FrameKind, read_frame};
use crate::{Error, Result};

/// Number of frames that may wait for the caller before the guest has to wait.
const WAITING: usize = 64;

/// Shortest session after which the clocks are compared.
const COMPARABLE: Duration = Duration::from_secs(1);

/// Knowledge about the guest, gathered by the thread that reads the link.
#[derive(Debug)]
pub(super) struct State {
    began: Instant,
    facts: Mutex<LabFacts>,
    outcome: Mutex<Outcome>,
    /// The time when the guest was up, by the host's clock and by the guest's (in nanoseconds).
    up: Mutex<Option<(Instant, u64)>>,
}

/// Reports about the end of the guest: from the session, the disks, the link and the kernel.
#[derive(Clone, Debug, Default)]
pub(super) struct Outcome {
    pub(super) done: bool,
    pub(super) failed: Option<String>,
    pub(super) disk_lost: Option<String>,
    pub(super) link_error: Option<String>,
    kernel_log: Option<String>,
}

impl State {
    pub(super) fn new(began: Instant, facts: LabFacts) -> Self {
        Self { began, facts: Mutex::new(facts), outcome: Mutex::default(), up: Mutex::default() }
    }

    pub(super) fn facts(&self) -> LabFacts {
        lock(&self.facts).clone()
    }

    pub(super) fn outcome(&self) -> Outcome {
        lock(&self.outcome).clone()
    }

    /// Notes that a disk is not served any more, and why.
    pub(super) fn disk_lost(&self, why: String) {
        lock(&self.outcome).disk_lost.get_or_insert(why);
    }

    pub(super) fn kernel_log(&self) -> Option<String> {
        lock(&self.outcome).kernel_log.clone()
    }

    pub(super) fn since_start(&self) -> Duration {
        self.began.elapsed()
    }

    /// Notes how a modelled disk was served.
    pub(super) fn disk_served(&self, served: DiskFacts) {
        let mut facts = lock(&self.facts);
        if let Some(disk) = facts.disks.iter_mut().find(|disk| disk.role == served.role) {
            *disk = served;
        }
    }

    /// Sets one moment to now.
    pub(super) fn mark(&self, moment: impl FnOnce(&mut Timings) -> &mut Option<f64>) {
        let ms = self.began.elapsed().as_secs_f64() * 1e3;
        *moment(&mut lock(&self.facts).timings) = Some(ms);
    }

    /// Notes how fast the guest's clock ran, from its readings at both ends of the session.
    fn compare_clocks(&self, done: &[u8]) {
        let (Some((host, guest)), Ok(done)) = (*lock(&self.up), <[u8; 8]>::try_from(done)) else {
            return;
        };
        let (host, guest) = (host.elapsed(), u64::from_le_bytes(done).saturating_sub(guest));
        // In a shorter session the travel time of the frames is too large a part of it.
        if host >= COMPARABLE {
            let rate = guest as f64 / 1e9 / host.as_secs_f64();
            lock(&self.facts).guest_clock_rate = Some(rate);
        }
    }

    fn note(&self, frame: &Frame) {
        let text = || String::from_utf8_lossy(&frame.payload).into_owned();
        match frame.kind {
            FrameKind::Up => {
                self.mark(|timings| &mut timings.up_ms);
                if let Ok(up) = serde_json::from_slice::<Up>(&frame.payload) {
                    *lock(&self.up) = Some((Instant::now(), up.clock_ns));
                    let mut facts = lock(&self.facts);
                    facts.kernel = up.kernel;
                    facts.timings.guest_kernel_ms = Some(up.kernel_ms);
                    facts.timings.guest_setup_ms = Some(up.setup_ms);
                }
            }
            FrameKind::FirstStep => self.mark(|timings| &mut timings.first_step_ms),
            FrameKind::Done => {
                lock(&self.outcome).done = true;
                self.compare_clocks(&frame.payload);
            }
            // The first report is nearest to the cause.
            FrameKind::Failed => drop(lock(&self.outcome).failed.get_or_insert_with(text)),
            FrameKind::KernelLog => lock(&self.outcome).kernel_log = Some(text()),
            _ => {}
        }
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Starts the reading thread; the receiver is disconnected when the link is at its end.
pub(super) fn listen(
    link: UnixStream,
    handle: Handle,
    state: Arc<State>,
) -> Result<Receiver<Frame>> {
    let (give, take) = sync_channel(WAITING);
    std::thread::Builder::new()
        .name("link".into())
        .spawn(move || read_all(link, &handle, &state, &give))
        .map_err(Error::system("cannot start a thread"))?;
    Ok(take)
}

fn read_all(mut link: UnixStream, handle: &Handle, state: &State, give: &SyncSender<Frame>) {
    loop {
        match read_frame(&mut link) {
            Ok(Some(frame)) => {
                state.note(&frame);
                if matches!(frame.kind, FrameKind::Done | FrameKind::Failed) {
                    // A guest that is already gone needs no confirmation.
                    let _ = handle.heard();
                }
                if frame.kind != FrameKind::KernelLog && give.send(frame).is_err() {
                    // Nobody listens any more: the machine is being dropped.
                    return;
                }
            }
            Ok(None) => return,
            Err(error) => {
                lock(&state.outcome).link_error = Some(sys::causes::chain(&error));
                return;
            }
        }
    }
}
