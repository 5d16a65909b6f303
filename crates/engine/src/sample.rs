//! What was written, seen by its own bytes: a sample of the blocks on their way to the kernel.
//!
//! The worker names blocks that `reduce` picks, after it filled them and before it stamps them: they are in its cache then, and a name
//! costs less than a copy. Names go through a bounded queue to a thread of their own, at low priority, which takes the census; of the few
//! blocks whose size is to be taken a copy goes through another one. The fuller a queue gets, the stricter
//! all workers pick: samples are nested, so that at the end the census keeps what passes the strictest shift
//! that ever held, and the sample is what that shift alone would have picked.
//!
//! Of the first blocks every one is kept beside that, in memory that each worker has from the start: the census wants some neighbours.
//!
//! What each address holds is told at once, for every block ([`reduce::Addresses`]): so the census knows at the end which of the
//! blocks that it saw are still there, without being shown the others. Of blocks that go to one address, the one
//! that is handed over last counts; of writes in flight together the target may keep another.
//!
//! A block counts as written when it is handed to the kernel, also when the write fails.

use std::ops::Range;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, OnceLock};

use reduce::{Addresses, Census, Holds, Name, Place};

use crate::pressed::{self, Receiver, Room, Sender, Shift};

/// Names from which on a load's beginning has been seen, where the contents stand that it repeats most. The census must know them before
/// it sees less than all: a sample may hold none of them.
const BEGINNING: u64 = 8192;

/// What the workers of a load share.
#[derive(Clone)]
pub(crate) struct Common {
    /// How strictly blocks are picked.
    pub shift: Shift,
    /// How strictly they are to be once the beginning has been seen.
    planned: u32,
    /// How strictly those of them are whose size is taken.
    pub sizes: Shift,
    /// What the addresses of all targets hold; none when that is not told.
    pub addresses: Arc<Addresses>,
    /// Blocks that were ever named.
    order: Arc<AtomicU64>,
}

impl Common {
    /// Every block is picked at first, and later as strictly as `planned`.
    pub(crate) fn new(planned: u32, sizes: Shift, addresses: Arc<Addresses>) -> Self {
        Self { shift: Shift::none(), planned, sizes, addresses, order: Arc::default() }
    }
}

/// The first blocks of one worker that are not zero.
#[derive(Default)]
struct Beginning {
    /// With their order among those of all workers.
    names: Vec<(Name, u64)>,
    bytes: Vec<u8>,
    /// Blocks in order before which none is missing, as far as this worker knows.
    whole_to: Option<u64>,
}

/// Keeps the beginning and hands it over when it is full, or nothing more comes.
struct Keeper {
    kept: Option<Beginning>,
    room: usize,
    /// How strictly blocks are picked: from the first step on some are missing.
    shift: Shift,
    to: Arc<OnceLock<Beginning>>,
}

impl Keeper {
    /// Room for so many blocks of `unit` bytes, whose pages are there.
    fn new(room: usize, unit: usize, shift: Shift, to: Arc<OnceLock<Beginning>>) -> Self {
        let (mut names, mut bytes) = (vec![(Name::of(&[1]), 1); room], vec![1; room * unit]);
        names.clear();
        bytes.clear();
        let kept = (room > 0).then_some(Beginning { names, bytes, whole_to: None });
        Self { kept, room, shift, to }
    }

    #[inline]
    fn keep(&mut self, name: Name, order: u64, block: &[u8]) {
        let Some(kept) = &mut self.kept else { return };
        let strict = self.shift.get() > 0;
        if !strict {
            kept.names.push((name, order));
            kept.bytes.extend_from_slice(block);
        }
        if strict || kept.names.len() == self.room {
            self.hand_over();
        }
    }

    #[cold]
    fn hand_over(&mut self) {
        let Some(mut kept) = self.kept.take() else { return };
        kept.whole_to = Some(kept.names.last().map_or(0, |(_, order)| order + 1));
        // There is one keeper.
        let _ = self.to.set(kept);
    }
}

impl Drop for Keeper {
    fn drop(&mut self) {
        if self.shift.get() > 0 {
            self.hand_over();
        } else if let Some(kept) = self.kept.take() {
            let _ = self.to.set(kept);
        }
    }
}

/// The worker's side.
pub(crate) struct Sampler {
    /// Before the queues: when these are closed, all was handed over.
    keeper: Keeper,
    names: Sender<(Name, Place)>,
    blocks: Sender<Name>,
    /// Bytes of a block.
    unit: usize,
    addresses: Arc<Addresses>,
    order: Arc<AtomicU64>,
    /// Blocks seen, and the zero ones among them.
    pub counts: Counts,
}

/// The census thread's side.
pub(crate) struct Tap {
    names: Receiver<(Name, Place)>,
    blocks: Receiver<Name>,
    beginning: Arc<OnceLock<Beginning>>,
    /// Names that came through.
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

/// How much is queued between a worker and the census thread.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rooms {
    /// For names.
    pub names: Room,
    /// For blocks.
    pub blocks: Room,
    /// Blocks of the beginning that are kept.
    pub beginning: usize,
}

/// Queues between a worker and the census thread.
pub(crate) fn queues(rooms: Rooms, common: Common) -> (Sampler, Tap) {
    let name = Name::of(&[1]);
    let entry = (name, Place { address: 1, order: 1 });
    let beginning = Arc::default();
    let unit = rooms.blocks.bytes;
    let keeper = Keeper::new(rooms.beginning, unit, common.shift.clone(), Arc::clone(&beginning));
    let (names, named) = pressed::queue(rooms.names, entry, common.shift);
    let (blocks, kept) = pressed::queue(rooms.blocks, name, common.sizes);
    let Common { addresses, order, .. } = common;
    let counts = Counts::default();
    let sampler = Sampler { keeper, names, blocks, unit, addresses, order, counts };
    (sampler, Tap { names: named, blocks: kept, beginning, named: 0 })
}

impl Sampler {
    /// Looks at every block of a buffer that is about to be written, to addresses from this one on.
    #[inline]
    pub(crate) fn see(&mut self, buffer: &[u8], address: u64) {
        // A length that is known costs less.
        if self.unit == reduce::BLOCK {
            let (blocks, _) = buffer.as_chunks::<{ reduce::BLOCK }>();
            blocks.iter().zip(address..).for_each(|(block, address)| self.look(block, address));
        } else {
            let blocks = buffer.chunks_exact(self.unit).zip(address..);
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
        } else if reduce::picked(block, self.names.shift.get()) && self.name(block, address) {
            return;
        }
        self.addresses.set(address, holds);
    }

    /// This address is about to be written: what is known of it is fetched while the block is filled. A load would not do, as the
    /// stores of the block would wait for it.
    #[inline]
    pub(crate) fn expect(&self, address: u64) {
        if let Some(word) = self.addresses.word(address) {
            reduce::prefetch(word);
        }
    }

    /// These addresses are about to be emptied.
    pub(crate) fn see_emptied(&mut self, addresses: Range<u64>) {
        self.addresses.empty(addresses);
    }

    /// Queues the name of a block, and tells that its address holds it; whether there was room.
    #[inline(never)]
    fn name(&mut self, block: &[u8], address: u64) -> bool {
        let name = Name::of(block);
        let Self { keeper, names, blocks, addresses, order, .. } = self;
        let mut at = 0;
        let named = names.put(&[], || {
            // Before the census can see it: it looks here whether the block is still where it went.
            addresses.set(address, Holds::Sampled);
            at = order.fetch_add(1, Ordering::Relaxed);
            (name, Place { address, order: at })
        });
        if !named {
            // No room for this content: from now on nobody may keep it, nor anything picked like it.
            stricter(&names.shift, |shift| name.passes(shift));
        } else if name.is_sized(blocks.shift.get()) && !blocks.put(block, || name) {
            stricter(&blocks.shift, |shift| name.is_sized(shift));
        }
        if named {
            keeper.keep(name, at, block);
        }
        named
    }
}

/// Raises a shift until it refuses what `has` tells of.
#[cold]
fn stricter(shift: &Shift, has: impl Fn(u32) -> bool) {
    let refused = (shift.get()..reduce::MAX_SHIFT).find(|&shift| !has(shift));
    shift.raise(refused.unwrap_or(reduce::MAX_SHIFT));
}

/// What a look at the queues found.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Found {
    /// Whether more may come.
    pub more: bool,
    /// Whether a good part of a queue was in use.
    pub much: bool,
}

/// Of this part of a queue and less a look finds little.
const LITTLE: usize = 16;

/// Shows `census` what is queued, and makes it and the samplers equally strict.
pub(crate) fn look(taps: &mut [Tap], census: &mut Census, common: &Common) -> Found {
    let mut found = Found { more: false, much: false };
    for Tap { names, blocks, named: all, .. } in &mut *taps {
        // First what was queued: the contents that a load repeats most stand at its beginning, before a worker that finds its
        // queue full becomes stricter.
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
    if taps.iter().map(|tap| tap.named).sum::<u64>() >= BEGINNING {
        common.shift.raise(common.planned);
    }
    if !found.more {
        // A worker may have raised them with its last block.
        level(census, common);
        begin(taps, census);
    }
    found
}

/// Shows `census` the beginning of what all workers wrote, in order, as far as nothing is missing.
fn begin(taps: &mut [Tap], census: &mut Census) {
    let all = taps.iter_mut().filter_map(|tap| Arc::get_mut(&mut tap.beginning)?.take());
    let all: Vec<Beginning> = all.collect();
    // A worker that ended with room left misses nothing before another one that did not.
    let whole_to = all.iter().filter_map(|one| one.whole_to).min().unwrap_or(u64::MAX);
    let blocks = all.iter().flat_map(|one| {
        let unit = one.bytes.len() / one.names.len().max(1);
        one.names.iter().zip(one.bytes.chunks_exact(unit.max(1)))
    });
    let mut blocks: Vec<_> = blocks.filter(|((_, order), _)| *order < whole_to).collect();
    blocks.sort_unstable_by_key(|((_, order), _)| *order);
    blocks.into_iter().for_each(|((name, _), block)| census.begin(*name, block));
}

fn level(census: &mut Census, Common { shift, sizes, .. }: &Common) {
    census.tighten_to(shift.get());
    shift.raise(census.shift());
    census.tighten_sizes_to(sizes.get());
    sizes.raise(census.sized_shift());
}

#[cfg(test)]
mod tests {
    use super::*;
    use reduce::{Achieved, BLOCK};

    fn common(planned: u32) -> Common {
        let words = (0..Addresses::words(100)).map(|_| AtomicU64::new(0)).collect();
        Common::new(planned, Shift::none(), Arc::new(Addresses::over(words, false)))
    }

    fn rooms(names: usize, blocks: usize) -> Rooms {
        let room = |places, bytes| Room { places, bytes, holds_all: false };
        Rooms { names: room(names, 0), blocks: room(blocks, BLOCK), beginning: 100 }
    }

    fn block(id: u64) -> [u8; BLOCK] {
        let mut block = [0; BLOCK];
        block[..8].copy_from_slice(&(id + 1).to_le_bytes());
        block[4000..4008].copy_from_slice(&id.to_le_bytes());
        block
    }

    /// What comes through a tap.
    fn named(tap: &mut Tap) -> Vec<(Name, Place)> {
        let mut seen = Vec::new();
        tap.names.drain(|named, _| seen.push(named));
        seen
    }

    #[test]
    fn zero_blocks_are_counted_apart_and_all_others_arrive_in_order() {
        let (mut sampler, mut tap) = queues(rooms(16, 16), common(0));
        let buffer: Vec<u8> = [block(1), [0; BLOCK], block(2), block(1)].concat();
        sampler.see(&buffer, 7);
        assert_eq!(sampler.counts, Counts { all: 4, zero: 1 });
        drop(sampler);
        let at = |id, address, order| (Name::of(&block(id)), Place { address, order });
        assert_eq!(named(&mut tap), [at(1, 7, 0), at(2, 9, 1), at(1, 10, 2)]);
        let mut blocks = Vec::new();
        assert!(!tap.blocks.drain(|name, bytes| blocks.push((name, bytes.to_vec()))));
        let with_bytes = |id| (Name::of(&block(id)), block(id).to_vec());
        assert!(blocks == [with_bytes(1), with_bytes(2), with_bytes(1)]);
    }

    #[test]
    fn a_census_that_is_behind_gets_a_smaller_sample_that_is_still_consistent() {
        let all = common(0);
        let (mut sampler, mut tap) = queues(rooms(256, 1), all.clone());
        let ids: Vec<u64> = (0..20_000).map(|i| i / 2).collect();
        ids.iter().for_each(|&id| sampler.see(&block(id), id));
        let last = all.shift.get();
        let mut seen: Vec<_> = named(&mut tap).into_iter().map(|(name, _)| name).collect();
        seen.retain(|name| name.passes(last));
        let expected: Vec<_> =
            ids.iter().map(|&id| Name::of(&block(id))).filter(|name| name.passes(last)).collect();
        assert!(seen == expected, "{} of {} at shift {last}", seen.len(), expected.len());
        assert!(seen.len() >= 8, "{} at shift {last}", seen.len());
    }

    /// A census of 20,000 blocks, every content twice, with a look after each `every`.
    fn census(rooms: Rooms, each: u64) -> (Achieved, u32) {
        let common = common(0);
        let (mut sampler, tap) = queues(rooms, common.clone());
        let (mut taps, mut census) = ([tap], Census::new(1 << 20));
        for id in 0..20_000 {
            sampler.see(&block(id / 2), id);
            if id % each == 0 {
                assert!(look(&mut taps, &mut census, &common).more);
            }
        }
        census.written(sampler.counts.all);
        drop(sampler);
        let found = look(&mut taps, &mut census, &common);
        assert!(!found.more);
        (census.finish(), common.sizes.get())
    }

    #[test]
    fn too_little_room_for_blocks_leaves_fewer_sizes_and_every_name() {
        let (all, strict) = census(rooms(256, 256), 64);
        assert!((1000..=2048).contains(&all.blocks_sized) && strict == 3, "{all:?}");
        let (few, strict) = census(rooms(256, 4), 64);
        assert!((1..1000).contains(&few.blocks_sized) && strict > 3, "{few:?}");
        for found in [all, few] {
            assert_eq!((found.blocks_sampled, found.distinct_sampled), (20_000, 10_000));
            assert_eq!(found.duplicate_percent, Some(50.0));
        }
    }

    #[test]
    fn what_a_load_repeats_most_at_its_beginning_is_known_however_strict_the_sample_is_to_be() {
        // A tenth of all blocks is of ten contents of the beginning, which a sample of one in 64 has hardly ever.
        let (written, beginning) = (30_000, 6000);
        let id = |n| if n < beginning && n % 2 == 0 { n / 2 % 10 } else { 1000 + n / 2 };
        let distinct = (0..written).map(id).collect::<std::collections::HashSet<_>>().len();
        let common = common(6);
        let (mut sampler, tap) = queues(rooms(1024, 16), common.clone());
        let (mut taps, mut census) = ([tap], Census::new(1 << 20));
        for n in 0..written {
            sampler.see(&block(id(n)), n % 100);
            if n % 100 == 0 {
                look(&mut taps, &mut census, &common);
            }
        }
        assert_eq!(common.shift.get(), 6);
        census.written(sampler.counts.all);
        drop(sampler);
        look(&mut taps, &mut census, &common);
        let found = census.finish();
        let share = 100.0 * (1.0 - distinct as f64 / written as f64);
        let got = found.duplicate_percent.unwrap_or_default();
        let error = found.duplicate_error_points.unwrap_or_default();
        assert!((got - share).abs() < 4.0 * error.max(0.1), "{got} ± {error} for {share}");
    }

    #[test]
    fn what_each_address_holds_is_told_of_every_block() {
        let all = common(0);
        let mut rooms = rooms(4, 4);
        (rooms.names.holds_all, rooms.blocks.holds_all) = (true, true);
        let (mut sampler, _tap) = queues(rooms, all.clone());
        let holds = |address| all.addresses.holds(address);
        sampler.see(&[block(1), [0; BLOCK]].concat(), 3);
        assert_eq!((holds(2), holds(3), holds(4)), (Holds::Nothing, Holds::Sampled, Holds::Zero));
        // An overwrite outside of the sample.
        let outside = (0..).map(block).find(|b| !reduce::picked(b, 3)).unwrap();
        all.shift.raise(3);
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
}
