//! Process 1: sets the machine up, starts the session, reaps, powers off.

use std::fs::File;
use std::io::Write;
use std::os::unix::process::ExitStatusExt;
use std::process::{Command, ExitStatus};
use std::sync::mpsc::channel;
use std::time::{Duration, Instant};

use rustix::process::{Pid, Signal, WaitOptions};
use rustix::system::RebootCommand;

use super::config::BEGAN;
use super::{port, setup};
use crate::link::{FrameKind, read_frame, write_frame};
use crate::{Error, Result};

/// Time that processes get between being asked to end and being ended.
const PATIENCE: Duration = Duration::from_millis(300);

/// Time that the host may take to confirm the last frame.
const UNHEARD: Duration = Duration::from_secs(10);

/// The whole life of process 1. Returns only when the machine cannot be powered off.
pub(super) fn run() {
    let began = monotonic_ns();
    if let Err(error) = setup::prepare().and_then(|()| session(began)) {
        let failure = sys::causes::chain(&error);
        say(&format!("process 1: {failure}"));
        tell_host(&failure);
    }
    end_all();
    power_off();
}

/// Starts the session and reaps everything that ends until it does.
fn session(began: u64) -> Result<()> {
    let child = Command::new("/init")
        .env(BEGAN, began.to_string())
        .env("PATH", "/usr/bin:/bin")
        .env("HOME", "/root")
        .env("LC_ALL", "C")
        // No udev runs here: libdevmapper has to make the nodes itself, and must not wait for it.
        .env("DM_DISABLE_UDEV", "1")
        .current_dir("/")
        .spawn()
        .map_err(Error::system("cannot start the session"))?;
    let session = i32::try_from(child.id()).ok().and_then(Pid::from_raw);
    loop {
        match rustix::process::wait(WaitOptions::empty()) {
            Ok(Some((pid, status))) if Some(pid) == session => {
                let status = ExitStatus::from_raw(status.as_raw());
                // A session that ended badly could not tell the host why, but said so on the console.
                return if status.success() { Ok(()) } else { Err(Error::Session { status }) };
            }
            Ok(_) | Err(rustix::io::Errno::INTR) => {}
            Err(errno) => return Err(Error::system("cannot wait for the session")(errno)),
        }
    }
}

/// Tells the host about the failure in the session's place. The port is free, because the session that had it is dead.
fn tell_host(failure: &str) {
    let Ok(mut port) = port::open() else { return };
    // Whether the host hears it or not, the machine goes off next.
    if write_frame(&mut port, FrameKind::Failed, failure.as_bytes()).is_ok() {
        let (heard, last) = channel();
        std::thread::spawn(move || {
            while let Ok(Some(frame)) = read_frame(&mut port) {
                if frame.kind == FrameKind::Heard {
                    let _ = heard.send(());
                    return;
                }
            }
        });
        let _ = last.recv_timeout(UNHEARD);
    }
}

/// Ends every other process, politely first, and writes back what file systems hold.
fn end_all() {
    signal_others(Signal::TERM);
    let deadline = Instant::now() + PATIENCE;
    while Instant::now() < deadline && reap_one() {
        std::thread::sleep(Duration::from_millis(2));
    }
    signal_others(Signal::KILL);
    rustix::fs::sync();
}

/// Reaps what has ended; false when no process is left.
fn reap_one() -> bool {
    !matches!(rustix::process::wait(WaitOptions::NOHANG), Err(rustix::io::Errno::CHILD))
}

fn signal_others(signal: Signal) {
    let Ok(list) = std::fs::read_dir("/proc") else {
        return;
    };
    for entry in list.flatten() {
        let pid = entry.file_name().to_str().and_then(|name| name.parse().ok());
        // A kernel thread ignores the signal.
        if let Some(pid) = pid.and_then(Pid::from_raw).filter(|pid| *pid != Pid::INIT) {
            let _ = rustix::process::kill_process(pid, signal);
        }
    }
}

/// Powers the machine off; where that is refused, a restart does the same, since QEMU ends instead of restarting.
pub(super) fn power_off() {
    for how in [RebootCommand::PowerOff, RebootCommand::Restart] {
        let _ = rustix::system::reboot(how);
    }
}

/// Nanoseconds of the guest's monotonic clock.
pub(super) fn monotonic_ns() -> u64 {
    let now = rustix::time::clock_gettime(rustix::time::ClockId::Monotonic);
    u64::try_from(now.tv_sec * 1_000_000_000 + now.tv_nsec).unwrap_or(0)
}

/// Writes a line to the console, which the host keeps.
pub(super) fn say(text: &str) {
    let console = File::options().write(true).open("/dev/console");
    if let Ok(mut console) = console {
        let _ = writeln!(console, "fathom: {text}");
    }
}
