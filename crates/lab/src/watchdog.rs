//! The thread that starts QEMU, lives as long as it does, and kills it at the deadline whatever the others do.

use std::os::fd::OwnedFd;
use std::process::{Child, Command, ExitStatus};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, Signal};

use crate::{Error, Result};

/// A running child and the thread that keeps it.
#[derive(Debug)]
pub(crate) struct Watchdog {
    child: Arc<OwnedFd>,
    exit: Receiver<Exit>,
    /// Tells whether it is being killed because its deadline has passed; the system may take long to reap it.
    late: Arc<AtomicBool>,
    thread: Option<JoinHandle<()>>,
}

/// The end of the child, and whether its deadline caused it.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Exit {
    pub(crate) status: Option<ExitStatus>,
    /// It was killed at its deadline.
    pub(crate) at_deadline: bool,
}

/// Kills the child; may be cloned and used from any thread, also when the child is gone.
#[derive(Clone, Debug)]
pub(crate) struct Killer(Arc<OwnedFd>);

impl Killer {
    pub(crate) fn kill(&self) {
        // An error means that it is gone already.
        let _ = rustix::process::pidfd_send_signal(&*self.0, Signal::KILL);
    }
}

impl Watchdog {
    /// Starts `command` (tied to the new thread by `sys::lifeline`), to be killed at `deadline`.
    pub(crate) fn start(mut command: Command, deadline: Instant) -> Result<Self> {
        let (give, take) = channel();
        let (give_exit, exit) = channel();
        let late = Arc::new(AtomicBool::new(false));
        let passed = Arc::clone(&late);
        let keep = move || {
            let started = start(&mut command);
            drop(command);
            match started {
                Err(error) => drop(give.send(Err(error))),
                Ok((mut child, pidfd)) => {
                    let pidfd = Arc::new(pidfd);
                    let _ = give.send(Ok(Arc::clone(&pidfd)));
                    wait(&mut child, &pidfd, (deadline, &passed), &give_exit);
                }
            }
        };
        let thread = std::thread::Builder::new()
            .name("keeper".into())
            .spawn(keep)
            .map_err(Error::system("cannot start a thread"))?;
        let gone = |_| Error::Qemu { why: "the thread that starts it died".into() };
        Ok(Self { child: take.recv().map_err(gone)??, exit, late, thread: Some(thread) })
    }

    /// Tells whether the child was killed at its deadline, also while it is not reaped yet.
    pub(crate) fn is_late(&self) -> bool {
        self.late.load(Ordering::Acquire)
    }

    /// Returns a handle that kills the child.
    pub(crate) fn killer(&self) -> Killer {
        Killer(Arc::clone(&self.child))
    }

    /// Waits for the child's end; `None` when it still runs after `patience`.
    pub(crate) fn wait(&self, patience: Duration) -> Option<Exit> {
        match self.exit.recv_timeout(patience) {
            Ok(exit) => Some(exit),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Exit { status: None, at_deadline: false }),
        }
    }
}

impl Drop for Watchdog {
    fn drop(&mut self) {
        self.killer().kill();
        if let Some(thread) = self.thread.take() {
            // It waits for the child, which is dead or dying.
            let _ = thread.join();
        }
    }
}

fn start(command: &mut Command) -> Result<(Child, OwnedFd)> {
    let program = command.get_program().to_owned();
    let mut child = command.spawn().map_err(Error::io("cannot start", program))?;
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pidfd = pid.map_or(Err(rustix::io::Errno::SRCH), |pid| {
        rustix::process::pidfd_open(pid, PidfdFlags::empty())
    });
    match pidfd {
        Ok(pidfd) => Ok((child, pidfd)),
        Err(errno) => {
            let _ = child.kill();
            let _ = child.wait();
            Err(Error::system("cannot watch QEMU (a kernel older than 5.3?)")(errno))
        }
    }
}

fn wait(
    child: &mut Child,
    pidfd: &OwnedFd,
    (deadline, late): (Instant, &AtomicBool),
    give: &Sender<Exit>,
) {
    let mut at_deadline = false;
    loop {
        let left = deadline.saturating_duration_since(Instant::now());
        if left.is_zero() {
            at_deadline = true;
            break;
        }
        let timeout = Timespec {
            tv_sec: i64::try_from(left.as_secs()).unwrap_or(i64::MAX),
            tv_nsec: i64::from(left.subsec_nanos()),
        };
        match poll(&mut [PollFd::new(pidfd, PollFlags::IN)], Some(&timeout)) {
            Ok(0) | Err(rustix::io::Errno::INTR) => {}
            Ok(_) => break,
            // A child that cannot be watched is killed, so that it does not run for ever.
            Err(_) => {
                at_deadline = true;
                break;
            }
        }
    }
    if at_deadline {
        late.store(true, Ordering::Release);
        let _ = rustix::process::pidfd_send_signal(pidfd, Signal::KILL);
    }
    let status = child.wait().ok();
    let _ = give.send(Exit { status, at_deadline });
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sleeper(seconds: &str) -> Command {
        let mut command = Command::new("sleep");
        command.arg(seconds);
        sys::lifeline::tie(&mut command, Vec::new());
        command
    }

    #[test]
    fn a_child_is_killed_at_its_deadline() {
        let began = Instant::now();
        let watchdog = Watchdog::start(sleeper("60"), began + Duration::from_millis(200)).unwrap();
        let exit = watchdog.wait(Duration::from_secs(10)).unwrap();
        assert!(exit.at_deadline && !exit.status.unwrap().success() && watchdog.is_late());
        assert!(began.elapsed() >= Duration::from_millis(200));
    }

    #[test]
    fn a_child_that_ends_by_itself_is_not_late() {
        let watchdog =
            Watchdog::start(sleeper("0"), Instant::now() + Duration::from_secs(60)).unwrap();
        let exit = watchdog.wait(Duration::from_secs(10)).unwrap();
        assert!(!exit.at_deadline && exit.status.unwrap().success() && !watchdog.is_late());
    }

    #[test]
    fn dropping_the_keeper_ends_the_child() {
        let watchdog =
            Watchdog::start(sleeper("60"), Instant::now() + Duration::from_secs(60)).unwrap();
        let killer = watchdog.killer();
        drop(watchdog);
        let signalled = rustix::process::pidfd_send_signal(&*killer.0, Signal::KILL);
        assert_eq!(signalled, Err(rustix::io::Errno::SRCH));
    }

    #[test]
    fn a_program_that_is_not_there_is_named() {
        let mut command = Command::new("/nowhere/qemu");
        sys::lifeline::tie(&mut command, Vec::new());
        let error = Watchdog::start(command, Instant::now() + Duration::from_secs(1)).unwrap_err();
        assert!(error.to_string().contains("/nowhere/qemu"), "{error}");
    }
}
