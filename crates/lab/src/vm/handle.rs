//! The handle by which other threads talk to a running machine, or kill it.

use std::os::unix::net::UnixStream;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use crate::Result;
use crate::link::{FrameKind, write_frame};
use crate::watchdog::Killer;

/// Talks to the guest or kills it; may be cloned and used from any thread, also after the machine's end.
#[derive(Clone, Debug)]
pub struct Handle {
    link: Arc<Mutex<UnixStream>>,
    killer: Killer,
    killed: Arc<AtomicBool>,
}

impl Handle {
    pub(super) fn new(link: UnixStream, killer: Killer) -> Self {
        Self { link: Arc::new(Mutex::new(link)), killer, killed: Arc::default() }
    }

    /// Sends opaque bytes to the session; waits while the guest does not take them.
    pub fn send(&self, payload: &[u8]) -> Result<()> {
        self.frame(FrameKind::Payload, payload)
    }

    /// Asks the session to stop, as Ctrl-C would; a second time means at once.
    pub fn interrupt(&self) -> Result<()> {
        self.frame(FrameKind::Interrupt, &[])
    }

    /// Says that no more payload will come.
    pub fn finish(&self) -> Result<()> {
        self.frame(FrameKind::Finish, &[])
    }

    /// Kills the machine.
    pub fn kill(&self) {
        self.killed.store(true, Ordering::Release);
        self.killer.kill();
    }

    pub(super) fn greet(&self) -> Result<()> {
        self.frame(FrameKind::Hello, &[])
    }

    /// Confirms that the guest's last frame has come.
    pub(super) fn heard(&self) -> Result<()> {
        self.frame(FrameKind::Heard, &[])
    }

    pub(super) fn has_killed(&self) -> bool {
        self.killed.load(Ordering::Acquire)
    }

    fn frame(&self, kind: FrameKind, payload: &[u8]) -> Result<()> {
        let mut link = self.link.lock().unwrap_or_else(PoisonError::into_inner);
        write_frame(&mut *link, kind, payload)
    }
}
