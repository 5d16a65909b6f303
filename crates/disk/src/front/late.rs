//! Counts how late replies are sent, and hands the trace of all requests to a separate thread, which writes it.

use std::fs::File;
use std::io::BufWriter;
use std::sync::mpsc::{Receiver, Sender, channel};
use std::thread::JoinHandle;

use super::served::ServingStats;
use crate::error::{Error, Result};
use crate::trace::{Header, Record, Writer};

/// Records that go to the thread together.
const BATCH: usize = 1024;
/// Buckets of each power of two.
const PARTS: u64 = 16;

/// Counts how late replies were, and hands records to the writer of the trace.
#[derive(Debug)]
pub(super) struct Notes {
    late: Times,
    model: Times,
    batch: Vec<Record>,
    give: Option<Sender<Vec<Record>>>,
    writer: Option<JoinHandle<std::io::Result<()>>>,
}

impl Notes {
    /// Begins a trace in `file`. The thread that keeps time only hands records over; another one writes them.
    pub(super) fn begin(file: File, header: &Header, most: u64) -> Result<Self> {
        let io = |source| Error::Io { what: "cannot write", path: "the trace".into(), source };
        let writer = Writer::begin(BufWriter::new(file), header, most).map_err(io)?;
        let (give, take) = channel();
        let write = move || write(writer, &take);
        let thread = std::thread::Builder::new().name("trace".into()).spawn(write).map_err(io)?;
        Ok(Self {
            late: Times::default(),
            model: Times::default(),
            batch: Vec::with_capacity(BATCH),
            give: Some(give),
            writer: Some(thread),
        })
    }

    pub(super) fn add(&mut self, record: Record) {
        self.late.add(u64::from(record.late_ns));
        self.model.add(record.latency_ns);
        self.batch.push(record);
        if self.batch.len() >= BATCH {
            self.hand_over();
        }
    }

    fn hand_over(&mut self) {
        let batch = std::mem::replace(&mut self.batch, Vec::with_capacity(BATCH));
        if let Some(give) = &self.give {
            // The writer is gone only when its file could not be written, which its end says.
            let _ = give.send(batch);
        }
    }

    /// Ends the trace and returns how late replies were.
    pub(super) fn finish(&mut self) -> ServingStats {
        self.hand_over();
        self.give = None;
        let trace_error = match self.writer.take().map(JoinHandle::join) {
            None | Some(Ok(Ok(()))) => None,
            Some(Ok(Err(error))) => Some(error.to_string()),
            Some(Err(_)) => Some("its writer died".into()),
        };
        ServingStats {
            requests: self.late.count,
            late_p50_ns: self.late.quantile(0.5),
            late_p99_ns: self.late.quantile(0.99),
            late_max_ns: self.late.most,
            model_p50_ns: self.model.quantile(0.5),
            priority: None,
            trace_error,
        }
    }
}

fn write(mut writer: Writer<BufWriter<File>>, take: &Receiver<Vec<Record>>) -> std::io::Result<()> {
    while let Ok(batch) = take.recv() {
        batch.iter().try_for_each(|record| writer.add(record))?;
    }
    writer.finish().map(drop)
}

/// Times in buckets, each a sixteenth of its power of two wide.
#[derive(Debug)]
struct Times {
    buckets: Vec<u64>,
    count: u64,
    most: u64,
}

impl Default for Times {
    fn default() -> Self {
        Self { buckets: vec![0; 64 * PARTS as usize], count: 0, most: 0 }
    }
}

impl Times {
    fn add(&mut self, ns: u64) {
        let power = u64::from(ns.max(PARTS).ilog2()) - 4;
        let bucket = if ns < PARTS { ns } else { (power + 1) * PARTS + (ns >> power) - PARTS };
        if let Some(bucket) = self.buckets.get_mut(bucket as usize) {
            *bucket += 1;
        }
        self.count += 1;
        self.most = self.most.max(ns);
    }

    /// Returns the end of the bucket that holds this quantile.
    fn quantile(&self, share: f64) -> u64 {
        let wanted = (self.count as f64 * share).ceil() as u64;
        let mut seen = 0;
        let bucket = self.buckets.iter().position(|count| {
            seen += count;
            seen >= wanted
        });
        let bucket = bucket.unwrap_or(0) as u64;
        let end = match bucket / PARTS {
            0 => bucket,
            power => ((bucket % PARTS + PARTS + 1) << (power - 1)) - 1,
        };
        end.min(self.most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_are_right_to_a_sixteenth() {
        for scale in [1, 1000, 1_000_000] {
            let mut times = Times::default();
            (1..=1000).for_each(|i| times.add(i * scale));
            for (share, exact) in [(0.5, 500), (0.99, 990), (1.0, 1000)] {
                let (found, exact) = (times.quantile(share) as f64, (exact * scale) as f64);
                assert!((1.0..1.07).contains(&(found / exact)), "{scale} {share}: {found}");
            }
        }
        assert_eq!(Times::default().quantile(0.99), 0);
    }
}
