//! A running machine, seen from the host.

mod handle;
mod link;
mod start;

use std::fs::File;
use std::os::unix::net::UnixStream;
use std::os::unix::process::ExitStatusExt;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError};
use std::time::{Duration, Instant};

pub use handle::Handle;
use link::State;

use crate::Result;
use crate::end::{End, Evidence, judge, tail};
use crate::facts::LabFacts;
use crate::link::Frame;
use crate::modelled::{Server, Trace};
use crate::watchdog::{Exit, Watchdog};

/// Time that QEMU gets to end after the guest has reported that it is done.
const POWER_OFF: Duration = Duration::from_secs(15);
/// Time that QEMU gets to end after the link broke without a word.
const AFTER_LOSS: Duration = Duration::from_secs(3);
/// Interval at which it is checked whether modelled disks are still served.
const DISK_CHECK: Duration = Duration::from_secs(1);
/// Time that the link gets to end after the process that served a disk has ended.
const AFTER_DISK: Duration = Duration::from_millis(500);

/// The outcome of [`Vm::recv`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Received {
    /// A frame of the guest: [`crate::FrameKind::Up`], `FirstStep`, `Payload`, `Done` or `Failed`.
    Frame(Frame),
    /// Nothing came in time.
    Nothing,
    /// The machine has ended, and every frame that it sent has been given out.
    Ended(End),
}

/// A running machine. It is killed at its deadline, when this is dropped, and when this process dies.
#[derive(Debug)]
pub struct Vm {
    // Dropped first: the guest is gone before anything it uses.
    watchdog: Watchdog,
    /// The processes that serve modelled disks; they end when the machine does.
    servers: Vec<Server>,
    /// The reason why a disk is no longer served, and the time at which that was noticed.
    lost: Option<(String, Instant)>,
    traces: Vec<Trace>,
    handle: Handle,
    frames: Receiver<Frame>,
    state: Arc<State>,
    shell: Option<UnixStream>,
    console: File,
    qemu_said: File,
    deadline: Duration,
    end: Option<End>,
    /// As long as this is open, the image is not removed.
    _image: File,
}

impl Vm {
    /// The next frame, waiting at most `timeout`.
    pub fn recv(&mut self, timeout: Duration) -> Received {
        if let Some(end) = &self.end {
            return Received::Ended(end.clone());
        }
        let until = Instant::now() + timeout;
        loop {
            let left = until.saturating_duration_since(Instant::now());
            self.look_for_lost_disks();
            let slice = match (&self.lost, self.servers.is_empty()) {
                // Where QEMU itself has ended, the link is at its end at once.
                (Some((_, since)), _) => AFTER_DISK.saturating_sub(since.elapsed()),
                (None, true) => left,
                (None, false) => left.min(DISK_CHECK),
            };
            match self.frames.recv_timeout(slice) {
                Ok(frame) => return Received::Frame(frame),
                Err(RecvTimeoutError::Disconnected) => return Received::Ended(self.conclude()),
                Err(RecvTimeoutError::Timeout) => {}
            }
            if let Some((why, _)) = self.lost.take().filter(|_| !self.state.outcome().done) {
                self.state.disk_lost(why);
                self.watchdog.killer().kill();
                return Received::Ended(self.conclude());
            }
            if left <= slice {
                return Received::Nothing;
            }
        }
    }

    /// Checks whether all disks are still served. I/O to a disk that is not served never ends, and the guest would not end either, although it may go
    /// on sending frames.
    fn look_for_lost_disks(&mut self) {
        if self.lost.is_none() {
            let why = self.servers.iter_mut().find_map(Server::lost);
            self.lost = why.map(|why| (why, Instant::now()));
        }
    }

    /// Waits for the end; passes frames that arrive until then to `frame`.
    pub fn wait(&mut self, frame: &mut dyn FnMut(Frame)) -> End {
        loop {
            match self.recv(Duration::from_secs(3600)) {
                Received::Frame(received) => frame(received),
                Received::Nothing => {}
                Received::Ended(end) => return end,
            }
        }
    }

    /// Returns a handle that talks to the guest or kills it, for other threads.
    pub fn handle(&self) -> Handle {
        self.handle.clone()
    }

    /// Sends opaque bytes to the session.
    pub fn send(&self, payload: &[u8]) -> Result<()> {
        self.handle.send(payload)
    }

    /// Asks the session to stop, as Ctrl-C would; a second time means at once.
    pub fn interrupt(&self) -> Result<()> {
        self.handle.interrupt()
    }

    /// Kills the machine.
    pub fn kill(&self) {
        self.handle.kill();
    }

    /// Returns what is known about the machine; complete when the first step has begun.
    pub fn facts(&self) -> LabFacts {
        self.state.facts()
    }

    /// The guest's kernel log, which it sends at its end.
    pub fn kernel_log(&self) -> Option<String> {
        self.state.kernel_log()
    }

    /// The end of the guest's console so far.
    pub fn console_tail(&self) -> String {
        tail(&self.console)
    }

    /// Returns the requests that modelled disks got, once the machine has ended.
    pub fn take_traces(&mut self) -> Vec<Trace> {
        std::mem::take(&mut self.traces)
    }

    /// The shell's end of the console, once.
    pub(crate) fn take_shell(&mut self) -> Option<UnixStream> {
        self.shell.take()
    }

    /// Waits for the end of QEMU after that of the link, and judges both.
    fn conclude(&mut self) -> End {
        let outcome = self.state.outcome();
        let expected = outcome.done || outcome.failed.is_some() || outcome.disk_lost.is_some();
        let patience = if expected { POWER_OFF } else { AFTER_LOSS };
        let exit = self.watchdog.wait(patience);
        let exit_or_killed = exit.or_else(|| {
            self.watchdog.killer().kill();
            self.watchdog.wait(POWER_OFF)
        });
        for server in std::mem::take(&mut self.servers) {
            let (facts, trace) = server.finish();
            self.state.disk_served(facts);
            self.traces.extend(trace);
        }
        let console = self.console_tail();
        let qemu_said = tail(&self.qemu_said);
        let at_deadline =
            exit_or_killed.is_some_and(|exit| exit.at_deadline) || self.watchdog.is_late();
        let status = exit.and_then(|Exit { status, .. }| status);
        let ending = judge(&Evidence {
            done: outcome.done,
            failed: outcome.failed,
            disk_lost: outcome.disk_lost,
            link_error: outcome.link_error,
            by_itself: exit.is_some(),
            cleanly: status.is_some_and(|status| status.success()),
            signal: status.and_then(|status| status.signal()),
            killed: self.handle.has_killed(),
            deadline: at_deadline.then_some(self.deadline),
            console: &console,
            qemu_said: &qemu_said,
        });
        tracing::debug!(?ending, ?status, "QEMU has ended");
        let end =
            End { ending, console_tail: console, qemu_said, ran_for: self.state.since_start() };
        self.end = Some(end.clone());
        end
    }
}
