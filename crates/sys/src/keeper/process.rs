//! The life of a keeper: it creates the child that becomes the program, waits for it, and kills what it leaves behind.

use std::collections::BTreeSet;
use std::ffi::{CStr, c_char, c_int, c_long};
use std::io::{Read, Write};
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};
use std::os::unix::net::UnixStream;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, kill_process, kill_process_group};

use super::words::{Bound, Saying};
use crate::reap;

/// The name under which this executable runs as a keeper.
pub(super) const NAME: &CStr = c"fathom-keeper";
/// Time that killed processes may take to end: writes in progress end first.
const PATIENCE: Duration = Duration::from_secs(60);
/// Pause between two searches for remaining processes, milliseconds.
const LOOK_MS: c_int = 10;
/// Most characters of a command line that are reported.
const SHOWN: usize = 100;

/// Called by the C library before `main`, in whatever program this is linked into.
// SAFETY: functions in this section are called once with the arguments of `main`, which this one accepts.
#[used]
#[unsafe(link_section = ".init_array")]
static BEFORE_MAIN: extern "C" fn(c_int, *const *const c_char) = before_main;

extern "C" fn before_main(count: c_int, arguments: *const *const c_char) {
    if count < 3 || arguments.is_null() {
        return;
    }
    // SAFETY: there are `count` strings, which stay where they are, and a null pointer after them.
    unsafe {
        if CStr::from_ptr(*arguments) == NAME {
            let tied =
                CStr::from_ptr(*arguments.add(1)).to_bytes() == Bound::Tied.name().as_bytes();
            serve(arguments.add(2), tied);
        }
    }
}

/// Creates the child that becomes the program, and supervises it.
///
/// # Safety
/// `argv` must point to strings with a null pointer after them, and there must be no other thread.
unsafe fn serve(argv: *const *const c_char, tied: bool) -> ! {
    // SAFETY: system calls on numbers and on memory of this function and of the caller. The clone shares nothing with the
    // keeper, and makes system calls only.
    unsafe {
        // The program must not inherit the link.
        let link = libc::fcntl(0, libc::F_DUPFD_CLOEXEC, 3);
        let null = libc::open(c"/dev/null".as_ptr(), libc::O_RDWR | libc::O_CLOEXEC);
        let mut why = [-1; 2];
        let ready = link >= 0
            && libc::dup2(null, 0) == 0
            && libc::pipe2(why.as_mut_ptr(), libc::O_CLOEXEC) == 0
            && libc::prctl(libc::PR_SET_CHILD_SUBREAPER, 1_u64) == 0;
        if !ready {
            libc::_exit(127);
        }
        let mut link = UnixStream::from(OwnedFd::from_raw_fd(link));
        tell(&mut link, &Saying::Ready);
        if !matches!(link.read(&mut [0]), Ok(1)) {
            libc::_exit(127);
        }
        let start = Instant::now();
        let flags = c_long::from(libc::SIGCHLD);
        let child = libc::syscall(libc::SYS_clone, flags, 0_usize, 0_usize, 0_usize, 0_usize);
        if child == 0 {
            libc::setpgid(0, 0);
            // The program must not inherit descriptors that the keeper holds for the process that it works for. Kernels older than 5.11 let it
            // inherit them.
            libc::syscall(libc::SYS_close_range, 3_u32, u32::MAX, libc::CLOSE_RANGE_CLOEXEC);
            if tied {
                // The program is killed if the keeper itself is killed.
                libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL as libc::c_ulong);
            }
            libc::execvp(*argv, argv);
            let error = *libc::__errno_location();
            libc::write(why[1], (&raw const error).cast(), size_of::<c_int>());
            libc::_exit(127);
        }
        let mut error = if child < 0 { *libc::__errno_location() } else { 0 };
        // The keeper closes its copies of the outputs, so that their reader sees the end when the program and its children are gone.
        libc::dup2(null, 1);
        libc::dup2(null, 2);
        libc::close(why[1]);
        // Blocks until the child has become the program, or has reported why it could not.
        libc::read(why[0], (&raw mut error).cast(), size_of::<c_int>());
        match Pid::from_raw(child as i32).filter(|_| error == 0) {
            None => tell(&mut link, &Saying::Failed(error)),
            Some(child) => {
                tell(&mut link, &Saying::Began(child.as_raw_nonzero().get()));
                keep(&mut Keeper { child, start, tied, link, ends: ends() });
            }
        }
        libc::_exit(0)
    }
}

/// Returns a descriptor that becomes readable when a child has ended.
fn ends() -> c_int {
    // SAFETY: the calls work on this function's own set; the mask is that of the only thread.
    unsafe {
        let mut set = std::mem::zeroed::<libc::sigset_t>();
        libc::sigemptyset(&raw mut set);
        libc::sigaddset(&raw mut set, libc::SIGCHLD);
        libc::sigprocmask(libc::SIG_BLOCK, &raw const set, std::ptr::null_mut());
        libc::signalfd(-1, &raw const set, libc::SFD_CLOEXEC | libc::SFD_NONBLOCK)
    }
}

struct Keeper {
    child: Pid,
    start: Instant,
    tied: bool,
    link: UnixStream,
    ends: c_int,
}

/// The event that woke the keeper.
struct Woken {
    by_caller: bool,
}

fn keep(keeper: &mut Keeper) {
    let mut heard = keeper.link.as_raw_fd();
    while !reaped_all(keeper).1 {
        let woken = sleep(keeper.ends, heard, -1);
        if !woken.by_caller {
            continue;
        }
        match (keeper.link.read(&mut [0]), keeper.tied) {
            // The process that the keeper works for is gone; the program may finish its work.
            (Ok(0) | Err(_), false) => heard = -1,
            // That process is gone, or it wants the program to end.
            _ => return sweep(keeper, false),
        }
    }
    sweep(keeper, true);
}

/// Sleeps until a child ends, the link becomes readable, or `most` milliseconds are over.
fn sleep(ends: c_int, link: c_int, most: c_int) -> Woken {
    let mut fds = [ends, link].map(|fd| libc::pollfd { fd, events: libc::POLLIN, revents: 0 });
    // SAFETY: the descriptors and the buffer are this function's, with their sizes.
    unsafe {
        libc::poll(fds.as_mut_ptr(), 2, most);
        let mut ended = std::mem::zeroed::<libc::signalfd_siginfo>();
        while libc::read(ends, (&raw mut ended).cast(), size_of_val(&ended)) > 0 {}
    }
    Woken { by_caller: fds[1].revents != 0 }
}

/// Reaps all children that have ended; tells whether no children are left, and whether the program ended.
fn reaped_all(keeper: &mut Keeper) -> (bool, bool) {
    let mut ended = false;
    loop {
        match reap::any() {
            Ok(Some((pid, reaped))) => {
                if pid == keeper.child.as_raw_nonzero().get() {
                    ended = true;
                    let elapsed = keeper.start.elapsed();
                    tell(&mut keeper.link, &Saying::Ended { reaped, elapsed });
                }
            }
            Ok(None) => return (false, ended),
            Err(_) => return (true, ended),
        }
    }
}

/// Kills everything that is left, and reports what it was. Orphans of killed processes become children of the keeper. So it only has to look for its
/// own children, whose process numbers cannot be reused before it has waited for them.
fn sweep(keeper: &mut Keeper, ended: bool) {
    if !ended {
        // Kills most of it at once. Nobody has waited for the child yet, so that the number of its group cannot have been reused.
        let _ = kill_process_group(keeper.child, Signal::KILL);
    }
    let (begun, mut killed) = (Instant::now(), BTreeSet::new());
    while !reaped_all(keeper).0 {
        let late = begun.elapsed() >= PATIENCE;
        for (pid, name) in children() {
            let gone = kill_process(pid, Signal::KILL).is_ok();
            if late {
                tell(&mut keeper.link, &Saying::Left(name));
            } else if gone && pid != keeper.child && killed.insert(pid.as_raw_nonzero()) {
                tell(&mut keeper.link, &Saying::Killed(name));
            }
        }
        if late {
            if children().is_empty() {
                tell(&mut keeper.link, &Saying::Left("a process that cannot be seen".into()));
            }
            break;
        }
        sleep(keeper.ends, -1, LOOK_MS);
    }
    tell(&mut keeper.link, &Saying::Done);
}

/// The children of this process that are still running, with their command lines.
fn children() -> Vec<(Pid, String)> {
    let own_pid = rustix::process::getpid();
    let entries = std::fs::read_dir("/proc").into_iter().flatten().flatten();
    let pids = entries.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
    pids.filter_map(Pid::from_raw)
        .filter_map(|pid| {
            let at = format!("/proc/{}", pid.as_raw_nonzero());
            let stat = std::fs::read_to_string(format!("{at}/stat")).ok()?;
            let (name, state) = stat.rsplit_once(')')?;
            let mut state = state.split_whitespace();
            let zombie = state.next()? == "Z";
            let child = state.next()?.parse().ok() == Some(own_pid.as_raw_nonzero().get());
            let words = std::fs::read(format!("{at}/cmdline")).unwrap_or_default();
            let words = String::from_utf8_lossy(&words).replace('\0', " ");
            let name = if words.trim().is_empty() { name.split_once('(')?.1 } else { words.trim() };
            (child && !zombie).then(|| (pid, name.chars().take(SHOWN).collect()))
        })
        .collect()
}

/// Sends a message; errors are ignored, since the receiver may be gone.
fn tell(link: &mut UnixStream, word: &Saying) {
    // A stream of the standard library raises no signal when nobody reads.
    let _ = link.write_all(word.line().as_bytes());
}
