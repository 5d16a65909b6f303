//! Locks that other programs hold on parts of a file or device: QEMU holds such locks on the images of its guests.

use std::fmt;
use std::fs::{self, File};
use std::io;
use std::os::fd::AsRawFd;
use std::os::unix::fs::MetadataExt;
use std::path::Path;

/// A program that holds a lock.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Holder(Option<(u32, String)>);

impl Holder {
    /// Returns the name of its program, as the kernel reports it; `None` if the holder cannot be seen.
    pub fn program(&self) -> Option<&str> {
        self.0.as_ref().map(|(_, name)| name.as_str())
    }
}

impl fmt::Display for Holder {
    fn fmt(&self, f: &mut fmt::Formatter) -> fmt::Result {
        match &self.0 {
            Some((process, name)) => write!(f, "{name} (process {process})"),
            None => f.write_str("another program (fuser names those that have it open)"),
        }
    }
}

/// Returns the holder of a lock on any bytes of an open file (`F_SETLK`, `F_OFD_SETLK`), for reading or for writing; `None` if there is no such lock.
///
/// # Errors
/// Fails if the file system does not support the query.
pub fn of_bytes(file: &File) -> io::Result<Option<Holder>> {
    // Asks for a write lock on the whole file, which conflicts with any other lock.
    let mut found = libc::flock {
        l_type: libc::F_WRLCK as libc::c_short,
        l_whence: libc::SEEK_SET as libc::c_short,
        l_start: 0,
        l_len: 0,
        l_pid: 0,
    };
    // SAFETY: F_OFD_GETLK reads and writes one flock.
    if unsafe { libc::fcntl(file.as_raw_fd(), libc::F_OFD_GETLK, &raw mut found) } == -1 {
        return Err(io::Error::last_os_error());
    }
    if found.l_type == libc::F_UNLCK as libc::c_short {
        return Ok(None);
    }
    // The process of a lock that belongs to an open file description is -1. A lock of another machine, or of a process outside this container, has no
    // process number here either.
    let process = u32::try_from(found.l_pid).ok().filter(|pid| *pid > 0);
    Ok(Some(process.map_or_else(|| holder(file), |pid| Holder(Some((pid, name(pid)))))))
}

/// Returns another process that holds a lock of any kind on an open file, as far as /proc shows it; processes of other users may stay hidden.
pub fn holder(file: &File) -> Holder {
    let own_pid = std::process::id();
    let mut pids = entries(Path::new("/proc")).filter(|pid| *pid != own_pid);
    Holder(pids.find(|pid| locks(*pid, file)).map(|pid| (pid, name(pid))))
}

/// Tells whether a process holds a lock on an open file.
fn locks(pid: u32, file: &File) -> bool {
    let (process, found) = (Path::new("/proc").join(pid.to_string()), file.metadata());
    entries(&process.join("fdinfo")).any(|fd| {
        let facts = fs::read_to_string(process.join("fdinfo").join(fd.to_string()));
        // Only files with a lock are examined: the file system of another one may not respond.
        facts.is_ok_and(|facts| facts.lines().any(|line| line.starts_with("lock:")))
            && fs::metadata(process.join("fd").join(fd.to_string())).is_ok_and(|other| {
                found
                    .as_ref()
                    .is_ok_and(|opened| (opened.dev(), opened.ino()) == (other.dev(), other.ino()))
            })
    })
}

/// The numeric names in a directory of /proc.
fn entries(directory: &Path) -> impl Iterator<Item = u32> {
    let all = fs::read_dir(directory).into_iter().flatten().flatten();
    all.filter_map(|entry| entry.file_name().to_str()?.parse().ok())
}

fn name(pid: u32) -> String {
    let name = fs::read_to_string(format!("/proc/{pid}/comm")).unwrap_or_default();
    let name = name.trim_end_matches('\n');
    if name.is_empty() { "a program".into() } else { name.into() }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{BufRead, BufReader};
    use std::process::{Child, Command, Stdio};

    /// A child that holds a lock on bytes 100 to 103 of a file.
    fn lock(path: &Path, how: &str) -> Option<Child> {
        let script = format!(
            "import fcntl, struct, sys, time\nf = open(sys.argv[1], 'r+b')\n{how}\nprint(flush=True)\ntime.sleep(60)"
        );
        let mut child = Command::new("python3");
        let child = child.args(["-c", &script]).arg(path).stdout(Stdio::piped()).spawn();
        let mut child = child.ok()?;
        let message = BufReader::new(child.stdout.take().unwrap()).read_line(&mut String::new());
        (message.unwrap() > 0).then_some(child)
    }

    #[test]
    fn locks_of_others_are_seen_whatever_their_kind_and_named() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().join("file");
        fs::write(&path, [0; 512]).unwrap();
        let file = File::open(&path).unwrap();
        assert_eq!(of_bytes(&file).unwrap(), None);
        assert_eq!(holder(&file), Holder(None));
        let ofd = |kind| format!("fcntl.fcntl(f, 37, struct.pack('hhqqi', {kind}, 0, 100, 4, 0))");
        let posix = "fcntl.lockf(f, fcntl.LOCK_EX, 4, 100)".to_owned();
        for how in [ofd("fcntl.F_RDLCK"), ofd("fcntl.F_WRLCK"), posix] {
            let Some(mut child) = lock(&path, &how) else {
                println!("SKIP locks_of_others_are_seen: python3 is not there");
                return;
            };
            let found = of_bytes(&file).unwrap();
            child.kill().unwrap();
            let expected = format!("python3 (process {})", child.id());
            child.wait().unwrap();
            assert_eq!(found.expect(&how).to_string(), expected, "{how}");
            assert_eq!(of_bytes(&file).unwrap(), None, "{how}");
        }
    }
}
