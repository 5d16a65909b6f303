//! Sampling of written blocks, the worker's side: shows the census a sample of the blocks that go to the kernel.
//!
//! After a worker has filled a block, while it is in the cache, it hashes sampled blocks to a [`Name`] and queues it for the census thread; of the
//! few blocks whose LZ4 size is measured, and of the first blocks of the load, it queues a copy. Samples are chosen by content and nested
//! ([`reduce::picked`]): a full queue raises the shift, and the census keeps what passes the largest shift.
//!
//! A block counts as written when it is handed to the kernel, even if the write fails; of several writes in flight to one address the one handed over
//! last counts, though the target may keep another.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use reduce::{AddressState, Addresses, Census, Name, Place};

use crate::spsc_queue::{self, Capacity, Receiver, Sender, Shift};

/// Number of names that the census sees before the sample is cut to its planned size. A load repeats its first contents most often, and a small
/// sample may miss them all.
const BEGINNING: u64 = 8192;

/// State that the samplers of all workers share.
#[derive(Clone)]
pub(crate) struct SharedSampling {
    /// Sampling shift of names: one content in 2^shift.
    pub shift: Shift,
    /// The shift once the beginning has been seen.
    planned: u32,
    /// Additional sampling shift of the blocks whose LZ4 size is measured: a sample among the named blocks.
    pub sizes: Shift,
    /// The content that each address of the targets holds; empty when that is not tracked.
    pub addresses: Arc<Addresses>,
    /// Counter that gives every named block its place in the order of writing.
    order: Arc<AtomicU64>,
}

impl SharedSampling {
    /// Sampling with shift 0 at first, and `planned` after the beginning.
    pub(crate) fn new(planned: u32, sizes: Shift, addresses: Arc<Addresses>) -> Self {
        Self { shift: Shift::none(), planned, sizes, addresses, order: Arc::default() }
    }
}

/// The first blocks of one worker, zero blocks left out.
#[derive(Default)]
struct Beginning {
    /// The name of each block, with its place in the order of writing of all workers.
    names: Vec<(Name, u64)>,
    bytes: Vec<u8>,
    /// Position in the order of writing up to which no block of this worker is missing; `None`: none is missing.
    whole_to: Option<u64>,
}

/// Collects the first blocks, and sends them when its room is full, when sampling has begun (shift above 0), or when the worker ends.
struct BeginningSender {
    kept: Option<Beginning>,
    capacity: usize,
    /// The sampling shift; once it is above 0, blocks are missing and nothing more is collected.
    shift: Shift,
    to: Arc<OnceLock<Beginning>>,
}

impl BeginningSender {
    /// Reserves room for `capacity` blocks of `unit` bytes, with its pages touched.
    fn new(capacity: usize, unit: usize, shift: Shift, to: Arc<OnceLock<Beginning>>) -> Self {
        let (mut names, mut bytes) =
            (vec![(Name::of(&[1]), 1); capacity], vec![1; capacity * unit]);
        names.clear();
        bytes.clear();
        let kept = (capacity > 0).then_some(Beginning { names, bytes, whole_to: None });
        Self { kept, capacity, shift, to }
    }

    #[inline]
    fn keep(&mut self, name: Name, order: u64, block: &[u8]) {
        let Some(kept) = &mut self.kept else { return };
        let strict = self.shift.get() > 0;
        if !strict {
            kept.names.push((name, order));
            kept.bytes.extend_from_slice(block);
        }
        if strict || kept.names.len() == self.capacity {
            self.hand_over();
        }
    }

    #[cold]
    fn hand_over(&mut self) {
        let Some(mut kept) = self.kept.take() else { return };
        kept.whole_to = Some(kept.names.last().map_or(0, |(_, order)| order + 1));
        // Only this sender sets it.
        let _ = self.to.set(kept);
    }
}

impl Drop for BeginningSender {
    fn drop(&mut self) {
        if self.shift.get() > 0 {
            self.hand_over();
        } else if let Some(kept) = self.kept.take() {
            let _ = self.to.set(kept);
        }
    }
}

/// The worker's side of the sampling.
pub(crate) struct BlockSampler {
    /// Declared first, so that it is dropped before the queues: when these are closed, the beginning has been sent.
    beginning_sender: BeginningSender,
    names: Sender<(Name, Place)>,
    blocks: Sender<Name>,
    /// Bytes of a block.
    unit: usize,
    addresses: Arc<Addresses>,
    order: Arc<AtomicU64>,
    /// Blocks seen, and zero blocks among them.
    pub counts: Counts,
}

/// The census thread's side of the sampling.
pub(crate) struct SampleReceiver {
    names: Receiver<(Name, Place)>,
    blocks: Receiver<Name>,
    beginning: Arc<OnceLock<Beginning>>,
    /// Names received so far.
    named: u64,
}

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

/// Capacities of the queues between a worker and the census thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Capacities {
    /// For names.
    pub names: Capacity,
    /// For blocks.
    pub blocks: Capacity,
    /// First blocks that are kept.
    pub beginning: usize,
}

/// Queues between a worker and the census thread.
pub(crate) fn queues(
    capacities: Capacities,
    common: SharedSampling,
) -> (BlockSampler, SampleReceiver) {
    let name = Name::of(&[1]);
    let entry = (name, Place { address: 1, order: 1 });
    let beginning = Arc::default();
    let unit = capacities.blocks.bytes;
    let beginning_sender = BeginningSender::new(
        capacities.beginning,
        unit,
        common.shift.clone(),
        Arc::clone(&beginning),
    );
    let (names, named) = spsc_queue::queue(capacities.names, entry, common.shift);
    let (blocks, kept) = spsc_queue::queue(capacities.blocks, name, common.sizes);
    let SharedSampling { addresses, order, .. } = common;
    let counts = Counts::default();
    let sampler = BlockSampler { beginning_sender, names, blocks, unit, addresses, order, counts };
    (sampler, SampleReceiver { names: named, blocks: kept, beginning, named: 0 })
}

impl BlockSampler {
    /// Looks at every block of a buffer that is about to be written from `address` on.
    #[inline]
    pub(crate) fn count_blocks(&mut self, buffer: &[u8], address: u64) {
        // Faster with a length that is known at compile time.
        if self.unit == reduce::BLOCK {
            let (blocks, _) = buffer.as_chunks::<{ reduce::BLOCK }>();
            blocks
                .iter()
                .zip(address..)
                .for_each(|(block, address)| self.count_block(block, address));
        } else {
            let blocks = buffer.chunks_exact(self.unit).zip(address..);
            blocks.for_each(|(block, address)| self.count_block(block, address));
        }
    }

    #[inline(always)]
    fn count_block(&mut self, block: &[u8], address: u64) {
        self.counts.all += 1;
        let mut holds = AddressState::Data;
        if reduce::is_zero(block) {
            self.counts.zero += 1;
            holds = AddressState::Zero;
        } else if reduce::picked(block, self.names.shift.get()) && self.name(block, address) {
            return;
        }
        self.addresses.set(address, holds);
    }

    /// Prefetches the state of an address that is about to be written, while its block is filled. A plain load would delay the stores of the block.
    #[inline]
    pub(crate) fn prefetch(&self, address: u64) {
        if let Some(word) = self.addresses.word(address) {
            reduce::prefetch(word);
        }
    }

    /// Notes that these addresses are about to be discarded or zeroed.
    pub(crate) fn note_emptied(&mut self, addresses: Range<u64>) {
        self.addresses.empty(addresses);
    }

    /// Queues the name of a block and marks its address as sampled; false when the queue is full.
    #[inline(never)]
    fn name(&mut self, block: &[u8], address: u64) -> bool {
        let name = Name::of(block);
        let Self { beginning_sender, names, blocks, addresses, order, .. } = self;
        let mut at = 0;
        let named = names.put(&[], || {
            // Set before the census can see the name, since the census asks the map whether the block is still there.
            addresses.set(address, AddressState::Sampled);
            at = order.fetch_add(1, Ordering::Relaxed);
            (name, Place { address, order: at })
        });
        if !named {
            // The name was dropped: from now on no sample may hold this content, since its copies would be counted only in part.
            stricter(&names.shift, |shift| name.passes(shift));
        } else if name.is_sized(blocks.shift.get()) && !blocks.put(block, || name) {
            stricter(&blocks.shift, |shift| name.is_sized(shift));
        }
        if named {
            beginning_sender.keep(name, at, block);
        }
        named
    }
}

/// Raises the shift until, according to `has`, the sample no longer contains the content.
#[cold]
fn stricter(shift: &Shift, has: impl Fn(u32) -> bool) {
    let refused = (shift.get()..reduce::MAX_SHIFT).find(|&shift| !has(shift));
    shift.raise(refused.unwrap_or(reduce::MAX_SHIFT));
}

/// The result of one poll of the queues.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// Tells whether more may come.
    pub more: bool,
    /// Tells whether more than 1/16 of a queue was in use.
    pub much: bool,
}

/// A poll found little when at most one in this many entries of a queue was in use.
const LITTLE: usize = 16;

/// Feeds the census from the queues, then brings its shifts and the samplers' to the same values.
pub(crate) fn feed_census(
    receivers: &mut [SampleReceiver],
    census: &mut Census,
    common: &SharedSampling,
) -> Found {
    let mut found = Found { more: false, much: false };
    for SampleReceiver { names, blocks, named: all, .. } in &mut *receivers {
        // Drained before the shifts are equalised: the first blocks, which a load repeats most, were queued at shift 0.
        let (mut named, mut kept) = (0, 0);
        found.more |= names.drain(|(name, place), _| {
            census.add_named(name, Some(place));
            named += 1;
        });
        found.more |= blocks.drain(|name, block| {
            census.keep(name, block);
            kept += 1;
        });
        *all += named as u64;
        found.much |= named > names.length() / LITTLE || kept > blocks.length() / LITTLE;
        level(census, common);
    }
    if receivers.iter().map(|receiver| receiver.named).sum::<u64>() >= BEGINNING {
        common.shift.raise(common.planned);
    }
    if !found.more {
        // A worker may have raised a shift with its last block.
        level(census, common);
        begin(receivers, census);
    }
    found
}

/// Shows `census` the first blocks of all workers in order of writing, up to the first that may be missing.
fn begin(receivers: &mut [SampleReceiver], census: &mut Census) {
    let all =
        receivers.iter_mut().filter_map(|receiver| Arc::get_mut(&mut receiver.beginning)?.take());
    let all: Vec<Beginning> = all.collect();
    // A worker that ended with room left lacks no blocks.
    let whole_to = all.iter().filter_map(|one| one.whole_to).min().unwrap_or(u64::MAX);
    let blocks = all.iter().flat_map(|one| {
        let unit = one.bytes.len() / one.names.len().max(1);
        one.names.iter().zip(one.bytes.chunks_exact(unit.max(1)))
    });
    let mut blocks: Vec<_> = blocks.filter(|((_, order), _)| *order < whole_to).collect();
    blocks.sort_unstable_by_key(|((_, order), _)| *order);
    blocks.into_iter().for_each(|((name, _), block)| census.begin(*name, block));
}

fn level(census: &mut Census, SharedSampling { shift, sizes, .. }: &SharedSampling) {
    census.tighten_to(shift.get());
    shift.raise(census.shift());
    census.tighten_sizes_to(sizes.get());
    sizes.raise(census.sized_shift());
}

#[cfg(test)]
mod tests {
    use super::*;
    use reduce::{Achieved, BLOCK};

    fn common(planned: u32) -> SharedSampling {
        let words = (0..Addresses::words(100)).map(|_| AtomicU64::new(0)).collect();
        SharedSampling::new(planned, Shift::none(), Arc::new(Addresses::over(words, false)))
    }

    fn capacities(names: usize, blocks: usize) -> Capacities {
        let capacity = |places, bytes| Capacity { places, bytes, holds_all: false };
        Capacities { names: capacity(names, 0), blocks: capacity(blocks, BLOCK), beginning: 100 }
    }

    fn block(id: u64) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        block[..8].copy_from_slice(&(id + 1).to_le_bytes());
        block[4000..4008].copy_from_slice(&id.to_le_bytes());
        block
    }

    /// Returns the entries of the queue of names.
    fn named(receiver: &mut SampleReceiver) -> Vec<(Name, Place)> {
        let mut seen = Vec::new();
        receiver.names.drain(|named, _| seen.push(named));
        seen
    }

    #[test]
    fn zero_blocks_are_counted_apart_and_all_others_arrive_in_order() {
        let (mut sampler, mut receiver) = queues(capacities(16, 16), common(0));
        let buffer: Vec<u8> = [block(1), [0; BLOCK], block(2), block(1)].concat();
        sampler.count_blocks(&buffer, 7);
        assert_eq!(sampler.counts, Counts { all: 4, zero: 1 });
        drop(sampler);
        let at = |id, address, order| (Name::of(&block(id)), Place { address, order });
        assert_eq!(named(&mut receiver), [at(1, 7, 0), at(2, 9, 1), at(1, 10, 2)]);
        let mut blocks = Vec::new();
        assert!(!receiver.blocks.drain(|name, bytes| blocks.push((name, bytes.to_vec()))));
        let with_bytes = |id| (Name::of(&block(id)), block(id).to_vec());
        assert!(blocks == [with_bytes(1), with_bytes(2), with_bytes(1)]);
    }

    #[test]
    fn a_census_that_is_behind_gets_a_smaller_sample_that_is_still_consistent() {
        let all = common(0);
        let (mut sampler, mut receiver) = queues(capacities(256, 1), all.clone());
        let ids: Vec<u64> = (0..20_000).map(|i| i / 2).collect();
        ids.iter().for_each(|&id| sampler.count_blocks(&block(id), id));
        let last = all.shift.get();
        let mut seen: Vec<_> = named(&mut receiver).into_iter().map(|(name, _)| name).collect();
        seen.retain(|name| name.passes(last));
        let expected: Vec<_> =
            ids.iter().map(|&id| Name::of(&block(id))).filter(|name| name.passes(last)).collect();
        assert!(seen == expected, "{} of {} at shift {last}", seen.len(), expected.len());
        assert!(seen.len() >= 8, "{} at shift {last}", seen.len());
    }

    /// A census of 20,000 blocks, every content twice, with a look after each `every`.
    fn census(capacities: Capacities, each: u64) -> (Achieved, u32) {
        let common = common(0);
        let (mut sampler, receiver) = queues(capacities, common.clone());
        let (mut receivers, mut census) = ([receiver], Census::new(1 << 20));
        for id in 0..20_000 {
            sampler.count_blocks(&block(id / 2), id);
            if id % each == 0 {
                assert!(feed_census(&mut receivers, &mut census, &common).more);
            }
        }
        census.written(sampler.counts.all);
        drop(sampler);
        let found = feed_census(&mut receivers, &mut census, &common);
        assert!(!found.more);
        (census.finish(), common.sizes.get())
    }

    #[test]
    fn too_little_room_for_blocks_leaves_fewer_sizes_and_every_name() {
        let (all, strict) = census(capacities(256, 256), 64);
        assert!((1000..=2048).contains(&all.blocks_sized) && strict == 3, "{all:?}");
        let (few, strict) = census(capacities(256, 4), 64);
        assert!((1..1000).contains(&few.blocks_sized) && strict > 3, "{few:?}");
        for found in [all, few] {
            assert_eq!((found.blocks_sampled, found.distinct_sampled), (20_000, 10_000));
            assert_eq!(found.duplicate_percent, Some(50.0));
        }
    }

    #[test]
    fn what_a_load_repeats_most_at_its_beginning_is_known_however_strict_the_sample_is_to_be() {
        // A tenth of all blocks comes from ten contents of the beginning, which a sample of one content in 64 almost always misses.
        let (written, beginning) = (30_000, 6000);
        let id = |n| if n < beginning && n % 2 == 0 { n / 2 % 10 } else { 1000 + n / 2 };
        let distinct = (0..written).map(id).collect::<std::collections::HashSet<_>>().len();
        let common = common(6);
        let (mut sampler, receiver) = queues(capacities(1024, 16), common.clone());
        let (mut receivers, mut census) = ([receiver], Census::new(1 << 20));
        for n in 0..written {
            sampler.count_blocks(&block(id(n)), n % 100);
            if n % 100 == 0 {
                feed_census(&mut receivers, &mut census, &common);
            }
        }
        assert_eq!(common.shift.get(), 6);
        census.written(sampler.counts.all);
        drop(sampler);
        feed_census(&mut receivers, &mut census, &common);
        let found = census.finish();
        let share = 100.0 * (1.0 - distinct as f64 / written as f64);
        let got = found.duplicate_percent.unwrap_or_default();
        let error = found.duplicate_error_points.unwrap_or_default();
        assert!((got - share).abs() < 4.0 * error.max(0.1), "{got} ± {error} for {share}");
    }

    #[test]
    fn what_each_address_holds_is_told_of_every_block() {
        let all = common(0);
        let mut capacities = capacities(4, 4);
        (capacities.names.holds_all, capacities.blocks.holds_all) = (true, true);
        let (mut sampler, _tap) = queues(capacities, all.clone());
        let holds = |address| all.addresses.holds(address);
        sampler.count_blocks(&[block(1), [0; BLOCK]].concat(), 3);
        assert_eq!(
            (holds(2), holds(3), holds(4)),
            (AddressState::Nothing, AddressState::Sampled, AddressState::Zero)
        );
        // An overwrite outside of the sample.
        let outside = (0..).map(block).find(|b| !reduce::picked(b, 3)).unwrap();
        all.shift.raise(3);
        sampler.count_blocks(&outside, 3);
        assert_eq!(holds(3), AddressState::Data);
        sampler.note_emptied(3..4);
        assert_eq!((holds(3), holds(4)), (AddressState::Nothing, AddressState::Zero));
        // A queue without room.
        for id in (0..).filter(|&id| reduce::picked(&block(id), 3)).take(5) {
            sampler.count_blocks(&block(id), 5);
        }
        assert_eq!(holds(5), AddressState::Data);
    }
}
