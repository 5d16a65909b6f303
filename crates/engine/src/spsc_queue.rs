//! A bounded single-producer single-consumer (SPSC) queue with back-pressure, for entries of a nested sample.
//!
//! A worker puts entries in, the census thread takes them out; nobody blocks or locks. From half full on the sender raises the
//! shared sampling shift step by step, so that all workers sample less: halving the sample costs less than dropping entries.

use std::cell::UnsafeCell;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

/// The sampling shift that all senders share: one content in 2^shift is sampled. It only grows.
#[derive(Clone)]
pub(crate) struct Shift(Arc<AtomicU32>);

impl Shift {
    /// Shift 0: every content.
    pub(crate) fn none() -> Self {
        Self(Arc::new(AtomicU32::new(0)))
    }

    /// The smallest shift that leaves at most `limit` of `blocks` distinct blocks.
    pub(crate) fn picking(limit: u64, blocks: Option<u64>) -> Self {
        let blocks = blocks.unwrap_or(0);
        let shift = (0..reduce::MAX_SHIFT).find(|s| blocks >> s <= limit);
        Self(Arc::new(AtomicU32::new(shift.unwrap_or(reduce::MAX_SHIFT))))
    }

    #[inline]
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// Raises the shift to at least `shift`.
    pub(crate) fn raise(&self, shift: u32) {
        self.0.fetch_max(shift.min(reduce::MAX_SHIFT), Ordering::AcqRel);
    }
}

/// Capacity of a queue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Capacity {
    /// Places, at least one; rounded up to a power of two.
    pub places: usize,
    /// Payload bytes of each place, in addition to its entry.
    pub bytes: usize,
    /// Tells whether everything that is expected fits: then nothing slows the sender down before the queue is full.
    pub holds_all: bool,
}

struct Queue<T> {
    entries: Box<[UnsafeCell<T>]>,
    /// The payloads of all places, one after the other.
    bytes: Box<[UnsafeCell<u8>]>,
    /// Payload bytes of a place.
    each: usize,
    /// Entries ever put in; written by the sender.
    put: AtomicUsize,
    /// Entries ever taken out; written by the receiver.
    taken: AtomicUsize,
    closed: AtomicBool,
}

// SAFETY: the sender writes places `put` to `taken + length - 1`, the receiver reads places `taken` to
// `put - 1`; these never overlap, and each counter is stored with Release after the last touch of a place and
// loaded with Acquire before the first by the other side. Each side exists once (`Sender`, `Receiver`).
unsafe impl<T: Send> Sync for Queue<T> {}
// SAFETY: it is plain memory that is not tied to a thread.
unsafe impl<T: Send> Send for Queue<T> {}

impl<T> Queue<T> {
    /// Places; a power of two.
    fn length(&self) -> usize {
        self.entries.len()
    }

    /// The entry and the bytes of a place.
    fn place(&self, number: usize) -> (&UnsafeCell<T>, &[UnsafeCell<u8>]) {
        let place = number & (self.length() - 1);
        (&self.entries[place], &self.bytes[place * self.each..(place + 1) * self.each])
    }
}

/// The mark of a queue without back-pressure.
const NEVER: usize = usize::MAX;

/// The producer's side.
pub(crate) struct Sender<T> {
    queue: Arc<Queue<T>>,
    pub shift: Shift,
    /// Fill level at which the shift is raised next.
    mark: usize,
}

/// The consumer's side.
pub(crate) struct Receiver<T>(Arc<Queue<T>>);

/// A queue whose sender raises `shift` as it fills. `fill` is written into each entry now, so that no page fault comes between two I/Os; it must not
/// be all zeros, or the allocator may leave the pages untouched.
pub(crate) fn queue<T: Copy + Send>(
    capacity: Capacity,
    fill: T,
    shift: Shift,
) -> (Sender<T>, Receiver<T>) {
    let length = capacity.places.max(1).next_power_of_two();
    let queue = Arc::new(Queue {
        entries: (0..length).map(|_| UnsafeCell::new(fill)).collect(),
        bytes: (0..length * capacity.bytes).map(|_| UnsafeCell::new(1)).collect(),
        each: capacity.bytes,
        put: AtomicUsize::new(0),
        taken: AtomicUsize::new(0),
        closed: AtomicBool::new(false),
    });
    let mark = if capacity.holds_all { NEVER } else { (length / 2).max(1) };
    (Sender { queue: queue.clone(), shift, mark }, Receiver(queue))
}

impl<T: Copy> Sender<T> {
    /// Puts in the entry that `entry` makes, with as many of `bytes` as a place holds; returns false when the queue is full.
    #[inline(always)]
    pub(crate) fn put(&mut self, bytes: &[u8], entry: impl FnOnce() -> T) -> bool {
        let length = self.queue.length();
        let put = self.queue.put.load(Ordering::Relaxed);
        let used = put - self.queue.taken.load(Ordering::Acquire);
        if used >= self.mark.min(length) {
            if used == length {
                return false;
            }
            // Each further 32nd of the queue that fills halves the sample.
            self.shift.raise(self.shift.get() + 1);
            self.mark = used + (length / 32).max(1);
        } else if used < length / 4 && self.mark != NEVER {
            self.mark = length / 2;
        }
        let (to, place) = self.queue.place(put);
        let count = place.len().min(bytes.len());
        // SAFETY: the place is free (`used < length`) and therefore the sender's; it has room for that many bytes, and the copied bytes lie in memory
        // outside the queue.
        unsafe {
            *to.get() = entry();
            UnsafeCell::raw_get(place.as_ptr()).copy_from_nonoverlapping(bytes.as_ptr(), count);
        }
        self.queue.put.store(put + 1, Ordering::Release);
        true
    }
}

impl<T> Drop for Sender<T> {
    /// Closes the queue, even if the thread panicked.
    fn drop(&mut self) {
        self.queue.closed.store(true, Ordering::Release);
    }
}

impl<T: Copy> Receiver<T> {
    /// Places of the queue.
    pub(crate) fn length(&self) -> usize {
        self.0.length()
    }

    /// Passes all entries to `take`, first in first out; returns false when the queue is closed and nothing more will come.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(T, &[u8])) -> bool {
        let closed = self.0.closed.load(Ordering::Acquire);
        let put = self.0.put.load(Ordering::Acquire);
        let mut taken = self.0.taken.load(Ordering::Relaxed);
        while taken != put {
            let (entry, place) = self.0.place(taken);
            let start = UnsafeCell::raw_get(place.as_ptr());
            // SAFETY: the entry was put in and not yet taken out: the place is the receiver's, and all of it was written.
            unsafe { take(*entry.get(), std::slice::from_raw_parts(start, place.len())) };
            taken += 1;
            self.0.taken.store(taken, Ordering::Release);
        }
        !closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn capacity(places: usize) -> Capacity {
        Capacity { places, bytes: 16, holds_all: false }
    }

    #[test]
    fn what_is_put_in_passes_between_threads_unchanged_and_in_order() {
        let (mut sender, mut receiver) = queue(capacity(64), 1, Shift::picking(1, None));
        let worker = std::thread::spawn(move || {
            (0..100_000u64).filter(|&id| sender.put(&[id as u8; 16], || id)).count()
        });
        let (mut last, mut count) = (None, 0);
        while receiver.drain(|id, bytes| {
            assert!(last < Some(id) && bytes == [id as u8; 16]);
            (last, count) = (Some(id), count + 1);
        }) {}
        // What came between the last look and the end.
        assert_eq!(worker.join().unwrap(), count);
        assert!(count > 0);
    }

    #[test]
    fn back_pressure_begins_at_half_full_and_ends_when_the_queue_was_emptied() {
        let shift = Shift::picking(1, None);
        let (mut sender, mut receiver) = queue(capacity(64), 1, shift.clone());
        let put = |sender: &mut Sender<i32>, times| (0..times).all(|_| sender.put(&[], || 5));
        assert!(put(&mut sender, 32) && shift.get() == 0);
        assert!(put(&mut sender, 3) && shift.get() == 2);
        receiver.drain(|_, _| {});
        assert!(put(&mut sender, 32) && shift.get() == 2);
        assert!(put(&mut sender, 32) && shift.get() == 18);
        // No room: nothing is put in.
        assert!(!put(&mut sender, 1));
        let mut found = 0;
        assert!(receiver.drain(|_, _| found += 1) && found == 64);
        drop(sender);
        assert!(!receiver.drain(|_, _| found += 1) && found == 64);
    }

    #[test]
    fn a_queue_that_holds_all_has_no_back_pressure() {
        let shift = Shift::picking(1, None);
        let all = Capacity { holds_all: true, ..capacity(3) };
        let (mut sender, receiver) = queue(all, 1, shift.clone());
        assert_eq!(receiver.length(), 4);
        assert!((0..4).all(|_| sender.put(&[], || 5)) && !sender.put(&[], || 5));
        assert_eq!(shift.get(), 0);
    }

    #[test]
    fn a_known_amount_is_picked_down_to_the_limit_from_the_start() {
        for (blocks, shift) in [(None, 0), (Some(100), 0), (Some(101), 1), (Some(1 << 50), 40)] {
            assert_eq!(Shift::picking(100, blocks).get(), shift);
        }
    }
}
