//! Outputs of a child process: read as they come, kept within bounds.

use std::collections::VecDeque;
use std::io::{self, Read};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use rustix::event::{PollFd, PollFlags, Timespec, poll};

/// Largest number of buffers of 16 KiB that are read at once: more than a pipe holds.
const AT_ONCE: usize = 64;

/// The beginning and the end of an output; what comes between is dropped.
pub(crate) struct Kept {
    head: Vec<u8>,
    tail: VecDeque<u8>,
    most: [usize; 2],
    dropped: u64,
}

impl Kept {
    /// Keeps `head` bytes of the beginning and `tail` bytes of the end.
    pub(crate) fn new(head: usize, tail: usize) -> Self {
        Self { head: Vec::new(), tail: VecDeque::new(), most: [head, tail], dropped: 0 }
    }

    fn take(&mut self, bytes: &[u8]) {
        let (first, rest) = bytes.split_at(bytes.len().min(self.most[0] - self.head.len()));
        self.head.extend(first);
        self.tail.extend(rest);
        let over = self.tail.len().saturating_sub(self.most[1]);
        self.tail.drain(..over);
        self.dropped += over as u64;
    }

    /// Returns what is kept, as text; where something is missing between beginning and end, it says how much.
    pub(crate) fn text(&self) -> String {
        let tail: Vec<u8> = self.tail.iter().copied().collect();
        let (head, tail) = (String::from_utf8_lossy(&self.head), String::from_utf8_lossy(&tail));
        if self.dropped > 0 && self.most[1] > 0 {
            return format!("{head}\n[{} bytes left out]\n{tail}", self.dropped);
        }
        format!("{head}{tail}")
    }
}

/// One output of a child, read as it comes.
pub(crate) struct Pipe<T> {
    from: Option<T>,
    pub(crate) kept: Kept,
}

impl<T: Read + AsFd> Pipe<T> {
    pub(crate) fn new(from: Option<T>, kept: Kept) -> io::Result<Self> {
        if let Some(pipe) = &from {
            rustix::io::ioctl_fionbio(pipe, true)?;
        }
        Ok(Self { from, kept })
    }

    pub(crate) fn fd(&self) -> Option<BorrowedFd<'_>> {
        self.from.as_ref().map(AsFd::as_fd)
    }

    /// Reads what is available; closes at the end of the output.
    pub(crate) fn read(&mut self) {
        self.read_to(&mut |_| {});
    }

    /// Reads what is available and passes it to `also` before any of it is dropped; closes at the end of the output. The amount is limited, so that a
    /// program that prints without a pause does not keep the reader from checking anything else.
    pub(crate) fn read_to(&mut self, also: &mut dyn FnMut(&[u8])) {
        let mut buffer = [0u8; 16 << 10];
        for _ in 0..AT_ONCE {
            let Some(pipe) = &mut self.from else { return };
            match pipe.read(&mut buffer) {
                Ok(0) => self.from = None,
                Ok(n) => {
                    also(&buffer[..n]);
                    self.kept.take(&buffer[..n]);
                }
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return,
                Err(_) => self.from = None,
            }
        }
    }
}

/// Waits until one of these can be read, at most as long as `most`.
pub(crate) fn wait_for(fds: &[Option<BorrowedFd<'_>>], most: Duration) {
    let mut fds: Vec<_> =
        fds.iter().flatten().map(|fd| PollFd::from_borrowed_fd(*fd, PollFlags::IN)).collect();
    if fds.is_empty() {
        // Both are closed: the end is near.
        std::thread::sleep(Duration::from_millis(1));
        return;
    }
    let timeout = Timespec { tv_sec: 0, tv_nsec: most.as_nanos() as i64 };
    // An interrupted wait is a short one.
    let _ = poll(&mut fds, Some(&timeout));
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_beginning_and_the_end_are_kept_and_what_is_missing_is_counted() {
        let mut kept = Kept::new(4, 3);
        for part in ["ab", "cdef", "", "ghijk"] {
            kept.take(part.as_bytes());
        }
        assert_eq!(kept.text(), "abcd\n[4 bytes left out]\nijk");
        let mut short = Kept::new(4, 3);
        short.take(b"abcdefg");
        assert_eq!(short.text(), "abcdefg");
    }
}
