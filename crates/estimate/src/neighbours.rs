//! Joint distribution of the LZ4 sizes of consecutive blocks, for the profile.
//!
//! It counts pairs of blocks that follow each other into VDO's packer and stay there. A block whose content comes again while
//! the packer holds it leaves the packer: such a *near* block is counted separately, by its size.

use std::collections::VecDeque;

use content::ProfileNeighbours;
use reduce::{BLOCK, prefetch};

/// Sizes that pairs are counted by, bytes.
const STEP: usize = 32;
const STEPS: usize = BLOCK / STEP + 1;
/// Number of classes in a profile. More would describe differences that a packer does not use.
const CLASSES: usize = 16;
/// Number of blocks that are held back before they are counted, because they may still turn out to be near. The packer holds fewer.
const HELD: usize = 512;
/// Blocks between the prefetch of a pair's counter and its use: the counters (130 KiB) do not stay in the cache.
const SOON: usize = 8;

/// Counts pairs of LZ4 sizes of consecutive blocks.
#[derive(Debug)]
pub struct Neighbours {
    held: VecDeque<Held>,
    last: Option<usize>,
    /// Weight of the pairs in which the second size step came right after the first.
    pairs: Box<[f64]>,
    /// Near blocks by their size.
    pub near: Box<[f64]>,
}

#[derive(Debug, Clone, Copy)]
enum Held {
    Block { name: u64, step: usize, weight: f64 },
    Gap,
}

/// Returns the place of the counter for the second size step right after the first.
fn pair(first: usize, second: usize) -> usize {
    first * STEPS + second
}

impl Default for Neighbours {
    fn default() -> Self {
        Self {
            held: VecDeque::with_capacity(HELD + 1),
            last: None,
            pairs: vec![0.0; STEPS * STEPS].into(),
            near: vec![0.0; BLOCK + 1].into(),
        }
    }
}

impl Neighbours {
    /// Takes a content that was stored for the first time; with its predecessor it stands for `weight` pairs.
    pub fn stored(&mut self, name: u64, size: u16, weight: f64) {
        let step = usize::from(size).min(BLOCK) / STEP;
        self.push(Held::Block { name, step, weight });
    }

    /// Notes that blocks follow whose sizes are not known.
    pub fn gap(&mut self) {
        if !matches!(self.held.back(), None | Some(Held::Gap)) {
            self.push(Held::Gap);
        }
    }

    /// Takes out a content that left the packer because it came again.
    pub fn remove_repeated(&mut self, name: u64) {
        let same = |held: &Held| matches!(held, Held::Block { name: other, .. } if *other == name);
        if let Some(at) = self.held.iter().rposition(same) {
            self.held.remove(at);
        }
    }

    /// Counts a near block of this size.
    pub fn count_near(&mut self, size: u16, weight: f64) {
        self.near[usize::from(size).min(BLOCK)] += weight;
    }

    fn push(&mut self, held: Held) {
        self.held.push_back(held);
        if self.held.len() > HELD {
            self.count_oldest();
        }
    }

    fn count_oldest(&mut self) {
        if let (Some(Held::Block { step: first, .. }), Some(Held::Block { step, .. })) =
            (self.held.get(SOON), self.held.get(SOON + 1))
        {
            prefetch(&self.pairs[pair(*first, *step)]);
        }
        match self.held.pop_front() {
            Some(Held::Block { step, weight, .. }) => {
                if let Some(last) = self.last.replace(step) {
                    self.pairs[pair(last, step)] += weight;
                }
            }
            Some(Held::Gap) => self.last = None,
            None => {}
        }
    }

    /// Ends the counting; returns pairs by classes with about equal numbers of blocks, or `None` when there were no pairs.
    pub fn classes(&mut self) -> Option<ProfileNeighbours> {
        while !self.held.is_empty() {
            self.count_oldest();
        }
        let row = |first: usize| &self.pairs[first * STEPS..(first + 1) * STEPS];
        let mass: Vec<f64> = (0..STEPS).map(|first| row(first).iter().sum()).collect();
        let mut left: f64 = mass.iter().sum();
        if left <= 0.0 {
            return None;
        }
        let (mut class_of, mut upto_bytes) = (vec![0; STEPS], Vec::new());
        let mut here = 0.0;
        for (step, mass) in mass.into_iter().enumerate() {
            let classes = CLASSES - upto_bytes.len();
            // Begin a new class if the class would exceed its target size by more with this step than it misses it without.
            if here > 0.0 && classes > 1 && here + mass / 2.0 > left / classes as f64 {
                upto_bytes.push((step * STEP - 1) as u32);
                left -= here;
                here = 0.0;
            }
            class_of[step] = upto_bytes.len();
            here += mass;
        }
        upto_bytes.push(BLOCK as u32);
        let mut sums = vec![vec![0.0; upto_bytes.len()]; upto_bytes.len()];
        for (first, &from) in class_of.iter().enumerate() {
            row(first).iter().zip(&class_of).for_each(|(n, &to)| sums[from][to] += n);
        }
        let whole = |row: Vec<f64>| row.into_iter().map(|n| n.round() as u64).collect();
        Some(ProfileNeighbours { upto_bytes, follows: sums.into_iter().map(whole).collect() })
    }
}
