//! External commands: each runs in a separate process group, without standard input, with a deadline and bounded output; no process that it starts
//! outlives it.

use std::io;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, Stdio};
use std::time::Duration;

use sys::interrupt::{Interrupt, Level};
use sys::keeper::{self, Bound};

use crate::outputs::{Kept, Pipe, wait_for};

/// Bytes of each output that are kept; the rest is read and dropped.
const MAX_OUTPUT_BYTES: usize = 4 << 20;
/// Longest time between two checks of the deadline, of the interrupt, and of whether the command has ended.
const POLL_INTERVAL: Duration = Duration::from_millis(10);

/// Output of a command, and the way it ended.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct CommandOutput {
    /// Its exit code; `None` when a signal ended it.
    pub code: Option<i32>,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Standard output, bounded.
    pub stdout: String,
    /// Standard error, bounded.
    pub stderr: String,
    /// Tells whether it was killed because its deadline had passed.
    pub overdue: bool,
    /// Command lines of processes that it had started, that outlived it, and that were killed.
    pub killed: Vec<String>,
    /// Those of them that could not be killed.
    pub left: Vec<String>,
    /// The reason from the kernel's log why device-mapper refused, where the command failed and the log has one: the tools only say "Invalid
    /// argument".
    pub kernel: Option<String>,
}

/// Runs a command to its end, to its deadline, or until the user wishes to stop at once.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn run(
    argv: &[String],
    deadline: Duration,
    interrupt: &Interrupt,
) -> io::Result<CommandOutput> {
    if argv.is_empty() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // A tool that is killed half-way leaves more behind than one that may finish its work.
    let mut command = keeper::command(argv, Bound::Free);
    plain(&mut command);
    let mut child = keeper::start(command)?;
    let mut stdout = Pipe::new(child.stdout.take(), Kept::new(MAX_OUTPUT_BYTES, 0))?;
    let mut stderr = Pipe::new(child.stderr.take(), Kept::new(MAX_OUTPUT_BYTES, 0))?;
    let mut overdue = false;
    while !child.has_ended()? {
        stdout.read();
        stderr.read();
        overdue = child.at.elapsed() >= deadline;
        if overdue || interrupt.level() == Level::Now {
            child.kill();
            break;
        }
        wait_for(&[stdout.fd(), stderr.fd(), Some(child.fd())], POLL_INTERVAL);
    }
    let end = child.finish()?;
    // All processes that could write are gone.
    stdout.read();
    stderr.read();
    let status = end.reaped.map(|reaped| reaped.status);
    Ok(CommandOutput {
        code: status.and_then(|status| status.code()),
        signal: status.and_then(|status| status.signal()),
        stdout: stdout.kept.text(),
        stderr: stderr.kept.text(),
        overdue,
        killed: end.killed,
        left: end.left,
        kernel: None,
    })
}

/// Sets what all commands have in common.
pub(crate) fn plain(command: &mut Command) {
    // Programs of the system's administration are not on every user's path.
    let path = std::env::var("PATH").unwrap_or_default();
    command
        .env("PATH", format!("{path}:/usr/local/sbin:/usr/sbin:/sbin:/usr/bin:/bin"))
        .env("LC_ALL", "C")
        // A command that is Fathom itself does not inherit our logging.
        .env_remove("FATHOM_LOG")
        .stdout(Stdio::piped())
        .stderr(Stdio::piped());
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, deadline: Duration, interrupt: &Interrupt) -> CommandOutput {
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

    /// Ways to leave a process behind; each writes its number into a file.
    const LEAVES: [&str; 3] = [
        "sh -c 'echo $$ >pid; exec sleep 60' &",
        "setsid sh -c 'echo $$ >pid; exec sleep 60' &",
        "setsid sh -c 'setsid -f sh -c \"echo \\$\\$ >pid; exec sleep 60\"' &",
    ];

    /// Leaves a process, prints its number, and does `then`; tells what was printed, and insists on the end of the process.
    fn left(leave: &str, then: &str, deadline: Duration) -> CommandOutput {
        let dir = tempfile::tempdir().unwrap();
        let at = dir.path().display();
        let message = "while ! [ -s pid ]; do sleep 0.05; done; cat pid";
        let script = format!("cd {at}; {leave}\n{message}; {then}");
        let start = std::time::Instant::now();
        let output = sh(&script, deadline, &Interrupt::new());
        assert!(start.elapsed() < Duration::from_secs(30), "{leave}");
        let pid = output.stdout.trim();
        assert!(!pid.is_empty() && !std::path::Path::new("/proc").join(pid).exists(), "{leave}");
        output
    }

    #[test]
    fn the_deadline_kills_all_that_it_started() {
        for leave in LEAVES {
            let output = left(leave, "sleep 61", Duration::from_secs(2));
            assert!(output.overdue && output.signal == Some(9), "{leave}");
        }
    }

    #[test]
    fn what_it_leaves_running_is_killed_and_named() {
        for leave in LEAVES {
            let CommandOutput { code, killed, left, .. } = left(leave, "exit 0", LONG);
            assert!(killed.len() == 1 && killed[0].contains("sleep 60"), "{killed:?}");
            assert!(code == Some(0) && left.is_empty(), "{left:?}");
        }
        assert_eq!(sh("exit 0", LONG, &Interrupt::new()).killed, Vec::<String>::new());
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
        assert_eq!(output.stdout.len(), MAX_OUTPUT_BYTES);
        assert_eq!(output.code, Some(0));
    }
}
