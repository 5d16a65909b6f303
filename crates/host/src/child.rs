//! External commands: own process group, no standard input, a deadline, bounded output.

use std::io;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process_group};
use sys::interrupt::{Interrupt, Level};

use crate::outputs::{Kept, Pipe, wait_for};

/// The most that is kept of each output, bytes; what comes after it is read and dropped.
const KEPT: usize = 4 << 20;
/// How often an end without a word, the deadline and the interrupt are looked at.
const LOOK: Duration = Duration::from_millis(10);

/// What a command printed, and how it ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Output {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Standard output, bounded.
    pub stdout: String,
    /// Standard error, bounded.
    pub stderr: String,
    /// Whether it was killed because its deadline had passed.
    pub overdue: bool,
    /// Why device-mapper refused, where it failed and the kernel's log says so: its tools only say "Invalid argument".
    pub kernel: Option<String>,
}

/// Runs a command to its end, its deadline, or the wish to stop at once.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn run(
    argv: &[String],
    deadline: Duration,
    interrupt: &Interrupt,
) -> io::Result<Output> {
    let start = Instant::now();
    let mut child = command(argv)?.spawn()?;
    let mut stdout = Pipe::new(child.stdout.take(), Kept::new(KEPT, 0))?;
    let mut stderr = Pipe::new(child.stderr.take(), Kept::new(KEPT, 0))?;
    let mut overdue = false;
    let status = loop {
        stdout.read();
        stderr.read();
        if let Some(status) = child.try_wait()? {
            break status;
        }
        let late = start.elapsed() >= deadline;
        if late || interrupt.level() == Level::Now {
            overdue = late;
            break kill(&mut child)?;
        }
        wait_for(&[stdout.fd(), stderr.fd()], LOOK);
    };
    // A grandchild may hold the pipes open for ever: what is there is read, and no more is waited for.
    stdout.read();
    stderr.read();
    Ok(Output {
        code: status.code(),
        signal: status.signal(),
        stdout: stdout.kept.text(),
        stderr: stderr.kept.text(),
        overdue,
        kernel: None,
    })
}

/// A command in a process group of its own, without standard input, whose outputs are read.
pub(crate) fn command(argv: &[String]) -> io::Result<Command> {
    let (program, arguments) =
        argv.split_first().ok_or_else(|| io::Error::from(io::ErrorKind::InvalidInput))?;
    let mut command = Command::new(program);
    command.args(arguments).stdin(Stdio::null());
    plain(&mut command);
    // Ctrl-C on the terminal is for us, who finish in order; it must not tear lvm out of its work.
    command.process_group(0);
    Ok(command)
}

/// Sets what all commands have in common.
pub(crate) fn plain(command: &mut Command) {
    // Programs of the system's administration are not on every user's path.
    let path = std::env::var("PATH").unwrap_or_default();
    command
        .env("PATH", format!("{path}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"))
        .env("LC_ALL", "C")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
}

/// Kills the child and all of its group.
fn kill(child: &mut Child) -> io::Result<std::process::ExitStatus> {
    kill_group(child.id());
    child.wait()
}

/// Kills the group of a child that nobody has waited for yet.
pub(crate) fn kill_group(child: u32) {
    if let Some(group) = i32::try_from(child).ok().and_then(Pid::from_raw) {
        // Fails only when nobody is left in the group.
        let _ = kill_process_group(group, Signal::KILL);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, deadline: Duration, interrupt: &Interrupt) -> Output {
        let argv = ["sh", "-c", script].map(str::to_owned);
        run(&argv, deadline, interrupt).unwrap()
    }

    const LONG: Duration = Duration::from_secs(60);

    #[test]
    fn exit_code_and_both_outputs_come_back() {
        let output = sh("echo out; echo err >&2; exit 3", LONG, &Interrupt::new());
        assert_eq!((output.code, output.signal), (Some(3), None));
        assert_eq!((output.stdout.as_str(), output.stderr.as_str()), ("out\n", "err\n"));
        let missing = run(&["fathom-no-such-program".into()], LONG, &Interrupt::new());
        assert_eq!(missing.unwrap_err().kind(), io::ErrorKind::NotFound);
    }

    #[test]
    fn the_deadline_kills_the_whole_group() {
        let start = Instant::now();
        let output = sh("sleep 61 & echo $!; wait", Duration::from_millis(200), &Interrupt::new());
        assert!(output.overdue && output.signal == Some(9));
        assert!(start.elapsed() < Duration::from_secs(30));
        let pid = output.stdout.trim();
        let gone = |pid: &str| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat"));
            stat.map_or(true, |s| s.contains(") Z "))
        };
        let wait = Instant::now();
        while !gone(pid) {
            assert!(wait.elapsed() < Duration::from_secs(20), "{pid} lives on");
            std::thread::sleep(Duration::from_millis(10));
        }
    }

    #[test]
    fn a_grandchild_that_keeps_the_pipe_does_not_hold_us_up() {
        let start = Instant::now();
        let output = sh("setsid sleep 60 & echo done", LONG, &Interrupt::new());
        assert_eq!(output.stdout, "done\n");
        assert!(start.elapsed() < Duration::from_secs(30));
    }

    #[test]
    fn the_first_wish_to_stop_lets_a_command_end_and_the_second_does_not() {
        let interrupt = Interrupt::new();
        interrupt.request(Level::Finish);
        assert_eq!(sh("exit 0", LONG, &interrupt).code, Some(0));
        interrupt.request(Level::Now);
        assert_eq!(sh("sleep 62", LONG, &interrupt).signal, Some(9));
    }

    #[test]
    fn a_command_has_no_input_and_speaks_plainly() {
        let output = sh("cat; echo $LC_ALL", LONG, &Interrupt::new());
        assert_eq!(output.stdout, "C\n");
    }

    #[test]
    fn endless_output_is_read_and_bounded() {
        let output = sh("head -c 20000000 /dev/zero", LONG, &Interrupt::new());
        assert_eq!(output.stdout.len(), KEPT);
        assert_eq!(output.code, Some(0));
    }
}
