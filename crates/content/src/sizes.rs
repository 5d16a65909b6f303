//! The LZ4 sizes of blocks that are not zero: all alike, two kinds, or a distribution.

use reduce::{BLOCK, Packer};
use units::Seed;

use crate::neighbours::{self, StratumSizes};
use crate::share::Share;
use crate::strata::{Runs, STRATUM, Strata, mix};
use crate::streams::Streams;
use crate::texture::{Body, Textures};
use crate::{Compress, ContentKind, ContentSpec, Parts, Profile, ProfileSource, Scope, saving};

/// Blocks that are packed to find out what a distribution saves.
const PACKED: u64 = 4 * STRATUM;
/// Longest runs of like sizes that are tried for a profile: 2^this blocks, and twice that.
const LONGEST_RUN_BITS: u32 = 7;

/// LZ4 sizes as asked for.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Sizes {
    /// All of this size, bytes.
    One(usize),
    /// A share of one size, the others incompressible.
    Mixed(saving::Mixture),
    /// The sizes of a stratum in ascending order; blocks of like sizes follow each other in runs.
    Many { sorted: Vec<u32>, runs: Runs },
    /// The sizes of some strata in their order, which come again and again.
    Ordered { sizes: Vec<u32> },
}

impl ContentSpec {
    /// The sizes of new blocks; impossible values are cut to the nearest possible ones.
    pub(crate) fn sizes(&self) -> Sizes {
        let unit = self.unit();
        if let Some(profile) = self.profile.as_ref().and_then(ProfileSource::loaded) {
            return Sizes::of_profile(profile, unit);
        }
        if let Some(ask) = self.vdo_saving {
            let live = self.scope == Scope::Live;
            let ask = ask.fraction() / self.new_among_distinct();
            let mixture = saving::solve(ask.min(saving::most(live)), live);
            return mixture.map_or(Sizes::One(unit), Sizes::Mixed);
        }
        match &self.compress {
            Compress::Normal { mean_bytes, deviation_bytes } => {
                Sizes::normal(*mean_bytes, *deviation_bytes, unit)
            }
            Compress::Sizes(shares) => {
                let shares: Vec<_> =
                    shares.iter().map(|s| (f64::from(s.lz4_bytes), s.weight)).collect();
                Sizes::weighted(&shares, unit)
            }
            alike => Sizes::One(alike.lz4_bytes(unit).unwrap_or(unit)),
        }
    }
}

/// So many sizes, in ascending order, with these weights.
fn quantiles(counts: &[(f64, f64)], unit: usize, length: usize) -> Vec<u32> {
    let mut counts: Vec<_> = counts.iter().filter(|c| c.1 > 0.0).copied().collect();
    counts.sort_by(|a, b| a.0.total_cmp(&b.0));
    let all: f64 = counts.iter().map(|c| c.1).sum();
    let mut sorted = Vec::with_capacity(length);
    let mut sum = 0.0;
    for (size, weight) in counts {
        sum += weight;
        let end = (sum / all * length as f64).round() as usize;
        sorted.resize(end.max(sorted.len()), size.min(unit as f64) as u32);
    }
    sorted.resize(length, sorted.last().copied().unwrap_or(unit as u32));
    sorted
}

impl Sizes {
    fn weighted(counts: &[(f64, f64)], unit: usize) -> Self {
        let sorted = quantiles(counts, unit, STRATUM as usize);
        Self::Many { sorted, runs: Runs::default() }
    }

    fn of_profile(profile: &Profile, unit: usize) -> Self {
        let all = |s: &crate::ProfileSize| (f64::from(s.lz4_bytes), s.blocks as f64);
        let counts: Vec<_> = profile.sizes.iter().map(all).collect();
        let saving = profile.packer_saving_percent.filter(|_| unit == BLOCK);
        match (saving, &profile.neighbours) {
            (None, _) => Self::weighted(&counts, unit),
            // Version 1 knows only how long runs of like sizes would have to be.
            (Some(saving), None) => Self::weighted(&counts, unit).in_best_runs(saving),
            (Some(saving), Some(neighbours)) => {
                let held: u64 = profile.sizes.iter().map(|s| s.near).sum();
                let mut near = Streams::near_places(profile);
                if held == 0 {
                    near.fill(false);
                }
                let places = near.iter().filter(|&&is| is).count();
                // As many near blocks for each that was held as there are places for them.
                let share = places as f64 / STRATUM as f64 * profile.blocks.unique as f64;
                let each = share / held.max(1) as f64;
                let near_counts =
                    profile.sizes.iter().map(|s| (f64::from(s.lz4_bytes), s.near as f64));
                let others = profile.sizes.iter().map(|s| {
                    (f64::from(s.lz4_bytes), (s.blocks as f64 - each * s.near as f64).max(0.0))
                });
                let others: Vec<_> = others.collect();
                let others = if others.iter().any(|c| c.1 > 0.0) { others } else { counts };
                let dealt = StratumSizes {
                    near: &near,
                    near_sizes: &quantiles(&near_counts.collect::<Vec<_>>(), unit, places),
                    sizes: &quantiles(&others, unit, near.len() - places),
                };
                Self::Ordered { sizes: neighbours::in_order(&dealt, neighbours, saving) }
            }
        }
    }

    fn normal(mean: f64, deviation: f64, unit: usize) -> Self {
        let size = |i| mean + deviation * normal_quantile((i as f64 + 0.5) / STRATUM as f64);
        let sorted = (0..STRATUM).map(|i| size(i).round().clamp(1.0, unit as f64) as u32).collect();
        Self::Many { sorted, runs: Runs::default() }
    }

    /// In runs so long that the packer saves as near to `saving` percent as can be: of one length, or of two in the shares that
    /// meet it.
    fn in_best_runs(self, saving: f64) -> Self {
        let Self::Many { sorted, .. } = self else { return self };
        let saved: Vec<f64> = (0..=LONGEST_RUN_BITS + 1)
            .map(|bits| {
                let runs = Runs { bits, longer: 0 };
                Self::Many { sorted: sorted.clone(), runs }.packer_saving_percent()
            })
            .collect();
        let between = saved.windows(2).zip(0u32..).find_map(|(pair, bits)| {
            let share = (saving - pair[0]) / (pair[1] - pair[0]);
            let longer = (share * 65_536.0).round() as u32;
            (0.0..=1.0).contains(&share).then_some(Runs { bits, longer })
        });
        let nearest = || {
            let off = |(_, saved): &(u32, f64)| (saved - saving).abs();
            let one = (0u32..).zip(saved.iter().copied());
            let bits = one.min_by(|a, b| off(a).total_cmp(&off(b))).map_or(0, |found| found.0);
            Runs { bits, longer: 0 }
        };
        let runs = between.unwrap_or_else(nearest);
        Self::Many { sorted, runs }
    }

    /// Mean size, bytes.
    pub fn mean_bytes(&self) -> f64 {
        match self {
            Self::One(bytes) => *bytes as f64,
            Self::Mixed(m) => m.share * m.lz4_bytes as f64 + (1.0 - m.share) * BLOCK as f64,
            Self::Many { sorted, .. } | Self::Ordered { sizes: sorted } => {
                sorted.iter().map(|&size| f64::from(size)).sum::<f64>() / sorted.len().max(1) as f64
            }
        }
    }

    /// Returns what VDO's packer saves on blocks of these sizes written once and without flushes, percent.
    pub fn packer_saving_percent(&self) -> f64 {
        match self {
            Self::One(bytes) => reduce::uniform_saving_percent(*bytes),
            Self::Mixed(m) => m.share * reduce::uniform_saving_percent(m.lz4_bytes),
            Self::Many { .. } | Self::Ordered { .. } => self.packed(None),
        }
    }

    /// Saving with a flush after every `every` blocks, percent: a flush empties the packer.
    pub fn saving_with_flushes_percent(&self, every: u64) -> f64 {
        self.packed(Some(every.max(1)))
    }

    fn packed(&self, flush_every: Option<u64>) -> f64 {
        let strata = Strata::new(Seed(1));
        let mut packer = Packer::new();
        for n in 0..PACKED {
            packer.add(self.at(n, strata));
            if flush_every.is_some_and(|every| (n + 1).is_multiple_of(every)) {
                packer.flush();
            }
        }
        packer.finish().saving_percent().unwrap_or(0.0)
    }

    /// The size of the `n`th new block.
    fn at(&self, n: u64, strata: Strata) -> usize {
        match self {
            Self::One(bytes) => *bytes,
            Self::Mixed(m) if Share::of(m.share).takes(n) => m.lz4_bytes,
            Self::Mixed(_) => BLOCK,
            Self::Many { sorted, runs } => sorted[strata.in_runs(*runs).at(n) as usize] as usize,
            Self::Ordered { sizes } => sizes[turned(n, 0)] as usize,
        }
    }

    /// Largest number of blocks that share a physical one.
    pub fn most_sharing(&self) -> u64 {
        let least = match self {
            Self::One(bytes) => *bytes,
            Self::Mixed(m) => m.lz4_bytes,
            Self::Many { sorted, .. } => sorted.first().map_or(BLOCK, |&size| size as usize),
            Self::Ordered { sizes } => sizes.iter().min().map_or(BLOCK, |&size| size as usize),
        };
        u64::from(reduce::fragments_per_block(least))
    }
}

/// Position of a job's `n`th new block among the strata that repeat. Their order differs in each cycle and for each job, so that jobs in
/// step do not write similar sizes at the same time.
#[inline]
fn turned(n: u64, job: u16) -> usize {
    const TURNS: u64 = neighbours::STRATA as u64;
    let (stratum, place) = (n / STRATUM, n % STRATUM);
    let (turn, cycle) = (stratum % TURNS, stratum / TURNS);
    let order = mix(cycle << 12 | u64::from(job)) % TURNS;
    ((turn ^ order) * STRATUM + place) as usize
}

/// The layouts of blocks, by their ids.
#[derive(Debug, Clone)]
pub(crate) enum Layouts {
    One(Body),
    Mixed {
        share: Share,
        packed: Body,
        plain: Body,
    },
    /// `order` has the number of the layout of each size, in ascending order.
    Many {
        layouts: Vec<Body>,
        order: Vec<u16>,
        strata: Strata,
    },
    Ordered {
        layouts: Vec<Body>,
        order: Vec<u16>,
    },
}

impl Layouts {
    pub fn new(sizes: &Sizes, textures: &mut Textures, seed: Seed) -> Self {
        match sizes {
            Sizes::One(bytes) => Self::One(textures.body(*bytes)),
            Sizes::Mixed(m) => Self::Mixed {
                share: Share::of(m.share),
                packed: textures.body(m.lz4_bytes),
                plain: Body::Runs(textures.whole().layout),
            },
            Sizes::Many { sorted, runs } => {
                let (layouts, order) = ordered(sorted, textures);
                let strata = Strata::new(seed.derive("sizes")).in_runs(*runs);
                Self::Many { layouts, order, strata }
            }
            Sizes::Ordered { sizes } => {
                let (layouts, order) = ordered(sizes, textures);
                Self::Ordered { layouts, order }
            }
        }
    }

    /// The layout of a content. `by_series`: its series says which size it has among all, in 4096ths.
    #[inline]
    pub fn of(&self, parts: &Parts, by_series: bool) -> Body {
        match self {
            Self::One(body) => *body,
            Self::Mixed { share, packed, plain } => {
                let takes = if by_series {
                    share.before(u64::from(parts.series) + 1)
                        > share.before(u64::from(parts.series))
                } else {
                    share.takes(parts.ordinal)
                };
                if takes { *packed } else { *plain }
            }
            Self::Many { layouts, order, strata } => {
                let at = if by_series { u64::from(parts.series) } else { strata.at(parts.ordinal) };
                layouts[usize::from(order[at as usize])]
            }
            Self::Ordered { layouts, order } => {
                layouts[usize::from(order[turned(parts.ordinal, parts.series)])]
            }
        }
    }

    /// The layout of pool contents, which are not packed with others.
    pub fn of_pool(&self, parts: &Parts) -> Body {
        match self {
            Self::Mixed { plain, .. } => *plain,
            _ => self.of(&Parts { kind: ContentKind::New, ..*parts }, false),
        }
    }
}

/// The bodies of sizes, one for each that differs, and which of them each size has.
fn ordered(sizes: &[u32], textures: &mut Textures) -> (Vec<Body>, Vec<u16>) {
    let mut sorted = sizes.to_vec();
    sorted.sort_unstable();
    let bodies = textures.bodies(&sorted);
    sorted.dedup();
    let place = |size: &u32| sorted.partition_point(|other| other < size) as u16;
    (bodies, sizes.iter().map(place).collect())
}

/// The standard normal's quantile (Acklam's rational approximation, relative error 1.2e-9).
fn normal_quantile(p: f64) -> f64 {
    const A: [f64; 6] = [
        -39.696_830_286_653_76,
        220.946_098_424_520_5,
        -275.928_510_446_968_7,
        138.357_751_867_269,
        -30.664_798_066_147_16,
        2.506_628_277_459_239,
    ];
    const B: [f64; 6] = [
        -54.476_098_798_224_06,
        161.585_836_858_040_9,
        -155.698_979_859_886_6,
        66.801_311_887_719_72,
        -13.280_681_552_885_72,
        1.0,
    ];
    const C: [f64; 6] = [
        -0.007_784_894_002_430_293,
        -0.322_396_458_041_136_5,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const D: [f64; 5] = [
        0.007_784_695_709_041_462,
        0.322_467_129_070_039_8,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    let horner = |c: &[f64], x: f64| c.iter().fold(0.0, |sum, &c| sum * x + c);
    let tail = |p: f64| {
        let q = (-2.0 * p.ln()).sqrt();
        horner(&C, q) / horner(&D, q)
    };
    if p < 0.02425 {
        return tail(p);
    }
    if p > 1.0 - 0.02425 {
        return -tail(1.0 - p);
    }
    let q = p - 0.5;
    horner(&A, q * q) * q / horner(&B, q * q)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_of_the_normal_are_those_of_tables() {
        for (p, z) in [(0.5, 0.0), (0.975, 1.959_964), (0.01, -2.326_348), (0.8413447, 1.0)] {
            assert!((normal_quantile(p) - z).abs() < 1e-5, "{p}");
        }
    }

    #[test]
    fn a_distribution_has_the_mean_and_spread_that_were_asked() {
        let sizes = Sizes::normal(1600.0, 300.0, BLOCK);
        let Sizes::Many { sorted, .. } = &sizes else { panic!() };
        let mean = sizes.mean_bytes();
        let variance = sorted.iter().map(|&s| (f64::from(s) - mean).powi(2)).sum::<f64>() / 4096.0;
        assert!((mean - 1600.0).abs() < 1.0 && (variance.sqrt() - 300.0).abs() < 2.0);
        let two = Sizes::weighted(&[(4096.0, 1.0), (1000.0, 3.0)], BLOCK);
        assert!((two.mean_bytes() - (0.75 * 1000.0 + 0.25 * 4096.0)).abs() < 0.01);
    }

    #[test]
    fn a_flush_costs_what_it_did_on_the_module() {
        // Measured: 1.2 points at 66 % and 2.2 at 92.8 % with a flush after every 32 unique blocks.
        for (ask, cost, tolerance) in [(0.66, 1.2, 1.0), (0.928, 2.2, 1.0)] {
            let sizes = Sizes::Mixed(saving::solve(ask, false).unwrap());
            let lost = sizes.packer_saving_percent() - sizes.saving_with_flushes_percent(32);
            assert!((lost - cost).abs() < tolerance, "{ask}: {lost}");
        }
    }
}
