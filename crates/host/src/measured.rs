//! A command of a stage: run to its end, and measured with all that it waited for.

use std::fs::File;
use std::io;
use std::path::Path;
use std::time::{Duration, Instant};

use results::model::CommandFigures;
use sys::interrupt::{Interrupt, Level};
use sys::keeper::{self, Bound, End};
use units::Nanos;

use crate::child::plain;
use crate::lines::{Lines, Listener, Stream};
use crate::outputs::{Kept, Pipe, wait_for};

/// Bytes that are kept of the beginning of each output, and as many of its end.
const KEPT_OUTPUT_BYTES: usize = 32 << 10;
/// Longest time between two looks at the time limit and the interrupt.
const POLL_INTERVAL: Duration = Duration::from_millis(10);
/// The author of commits in a repository that a command makes: git refuses to commit without one.
const AUTHOR: [(&str, &str); 4] = [
    ("GIT_AUTHOR_NAME", "fathom"),
    ("GIT_AUTHOR_EMAIL", "fathom@localhost"),
    ("GIT_COMMITTER_NAME", "fathom"),
    ("GIT_COMMITTER_EMAIL", "fathom@localhost"),
];

/// A command to be measured. All names in it are resolved.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MeasuredCommand {
    /// The program and its arguments.
    pub argv: Vec<String>,
    /// The directory or block device that it works on.
    pub target: String,
    /// Tells whether that is a directory: the command starts in it then.
    pub directory: bool,
    /// Tells whether the data that it wrote are then brought to stable storage, which is measured too.
    pub sync: bool,
    /// Time after which it is killed.
    pub time_limit: Nanos,
}

/// The end of a measured command, with its figures.
#[derive(Debug, Default)]
pub struct CommandOutcome {
    /// Its figures.
    pub figures: CommandFigures,
    /// The signal that ended it.
    pub signal: Option<i32>,
    /// Tells whether it was killed because its time was over.
    pub overdue: bool,
    /// Tells whether it was killed because the user wished to stop.
    pub interrupted: bool,
    /// Processes that it had started and that could not be killed.
    pub left: Vec<String>,
    /// Reason why what it wrote could not be brought to stable storage.
    pub unsynced: Option<io::Error>,
}

/// Runs a command to its end, to its time limit, or until the user wishes to stop; `listener` gets every line that it prints.
///
/// # Errors
/// When it cannot be started.
pub(crate) fn run(
    work: &MeasuredCommand,
    interrupt: &Interrupt,
    listener: &mut Listener,
) -> io::Result<CommandOutcome> {
    if work.argv.is_empty() {
        return Err(io::Error::from(io::ErrorKind::InvalidInput));
    }
    // None of its processes may outlive this one and keep the stack busy.
    let mut command = keeper::command(&work.argv, Bound::Tied);
    plain(&mut command);
    command.envs(AUTHOR).current_dir(if work.directory { work.target.as_str() } else { "/" });
    let mut ran = CommandOutcome::default();
    ran.figures.used_before_bytes = used(work);
    let mut child = keeper::start(command)?;
    let mut stdout =
        Pipe::new(child.stdout.take(), Kept::new(KEPT_OUTPUT_BYTES, KEPT_OUTPUT_BYTES))?;
    let mut stderr =
        Pipe::new(child.stderr.take(), Kept::new(KEPT_OUTPUT_BYTES, KEPT_OUTPUT_BYTES))?;
    let (mut out, mut err) = (Lines::new(Stream::Stdout), Lines::new(Stream::Stderr));
    while !child.has_ended()? {
        stdout.read_to(&mut |bytes| out.take(bytes, listener));
        stderr.read_to(&mut |bytes| err.take(bytes, listener));
        ran.overdue = child.at.elapsed() >= Duration::from(work.time_limit);
        ran.interrupted = interrupt.level() != Level::None;
        if ran.overdue || ran.interrupted {
            child.kill();
            break;
        }
        wait_for(&[stdout.fd(), stderr.fd(), Some(child.fd())], POLL_INTERVAL);
    }
    // Processes that it left running would go on writing, and keep the file system busy.
    let end = child.finish()?;
    stdout.read_to(&mut |bytes| out.take(bytes, listener));
    stderr.read_to(&mut |bytes| err.take(bytes, listener));
    out.end(listener);
    err.end(listener);
    if work.sync && !ran.overdue && !ran.interrupted {
        let start = Instant::now();
        match synced(work) {
            Ok(()) => {
                ran.figures.elapsed_with_sync_s =
                    Some((end.elapsed + start.elapsed()).as_secs_f64());
            }
            Err(error) => ran.unsynced = Some(error),
        }
    }
    ran.figures = CommandFigures {
        used_after_bytes: used(work),
        stdout: stdout.kept.text(),
        stderr: stderr.kept.text(),
        ..ran.figures
    };
    Ok(with_end(ran, end))
}

/// Adds how it ended, and what it used.
fn with_end(mut ran: CommandOutcome, end: End) -> CommandOutcome {
    let Some(reaped) = end.reaped else { return ran };
    ran.signal = std::os::unix::process::ExitStatusExt::signal(&reaped.status);
    ran.left = end.left;
    ran.figures = CommandFigures {
        elapsed_s: Some(end.elapsed.as_secs_f64()),
        cpu_user_s: Some(reaped.user.as_secs_f64()),
        cpu_system_s: Some(reaped.system.as_secs_f64()),
        peak_memory_bytes: Some(reaped.peak_memory_bytes),
        exit_code: reaped.status.code(),
        killed: end.killed,
        ..ran.figures
    };
    ran
}

/// Returns the bytes that the file system of the target counts as used.
fn used(work: &MeasuredCommand) -> Option<u64> {
    if !work.directory {
        return None;
    }
    let facts = rustix::fs::statvfs(Path::new(&work.target)).ok()?;
    Some(facts.f_blocks.saturating_sub(facts.f_bfree) * facts.f_frsize)
}

/// Brings the data that were written to the target to stable storage.
fn synced(work: &MeasuredCommand) -> io::Result<()> {
    let target = File::open(&work.target)?;
    if work.directory { Ok(rustix::fs::syncfs(&target)?) } else { sys::block::flush(&target) }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn sh(script: &str, directory: &Path, limit: Nanos, interrupt: &Interrupt) -> CommandOutcome {
        let work = MeasuredCommand {
            argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
            target: directory.display().to_string(),
            directory: true,
            sync: true,
            time_limit: limit,
        };
        run(&work, interrupt, &mut |_| {}).unwrap()
    }

    const LONG: Nanos = Nanos::from_secs(60);

    #[test]
    fn time_cpu_memory_and_space_of_a_command_and_its_children_are_measured() {
        let dir = tempfile::tempdir().unwrap();
        let script = "pwd; head -c 8000000 /dev/urandom >file; sleep 0.2; exit 0";
        let CommandOutcome { figures, signal, .. } =
            sh(script, dir.path(), LONG, &Interrupt::new());
        assert_eq!((figures.exit_code, signal), (Some(0), None));
        assert_eq!(figures.stdout.trim(), dir.path().canonicalize().unwrap().display().to_string());
        let (elapsed, synced) = (figures.elapsed_s.unwrap(), figures.elapsed_with_sync_s.unwrap());
        assert!(elapsed >= 0.2 && synced >= elapsed, "{figures:?}");
        assert!(figures.cpu_system_s.unwrap() > 0.001, "{figures:?}");
        assert!(figures.peak_memory_bytes.unwrap() > 100_000, "{figures:?}");
        let grown = figures.metrics().into_iter().find(|(id, _)| *id == "space_taken_bytes");
        assert!(grown.unwrap().1.is_some());
    }

    #[test]
    fn the_peak_memory_of_a_command_is_not_that_of_a_run_with_much_memory() {
        let dir = tempfile::tempdir().unwrap();
        let mine = std::hint::black_box(vec![1_u8; 64 << 20]);
        let ran = sh("exit 0", dir.path(), LONG, &Interrupt::new());
        let peak = ran.figures.peak_memory_bytes.unwrap();
        assert!(peak < 16 << 20 && mine[mine.len() - 1] == 1, "{peak}");
    }

    /// Ways to leave a process behind; each writes its number into the file `pid`.
    const LEAVES: [&str; 3] = [
        "sh -c 'echo $$ >pid; exec sleep 63' &",
        "setsid sh -c 'echo $$ >pid; exec sleep 63' &",
        "setsid sh -c 'setsid -f sh -c \"echo \\$\\$ >pid; exec sleep 63\"' &",
    ];
    /// Prints that number once it is there.
    const TOLD: &str = "while ! [ -s pid ]; do sleep 0.05; done; cat pid; rm pid";

    fn is_gone(ran: &CommandOutcome) -> bool {
        let pid = ran.figures.stdout.trim();
        assert!(!pid.is_empty());
        !Path::new("/proc").join(pid).exists()
    }

    #[test]
    fn what_a_command_leaves_running_is_killed_and_named_and_its_pipe_holds_nobody_up() {
        let dir = tempfile::tempdir().unwrap();
        for leave in LEAVES {
            let start = Instant::now();
            let ran = sh(&format!("{leave}\n{TOLD}"), dir.path(), LONG, &Interrupt::new());
            assert!(start.elapsed() < Duration::from_secs(30) && is_gone(&ran), "{leave}");
            let killed = &ran.figures.killed;
            assert!(killed.len() == 1 && killed[0].contains("sleep 63"), "{killed:?}");
            assert!(ran.figures.elapsed_with_sync_s.is_some() && ran.figures.exit_code == Some(0));
        }
    }

    #[test]
    fn the_time_limit_reaches_all_that_a_command_started() {
        let dir = tempfile::tempdir().unwrap();
        for leave in LEAVES {
            let script = format!("{leave}\n{TOLD}\nsleep 66");
            let ran = sh(&script, dir.path(), Nanos::from_secs(2), &Interrupt::new());
            assert!(ran.overdue && ran.signal == Some(9) && is_gone(&ran), "{leave}");
            assert!(ran.left.is_empty(), "{:?}", ran.left);
        }
    }

    #[test]
    fn the_time_limit_and_a_wish_to_stop_kill_it_and_its_children() {
        let dir = tempfile::tempdir().unwrap();
        let limit = Nanos(200_000_000);
        let late = sh("echo begun; sleep 64; echo", dir.path(), limit, &Interrupt::new());
        assert!(late.overdue && late.signal == Some(9) && late.figures.stdout == "begun\n");
        assert_eq!(late.figures.elapsed_with_sync_s, None);
        let interrupt = Interrupt::new();
        interrupt.request(Level::Finish);
        let stopped = sh("sleep 65", dir.path(), LONG, &interrupt);
        assert!(stopped.interrupted && !stopped.overdue);
    }

    #[test]
    fn long_output_keeps_both_ends() {
        let dir = tempfile::tempdir().unwrap();
        let script =
            "echo first; head -c 3000000 /dev/zero | tr '\\0' x; echo; echo last >&2; echo last";
        let ran = sh(script, dir.path(), LONG, &Interrupt::new());
        let (out, err) = (&ran.figures.stdout, &ran.figures.stderr);
        assert!(
            out.starts_with("first\n")
                && out.ends_with("last\n")
                && out.len() < 3 * KEPT_OUTPUT_BYTES
        );
        assert!(out.contains("bytes left out]") && err == "last\n");
    }

    #[test]
    fn every_line_is_heard_that_a_command_prints_and_whoever_never_stops_is_stopped() {
        let dir = tempfile::tempdir().unwrap();
        let work = |script: &str, time_limit| MeasuredCommand {
            argv: ["sh", "-c", script].map(str::to_owned).to_vec(),
            target: dir.path().display().to_string(),
            directory: true,
            sync: false,
            time_limit,
        };
        let script = "seq 100000; seq 3 >&2; printf end";
        let (mut numbers, mut others) = (Vec::new(), Vec::new());
        let mut listener =
            |line: crate::PrintedLine| match (line.from, line.text.unwrap().parse::<u64>()) {
                (Stream::Stdout, Ok(number)) => numbers.push(number),
                (from, _) => others.push((from, line.text.unwrap().to_owned())),
            };
        run(&work(script, LONG), &Interrupt::new(), &mut listener).unwrap();
        assert!(numbers.iter().copied().eq(1..=100_000), "{}", numbers.len());
        others.sort_by_key(|(from, _)| *from == Stream::Stderr);
        let expected = [
            (Stream::Stdout, "end"),
            (Stream::Stderr, "1"),
            (Stream::Stderr, "2"),
            (Stream::Stderr, "3"),
        ];
        assert_eq!(others, expected.map(|(from, text)| (from, text.to_owned())));
        let start = Instant::now();
        let mut lines = 0_u64;
        let mut listener = |_: crate::PrintedLine| lines += 1;
        let ran = run(&work("yes", Nanos(300_000_000)), &Interrupt::new(), &mut listener).unwrap();
        assert!(ran.overdue && start.elapsed() < Duration::from_secs(60) && lines > 1000);
    }

    #[test]
    fn a_program_that_is_not_there_is_not_started() {
        let work = MeasuredCommand {
            argv: vec!["fathom-no-such-program".into()],
            target: "/".into(),
            directory: false,
            sync: false,
            time_limit: LONG,
        };
        assert_eq!(
            run(&work, &Interrupt::new(), &mut |_| {}).unwrap_err().kind(),
            io::ErrorKind::NotFound
        );
    }
}
