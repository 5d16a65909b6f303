//! Starts a program from a small process, so that its peak memory is its own.
//!
//! The kernel keeps the peak memory of a process through `exec`: what it had before counts too (`exec_mmap` in `fs/exec.c` folds it
//! into `maxrss`), and that was a copy of the parent after `fork`, or the parent's own memory after `vfork`. So a small program
//! would have the peak of a large parent. Only a process that a small one makes is free of it: this program is executed
//! once more, as the starter, and makes the child before anything of it runs. The child is the parent's own (`CLONE_PARENT`), who
//! waits for it as for any other; the starter ends.

use std::ffi::{CStr, c_char, c_int, c_long};
use std::io::{self, Read, Write};
use std::os::fd::OwnedFd;
use std::os::unix::net::UnixStream;
use std::os::unix::process::CommandExt;
use std::process::{ChildStderr, ChildStdout, Command, Stdio};
use std::time::Instant;

use crate::reap::reap;

/// The name that the starter is called by.
const NAME: &CStr = c"fathom-starter";

/// A program that runs.
#[derive(Debug)]
pub struct Started {
    /// Its process, and the group that it leads; it is to be [reaped](reap).
    pub pid: u32,
    /// When it began, before it became the program.
    pub at: Instant,
    /// Its output, where that is piped.
    pub stdout: Option<ChildStdout>,
    /// Its errors, where they are piped.
    pub stderr: Option<ChildStderr>,
}

/// A command that starts `argv`, for [`start`]; directory, environment and outputs may still be set.
pub fn command(argv: &[String]) -> Command {
    let mut command = Command::new("/proc/self/exe");
    command.arg0(NAME.to_string_lossy().as_ref()).args(argv);
    command
}

/// Starts the program of a [`command`], in a process group of its own and without standard input.
///
/// # Errors
/// When it cannot be started, for instance because there is no such program.
pub fn start(mut command: Command) -> io::Result<Started> {
    let (mut ours, theirs) = UnixStream::pair()?;
    let mut starter = command.stdin(Stdio::from(OwnedFd::from(theirs))).spawn()?;
    // It holds their end, which only the starter may have.
    drop(command);
    let mut said = Vec::new();
    let began = ours.read_exact(&mut [0]).and_then(|()| {
        let at = Instant::now();
        ours.write_all(&[0])?;
        // Until the child has become the program, or has said why not.
        ours.read_to_end(&mut said)?;
        Ok(at)
    });
    let (stdout, stderr) = (starter.stdout.take(), starter.stderr.take());
    starter.wait()?;
    let at = began?;
    let (mut pid, mut failed) = (None, None);
    for number in said.as_chunks().0.iter().map(|bytes| i32::from_ne_bytes(*bytes)) {
        match u32::try_from(number) {
            Ok(number) => pid = Some(number),
            Err(_) => failed = Some(io::Error::from_raw_os_error(-number)),
        }
    }
    match (pid, failed) {
        (Some(pid), None) => Ok(Started { pid, at, stdout, stderr }),
        (None, None) => Err(io::Error::other("the process that was to start it is gone")),
        (pid, Some(error)) => {
            pid.map(reap).transpose()?;
            Err(error)
        }
    }
}

/// Called by the C library before `main`, whatever program this is part of.
// SAFETY: functions in this section are called once with the arguments of `main`, as this one takes them.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn(c_int, *const *const c_char) = before_main;

extern "C" fn before_main(count: c_int, arguments: *const *const c_char) {
    if count < 2 || arguments.is_null() {
        return;
    }
    // SAFETY: there are `count` strings, which stay where they are, and a null pointer after them.
    unsafe {
        if CStr::from_ptr(*arguments) == NAME {
            serve(arguments.add(1));
        }
    }
}

/// The life of the starter: makes the child that becomes the program, tells its number, and ends.
///
/// # Safety
/// `argv` are strings with a null pointer after them, and there is no other thread.
unsafe fn serve(argv: *const *const c_char) -> ! {
    // SAFETY: system calls on numbers and on memory of this function and of the caller. The clone shares nothing with the
    // starter, and makes system calls only.
    unsafe {
        // Nothing of the link is left in the program.
        let link = libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 3);
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDONLY | libc::O_CLOEXEC);
        let mut go = 0_u8;
        let ready = link >= 0
            && libc::dup2(null, 0) == 0
            && libc::write(link, (&raw const go).cast(), 1) == 1
            && libc::read(link, (&raw mut go).cast(), 1) == 1;
        if !ready {
            libc::_exit(127);
        }
        let tell = |number: c_int| {
            libc::write(link, (&raw const number).cast(), size_of::<c_int>());
        };
        let flags = c_long::from(libc::CLONE_PARENT | libc::SIGCHLD);
        let child = libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize);
        if child == 0 {
            libc::setpgid(0, 0);
            libc::execvp(*argv, argv);
            tell(-*libc::__errno_location());
            libc::_exit(127);
        }
        tell(if child < 0 { -*libc::__errno_location() } else { child as c_int });
        libc::_exit(0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn peak(argv: &[&str]) -> u64 {
        let argv: Vec<_> = argv.iter().map(|&word| word.to_owned()).collect();
        let started = start(command(&argv)).unwrap();
        let reaped = reap(started.pid).unwrap();
        assert_eq!(reaped.status.code(), Some(0));
        reaped.peak_memory_bytes
    }

    #[test]
    fn the_peak_memory_of_a_program_is_not_that_of_who_starts_it() {
        const MIB: usize = 1 << 20;
        let before = peak(&["true"]);
        let mine = std::hint::black_box(vec![1_u8; 64 * MIB]);
        let beside = peak(&["true"]);
        assert!(beside < 16 << 20 && beside.abs_diff(before) < 1 << 20, "{before}, {beside}");
        assert!(mine.iter().all(|&byte| byte == 1));
        let large = peak(&["dd", "if=/dev/zero", "of=/dev/null", "bs=48M", "count=1"]);
        assert!((48 << 20..64 << 20).contains(&large), "{large}");
    }

    #[test]
    fn a_program_has_a_group_of_its_own_no_input_and_its_outputs() {
        // What a build tool lets its children inherit is none of ours: only the link must be gone.
        let script =
            "cat; ls -l /proc/$$/fd | grep -c socket; ps -o pgid= -p $$; exec >&2; echo wrong";
        let mut command = command(&["sh", "-c", script].map(str::to_owned));
        command.stdout(Stdio::piped()).stderr(Stdio::piped());
        let started = start(command).unwrap();
        let (mut out, mut err) = (String::new(), String::new());
        started.stdout.unwrap().read_to_string(&mut out).unwrap();
        started.stderr.unwrap().read_to_string(&mut err).unwrap();
        let words: Vec<_> = out.split_whitespace().collect();
        assert_eq!(words, ["0", &started.pid.to_string()], "{out}");
        assert_eq!(err, "wrong\n");
        assert_eq!(reap(started.pid).unwrap().status.code(), Some(0));
    }

    #[test]
    fn what_cannot_be_started_is_said_and_leaves_no_process() {
        let missing = start(command(&["fathom-no-such-program".into()])).unwrap_err();
        assert_eq!(missing.kind(), io::ErrorKind::NotFound);
        let mut elsewhere = command(&["true".into()]);
        elsewhere.current_dir("/no/such/directory");
        assert_eq!(start(elsewhere).unwrap_err().kind(), io::ErrorKind::NotFound);
    }
}
