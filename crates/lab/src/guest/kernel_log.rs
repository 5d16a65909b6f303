//! The guest's kernel log as text, for the result.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::os::unix::fs::OpenOptionsExt;

/// One record of `/dev/kmsg` is at most this long.
const LONGEST: usize = 8192;

/// All records there are, one a line: `[seconds] text`.
pub(super) fn read() -> String {
    let mut text = String::new();
    let nonblocking = i32::try_from(rustix::fs::OFlags::NONBLOCK.bits()).unwrap_or(0);
    let log = File::options().read(true).custom_flags(nonblocking).open("/dev/kmsg");
    let Ok(mut log) = log else {
        return text;
    };
    let mut record = [0; LONGEST];
    loop {
        match log.read(&mut record) {
            Ok(length) => text.push_str(&line(&String::from_utf8_lossy(&record[..length]))),
            // Records were overwritten before they could be read: the next read goes on with the oldest.
            Err(error) if error.kind() == ErrorKind::BrokenPipe => text.push_str("[...]\n"),
            Err(_) => return text,
        }
    }
}

/// `6,339,5140900,-;text\n KEY=value` becomes `[    5.140900] text`.
fn line(record: &str) -> String {
    let first = record.lines().next().unwrap_or_default();
    let (head, text) = first.split_once(';').unwrap_or(("", first));
    let micros: u64 = head.split(',').nth(2).and_then(|field| field.parse().ok()).unwrap_or(0);
    format!("[{:5}.{:06}] {text}\n", micros / 1_000_000, micros % 1_000_000)
}

#[cfg(test)]
mod tests {
    #[test]
    fn a_record_becomes_a_line_with_its_time() {
        let record = "6,339,5140900,-;NET: Registered\n SUBSYSTEM=x\n";
        assert_eq!(super::line(record), "[    5.140900] NET: Registered\n");
    }
}
