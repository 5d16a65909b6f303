//! The places of one job's I/Os, in batches that can be computed from their number.

use units::{Permutation, Seed};

use crate::distribution::Distribution;
use crate::walk::Walk;
use crate::{BATCH, Hot, Pattern, divided, seeds};

/// The order of one pattern for one job.
#[derive(Debug, Clone)]
pub(crate) enum Order {
    /// In order.
    Walked { walk: Walk, share: u64 },
    /// Each place once per pass, in random order; the order within a pass is the same for all jobs.
    Permuted { permutation: Permutation, pass: u64, seed: Seed, job: u64, jobs: u64, share: u64 },
    /// Drawn from a distribution; hot places are scattered by a permutation.
    Drawn { distribution: Distribution, scattered: Option<Permutation>, seed: Seed },
    /// One place.
    Single { place: u64 },
}

impl Order {
    /// The order over `places` places for job `job` of `jobs`, and the number of this job's I/Os in a pass if there are passes. Jobs that divide a
    /// pass use the seed `common`; jobs that draw use their seed `order_seed`.
    pub(crate) fn new(
        pattern: &Pattern,
        (places, align): (u64, u64),
        last_block: bool,
        (common, order_seed): (Seed, Seed),
        (hot, hot_seed): (Hot, Seed),
        (job, jobs): (u64, u64),
    ) -> (Self, Option<u64>) {
        let places = places.max(1);
        match pattern {
            Pattern::Sequential | Pattern::Interleaved { .. } | Pattern::Strided { .. } => {
                let (walk, share) = Walk::new(pattern, places, last_block, (job, jobs));
                (Self::Walked { walk, share: share.max(1) }, Some(share.max(1)))
            }
            Pattern::Permutation => {
                let share = places.saturating_sub(job).div_ceil(jobs).max(1);
                let permutation = Permutation::new(places, seeds::nth(common, 0));
                let permuted =
                    Self::Permuted { permutation, pass: 0, seed: common, job, jobs, share };
                (permuted, Some(share))
            }
            Pattern::Single { block } => (Self::Single { place: (*block).min(places - 1) }, None),
            _ => {
                let scattered = (hot == Hot::Scattered && pattern.own_hot().is_some())
                    .then(|| Permutation::new(places, hot_seed));
                (
                    Self::Drawn {
                        distribution: Distribution::new(pattern, places, align),
                        scattered,
                        seed: order_seed,
                    },
                    None,
                )
            }
        }
    }

    /// The places of the I/Os from number `number * BATCH` on.
    pub(crate) fn batch(&mut self, number: u64, out: &mut [u64; BATCH]) {
        let first = number * BATCH as u64;
        match self {
            Self::Walked { walk, share } => {
                let (mut pass, mut at) = (first / *share, first % *share);
                for place in out {
                    *place = walk.place(pass, at);
                    at += 1;
                    if at == *share {
                        (pass, at) = (pass + 1, 0);
                    }
                }
            }
            Self::Permuted { job, jobs, share, .. } => {
                let (job, jobs, share) = (*job, *jobs, *share);
                let (mut pass, mut at) = (first / share, first % share);
                let mut done = 0;
                while done < BATCH {
                    let count = (share - at).min((BATCH - done) as u64) as usize;
                    let mut entries: [u64; BATCH] =
                        std::array::from_fn(|i| job + (at + (i % count) as u64) * jobs);
                    self.permutation(pass).apply(&mut entries);
                    out[done..done + count].copy_from_slice(&entries[..count]);
                    done += count;
                    (pass, at) = (pass + 1, 0);
                }
            }
            Self::Drawn { distribution, scattered, seed } => {
                distribution.batch(&mut seeds::nth(*seed, number).generator(), out);
                if let Some(permutation) = scattered {
                    permutation.apply(out);
                }
            }
            Self::Single { place } => out.fill(*place),
        }
    }

    /// The permutation of a pass, computed when it is needed.
    fn permutation(&mut self, wanted: u64) -> Permutation {
        match self {
            Self::Permuted { permutation, pass, seed, .. } => {
                if *pass != wanted {
                    *permutation = Permutation::new(permutation.len(), seeds::nth(*seed, wanted));
                    *pass = wanted;
                }
                *permutation
            }
            _ => Permutation::new(1, Seed(0)),
        }
    }

    /// Tells whether each pass goes through all places in order, from the first one on.
    pub(crate) fn is_row(&self) -> bool {
        matches!(self, Self::Walked { walk: Walk::Strided { stride: 1, first: 0, .. }, .. })
    }

    /// Tells whether each pass goes through neighbouring places in order, always from the same place on.
    pub(crate) fn is_straight(&self) -> bool {
        matches!(self, Self::Walked { walk: Walk::Strided { stride: 1, .. }, .. })
    }

    /// Returns the number of this job's I/O that goes to `place` in pass number `wanted`; `None` if no I/O goes there or there are no passes.
    #[inline]
    pub(crate) fn index_of(&self, wanted: u64, place: u64, share: u64) -> Option<u64> {
        match self {
            Self::Walked { walk, .. } => walk.index_of(wanted, place, share),
            Self::Permuted { permutation, pass, seed, job, jobs, .. } => {
                let entry = if *pass == wanted {
                    permutation.index_of(place)
                } else {
                    Permutation::new(permutation.len(), seeds::nth(*seed, wanted)).index_of(place)
                };
                let (index, 0) = divided(entry.checked_sub(*job)?, *jobs) else { return None };
                Some(index)
            }
            _ => None,
        }
    }
}
