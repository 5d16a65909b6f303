//! Ties between the lives of a parent and a child: the child dies with its parent, and inherits only the listed descriptors.

use std::os::fd::OwnedFd;
use std::os::unix::process::CommandExt;
use std::process::Command;

use rustix::io::FdFlags;
use rustix::process::{Pid, Signal};

/// Makes the child that `command` starts die when the *thread* that starts it ends, in whatever way.
///
/// The child gets a separate process group, so that Ctrl-C on the terminal does not reach it, and inherits the `inherited` descriptors under the same
/// numbers; they stay open here until `command` is dropped. Start it from a thread that lives as long as the child is needed: for the kernel the
/// parent is the thread, not the process.
pub fn tie(command: &mut Command, inherited: Vec<OwnedFd>) {
    let parent = rustix::process::getpid();
    command.process_group(0);
    let hook = move || prepare(parent, &inherited);
    // SAFETY: between fork and exec the hook makes system calls only (prctl, getppid, fcntl): no allocation, no lock,
    // nothing that another thread of the parent could have left half done.
    unsafe {
        command.pre_exec(hook);
    }
}

/// Prepares the child before it becomes the other program.
fn prepare(parent: Pid, inherited: &[OwnedFd]) -> std::io::Result<()> {
    rustix::process::set_parent_process_death_signal(Some(Signal::KILL))?;
    // The parent may have died before the call above; then the signal would never be sent.
    if rustix::process::getppid() != Some(parent) {
        return Err(std::io::Error::from_raw_os_error(libc::ESRCH));
    }
    for descriptor in inherited {
        rustix::io::fcntl_setfd(descriptor, FdFlags::empty())?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use std::fs::File;
    use std::io::{Seek, Write};
    use std::os::fd::AsRawFd;
    use std::process::Stdio;

    use super::*;

    #[test]
    fn a_child_ends_with_the_thread_that_started_it() {
        let mut child = std::thread::spawn(|| {
            let mut command = Command::new("sleep");
            command.arg("60");
            tie(&mut command, Vec::new());
            command.spawn().unwrap()
        })
        .join()
        .unwrap();
        let status = child.wait().unwrap();
        assert!(!status.success(), "{status}");
    }

    #[test]
    fn a_child_inherits_the_descriptors_named_and_no_others() {
        let mut given = tempfile::tempfile().unwrap();
        given.write_all(b"given").unwrap();
        given.rewind().unwrap();
        let kept = File::open("/dev/null").unwrap();
        let given = OwnedFd::from(given);
        let (number, other) = (given.as_raw_fd(), kept.as_raw_fd());
        let mut command = Command::new("sh");
        command
            .arg("-c")
            .arg(format!(
                "cat /proc/self/fd/{number}; test -e /proc/self/fd/{other} && echo leaked"
            ))
            .stdout(Stdio::piped());
        tie(&mut command, vec![given]);
        let output = command.spawn().unwrap().wait_with_output().unwrap();
        assert_eq!(output.stdout, b"given");
    }
}
