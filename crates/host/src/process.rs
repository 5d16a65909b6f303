//! Processes that run together with a stack until they are stopped.

use std::io;
use std::process::Stdio;
use std::time::{Duration, Instant};

use sys::keeper::{self, Bound, Kept};

/// Longest time that a process may take to end once it was asked to; then it is killed.
const PATIENCE: Duration = Duration::from_secs(5);

/// A process in a separate process group; dropping this value kills it and every process that it started.
#[derive(Debug)]
pub(crate) struct Process(Kept);

impl Process {
    /// Starts a process without input or output.
    pub(crate) fn start(argv: &[String]) -> io::Result<Self> {
        if argv.is_empty() {
            return Err(io::Error::from(io::ErrorKind::InvalidInput));
        }
        let mut command = keeper::command(argv, Bound::Tied);
        command.stdout(Stdio::null()).stderr(Stdio::null());
        keeper::start(command).map(Self)
    }

    /// Asks it to end, kills it when it does not, and waits for it.
    pub(crate) fn stop(mut self) -> io::Result<()> {
        self.0.ask_to_end();
        let since = Instant::now();
        while !self.0.has_ended()? {
            if since.elapsed() >= PATIENCE {
                self.0.kill();
                break;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        self.0.finish().map(drop)
    }
}
