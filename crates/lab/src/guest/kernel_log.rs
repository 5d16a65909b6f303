//! The guest's kernel log as text, for the result.

use sys::kernel_log::{KernelLog, Record};

/// All records there are, one a line: `[seconds] text`.
pub(super) fn read() -> String {
    let Ok(mut log) = KernelLog::open() else { return String::new() };
    log.records().map(|record| record.as_ref().map_or_else(|| "[...]\n".into(), line)).collect()
}

fn line(record: &Record) -> String {
    let (seconds, micros) = (record.at_us / 1_000_000, record.at_us % 1_000_000);
    format!("[{seconds:5}.{micros:06}] {}\n", record.text)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_record_becomes_a_line_with_its_time() {
        let record = Record { at_us: 5_140_900, text: "NET: Registered".into() };
        assert_eq!(line(&record), "[    5.140900] NET: Registered\n");
    }
}
