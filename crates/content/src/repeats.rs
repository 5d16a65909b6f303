//! The duplicates of a profile's contents: some come at once, the others as far away as in the data.

use units::Seed;

use crate::near::{Near, Numbered};
use crate::next_block::NextBlock;
use crate::shares::Shares;
use crate::strata::STRATUM;
use crate::streams::{Apart, Repeated, Streams};
use crate::{Profile, ProfileSize};

/// Distinct blocks after which the packer has written almost every fragment.
const WRITTEN: u64 = 128;
/// Contents with fewer than this many of 4096 new blocks form a pool that is repeated all the time.
const MAX_POOL_NEW_BLOCKS: f64 = 2.0;

/// The duplicates of a profile.
#[derive(Debug, Clone)]
pub(crate) struct Repeats {
    near: Near,
    streams: Streams,
}

/// The division of a profile's contents into those that come again at once, those that come again later, and all others.
#[derive(Debug, Clone)]
pub(crate) struct Shared {
    /// Zero blocks, new blocks and duplicates.
    pub shares: Shares,
    /// Contents that come again at once.
    pub near: Near,
    /// Numbers of contents of `near`: those that the packer held, and (`whole`) those that it cannot take.
    pub held: f64,
    pub whole: f64,
    /// Contents that come again later.
    repeated: Vec<Repeated>,
    /// All others.
    others: f64,
    /// Distance after which one of the others may come again, in new blocks of the others.
    settled: u64,
}

impl Shared {
    /// Shares out the contents of `profile`, of whose blocks `again` are duplicates and `zero` are zero.
    ///
    /// Contents that left the packer are paired with a duplicate right behind them. Others came again just as soon without leaving it: either
    /// they could not be packed, or the packer had written them already, which generated data cannot imitate so near. So contents that cannot
    /// be packed are paired too, as many as there are, and the rest comes again a little later.
    pub fn of(profile: &Profile, (again, zero): (f64, f64)) -> Self {
        let unique = profile.blocks.unique as f64;
        let is_pool = |row: &Repeated| {
            let few = row.contents * STRATUM as f64 / unique.max(1.0) < MAX_POOL_NEW_BLOCKS;
            few && row.duplicates > 4.0 * row.contents
        };
        let (pool, mut rows): (Vec<_>, Vec<_>) = rows(profile).partition(is_pool);
        let pooled: f64 = pool.iter().map(|row| row.contents).sum();
        let contents = (unique - pooled).max(1.0);
        // Contents kept as sets take the places of duplicates, their first copies too.
        let shares = Shares::new(again + pooled / profile.blocks.total.max(1) as f64, zero);
        // A profile of the first version does not say which contents left the packer.
        let known = profile.neighbours.is_some();
        let (all_held, all_whole) = if known { packing(profile) } else { (0.0, 0.0) };
        let (mut held, mut whole) = (all_held, all_whole);
        rows.sort_by_key(|row| row.apart.from());
        let mut repeated: Vec<_> =
            pool.into_iter().map(|row| Repeated { apart: Apart::Pool, ..row }).collect();
        let mut further = 0.0;
        for row in rows {
            let close = known && row.apart.from() < WRITTEN;
            let left = row.contents.min(held);
            let kept = if close { (row.contents - left).min(whole) } else { 0.0 };
            (held, whole) = (held - left, whole - kept);
            let others = 1.0 - (left + kept) / row.contents;
            further += (1.0 - others) * (row.duplicates - row.contents);
            repeated.push(Repeated {
                apart: row.apart,
                contents: row.contents * others,
                duplicates: row.duplicates * others,
            });
        }
        repeated.push(Repeated { apart: Apart::Newest, contents: 0.0, duplicates: further });
        repeated.retain(|row| row.duplicates > 0.0);
        let (held, whole) = (all_held - held, all_whole - whole);
        let near = Near::new(shares, (held + whole) / contents);
        Self {
            shares,
            near,
            held,
            whole,
            repeated,
            others: (contents - held - whole).max(1.0),
            settled: if known { WRITTEN } else { 0 },
        }
    }
}

/// Numbers of contents that left the packer, and of contents that it cannot take.
fn packing(profile: &Profile) -> (f64, f64) {
    let sum = |count: fn(&ProfileSize) -> u64| profile.sizes.iter().map(count).sum::<u64>() as f64;
    (sum(|size| size.near), sum(|size| if size.is_whole() { size.blocks } else { 0 }))
}

fn rows(profile: &Profile) -> impl Iterator<Item = Repeated> {
    profile.reuse.iter().filter(|row| row.duplicates > 0).map(|row| {
        let from = row.distance_from.max(1);
        Repeated {
            apart: Apart::Blocks { from, to: row.distance_to.max(from) },
            contents: row.contents.clamp(1, row.duplicates) as f64,
            duplicates: row.duplicates as f64,
        }
    })
}

impl Repeats {
    /// The duplicates of contents that were shared out.
    pub fn new(shared: &Shared, seed: Seed) -> Self {
        let Shared { shares, near, repeated, others, settled, .. } = shared;
        // Distances count all new blocks; here, as in the packer, only the others do.
        let left = 1.0 - near.per_new();
        let scaled = repeated.iter().map(|row| {
            let apart = row.apart.scaled(left).at_least(*settled);
            Repeated { apart, ..*row }
        });
        let again = (shares.again_per_new() - near.per_new()) / left.max(1e-6);
        let streams = Streams::new(&scaled.collect::<Vec<_>>(), *others, again, seed);
        let streams = streams.with_min_reuse_lag(*settled);
        Self { near: near.clone(), streams }
    }

    /// The duplicates of contents that come again as far apart as `streams` say, none of them at once.
    pub fn of_streams(streams: Streams, shares: Shares) -> Self {
        Self { near: Near::new(shares, 0.0), streams }
    }

    /// Returns what duplicate number `duplicate` is, when `new` contents have been written.
    pub fn at(&self, duplicate: u64, new: u64) -> NextBlock {
        let newest = new.saturating_sub(1);
        let Numbered::Other(duplicate) = self.near.duplicate(duplicate, new) else {
            return NextBlock::Again(newest);
        };
        let others = self.near.others_before(new);
        match (others > 0).then(|| self.streams.at(duplicate, others)).flatten() {
            Some(NextBlock::Again(other)) => NextBlock::Again(self.near.other(other)),
            Some(next) => next,
            None => NextBlock::Again(self.near.newest(new).unwrap_or(newest)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::shares::Block;
    use crate::{ProfileBlocks, ProfileNeighbours, ProfileReuse};
    use std::collections::HashMap;

    #[test]
    fn contents_that_left_the_packer_come_again_at_once_and_others_as_far_away_as_before() {
        for unique in [30_000, 60_000, 150_000, 400_000] {
            let row = |distance_from, distance_to, contents, duplicates| ProfileReuse {
                copies_from: 2,
                copies_to: 3,
                distance_from,
                distance_to,
                contents,
                duplicates,
            };
            let blocks =
                ProfileBlocks { total: 40_000 + unique, zero: 0, duplicate: 40_000, unique };
            let profile = Profile {
                fathom_profile: Profile::VERSION,
                block_bytes: 4096,
                blocks,
                sizes: vec![ProfileSize { lz4_bytes: 1000, blocks: unique, near: 10_000 }],
                neighbours: Some(ProfileNeighbours {
                    upto_bytes: vec![4096],
                    follows: vec![vec![1]],
                }),
                reuse: vec![row(1, 1, 10_000, 12_000), row(1024, 2047, 20_000, 28_000)],
                packer_saving_percent: Some(75.0),
                texture: None,
            };
            let shared = Shared::of(&profile, (blocks.duplicate_share(), 0.0));
            let repeats = Repeats::new(&shared, Seed(4));
            let (mut last, mut copies, mut distances) =
                (HashMap::new(), HashMap::new(), Vec::new());
            for block in (0..blocks.total).map(|at| shared.shares.at(at)) {
                let (content, new) = match block {
                    Block::New(content) => (content, content + 1),
                    Block::Again { duplicates, new } => match repeats.at(duplicates, new) {
                        NextBlock::Again(content) => (content, new),
                        other => panic!("{other:?}"),
                    },
                    Block::Zero => panic!(),
                };
                if let Some(before) = last.insert(content, new) {
                    distances.push(new - before + 1);
                }
                *copies.entry(content).or_insert(0) += 1;
            }
            let share = |from, to| {
                let within = distances.iter().filter(|&&d| (from..=to).contains(&d)).count();
                within as f64 / distances.len() as f64
            };
            assert!((share(1, 1) - 0.25).abs() < 0.01, "{unique}: {}", share(1, 1));
            assert!((share(1, 100) - 0.3).abs() < 0.03, "{unique}: {}", share(1, 100));
            assert!(share(900, 2300) > 0.6, "{unique}: {}", share(900, 2300));
            let near = |content: &u64| matches!(shared.near.content(*content), Numbered::Near(_));
            let again = copies.iter().filter(|(content, _)| near(content));
            assert!(again.clone().all(|(_, &copies)| copies > 1), "{unique}");
            assert!(again.count().abs_diff(10_000) < 100, "{unique}");
        }
    }
}
