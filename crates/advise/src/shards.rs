//! Reuse distances of chunks, sampled in space (SHARDS: Waldspurger and others, FAST 2015).
//!
//! One chunk in 2^halvings is followed, by the hash of its number, so that all its touches are seen or none. How many other followed chunks
//! were touched since its last touch, times 2^halvings, is how many chunks a least-recently-used cache must hold to have kept it. Whenever
//! more than the most are followed, there is one more halving, and those that are out are forgotten: memory has a bound, and a trace with few
//! chunks is followed whole. How exact a curve is rests on how many chunks are followed, not on how many there are.

use rustc_hash::FxHashMap;

use crate::curve::Curve;
use crate::fenwick::Fenwick;

/// Places in time at the start.
const PLACES: usize = 1 << 12;

/// A chunk that is followed.
#[derive(Debug, Clone, Copy)]
struct Followed {
    /// The place in time of its last touch.
    place: u32,
    /// The window of time of its last touch.
    window: u16,
    read: bool,
    written: bool,
}

/// Follows the touches of chunks.
#[derive(Debug, Clone)]
pub struct Shards {
    /// One chunk in 2^halvings is followed.
    halvings: u32,
    most: usize,
    followed: FxHashMap<u64, Followed>,
    places: Fenwick,
    /// The place in time of the last touch.
    last: usize,
    /// Touches: reads, writes.
    touches: [u64; 2],
    /// Touches that were followed, each with the chunks that it stands for.
    weights: [f64; 2],
    first_writes: f64,
    curves: [Curve; 2],
    window: u16,
    /// Chunks that were touched in each window of time.
    in_window: Vec<f64>,
    /// Chunks that were touched for the first time in it.
    new_in_window: Vec<f64>,
}

impl Shards {
    /// Follows one chunk in 2^halvings, and halves that whenever those are more than `most`.
    pub fn new(halvings: u32, most: usize) -> Self {
        Self {
            halvings,
            most: most.max(1),
            followed: FxHashMap::default(),
            places: Fenwick::new(PLACES, 0),
            last: 0,
            touches: [0; 2],
            weights: [0.0; 2],
            first_writes: 0.0,
            curves: [Curve::default(), Curve::default()],
            window: 0,
            in_window: vec![0.0],
            new_in_window: vec![0.0],
        }
    }

    /// Returns the part of all chunks that is followed.
    pub fn rate(&self) -> f64 {
        (-f64::from(self.halvings)).exp2()
    }

    /// Returns how many chunks are followed.
    pub fn followed(&self) -> usize {
        self.followed.len()
    }

    /// Counts a touch of a chunk by a read or a write.
    #[inline]
    pub fn touch(&mut self, chunk: u64, write: bool) {
        self.touches[usize::from(write)] += 1;
        if is_followed(chunk, self.halvings) {
            self.follow(chunk, write);
        }
    }

    /// Begins a window of time, numbered upwards.
    pub fn begin_window(&mut self, window: u16) {
        self.window = self.window.max(window);
        self.in_window.resize(usize::from(self.window) + 1, 0.0);
        self.new_in_window.resize(usize::from(self.window) + 1, 0.0);
    }

    fn follow(&mut self, chunk: u64, write: bool) {
        if self.last == self.places.places() {
            self.renumber();
        }
        self.last += 1;
        let (now, window, weight) = (self.last, self.window, f64::from(self.halvings).exp2());
        let at = usize::from(write);
        self.weights[at] += weight;
        let there = self.followed.len();
        let one = self.followed.entry(chunk).or_insert(Followed {
            place: 0,
            window: u16::MAX,
            read: false,
            written: false,
        });
        if one.window != window {
            self.in_window[usize::from(window)] += weight;
        }
        if write && !one.written {
            self.first_writes += weight;
        }
        let before = std::mem::replace(&mut one.place, now as u32) as usize;
        one.window = window;
        one.read |= !write;
        one.written |= write;
        if before == 0 {
            self.new_in_window[usize::from(window)] += weight;
        } else {
            let since = there as u64 - u64::from(self.places.up_to(before));
            self.places.leave(before);
            self.curves[at].add((since as f64 * weight) as u64, weight);
        }
        self.places.take(now);
        while self.followed.len() > self.most {
            self.halve();
        }
    }

    /// Numbers the places of the followed chunks anew, from 1, and makes room for as many more.
    fn renumber(&mut self) {
        let mut all: Vec<_> = self.followed.values_mut().collect();
        all.sort_unstable_by_key(|one| one.place);
        for (place, one) in all.into_iter().enumerate() {
            one.place = place as u32 + 1;
        }
        self.last = self.followed.len();
        self.places = Fenwick::new(PLACES.max(2 * self.last), self.last);
    }

    fn halve(&mut self) {
        self.halvings += 1;
        let halvings = self.halvings;
        self.followed.retain(|chunk, _| is_followed(*chunk, halvings));
        self.renumber();
    }

    /// Returns how many touches of reads and writes there were.
    pub fn touches(&self) -> [u64; 2] {
        self.touches
    }

    /// Returns the curves of reads and writes. What the sample has too few or too many of touches it has of chunks that are touched most,
    /// whose distances are short: the difference is made up there.
    pub fn curves(&self) -> [Curve; 2] {
        std::array::from_fn(|at| {
            let touches = self.touches[at] as f64;
            self.curves[at].adjusted(touches, touches - self.weights[at])
        })
    }

    /// Returns the number of chunks that were touched, of those that were read, and of those that were written.
    pub fn distinct(&self) -> [f64; 3] {
        let count = |which: fn(&Followed) -> bool| {
            self.followed.values().filter(|one| which(one)).count() as f64 / self.rate()
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

/// Tells whether a chunk is followed where one in 2^halvings is: with each halving some of those that are followed stay.
#[inline]
fn is_followed(chunk: u64, halvings: u32) -> bool {
    hash(chunk).trailing_zeros() >= halvings
}

/// Mixes the bits of a number (the last step of MurmurHash3): neighbours are as far apart as any.
#[inline]
fn hash(chunk: u64) -> u64 {
    let mut bits = chunk ^ (chunk >> 33);
    bits = bits.wrapping_mul(0xff51_afd7_ed55_8ccd);
    bits ^= bits >> 33;
    bits = bits.wrapping_mul(0xc4ce_b9fe_1a85_ec53);
    bits ^ (bits >> 33)
}

#[cfg(test)]
mod tests;
