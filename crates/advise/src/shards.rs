//! Reuse distances of chunks, sampled in space (SHARDS: Waldspurger and others, FAST 2015), with the hot chunks whole.
//!
//! The hash of a chunk's number decides whether it is followed, so that either all its touches are seen or none. The number of distinct chunks
//! touched since its last touch is the size that a least-recently-used cache needs to have kept it; each followed chunk stands for a
//! number of chunks. Whenever too many chunks are followed, the sample is halved: the hottest ones stay with their weight, as few of them
//! make most of the touches; of the others every second one goes, and the weight of those that stay doubles. A chunk that was kept with
//! a chance of one in n counts n times, so the curves have no bias. Memory is bounded, and a trace with few chunks is followed
//! whole.

mod kept;

use rustc_hash::FxHashMap;

use crate::curve::Curve;
use crate::fenwick::Fenwick;
use kept::Kept;

/// Places in time at the start.
const PLACES: usize = 1 << 12;
/// Largest share of the followed chunks that may be hot ones.
const HOT: f64 = 0.5;

/// The kind of a touch.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Touch {
    /// A read.
    Read,
    /// A write of a part of the chunk: a cache that does not hold the chunk has to copy the rest in.
    Part,
    /// A write of all of the chunk.
    Whole,
}

/// The kinds of touches.
const KINDS: usize = 3;

/// A chunk that is followed.
#[derive(Debug, Clone, Copy)]
struct Followed {
    /// The place in time of its last touch.
    place: u32,
    /// Number of its touches, halved at each halving of the sample.
    touches: u32,
    /// The window of time of its last touch.
    window: u16,
    /// It stands for 2^level chunks.
    level: u8,
    read: bool,
    written: bool,
}

impl Followed {
    fn weight(&self) -> u64 {
        1 << self.level
    }
}

/// Touches of one kind that were seen.
#[derive(Debug, Clone, Default)]
struct Seen {
    /// Touches of chunks that stand for themselves alone, first touches included.
    alone: f64,
    alone_curve: Curve,
    /// Touches of chunks that stand for several, each with its weight.
    sampled: f64,
    sampled_curve: Curve,
}

/// Follows the touches of chunks.
#[derive(Debug, Clone)]
pub struct Shards {
    /// log2 of the sampling rate: one in 2^`halvings` of the chunks that are not hot is followed.
    halvings: u8,
    most: usize,
    followed: FxHashMap<u64, Followed>,
    kept: Kept,
    places: Fenwick,
    /// The place in time of the last touch.
    last: usize,
    /// Chunks that the followed ones stand for.
    distinct: u64,
    touches: [u64; KINDS],
    seen: [Seen; KINDS],
    first_writes: f64,
    window: u16,
    /// Chunks that were touched in each window of time.
    in_window: Vec<f64>,
    /// Chunks that were touched for the first time in it.
    new_in_window: Vec<f64>,
}

impl Shards {
    /// Follows all chunks at first; whenever more than `most` are followed, the sample is halved.
    pub fn new(most: usize) -> Self {
        Self {
            halvings: 0,
            most: most.max(1),
            followed: FxHashMap::default(),
            kept: Kept::default(),
            places: Fenwick::new(PLACES, []),
            last: 0,
            distinct: 0,
            touches: [0; KINDS],
            seen: Default::default(),
            first_writes: 0.0,
            window: 0,
            in_window: vec![0.0],
            new_in_window: vec![0.0],
        }
    }

    /// Returns the share that is followed of the chunks that are not hot.
    pub fn rate(&self) -> f64 {
        (-f64::from(self.halvings)).exp2()
    }

    /// Returns how many chunks are followed.
    pub fn followed(&self) -> usize {
        self.followed.len()
    }

    /// Counts `times` touches of a chunk in a row.
    #[inline]
    pub fn touch(&mut self, chunk: u64, touch: Touch, times: u64) {
        self.touches[touch as usize] += times;
        let mixed = hash(chunk);
        if is_sampled(mixed, self.halvings) || self.kept.may_hold(mixed) {
            self.follow(chunk, mixed, touch, times);
        }
    }

    /// Begins a window of time, numbered upwards.
    pub fn begin_window(&mut self, window: u16) {
        self.window = self.window.max(window);
        self.in_window.resize(usize::from(self.window) + 1, 0.0);
        self.new_in_window.resize(usize::from(self.window) + 1, 0.0);
    }

    fn follow(&mut self, chunk: u64, mixed: u64, touch: Touch, times: u64) {
        if self.last == self.places.places() {
            self.renumber();
        }
        let window = usize::from(self.window);
        let one = match self.followed.get_mut(&chunk) {
            Some(one) => one,
            None if !is_sampled(mixed, self.halvings) => return,
            None => {
                let (level, place) = (self.halvings, 0);
                self.distinct += 1 << level;
                self.new_in_window[window] += (1u64 << level) as f64;
                let (touches, read, written, window) = (0, false, false, u16::MAX);
                let new = Followed { place, touches, window, level, read, written };
                self.followed.entry(chunk).or_insert(new)
            }
        };
        self.last += 1;
        let weight = one.weight() as f64;
        if usize::from(one.window) != window {
            self.in_window[window] += weight;
        }
        let write = touch != Touch::Read;
        if write && !one.written {
            self.first_writes += weight;
        }
        let before = std::mem::replace(&mut one.place, self.last as u32) as usize;
        one.window = self.window;
        one.touches = one.touches.saturating_add(1);
        one.read |= !write;
        one.written |= write;
        let since = (before > 0).then(|| self.distinct - self.places.up_to(before));
        self.seen[touch as usize].add(since, weight, times);
        if before > 0 {
            self.places.leave(before, one.weight());
        }
        self.places.take(self.last, one.weight());
        while self.followed.len() > self.most {
            self.halve();
        }
    }

    /// Renumbers the places of the followed chunks from 1, and makes room for as many more.
    fn renumber(&mut self) {
        let mut all: Vec<_> = self.followed.values_mut().collect();
        all.sort_unstable_by_key(|one| one.place);
        for (place, one) in all.iter_mut().enumerate() {
            one.place = place as u32 + 1;
        }
        self.last = all.len();
        self.distinct = all.iter().map(|one| one.weight()).sum();
        self.places = Fenwick::new(PLACES.max(2 * self.last), all.iter().map(|one| one.weight()));
    }

    fn halve(&mut self) {
        self.halvings += 1;
        let (halvings, hot) = (self.halvings, self.hot_above());
        self.followed.retain(|chunk, one| {
            let stays = one.touches > hot;
            one.touches /= 2;
            if !stays && is_sampled(hash(*chunk), halvings) {
                one.level = halvings;
                return true;
            }
            stays
        });
        let hashes = self.followed.keys().map(|chunk| hash(*chunk));
        self.kept = Kept::of(hashes.filter(|mixed| !is_sampled(*mixed, halvings)));
        self.renumber();
    }

    /// Returns the number of touches above which a chunk is hot, such that at most the share [`HOT`] of `most` is.
    fn hot_above(&self) -> u32 {
        let mut all: Vec<u32> = self.followed.values().map(|one| one.touches).collect();
        let room = (self.most as f64 * HOT) as usize;
        match all.len().checked_sub(room + 1) {
            Some(at) => *all.select_nth_unstable(at).1,
            None => u32::MAX,
        }
    }

    /// Returns how many touches of reads and writes there were.
    pub fn touches(&self) -> [u64; 2] {
        let [reads, part, whole] = self.touches;
        [reads, part + whole]
    }

    /// Returns the curves of reads and writes. All touches of chunks that stand for themselves were seen; the remaining touches are distributed
    /// like those of the sampled chunks.
    pub fn curves(&self) -> [Curve; 2] {
        [self.curve(Touch::Read), self.curve(Touch::Part).with(&self.curve(Touch::Whole))]
    }

    /// Returns the curve of the touches that make a cache copy in a chunk that it does not hold.
    pub fn copying(&self) -> Curve {
        self.curve(Touch::Read).with(&self.curve(Touch::Part))
    }

    fn curve(&self, touch: Touch) -> Curve {
        let (seen, touches) = (&self.seen[touch as usize], self.touches[touch as usize] as f64);
        let scale = if seen.sampled > 0.0 { (touches - seen.alone) / seen.sampled } else { 0.0 };
        seen.alone_curve.with(&seen.sampled_curve.scaled(scale)).with_touches(touches)
    }

    /// Returns the number of chunks that were touched, of those that were read, and of those that were written.
    pub fn distinct(&self) -> [f64; 3] {
        let count = |which: fn(&Followed) -> bool| {
            let those = self.followed.values().filter(|one| which(one));
            those.map(Followed::weight).sum::<u64>() as f64
        };
        [count(|_| true), count(|one| one.read), count(|one| one.written)]
    }

    /// Returns how many writes were the first of their chunk.
    pub fn first_writes(&self) -> f64 {
        self.first_writes
    }

    /// Returns, for each window of time, how many chunks were touched in it, and how many of those for the first time.
    pub fn windows(&self) -> impl Iterator<Item = (f64, f64)> {
        self.in_window.iter().copied().zip(self.new_in_window.iter().copied())
    }
}

impl Seen {
    /// Counts a touch with `since` chunks since the one before (`None` for a first touch), and those right behind it.
    fn add(&mut self, since: Option<u64>, weight: f64, times: u64) {
        let (touches, curve) = match weight {
            1.0 => (&mut self.alone, &mut self.alone_curve),
            _ => (&mut self.sampled, &mut self.sampled_curve),
        };
        *touches += weight * times as f64;
        if let Some(since) = since {
            curve.add(since, weight);
        }
        if times > 1 {
            curve.add(0, weight * (times - 1) as f64);
        }
    }
}

/// Tells whether a chunk is in the sample of one in 2^`halvings`: each sample is a part of the one before.
#[inline]
fn is_sampled(mixed: u64, halvings: u8) -> bool {
    mixed.trailing_zeros() >= u32::from(halvings)
}

/// Mixes the bits of a number (the last step of MurmurHash3), so that neighbours have unrelated hashes. The constant keeps 0 from being its own
/// hash, or else the first chunk of a device, often a hot one, would always be in the sample.
#[inline]
fn hash(chunk: u64) -> u64 {
    let mut bits = chunk.wrapping_add(0x9e37_79b9_7f4a_7c15);
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ (bits >> 33)
}

#[cfg(test)]
mod tests;
