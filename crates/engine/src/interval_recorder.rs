//! The interval recorder: a ring of tallies per worker, so that some are read while another is written, without a lock.
//!
//! The worker records into one buffer. When an interval ends it moves to the next, if the reader has emptied that one; else it stays, and what
//! follows counts for the interval of the buffer that it is in. The reader takes the buffers that the worker has left and empties them; two counters
//! say which side owns each buffer.

use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::tally::{Shape, Tally};

/// Number of buffers: a reader may be as many intervals late, less one, before rows run together. Histograms take memory only where they count.
pub(crate) const BUFFERS: u64 = 16;

struct IntervalTally {
    tally: Tally,
    interval: u64,
}

struct Ring {
    buffers: [UnsafeCell<IntervalTally>; BUFFERS as usize],
    /// Buffers that the worker has left so far; it writes into buffer `left % BUFFERS`.
    left: AtomicU64,
    /// Buffers that the reader has emptied so far; never above `left`, and never as many as [`BUFFERS`] behind it.
    emptied: AtomicU64,
    /// The interval that the worker's clock has reached, whether it could move or not.
    reached: AtomicU64,
    /// Intervals that the worker entered without a free buffer: their I/Os count for an earlier one.
    merged: AtomicU64,
}

// SAFETY: the worker touches buffer `left % BUFFERS` only, and moves on only while `left - emptied` is below `BUFFERS - 1`; the reader touches
// buffer `emptied % BUFFERS` only while `emptied < left`. As `left - emptied` is always below `BUFFERS`, these are never the same buffer.
// The counters are stored with Release after the last touch and loaded with Acquire before the first.
unsafe impl Sync for Ring {}

/// The worker's side.
pub(crate) struct IntervalRecorder {
    shared: Arc<Ring>,
    /// The worker's current buffer, so that it need not be looked up for each I/O.
    tally: NonNull<Tally>,
}

// SAFETY: the pointer points into `shared`, which lives as long as this value and may be used from any thread.
unsafe impl Send for IntervalRecorder {}

/// The reader's side.
pub(crate) struct IntervalReader(Arc<Ring>);

/// A ring of empty buffers.
pub(crate) fn pair(shape: Shape) -> (IntervalRecorder, IntervalReader) {
    let buffer = |_| UnsafeCell::new(IntervalTally { tally: Tally::new(shape), interval: 0 });
    let shared = Arc::new(Ring {
        buffers: std::array::from_fn(buffer),
        left: AtomicU64::new(0),
        emptied: AtomicU64::new(0),
        reached: AtomicU64::new(0),
        merged: AtomicU64::new(0),
    });
    (IntervalRecorder { tally: shared.tally(0), shared: shared.clone() }, IntervalReader(shared))
}

impl Ring {
    /// Returns a pointer to the tally of buffer `number % BUFFERS`.
    fn tally(&self, number: u64) -> NonNull<Tally> {
        let buffer = self.buffers[(number % BUFFERS) as usize].get();
        // SAFETY: the pointer of a cell is never null and points to a whole buffer; no reference is made.
        unsafe { NonNull::new_unchecked(&raw mut (*buffer).tally) }
    }
}

impl IntervalRecorder {
    /// The buffer to write into.
    #[inline]
    pub(crate) fn tally(&mut self) -> &mut Tally {
        // SAFETY: this is buffer `left % BUFFERS`, the worker's (see `Ring`); `&mut self` keeps this reference the only one.
        unsafe { self.tally.as_mut() }
    }

    /// Notes that the worker's clock has reached `interval`; what follows counts for it if the next buffer is free.
    pub(crate) fn enter(&mut self, interval: u64) {
        if let Some(next) = self.free() {
            // SAFETY: the reader has emptied the next buffer, so that neither side is using it.
            unsafe {
                (*self.shared.buffers[(next % BUFFERS) as usize].get()).interval = interval;
            }
            self.tally = self.shared.tally(next);
            self.shared.left.store(next, Ordering::Release);
        } else {
            self.shared.merged.fetch_add(1, Ordering::Relaxed);
        }
        self.shared.reached.store(interval, Ordering::Release);
    }

    /// The number of the next buffer, if the reader has emptied it.
    fn free(&self) -> Option<u64> {
        let left = self.shared.left.load(Ordering::Relaxed);
        let full = left - self.shared.emptied.load(Ordering::Acquire);
        (full + 1 < BUFFERS).then_some(left + 1)
    }

    /// Hands the last buffer to the reader. Returns false while the reader is not ready, and then must be called again; after it has returned true,
    /// nothing may be written any more.
    pub(crate) fn close(&mut self) -> bool {
        let Some(next) = self.free() else { return false };
        // From here on the worker's buffer is the next one, which is empty: a stray write to it is lost, which is harmless.
        self.tally = self.shared.tally(next);
        self.shared.left.store(next, Ordering::Release);
        self.shared.reached.store(u64::MAX, Ordering::Release);
        true
    }
}

impl IntervalReader {
    /// Passes each buffer that the worker has left to `take` with its interval, the oldest first, and then empties it for the worker.
    pub(crate) fn take(&mut self, mut take: impl FnMut(u64, &Tally)) {
        let first = self.0.emptied.load(Ordering::Relaxed);
        for emptied in first..self.0.left.load(Ordering::Acquire) {
            // SAFETY: the worker has left this buffer and waits for `emptied` (see `Ring`).
            let buffer = unsafe { &mut *self.0.buffers[(emptied % BUFFERS) as usize].get() };
            take(buffer.interval, &buffer.tally);
            buffer.tally.clear();
            self.0.emptied.store(emptied + 1, Ordering::Release);
        }
    }

    /// The interval that the worker's clock has reached; `u64::MAX` when it has closed.
    pub(crate) fn reached(&self) -> u64 {
        self.0.reached.load(Ordering::Acquire)
    }

    /// Number of intervals whose I/Os count for an earlier one, because this reader was late.
    pub(crate) fn merged(&self) -> u64 {
        self.0.merged.load(Ordering::Relaxed)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tally::tests::{io, plain};

    #[test]
    fn what_is_written_from_one_thread_is_read_from_another_and_nothing_is_lost() {
        let (mut writer, mut reader) = pair(plain(1));
        let worker = std::thread::spawn(move || {
            for i in 0..200_000u64 {
                if i % 50 == 0 {
                    writer.enter(i / 50);
                    // Let the reader keep up for a while, then run away from it.
                    while i < 5_000 && writer.shared.emptied.load(Ordering::Relaxed) < i / 50 {
                        std::thread::yield_now();
                    }
                }
                writer.tally().completed(&io(0, i + 1, 1));
            }
            while !writer.close() {
                std::thread::yield_now();
            }
        });
        let (mut all, mut last) = (Tally::new(plain(1)), 0);
        loop {
            let closed = reader.reached() == u64::MAX;
            reader.take(|interval, tally| {
                assert!(interval >= last);
                last = interval;
                all.merge(tally);
            });
            if closed {
                break;
            }
        }
        worker.join().unwrap();
        assert_eq!(all.ios(), 200_000);
        assert!(last > 1, "the worker never moved");
    }

    #[test]
    fn a_worker_whose_reader_is_late_keeps_its_intervals_apart_until_the_ring_is_full_and_counts_the_rest()
     {
        let (mut writer, mut reader) = pair(plain(1));
        writer.tally().completed(&io(0, 1, 1));
        for interval in 1..=BUFFERS + 1 {
            writer.enter(interval);
            writer.tally().completed(&io(0, 1, 1));
        }
        assert_eq!((reader.reached(), reader.merged()), (BUFFERS + 1, 2));
        assert!(!writer.close());
        let mut seen = Vec::new();
        reader.take(|interval, tally| seen.push((interval, tally.ios())));
        assert!(writer.close());
        reader.take(|interval, tally| seen.push((interval, tally.ios())));
        reader.take(|interval, tally| seen.push((interval, tally.ios())));
        let whole = (0..BUFFERS - 1).map(|interval| (interval, 1));
        assert_eq!(seen, whole.chain([(BUFFERS - 1, 3)]).collect::<Vec<_>>());
    }
}
