//! The order of LZ4 sizes: neighbours are as similar as those of real data.
//!
//! A profile keeps how sizes follow each other as counts between a few classes. A Markov chain of these counts forgets too fast: in real
//! data, files keep sizes in a band for many blocks. So a share of the blocks repeats the class of one of the last [`BAND`] blocks. The
//! share is searched for each stratum of 4096 blocks, so that VDO's packer saves as much as on the data, on short sets as well as long
//! ones.

use reduce::Ongoing;
use units::{Seed, SplitMix64};

use crate::ProfileNeighbours;
use crate::strata::STRATUM;

/// Strata that are generated; then they repeat in another order.
pub(crate) const STRATA: usize = 8;
/// Number of last blocks from which a class is repeated. 4 to 16 met the data of the journal, also where the order was shuffled slightly.
const BAND: usize = 8;
/// Shares that are tried for each stratum.
const TRIED: u32 = 7;
/// The largest share: beyond, a stratum is one run for each class.
const MAX_SHARE: f64 = 0.98;

/// Highest number of near contents for each block at which an order is still searched: with more, the order of the few blocks between them
/// changes the saving little.
const CROWDED: f64 = 16.0;

/// Near contents, which leave the packer again, between the blocks that are put in order.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Between<'a> {
    /// Their sizes, which come again and again.
    pub sizes: &'a [u32],
    /// Number of them for each block.
    pub each: f64,
}

/// Returns [`STRATA`] strata, each with all of `sizes` in some order, such that the packer saves as near to `saving` percent as possible on
/// them and the near contents `between` them.
pub(crate) fn in_order(
    sizes: &[u32],
    between: Between<'_>,
    neighbours: &ProfileNeighbours,
    saving: f64,
) -> Vec<u32> {
    let chain = Chain::new(neighbours, sizes);
    let rng = Seed(1).derive("sizes in a row").generator();
    let mut so_far = State { past: Vec::new(), packed: Ongoing::default(), near: 0.0, rng };
    let mut all = Vec::with_capacity(STRATA * STRATUM as usize);
    for _ in 0..STRATA {
        if between.each > CROWDED {
            all.extend(chain.stratum(0.0, &mut so_far.past, &mut so_far.rng));
            continue;
        }
        let (mut low, mut high) = (0.0, MAX_SHARE);
        let mut best: Option<(f64, Vec<u32>, State)> = None;
        for tried in 0..TRIED {
            let share = if tried == 0 { 0.0 } else { f64::midpoint(low, high) };
            let mut state = so_far.clone();
            let sizes = chain.stratum(share, &mut state.past, &mut state.rng);
            sizes.iter().for_each(|&size| state.pack(size, between));
            let off = state.packed.saving_percent() - saving;
            if tried > 0 {
                // A larger share makes longer bands, and the packer can combine less of these.
                if off > 0.0 { low = share } else { high = share }
            }
            if best.as_ref().is_none_or(|best| off.abs() < best.0.abs()) {
                best = Some((off, sizes, state));
            }
            if tried == 0 && off <= 0.0 {
                break;
            }
        }
        let Some((_, sizes, state)) = best else { break };
        so_far = state;
        all.extend(sizes);
    }
    all
}

/// The state that one stratum leaves to the next.
#[derive(Clone)]
struct State {
    /// Classes of the last blocks.
    past: Vec<usize>,
    packed: Ongoing,
    /// Number of near contents so far, with the fraction of the next one.
    near: f64,
    rng: SplitMix64,
}

impl State {
    /// Packs a block, and the near contents behind it.
    fn pack(&mut self, size: u32, between: Between<'_>) {
        self.packed.add(size as usize);
        let came = self.near as usize;
        self.near += between.each;
        for number in came..self.near as usize {
            let size = between.sizes.get(number % between.sizes.len().max(1));
            self.packed.add_near(size.copied().unwrap_or_default() as usize);
        }
    }
}

/// Classes, and the sizes of a stratum in each.
struct Chain {
    pools: Vec<Vec<u32>>,
    follows: Vec<Vec<f64>>,
}

impl Chain {
    fn new(neighbours: &ProfileNeighbours, sizes: &[u32]) -> Self {
        let upto = &neighbours.upto_bytes;
        let last = upto.len().saturating_sub(1);
        let mut pools = vec![Vec::new(); upto.len().max(1)];
        for &size in sizes {
            pools[upto.partition_point(|&upto| upto < size).min(last)].push(size);
        }
        let follows = neighbours.follows.iter();
        let follows = follows.map(|row| row.iter().map(|&n| n as f64).collect()).collect();
        Self { pools, follows }
    }

    /// Generates one stratum with each size once. `past` holds the classes of the blocks before it; those of the new blocks are added.
    fn stratum(&self, band: f64, past: &mut Vec<usize>, rng: &mut SplitMix64) -> Vec<u32> {
        let mut pools: Vec<_> = self.pools.iter().map(|pool| shuffled(pool, rng)).collect();
        let count = pools.iter().map(Vec::len).sum();
        let mut sizes = Vec::with_capacity(count);
        let mut weights = vec![0.0; pools.len()];
        for _ in 0..count {
            let recent = &past[past.len().saturating_sub(BAND)..];
            let row = recent.last().and_then(|&class| self.follows.get(class));
            let whole: f64 = row.map_or(0.0, |row| row.iter().sum());
            for (class, weight) in weights.iter_mut().enumerate() {
                let next = row.map_or(0.0, |row| row[class]);
                let again = recent.iter().filter(|&&c| c == class).count() as f64;
                let again = whole * again / recent.len().max(1) as f64;
                // Weighted by what is left of the class, so that every stratum has the same share of each.
                let left = pools[class].len() as f64 / self.pools[class].len().max(1) as f64;
                *weight = ((1.0 - band) * next + band * again) * left;
            }
            if weights.iter().sum::<f64>() <= 0.0 {
                weights.iter_mut().zip(&pools).for_each(|(w, pool)| *w = pool.len() as f64);
            }
            let class = drawn(&weights, rng);
            sizes.extend(pools[class].pop());
            past.push(class);
        }
        let beyond = past.len().saturating_sub(BAND);
        past.drain(..beyond);
        sizes
    }
}

/// A class drawn in proportion to weights, never one whose weight is 0 where there is another.
fn drawn(weights: &[f64], rng: &mut SplitMix64) -> usize {
    let mut at = rng.unit() * weights.iter().sum::<f64>();
    let mut last = 0;
    for (class, &weight) in weights.iter().enumerate().filter(|(_, weight)| **weight > 0.0) {
        last = class;
        if at < weight {
            break;
        }
        at -= weight;
    }
    last
}

/// Fisher and Yates.
fn shuffled(sizes: &[u32], rng: &mut SplitMix64) -> Vec<u32> {
    let mut sizes = sizes.to_vec();
    for i in (1..sizes.len()).rev() {
        sizes.swap(i, rng.below(i as u64 + 1) as usize);
    }
    sizes
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Percent. Classes in stretches as long as they can be save 31.
    const ASKED: [f64; 3] = [32.0, 35.0, 38.0];

    #[test]
    fn every_stratum_holds_each_size_once_and_the_packer_saves_what_it_should() {
        let sizes: Vec<u32> = (0..STRATUM as u32).map(|n| 500 + n / 8 * 7).collect();
        let near_sizes: Vec<u32> = (0..STRATUM as u32).map(|n| 100 + n % 64).collect();
        let upto_bytes = vec![1000, 1500, 2000, 2500, 3000, 3500, 4096];
        let follows = vec![vec![100; upto_bytes.len()]; upto_bytes.len()];
        let neighbours = ProfileNeighbours { upto_bytes, follows };
        // No order is searched where there are few blocks between near contents; what these are is not asked.
        let between = Between { sizes: &[], each: 1000.0 };
        let all = in_order(&sizes, between, &neighbours, ASKED[0]);
        for stratum in all.chunks(STRATUM as usize) {
            assert_eq!(stratum.iter().sum::<u32>(), sizes.iter().sum::<u32>());
        }
        assert_eq!(all.len(), STRATA * STRATUM as usize);
        for each in [0.0, 0.25] {
            let between = Between { sizes: &near_sizes, each };
            for saving in ASKED.map(|wanted| wanted / (1.0 + each)) {
                let all = in_order(&sizes, between, &neighbours, saving);
                assert_eq!(all.len(), STRATA * STRATUM as usize);
                for stratum in all.chunks(STRATUM as usize) {
                    let mut got = stratum.to_vec();
                    got.sort_unstable();
                    assert_eq!(got, sizes);
                }
                let mut packer = Ongoing::default();
                for (n, block) in (0..).zip(all.chunks(4)) {
                    block.iter().for_each(|&size| packer.add(size as usize));
                    if each > 0.0 {
                        packer.add_near(near_sizes[n % near_sizes.len()] as usize);
                    }
                }
                let found = packer.saving_percent();
                assert!((found - saving).abs() < 0.5, "{found} for {saving}");
            }
        }
    }
}
