//! The interval recorder: a double buffer of tallies per worker, so that one is read while the other is written, without a lock.
//!
//! The worker records into one buffer. When an interval ends it moves to the other, if the reader has emptied that one; else it stays, and what
//! follows counts for the interval of the buffer that it is in. The reader takes a buffer that the worker has left and empties it; two counters say
//! which side owns each buffer.

use std::cell::UnsafeCell;
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::tally::{Shape, Tally};

struct IntervalTally {
    tally: Tally,
    interval: u64,
}

struct DoubleBuffer {
    buffers: [UnsafeCell<IntervalTally>; 2],
    /// Buffers that the worker has left so far; it writes into buffer `left % 2`.
    left: AtomicU64,
    /// Buffers that the reader has emptied so far; never above `left`, never more than one behind it when the worker moves.
    emptied: AtomicU64,
    /// The interval that the worker's clock has reached, whether it could move or not.
    reached: AtomicU64,
}

// SAFETY: the worker touches buffer `left % 2` only, and moves on only when `emptied == left`; the reader touches
// buffer `emptied % 2` only while `emptied < left`. As `left - emptied` is 0 or 1, these are never the same buffer.
// The counters are stored with Release after the last touch and loaded with Acquire before the first.
unsafe impl Sync for DoubleBuffer {}

/// The worker's side.
pub(crate) struct IntervalRecorder {
    shared: Arc<DoubleBuffer>,
    /// The worker's current buffer, so that it need not be looked up for each I/O.
    tally: NonNull<Tally>,
}

// SAFETY: the pointer points into `shared`, which lives as long as this value and may be used from any thread.
unsafe impl Send for IntervalRecorder {}

/// The reader's side.
pub(crate) struct IntervalReader(Arc<DoubleBuffer>);

/// Two empty buffers.
pub(crate) fn pair(shape: Shape) -> (IntervalRecorder, IntervalReader) {
    let buffer = || UnsafeCell::new(IntervalTally { tally: Tally::new(shape), interval: 0 });
    let shared = Arc::new(DoubleBuffer {
        buffers: [buffer(), buffer()],
        left: AtomicU64::new(0),
        emptied: AtomicU64::new(0),
        reached: AtomicU64::new(0),
    });
    (IntervalRecorder { tally: shared.tally(0), shared: shared.clone() }, IntervalReader(shared))
}

impl DoubleBuffer {
    /// Returns a pointer to the tally of buffer `number % 2`.
    fn tally(&self, number: u64) -> NonNull<Tally> {
        let buffer = self.buffers[(number % 2) as usize].get();
        // SAFETY: the pointer of a cell is never null and points to a whole buffer; no reference is made.
        unsafe { NonNull::new_unchecked(&raw mut (*buffer).tally) }
    }
}

impl IntervalRecorder {
    /// The buffer to write into.
    #[inline]
    pub(crate) fn tally(&mut self) -> &mut Tally {
        // SAFETY: this is buffer `left % 2`, the worker's (see `DoubleBuffer`); `&mut self` keeps this reference the only one.
        unsafe { self.tally.as_mut() }
    }

    /// Notes that the worker's clock has reached `interval`; what follows counts for it if the other buffer is free.
    pub(crate) fn enter(&mut self, interval: u64) {
        let left = self.shared.left.load(Ordering::Relaxed);
        if self.shared.emptied.load(Ordering::Acquire) == left {
            // SAFETY: the reader has emptied every buffer that was left, so that neither side is using the other buffer.
            unsafe { (*self.shared.buffers[((left + 1) % 2) as usize].get()).interval = interval };
            self.tally = self.shared.tally(left + 1);
            self.shared.left.store(left + 1, Ordering::Release);
        }
        self.shared.reached.store(interval, Ordering::Release);
    }

    /// Hands the last buffer to the reader. Returns false while the reader is not ready, and then must be called again; after it has returned true,
    /// nothing may be written any more.
    pub(crate) fn close(&mut self) -> bool {
        let left = self.shared.left.load(Ordering::Relaxed);
        if self.shared.emptied.load(Ordering::Acquire) != left {
            return false;
        }
        // From here on the worker's buffer is the other one, which is empty: a stray write to it is lost, which is harmless.
        self.tally = self.shared.tally(left + 1);
        self.shared.left.store(left + 1, Ordering::Release);
        self.shared.reached.store(u64::MAX, Ordering::Release);
        true
    }
}

impl IntervalReader {
    /// Passes the buffer that the worker has left, if any, to `take` with its interval, and then empties it for the worker.
    pub(crate) fn take(&mut self, mut take: impl FnMut(u64, &Tally)) {
        let emptied = self.0.emptied.load(Ordering::Relaxed);
        if self.0.left.load(Ordering::Acquire) > emptied {
            // SAFETY: the worker has left this buffer and waits for `emptied` (see `DoubleBuffer`).
            let buffer = unsafe { &mut *self.0.buffers[(emptied % 2) as usize].get() };
            take(buffer.interval, &buffer.tally);
            buffer.tally.clear();
            self.0.emptied.store(emptied + 1, Ordering::Release);
        }
    }

    /// The interval that the worker's clock has reached; `u64::MAX` when it has closed.
    pub(crate) fn reached(&self) -> u64 {
        self.0.reached.load(Ordering::Acquire)
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
    fn a_worker_whose_reader_sleeps_stays_in_its_buffer() {
        let (mut writer, mut reader) = pair(plain(1));
        writer.tally().completed(&io(0, 1, 1));
        writer.enter(1);
        writer.tally().completed(&io(0, 1, 1));
        writer.enter(2);
        writer.tally().completed(&io(0, 1, 1));
        assert_eq!(reader.reached(), 2);
        assert!(!writer.close());
        let mut seen = Vec::new();
        reader.take(|interval, tally| seen.push((interval, tally.ios())));
        assert!(writer.close());
        reader.take(|interval, tally| seen.push((interval, tally.ios())));
        reader.take(|interval, tally| seen.push((interval, tally.ios())));
        assert_eq!(seen, [(0, 1), (1, 2)]);
    }
}
