//! A program as a child, measured from outside.

use std::ffi::OsString;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use rustix::event::{PollFd, PollFlags, Timespec, poll};
use rustix::process::{Pid, PidfdFlags, pidfd_open};
use sys::interrupt::{Interrupt, Level};

use crate::BenchError;
use crate::cpu::{CpuReading, CpuUse};

/// Time between two looks at the interrupt. Each look wakes a CPU that the child may just have left idle, and lets the kernel
/// move the child's threads there, so looks are rare.
const POLL_INTERVAL: Timespec = Timespec { tv_sec: 0, tv_nsec: 500_000_000 };
/// Time between two checks whether the child has ended, where the kernel does not report it.
const POLL: Duration = Duration::from_millis(20);
/// Length of the end of a failed program's output that is kept, bytes.
const SAID: usize = 800;

/// A command line, as a person would type it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Line {
    /// The program.
    pub program: PathBuf,
    /// Its arguments.
    pub arguments: Vec<String>,
}

impl Line {
    /// `program` with `arguments`.
    pub fn new(program: &Path, arguments: Vec<String>) -> Self {
        Self { program: program.to_owned(), arguments }
    }

    /// The same with all its threads on CPU number `cpu`.
    pub fn held_on(self, cpu: usize) -> Self {
        let held = ["-c".into(), cpu.to_string(), self.program.display().to_string()];
        Self::new(Path::new("taskset"), held.into_iter().chain(self.arguments).collect())
    }
}

impl std::fmt::Display for Line {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{}", self.program.display())?;
        for argument in &self.arguments {
            let plain = |c: char| c.is_ascii_alphanumeric() || "-_=./:,%+@".contains(c);
            if argument.chars().all(plain) {
                write!(f, " {argument}")?;
            } else {
                write!(f, " '{}'", argument.replace('\'', r"'\''"))?;
            }
        }
        Ok(())
    }
}

/// The output of a program, with its run time and CPU time.
#[derive(Debug, Clone)]
pub struct Ran {
    /// Standard output.
    pub stdout: String,
    /// Time from start to end.
    pub wall: Duration,
    /// CPU time, the program's own and the rest of the machine's.
    pub used: CpuUse,
}

/// Runs `line` to its end. It has no standard input, dies with this thread, and is killed when `interrupt` asks for anything.
///
/// No other child of this process may end while it runs: its CPU time would be taken for this one's.
pub fn run(line: &Line, interrupt: &Interrupt) -> Result<Ran, BenchError> {
    let mut command = Command::new(&line.program);
    command.env_remove("FATHOM_LOG");
    let arguments = line.arguments.iter().map(OsString::from);
    command.args(arguments).stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped());
    command.env("LC_ALL", "C");
    sys::lifeline::tie(&mut command, Vec::new());
    let (before, start) = (CpuReading::now(), Instant::now());
    let mut child = command
        .spawn()
        .map_err(|source| BenchError::Start { program: line.program.clone(), source })?;
    let stdout = reader(child.stdout.take());
    let stderr = reader(child.stderr.take());
    let status = wait(&mut child, interrupt);
    let wall = start.elapsed();
    let used = before.until(CpuReading::now());
    let stdout = stdout.join().unwrap_or_default();
    let stderr = stderr.join().unwrap_or_default();
    let status = status
        .map_err(|source| BenchError::Start { program: line.program.clone(), source })?
        .ok_or(BenchError::Interrupted)?;
    if status.success() {
        return Ok(Ran { stdout, wall, used });
    }
    let output = if stderr.trim().is_empty() { &stdout } else { &stderr };
    Err(BenchError::Failed {
        line: line.to_string(),
        status: status.to_string(),
        output: tail(output.trim()).to_owned(),
    })
}

/// Waits for the end of `child`; `None` when the interrupt ended it.
fn wait(
    child: &mut Child,
    interrupt: &Interrupt,
) -> std::io::Result<Option<std::process::ExitStatus>> {
    let pid = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    let pidfd = pid.and_then(|pid| pidfd_open(pid, PidfdFlags::empty()).ok());
    loop {
        if let Some(status) = child.try_wait()? {
            // Ctrl-C reaches the child, too, which may end first.
            let stopped = !status.success() && interrupt.level() != Level::None;
            return Ok((!stopped).then_some(status));
        }
        if interrupt.level() != Level::None {
            child.kill()?;
            child.wait()?;
            return Ok(None);
        }
        match &pidfd {
            // An error ends the wait early, which does no harm.
            Some(fd) => drop(poll(&mut [PollFd::new(fd, PollFlags::IN)], Some(&POLL_INTERVAL))),
            None => std::thread::sleep(POLL),
        }
    }
}

fn reader(pipe: Option<impl Read + Send + 'static>) -> JoinHandle<String> {
    std::thread::spawn(move || {
        let mut bytes = Vec::new();
        if let Some(mut pipe) = pipe {
            // A broken pipe yields the output up to then; parsing it shows what is missing.
            let _ = pipe.read_to_end(&mut bytes);
        }
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

fn tail(text: &str) -> &str {
    let mut from = text.len().saturating_sub(SAID);
    while !text.is_char_boundary(from) {
        from += 1;
    }
    &text[from..]
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str) -> Line {
        Line::new(Path::new("sh"), vec!["-c".into(), script.into()])
    }

    #[test]
    fn what_a_child_prints_and_costs_is_known_and_a_failure_says_why() {
        let ran = run(&sh("echo out; echo err >&2"), &Interrupt::new()).unwrap();
        assert_eq!(ran.stdout, "out\n");
        let error =
            run(&sh("echo the reason >&2; exit 3"), &Interrupt::new()).unwrap_err().to_string();
        assert!(error.contains("the reason") && error.contains('3'), "{error}");
        let missing = Line::new(Path::new("/no/such/program"), vec![]);
        assert!(matches!(run(&missing, &Interrupt::new()), Err(BenchError::Start { .. })));
    }

    #[test]
    fn an_interrupt_kills_the_child() {
        let interrupt = Interrupt::new();
        interrupt.request(Level::Finish);
        // No shell: it might be killed after it started the sleep, which would hold the pipe.
        let sleep = Line::new(Path::new("sleep"), vec!["600".into()]);
        assert!(matches!(run(&sleep, &interrupt), Err(BenchError::Interrupted)));
    }

    #[test]
    fn a_line_can_be_pasted_into_a_shell() {
        assert_eq!(sh("echo it's").to_string(), r"sh -c 'echo it'\''s'");
        let plain =
            Line::new(Path::new("fio"), vec!["--bs=4k".into(), "--filename=/dev/loop0".into()]);
        assert_eq!(plain.to_string(), "fio --bs=4k --filename=/dev/loop0");
        let held = plain.held_on(1).to_string();
        assert_eq!(held, "taskset -c 1 fio --bs=4k --filename=/dev/loop0");
    }
}
