//! Records of the kernel's log, `/dev/kmsg`.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Seek, SeekFrom};
use std::os::unix::fs::OpenOptionsExt;

/// Most bytes of one record.
const MAX_RECORD_BYTES: usize = 8192;

/// One record of the log.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Record {
    /// Time since the kernel's start, microseconds.
    pub at_us: u64,
    /// Its text, one line.
    pub text: String,
}

impl Record {
    /// Reads `6,339,5140900,-;text\n KEY=value`.
    fn read(record: &str) -> Self {
        let first = record.lines().next().unwrap_or_default();
        let (head, text) = first.split_once(';').unwrap_or(("", first));
        let micros = head.split(',').nth(2).and_then(|field| field.parse().ok());
        Self { at_us: micros.unwrap_or(0), text: text.to_owned() }
    }
}

/// A reader of the log that never blocks.
#[derive(Debug)]
pub struct KernelLog(File);

impl KernelLog {
    /// Opens the log at the oldest record.
    ///
    /// # Errors
    /// Fails if the log cannot be opened: usually only root can.
    pub fn open() -> io::Result<Self> {
        let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
        let log = File::options().read(true).custom_flags(nonblocking).open("/dev/kmsg")?;
        Ok(Self(log))
    }

    /// Opens the log at the next record to come.
    ///
    /// # Errors
    /// Fails if the log cannot be opened.
    pub fn from_now_on() -> io::Result<Self> {
        let mut log = Self::open()?;
        log.0.seek(SeekFrom::End(0))?;
        Ok(log)
    }

    /// The records so far; `None` for records that were overwritten before they could be read.
    pub fn records(&mut self) -> impl Iterator<Item = Option<Record>> {
        let mut record = [0; MAX_RECORD_BYTES];
        std::iter::from_fn(move || match self.0.read(&mut record) {
            Ok(0) => None,
            Ok(length) => Some(Some(Record::read(&String::from_utf8_lossy(&record[..length])))),
            // The next read continues with the oldest record.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => Some(None),
            Err(_) => None,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::OwnedFd;
    use std::os::unix::net::UnixDatagram;

    use super::*;

    #[test]
    fn a_record_is_its_time_and_its_first_line() {
        let record = Record::read("6,339,5140900,-;NET: Registered\n SUBSYSTEM=x\n");
        assert_eq!(record, Record { at_us: 5_140_900, text: "NET: Registered".into() });
        assert_eq!(Record::read("no head").text, "no head");
    }

    /// A datagram is read whole by one call, as a record is.
    #[test]
    fn records_are_read_as_far_as_they_have_come_and_later_ones_later() {
        let (kernel, reader) = UnixDatagram::pair().unwrap();
        reader.set_nonblocking(true).unwrap();
        let mut log = KernelLog(File::from(OwnedFd::from(reader)));
        let texts = |log: &mut KernelLog| {
            log.records().map(|record| record.unwrap().text).collect::<Vec<_>>()
        };
        assert!(texts(&mut log).is_empty());
        for text in ["4,1,17,-;one", "4,2,18,-;two\n DEVICE=x"] {
            kernel.send(text.as_bytes()).unwrap();
        }
        assert_eq!(texts(&mut log), ["one", "two"]);
        kernel.send(b"4,3,19,-;three").unwrap();
        assert_eq!(texts(&mut log), ["three"]);
    }
}
