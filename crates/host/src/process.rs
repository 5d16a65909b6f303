//! Processes that live beside a stack until they are stopped.

use std::io;
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};

/// How long a process may take to end once it was asked to; then it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// A process in a group of its own; it is killed when this is dropped.
#[derive(Debug)]
pub(crate) struct Process(Child);

impl Process {
    /// Starts a process without input or output.
    pub(crate) fn start(argv: &[String]) -> io::Result<Self> {
        let (program, arguments) =
            argv.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
        let mut command = Command::new(program);
        command.args(arguments).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
        Ok(Self(command.process_group(0).spawn()?))
    }

    /// Asks it to end, kills it when it does not, and waits for it.
    pub(crate) fn stop(mut self) -> io::Result<()> {
        self.signal(Signal::TERM);
        let asked = Instant::now();
        while asked.elapsed() < PATIENCE {
            if self.0.try_wait()?.is_some() {
                return Ok(());
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.signal(Signal::KILL);
        self.0.wait().map(drop)
    }

    fn signal(&self, signal: Signal) {
        if let Some(group) = i32::try_from(self.0.id()).ok().and_then(Pid::from_raw) {
            // Fails only when nobody is left in the group.
            let _ = kill_process_group(group, signal);
        }
    }
}

impl Drop for Process {
    fn drop(&mut self) {
        if matches!(self.0.try_wait(), Ok(None)) {
            self.signal(Signal::KILL);
            let _ = self.0.wait();
        }
    }
}
