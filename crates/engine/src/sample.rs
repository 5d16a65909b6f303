//! What was written, seen by its own bytes: a sample of the blocks on their way to the kernel.
//!
//! The worker copies blocks that `reduce::picked` passes into a bounded queue, after it filled them and before
//! it stamps them; a thread of its own, at low priority, takes the census. The fuller a queue gets, the stricter
//! all workers pick: samples are nested, so that at the end the census keeps what passes the strictest shift
//! that ever held, and the sample is what that shift alone would have picked.
//!
//! What each address holds is told at once, for every block ([`reduce::Addresses`]): so the census knows at the end which of the
//! blocks that it saw are still there, without being shown the others. Of blocks that go to one address, the one
//! that is handed over last counts; of writes in flight together the target may keep another.
//!
//! A block counts as written when it is handed to the kernel, also when the write fails.

use std::cell::UnsafeCell;
use std::ops::Range;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use reduce::{Addresses, Holds, Place};

/// How strictly all workers pick now.
#[derive(Clone)]
pub(crate) struct Shift(Arc<AtomicU32>);

impl Shift {
    /// The shift that picks at most `limit` of `blocks` blocks, if all are different.
    pub(crate) fn picking(limit: u64, blocks: Option<u64>) -> Self {
        let blocks = blocks.unwrap_or(0);
        let shift = (0..reduce::MAX_SHIFT).find(|s| blocks >> s <= limit);
        Self(Arc::new(AtomicU32::new(shift.unwrap_or(reduce::MAX_SHIFT))))
    }

    #[inline]
    pub(crate) fn get(&self) -> u32 {
        self.0.load(Ordering::Acquire)
    }

    /// At least `shift` from now on.
    pub(crate) fn raise(&self, shift: u32) {
        self.0.fetch_max(shift, Ordering::AcqRel);
    }
}

/// What the workers of a load share.
#[derive(Clone)]
pub(crate) struct Common {
    pub shift: Shift,
    /// What the addresses of all targets hold; none when that is not told.
    pub addresses: Arc<Addresses>,
    /// Blocks that were ever queued.
    order: Arc<AtomicU64>,
}

impl Common {
    pub(crate) fn new(shift: Shift, addresses: Arc<Addresses>) -> Self {
        Self { shift, addresses, order: Arc::default() }
    }
}

struct Queue {
    /// Places of blocks, one behind the other.
    bytes: Box<[UnsafeCell<u8>]>,
    /// Where these blocks went.
    went: Box<[UnsafeCell<Place>]>,
    /// Bytes of a block.
    unit: usize,
    /// Places; a power of two.
    length: usize,
    /// Blocks ever put in; written by the worker.
    put: AtomicUsize,
    /// Blocks ever taken out; written by the census thread.
    taken: AtomicUsize,
    closed: AtomicBool,
}

// SAFETY: the worker writes places `put` to `taken + length - 1`, the census thread reads places `taken` to
// `put - 1`; these never overlap, and each counter is stored with Release after the last touch of a place and
// loaded with Acquire before the first by the other side. Each side exists once (`Sampler`, `Tap`).
unsafe impl Sync for Queue {}
// SAFETY: it is plain memory without ties to a thread.
unsafe impl Send for Queue {}

impl Queue {
    /// The block in a place.
    fn place(&self, number: usize) -> &[UnsafeCell<u8>] {
        let at = (number & (self.length - 1)) * self.unit;
        &self.bytes[at..at + self.unit]
    }
}

/// The worker's side.
pub(crate) struct Sampler {
    queue: Arc<Queue>,
    common: Common,
    /// Places used when this worker last made the picking stricter.
    mark: usize,
    /// Blocks seen, and the zero ones among them.
    pub counts: Counts,
}

/// The census thread's side.
pub(crate) struct Tap(Arc<Queue>);

/// Blocks of content that were handed to the kernel.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct Counts {
    pub all: u64,
    pub zero: u64,
}

impl Counts {
    pub(crate) fn add(&mut self, other: Self) {
        self.all += other.all;
        self.zero += other.zero;
    }
}

/// The mark of a queue that need never make anybody stricter.
const NEVER: usize = usize::MAX;

/// A queue of `length` blocks of `unit` bytes between a worker and the census thread; `holds_all` when the worker will not
/// write more blocks than that.
pub(crate) fn queue(
    (length, unit): (usize, usize),
    holds_all: bool,
    common: Common,
) -> (Sampler, Tap) {
    let length = length.next_power_of_two();
    // Written once now, so that no page is touched for the first time between two I/Os.
    let bytes = (0..length * unit).map(|_| UnsafeCell::new(1)).collect();
    let went = (0..length).map(|_| UnsafeCell::new(Place { address: 1, order: 1 })).collect();
    let queue = Arc::new(Queue {
        bytes,
        went,
        unit,
        length,
        put: AtomicUsize::new(0),
        taken: AtomicUsize::new(0),
        closed: AtomicBool::new(false),
    });
    let mark = if holds_all { NEVER } else { (length / 2).max(1) };
    (Sampler { queue: queue.clone(), common, mark, counts: Counts::default() }, Tap(queue))
}

impl Sampler {
    /// Looks at every block of a buffer that is about to be written, to addresses from this one on.
    #[inline]
    pub(crate) fn see(&mut self, buffer: &[u8], address: u64) {
        // A length that is known costs less.
        if self.queue.unit == reduce::BLOCK {
            let (blocks, _) = buffer.as_chunks::<{ reduce::BLOCK }>();
            blocks.iter().zip(address..).for_each(|(block, address)| self.look(block, address));
        } else {
            let blocks = buffer.chunks_exact(self.queue.unit).zip(address..);
            blocks.for_each(|(block, address)| self.look(block, address));
        }
    }

    #[inline(always)]
    fn look(&mut self, block: &[u8], address: u64) {
        self.counts.all += 1;
        let mut holds = Holds::Data;
        if reduce::is_zero(block) {
            self.counts.zero += 1;
            holds = Holds::Zero;
        } else if reduce::picked(block, self.common.shift.get()) && self.put(block, address) {
            return;
        }
        self.common.addresses.set(address, holds);
    }

    /// This address is about to be written: what is known of it is fetched while the block is filled. A load would not do, as the
    /// stores of the block would wait for it.
    #[inline]
    pub(crate) fn expect(&self, address: u64) {
        #[cfg(target_arch = "x86_64")]
        if let Some(word) = self.common.addresses.word(address) {
            use std::arch::x86_64::{_MM_HINT_T0, _mm_prefetch};
            // SAFETY: a hint without an effect that can be seen; the instruction is part of SSE, which x86-64 has.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(word.as_ptr().cast_const().cast()) };
        }
        #[cfg(not(target_arch = "x86_64"))]
        let _ = address;
    }

    /// These addresses are about to be emptied.
    pub(crate) fn see_emptied(&mut self, addresses: Range<u64>) {
        self.common.addresses.empty(addresses);
    }

    /// Queues a block, and tells that its address holds it; whether there was room.
    #[inline(never)]
    fn put(&mut self, block: &[u8], address: u64) -> bool {
        let length = self.queue.length;
        let put = self.queue.put.load(Ordering::Relaxed);
        let used = put - self.queue.taken.load(Ordering::Acquire);
        if used == length {
            // No room for this content: from now on nobody may keep it, nor anything picked like it.
            let mut shift = self.common.shift.get();
            while reduce::picked(block, shift) && shift < reduce::MAX_SHIFT {
                shift += 1;
            }
            self.common.shift.raise(shift);
            return false;
        }
        // From half full on, each further 32nd halves what comes in: a census that is behind gets time, and
        // the sample loses a half where a full queue would cost it far more.
        if used >= self.mark {
            self.common.shift.raise(self.common.shift.get() + 1);
            self.mark = used + (length / 32).max(1);
        } else if used < length / 4 && self.mark != NEVER {
            self.mark = length / 2;
        }
        let place = self.queue.place(put);
        let bytes = place.len().min(block.len());
        let order = self.common.order.fetch_add(1, Ordering::Relaxed);
        // SAFETY: the place is free (`used < length`) and therefore the worker's; it has as many bytes, and what is being
        // written is memory of somebody else.
        unsafe {
            UnsafeCell::raw_get(place.as_ptr()).copy_from_nonoverlapping(block.as_ptr(), bytes);
            *self.queue.went[put & (length - 1)].get() = Place { address, order };
        }
        // Before the census can see it: it looks here whether the block is still where it went.
        self.common.addresses.set(address, Holds::Sampled);
        self.queue.put.store(put + 1, Ordering::Release);
        true
    }
}

impl Drop for Sampler {
    /// Tells the census thread that nothing more comes, however the worker ended.
    fn drop(&mut self) {
        self.queue.closed.store(true, Ordering::Release);
    }
}

impl Tap {
    /// Blocks that the queue holds.
    pub(crate) fn length(&self) -> usize {
        self.0.length
    }

    /// Hands every block that is there to `take`, first in first out; tells whether more may come.
    pub(crate) fn drain(&mut self, mut take: impl FnMut(Place, &[u8])) -> bool {
        let closed = self.0.closed.load(Ordering::Acquire);
        let put = self.0.put.load(Ordering::Acquire);
        let mut taken = self.0.taken.load(Ordering::Relaxed);
        while taken != put {
            let place = self.0.place(taken);
            let start = UnsafeCell::raw_get(place.as_ptr());
            let went = self.0.went[taken & (self.0.length - 1)].get();
            // SAFETY: the place was put and not taken: it is the census thread's, and all of it was written.
            unsafe { take(*went, std::slice::from_raw_parts(start, place.len())) };
            taken += 1;
            self.0.taken.store(taken, Ordering::Release);
        }
        !closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use reduce::BLOCK;

    fn common(shift: Shift) -> Common {
        let words = (0..Addresses::words(100)).map(|_| AtomicU64::new(0)).collect();
        Common::new(shift, Arc::new(Addresses::over(words, false)))
    }

    fn block(id: u64) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        block[..8].copy_from_slice(&(id + 1).to_le_bytes());
        block[4000..4008].copy_from_slice(&id.to_le_bytes());
        block
    }

    #[test]
    fn zero_blocks_are_counted_apart_and_all_others_arrive_in_order() {
        let (mut sampler, mut tap) =
            queue((16, BLOCK), false, common(Shift::picking(1 << 20, Some(4))));
        let buffer: Vec<u8> = [block(1), [0; BLOCK], block(2), block(1)].concat();
        sampler.see(&buffer, 7);
        assert_eq!(sampler.counts, Counts { all: 4, zero: 1 });
        drop(sampler);
        let mut seen = Vec::new();
        assert!(!tap.drain(|place, b| seen.push((place, <[u8; BLOCK]>::try_from(b).unwrap()))));
        let at = |address, order| Place { address, order };
        assert!(seen == [(at(7, 0), block(1)), (at(9, 1), block(2)), (at(10, 2), block(1))]);
    }

    #[test]
    fn a_census_that_is_behind_gets_a_smaller_sample_that_is_still_consistent() {
        let shift = Shift::picking(1 << 20, None);
        let (mut sampler, mut tap) = queue((256, BLOCK), false, common(shift.clone()));
        let ids: Vec<u64> = (0..20_000).map(|i| i / 2).collect();
        ids.iter().for_each(|&id| sampler.see(&block(id), id));
        let mut seen = Vec::new();
        tap.drain(|_, b| seen.push(<[u8; BLOCK]>::try_from(b).unwrap()));
        let last = shift.get();
        seen.retain(|b| reduce::picked(b, last));
        let expected: Vec<_> =
            ids.iter().map(|&id| block(id)).filter(|b| reduce::picked(b, last)).collect();
        assert!(seen == expected, "{} of {} at shift {last}", seen.len(), expected.len());
        assert!(seen.len() >= 8, "{} at shift {last}", seen.len());
    }

    #[test]
    fn blocks_pass_between_threads_unchanged() {
        let (mut sampler, mut tap) =
            queue((64, BLOCK), false, common(Shift::picking(1 << 40, None)));
        let worker = std::thread::spawn(move || {
            (0..50_000).for_each(|id| sampler.see(&block(id), id));
        });
        let mut last = None;
        while tap.drain(|place, b| {
            let id = u64::from_le_bytes(b[4000..4008].try_into().unwrap());
            assert!(*b == block(id)[..] && last < Some(id) && place.address == id);
            last = Some(id);
        }) {}
        worker.join().unwrap();
        assert!(last.is_some());
    }

    #[test]
    fn what_each_address_holds_is_told_of_every_block() {
        let shift = Shift::picking(1 << 20, None);
        let all = common(shift.clone());
        let (mut sampler, _tap) = queue((4, BLOCK), true, all.clone());
        let holds = |address| all.addresses.holds(address);
        sampler.see(&[block(1), [0; BLOCK]].concat(), 3);
        assert_eq!((holds(2), holds(3), holds(4)), (Holds::Nothing, Holds::Sampled, Holds::Zero));
        // An overwrite outside of the sample.
        let outside = (0..).map(block).find(|b| !reduce::picked(b, 3)).unwrap();
        shift.raise(3);
        sampler.see(&outside, 3);
        assert_eq!(holds(3), Holds::Data);
        sampler.see_emptied(3..4);
        assert_eq!((holds(3), holds(4)), (Holds::Nothing, Holds::Zero));
        // A queue without room.
        for id in (0..).filter(|&id| reduce::picked(&block(id), 3)).take(5) {
            sampler.see(&block(id), 5);
        }
        assert_eq!(holds(5), Holds::Data);
    }

    #[test]
    fn a_known_amount_is_picked_down_to_the_limit_from_the_start() {
        for (blocks, shift) in [(None, 0), (Some(100), 0), (Some(101), 1), (Some(1 << 50), 40)] {
            assert_eq!(Shift::picking(100, blocks).get(), shift);
        }
    }
}
