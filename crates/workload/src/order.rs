//! The order of one pattern for one job.

use content::Permutation;
use units::{Seed, SplitMix64};

use crate::Pattern;

/// Where a job is in its pattern. Positions of all jobs together are 0..pass, each in exactly one job.
#[derive(Debug, Clone)]
pub(crate) struct Order {
    kind: Kind,
    /// I/Os of this job in one pass.
    share: u64,
    at: u64,
}

#[derive(Debug, Clone)]
enum Kind {
    Uniform { blocks: u64, rng: SplitMix64 },
    Permutation { order: Permutation, seed: Seed, job: u64, jobs: u64 },
    Strided { stride: u64, first: u64, last: u64 },
}

impl Order {
    /// I/Os in one pass over `blocks` blocks, all jobs together.
    pub(crate) fn pass(pattern: Pattern, blocks: u64, last_block: bool) -> u64 {
        match pattern {
            Pattern::Strided { blocks: stride } => {
                let stride = stride.max(1);
                let rest =
                    u64::from(last_block && blocks > 0 && !(blocks - 1).is_multiple_of(stride));
                blocks.div_ceil(stride) + rest
            }
            _ => blocks,
        }
    }

    /// The order of job `job` of `jobs`. `seed` is the load's, equal for all jobs.
    pub(crate) fn new(
        pattern: Pattern,
        blocks: u64,
        last_block: bool,
        seed: Seed,
        (job, jobs): (u64, u64),
    ) -> Self {
        let (blocks, jobs) = (blocks.max(1), jobs.max(1));
        let pass = Self::pass(pattern, blocks, last_block);
        // The first jobs take one more each, as they do of `bytes`.
        let begin = |job: u64| pass / jobs * job + job.min(pass % jobs);
        let (kind, share) = match pattern {
            Pattern::Uniform => {
                let rng = seed.derive(&format!("uniform {job}")).generator();
                (Kind::Uniform { blocks, rng }, blocks)
            }
            Pattern::Permutation => {
                let seed = seed.derive("permutation");
                let order = Permutation::new(blocks, seed);
                let share = (blocks + jobs - 1 - job.min(jobs - 1)) / jobs;
                (Kind::Permutation { order, seed, job, jobs }, share)
            }
            Pattern::Sequential | Pattern::Strided { .. } => {
                let stride = match pattern {
                    Pattern::Strided { blocks } => blocks.max(1),
                    _ => 1,
                };
                let first = begin(job);
                (Kind::Strided { stride, first, last: blocks - 1 }, begin(job + 1) - first)
            }
        };
        Self { kind, share, at: 0 }
    }

    /// I/Os of this job in one pass.
    pub(crate) fn share(&self) -> u64 {
        self.share
    }

    /// The next block; after a pass, the next pass begins.
    #[inline]
    pub(crate) fn next(&mut self) -> u64 {
        if let Kind::Uniform { blocks, rng } = &mut self.kind {
            return rng.below(*blocks);
        }
        if self.at == self.share {
            self.begin_pass();
        }
        let at = self.at;
        self.at += 1;
        match &self.kind {
            Kind::Uniform { .. } => 0,
            Kind::Permutation { order, job, jobs, .. } => order.at(job + at * jobs),
            // The last block is the one position beyond the strides.
            Kind::Strided { stride, first, last } => ((first + at) * stride).min(*last),
        }
    }

    /// Every pass has an order of its own, the same for all jobs.
    fn begin_pass(&mut self) {
        self.at = 0;
        if let Kind::Permutation { order, seed, .. } = &mut self.kind {
            *seed = Seed(seed.generator().next_u64());
            *order = Permutation::new(order.len(), *seed);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// How often each block is visited in one pass of all jobs.
    fn visits(pattern: Pattern, blocks: u64, last_block: bool, jobs: u64, pass: u64) -> Vec<u8> {
        let mut visits = vec![0u8; blocks as usize];
        for job in 0..jobs {
            let mut order = Order::new(pattern, blocks, last_block, Seed(5), (job, jobs));
            (0..order.share() * pass).for_each(|_| _ = order.next());
            (0..order.share()).for_each(|_| visits[order.next() as usize] += 1);
        }
        visits
    }

    #[test]
    fn jobs_together_visit_every_block_once_in_each_pass() {
        for pattern in [Pattern::Sequential, Pattern::Permutation] {
            for blocks in [7, 8, 9, 100, 1000, 244_140] {
                for jobs in 1..=7 {
                    for pass in [0, 1, 3] {
                        let visits = visits(pattern, blocks, false, jobs, pass);
                        assert!(visits.iter().all(|&n| n == 1), "{pattern} {blocks} {jobs} {pass}");
                    }
                }
            }
        }
    }

    #[test]
    fn one_and_two_blocks_are_patterns_too() {
        for pattern in [Pattern::Sequential, Pattern::Permutation, Pattern::Strided { blocks: 1 }] {
            assert_eq!(visits(pattern, 1, true, 1, 2), [1]);
            assert_eq!(visits(pattern, 2, true, 1, 2), [1, 1]);
            assert_eq!(visits(pattern, 2, true, 2, 2), [1, 1]);
        }
    }

    #[test]
    fn a_permutation_over_a_prime_above_16_million_visits_every_block_once() {
        let visits = visits(Pattern::Permutation, 16_777_259, false, 3, 0);
        assert!(visits.iter().all(|&n| n == 1));
    }

    #[test]
    fn a_stride_visits_every_nth_block_and_the_last() {
        for (blocks, stride, jobs) in
            [(10_000u64, 812, 1), (10_000, 812, 3), (813, 812, 2), (812, 812, 1)]
        {
            let pattern = Pattern::Strided { blocks: stride };
            for last_block in [false, true] {
                let visits = visits(pattern, blocks, last_block, jobs, 1);
                for (block, &n) in visits.iter().enumerate() {
                    let block = block as u64;
                    let wanted =
                        block.is_multiple_of(stride) || (last_block && block == blocks - 1);
                    assert_eq!(n, u8::from(wanted), "block {block} of {blocks}, jobs {jobs}");
                }
                let pass = Order::pass(pattern, blocks, last_block);
                assert_eq!(pass, visits.iter().map(|&n| u64::from(n)).sum::<u64>());
            }
        }
    }

    #[test]
    fn jobs_of_a_sequential_load_take_contiguous_parts() {
        let mut order = Order::new(Pattern::Sequential, 100, false, Seed(1), (1, 4));
        let visited: Vec<_> = (0..order.share()).map(|_| order.next()).collect();
        assert_eq!(visited, (25..50).collect::<Vec<_>>());
    }

    #[test]
    fn uniform_is_uniform() {
        for blocks in [7u64, 100, 244_140, 16_777_259] {
            let mut order = Order::new(Pattern::Uniform, blocks, false, Seed(blocks), (0, 1));
            let cells = blocks.min(100) as usize;
            let (mut counts, n) = (vec![0u64; cells], 1_000_000);
            for _ in 0..n {
                let block = order.next();
                assert!(block < blocks);
                counts[(u128::from(block) * cells as u128 / u128::from(blocks)) as usize] += 1;
            }
            let chi: f64 = counts
                .iter()
                .enumerate()
                .map(|(cell, &count)| {
                    // Cells differ by at most one block.
                    let edge = |c: usize| (c as u64 * blocks).div_ceil(cells as u64);
                    let mean = (edge(cell + 1) - edge(cell)) as f64 / blocks as f64 * n as f64;
                    (count as f64 - mean).powi(2) / mean
                })
                .sum();
            // 99.99 % of chi-square with cells - 1 degrees of freedom lie below (Wilson-Hilferty).
            let freedom = (cells - 1) as f64;
            let h = 2.0 / (9.0 * freedom);
            let limit = freedom * (1.0 - h + 3.72 * h.sqrt()).powi(3);
            assert!(chi < limit, "{blocks}: {chi} against {limit}");
        }
    }

    #[test]
    fn passes_differ_and_jobs_agree_on_them() {
        let pass = |pass: u64| {
            let mut order = Order::new(Pattern::Permutation, 1000, false, Seed(1), (0, 1));
            (0..1000 * pass).for_each(|_| _ = order.next());
            (0..1000).map(|_| order.next()).collect::<Vec<_>>()
        };
        assert_ne!(pass(0), pass(1));
        assert_ne!(pass(1), pass(2));
    }
}
