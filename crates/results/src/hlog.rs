//! An interval log of HdrHistogram that grows row by row while a load runs.

use std::io::{self, Write};

use crate::model::IntervalRow;

/// The beginning of every interval log.
pub const MARK: &[u8] = b"#[Fathom: latencies of ";

/// An interval log: one line per operation and interval, tagged with the operation; values in nanoseconds.
#[derive(Debug)]
pub struct IntervalLog<W> {
    out: W,
}

impl<W: Write> IntervalLog<W> {
    /// Writes the beginning of a log about `what`, with times that count from the moment `since`.
    pub fn begin(mut out: W, what: &str, since: &str) -> io::Result<Self> {
        let what = what.replace(['\r', '\n'], " ");
        out.write_all(MARK)?;
        writeln!(out, "{what}, values in nanoseconds]")?;
        writeln!(out, "#[Times are seconds since {since}]")?;
        writeln!(out, "#[BaseTime: 0.000 (seconds since epoch)]")?;
        writeln!(out, "#[MaxValueDivisor: 1000000.000]")?;
        writeln!(
            out,
            "\"StartTimestamp\",\"Interval_Length\",\"Interval_Max\",\"Interval_Compressed_Histogram\""
        )?;
        Ok(Self { out })
    }

    /// Adds a row as a line; a row without latencies gets none.
    pub fn add(&mut self, row: &IntervalRow) -> io::Result<()> {
        self.add_as(row, &row.operation)
    }

    /// Adds a row under another name than its operation's.
    pub fn add_as(&mut self, row: &IntervalRow, name: &str) -> io::Result<()> {
        let (Some(histogram), Some(latency)) = (&row.histogram, row.latency) else {
            return Ok(());
        };
        let seconds = |ns: u64| ns as f64 / 1e9;
        let tag = name.replace([',', ' ', '\r', '\n'], "-");
        writeln!(
            self.out,
            "Tag={tag},{:.3},{:.3},{:.3},{histogram}",
            seconds(row.start_ns),
            seconds(row.end_ns.saturating_sub(row.start_ns)),
            latency.max_ns as f64 / 1e6,
        )
    }

    /// Flushes the added rows to the writer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.flush()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::histogram;
    use hdrhistogram::serialization::interval_log::{IntervalLogIterator, LogEntry};

    fn row(operation: &str, second: u64, values: &[u64]) -> IntervalRow {
        let mut h = histogram::empty().unwrap();
        values.iter().for_each(|&v| h.record(v).unwrap());
        IntervalRow {
            stage: 0,
            operation: operation.to_owned(),
            start_ns: second * 1_000_000_000,
            end_ns: (second + 1) * 1_000_000_000,
            ios: values.len() as u64,
            bytes: 0,
            errors: 0,
            outcomes: None,
            latency: histogram::summary(&h),
            histogram: (!values.is_empty()).then(|| histogram::encode(&h).unwrap()),
        }
    }

    #[test]
    fn the_readers_of_hdrhistogram_read_every_line_back() {
        let rows = [
            row("randread", 0, &[100, 5_000_000]),
            row("randwrite", 0, &[]),
            row("randread", 1, &[7]),
        ];
        let mut bytes = Vec::new();
        let mut log = IntervalLog::begin(&mut bytes, "a\nload", "the start").unwrap();
        rows.iter().for_each(|r| log.add(r).unwrap());
        log.flush().unwrap();
        let mut seen = Vec::new();
        for entry in IntervalLogIterator::new(&bytes) {
            if let LogEntry::Interval(line) = entry.unwrap() {
                let h = histogram::decode(line.encoded_histogram()).unwrap();
                let at = (line.start_timestamp().as_secs(), line.duration().as_secs());
                assert!((line.max() * 1e6 - h.max() as f64).abs() < 1_000.0, "{}", line.max());
                seen.push((line.tag().unwrap().as_str().to_owned(), at, h.len(), h.min()));
            }
        }
        let name = "randread".to_owned();
        assert_eq!(seen, [(name.clone(), (0, 1), 2, 100), (name, (1, 1), 1, 7)]);
    }
}
