//! Programs that are supervised: everything that they started ends with them.
//!
//! A program may start others in separate sessions and groups (`setsid`, a daemon); these outlive it and cannot be found by its process number. So
//! each program gets a keeper, a small process of this same executable that creates the program as its child, and that becomes the parent of the
//! child's orphans (`PR_SET_CHILD_SUBREAPER`). When the program has ended, or is to be killed, the keeper kills all processes that remain, level by
//! level, until none is left, and reports what they were. It needs no privilege and no cgroup, so it works everywhere alike. Processes that another
//! service starts on request (`systemd-run`, `at`) are not found.
//!
//! There is another reason to keep the keeper small: the kernel keeps the peak memory of a process across `exec` (`exec_mmap` in `fs/exec.c` folds it
//! into `maxrss`), and before `exec` that was a copy of the parent after `fork`, or the parent's own memory after `vfork`. So a small program started
//! directly would show the peak of a large parent; started by the keeper it shows its own.
//!
//! When the process that it works for dies, the keeper of a [`Bound::Tied`] program kills the program, and the keeper of a [`Bound::Free`] one lets
//! it finish its work first: a volume manager that dies half-way leaves devices suspended.

mod process;
mod words;

use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{Child, ChildStderr, ChildStdout, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

pub use words::Bound;

use crate::reap::Reaped;
use process::NAME;
use words::Saying;

/// A running program with its keeper. Dropping it kills both, and everything that the program started.
#[derive(Debug)]
pub struct Kept {
    keeper: Child,
    link: UnixStream,
    heard: Vec<u8>,
    pid: Option<i32>,
    failed: Option<i32>,
    ready: bool,
    closed: bool,
    whole: bool,
    end: End,
    /// The time at which it began, before it became the program.
    pub at: Instant,
    /// Its standard output, if that is piped.
    pub stdout: Option<ChildStdout>,
    /// Its standard error, if that is piped.
    pub stderr: Option<ChildStderr>,
}

/// The end of a kept program.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct End {
    /// Its exit status and the resources that it used; `None` if it could not even be killed.
    pub reaped: Option<Reaped>,
    /// Time from its start to its own end.
    pub elapsed: Duration,
    /// Command lines of processes that it had started, that were still running after it, and that were killed.
    pub killed: Vec<String>,
    /// Processes that could not be killed.
    pub left: Vec<String>,
}

/// A command that starts `argv`, for [`start`]; directory, environment and outputs may still be set.
pub fn command(argv: &[String], bound: Bound) -> Command {
    let mut command = Command::new("/proc/self/exe");
    // A separate group, since Ctrl-C on the terminal is meant for this program, which finishes in order.
    command.arg0(NAME.to_string_lossy().as_ref()).arg(bound.name()).args(argv).process_group(0);
    command
}

/// Starts the program of a [`command`], in a separate process group and without standard input.
///
/// # Errors
/// Fails if it cannot be started, for instance because there is no such program.
pub fn start(mut command: Command) -> io::Result<Kept> {
    let (link, theirs) = UnixStream::pair()?;
    let mut keeper = command.stdin(Stdio::from(OwnedFd::from(theirs))).spawn()?;
    // The command holds the keeper's end of the link, which only the keeper may have.
    drop(command);
    let (stdout, stderr) = (keeper.stdout.take(), keeper.stderr.take());
    let mut kept = Kept {
        keeper,
        link,
        heard: Vec::new(),
        pid: None,
        failed: None,
        ready: false,
        closed: false,
        whole: false,
        end: End::default(),
        at: Instant::now(),
        stdout,
        stderr,
    };
    kept.hear_until(|kept| kept.ready)?;
    kept.at = Instant::now();
    kept.link.write_all(&[0])?;
    kept.hear_until(|kept| kept.pid.is_some() || kept.failed.is_some())?;
    match kept.failed {
        None => Ok(kept),
        Some(error) => Err(io::Error::from_raw_os_error(error)),
    }
}

impl Kept {
    /// The number of its process, and of the group that it leads.
    pub fn pid(&self) -> u32 {
        self.pid.and_then(|pid| u32::try_from(pid).ok()).unwrap_or(0)
    }

    /// A descriptor that becomes readable once the program has ended.
    pub fn fd(&self) -> BorrowedFd<'_> {
        self.link.as_fd()
    }

    /// Tells whether the program or its keeper has ended; processes that the program started may still be running.
    ///
    /// # Errors
    /// Fails if nothing can be read from the keeper.
    pub fn has_ended(&mut self) -> io::Result<bool> {
        self.link.set_nonblocking(true)?;
        while !self.closed {
            match self.hear() {
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => break,
                heard => heard?,
            }
        }
        self.link.set_nonblocking(false)?;
        Ok(self.closed || self.end.reaped.is_some())
    }

    /// Asks the program and its group to end.
    pub fn ask_to_end(&self) {
        if let Some(group) = self.pid.and_then(Pid::from_raw).filter(|_| self.end.reaped.is_none())
        {
            // Fails only when nobody is left in the group.
            let _ = kill_process_group(group, Signal::TERM);
        }
    }

    /// Kills the program and everything that it started.
    pub fn kill(&mut self) {
        // A keeper that is gone receives nothing; `finish` reports that.
        let _ = self.link.write_all(&[0]);
    }

    /// Waits until the program has ended, together with everything that it started.
    ///
    /// # Errors
    /// Fails if the keeper was killed, or the program could not be killed.
    pub fn finish(mut self) -> io::Result<End> {
        self.wait()?;
        if self.whole && self.end.reaped.is_some() {
            return Ok(std::mem::take(&mut self.end));
        }
        Err(io::Error::other(match self.whole {
            true => format!("these processes could not be killed: {}", self.end.left.join("; ")),
            false => {
                "the process that looks after it was killed: what it started may still run (ps -ef)"
                    .into()
            }
        }))
    }

    fn wait(&mut self) -> io::Result<()> {
        while !self.closed {
            self.hear()?;
        }
        self.keeper.wait().map(drop)
    }

    fn hear_until(&mut self, enough: impl Fn(&Self) -> bool) -> io::Result<()> {
        while !enough(self) {
            if self.closed {
                return Err(io::Error::other("the process that was to start it is gone"));
            }
            self.hear()?;
        }
        Ok(())
    }

    /// Reads the keeper's next messages.
    fn hear(&mut self) -> io::Result<()> {
        let mut bytes = [0; 4096];
        let count = match self.link.read(&mut bytes) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => return Ok(()),
            // The keeper was killed before it had read everything that it was sent.
            Err(error) if error.kind() == io::ErrorKind::ConnectionReset => 0,
            count => count?,
        };
        self.closed = count == 0;
        self.heard.extend(&bytes[..count]);
        while let Some(end) = self.heard.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.heard.drain(..=end).collect();
            match Saying::read(&String::from_utf8_lossy(&line[..end])) {
                Some(Saying::Ready) => self.ready = true,
                Some(Saying::Began(pid)) => self.pid = Some(pid),
                Some(Saying::Failed(error)) => self.failed = Some(error),
                Some(Saying::Ended { reaped, elapsed }) => {
                    (self.end.reaped, self.end.elapsed) = (Some(reaped), elapsed);
                }
                Some(Saying::Killed(name)) => self.end.killed.push(name),
                Some(Saying::Left(name)) => self.end.left.push(name),
                Some(Saying::Done) => self.whole = true,
                None => {}
            }
        }
        Ok(())
    }
}

impl Drop for Kept {
    fn drop(&mut self) {
        if !self.closed {
            self.kill();
            // There is nobody to report an error to.
            let _ = self.wait();
        } else {
            let _ = self.keeper.wait();
        }
    }
}

#[cfg(test)]
mod tests;
