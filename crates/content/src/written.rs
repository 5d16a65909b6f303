//! The written scope: the block at each position in the order of writing (a new block, a zero block, or a duplicate and the content that it repeats).
//!
//! It is a pure function of spec, seed and position, so that any number of jobs can ask for any position, also after a restart.
//! [`Shares`] deal the kinds by counting: after any number of blocks each count is within one of what was asked.

use units::Seed;

use crate::next_block::{FirstIds, NextBlock, ROW};
use crate::repeats::{Repeats, Shared};
use crate::rounds::{Cursor, Rounds};
use crate::shares::{Block, Shares};
use crate::streams::Streams;
use crate::{ContentId, ContentSpec, Distance, Popularity, ProfileSource};

/// The rule by which a duplicate finds its content.
#[derive(Debug, Clone)]
enum References {
    Previous,
    Rounds(Rounds),
    Repeats(Box<Repeats>),
}

/// The order of writing of one job, or of all that share one.
#[derive(Debug, Clone)]
pub(crate) struct Written {
    shares: Shares,
    references: References,
}

impl Written {
    /// The order of a validated `spec`; impossible values are cut to the nearest possible ones.
    pub fn new(spec: &ContentSpec, seed: Seed) -> Self {
        let (again, zero) = spec.shares();
        let window = spec.window_blocks();
        if let Some(profile) = spec.profile.as_ref().and_then(ProfileSource::loaded) {
            let shared = Shared::of(profile, (again, zero));
            let repeats = Box::new(Repeats::new(&shared, seed));
            return Self { shares: shared.shares, references: References::Repeats(repeats) };
        }
        let shares = Shares::new(again, zero);
        // Two misaligned copies of one content would be aligned to each other: at most one misaligned copy each, where possible.
        let popularity = match spec.misaligned {
            Some(_) if spec.popularity == Popularity::Uniform && shares.again_per_new() < 0.97 => {
                Popularity::Cap(2)
            }
            _ => spec.popularity,
        };
        let rounds = |window| Rounds::new(shares, popularity, window, seed);
        let references = match spec.distance.as_ref().unwrap_or(&Distance::Recent) {
            Distance::Previous => Some(References::Previous),
            Distance::Recent => rounds(window).map(References::Rounds),
            Distance::All => rounds(u64::MAX).map(References::Rounds),
            Distance::Histogram(distances) => {
                let streams = Streams::of_distances(distances, shares.again_per_new(), seed);
                Some(References::Repeats(Box::new(Repeats::of_streams(streams, shares))))
            }
        };
        Self { shares, references: references.unwrap_or(References::Previous) }
    }

    /// Returns what `position` holds. `cursor` caches lookups between calls: it changes speed, never the answer.
    #[inline]
    pub fn at(&self, position: u64, cursor: &mut Cursor) -> NextBlock {
        match (self.shares.at(position), &self.references) {
            (Block::Again { duplicates, .. }, References::Rounds(rounds)) => {
                NextBlock::Again(rounds.at(duplicates, cursor))
            }
            (block, _) => self.without_cursor(block),
        }
    }

    /// Returns the block at a position for a caller that keeps no cursor. `unused_cursor` is copied where duplicates come in rounds.
    #[inline]
    pub fn at_anywhere(&self, position: u64, unused_cursor: &Cursor) -> NextBlock {
        match (self.shares.at(position), &self.references) {
            (Block::Again { duplicates, .. }, References::Rounds(rounds)) => {
                NextBlock::Again(rounds.at(duplicates, &mut unused_cursor.clone()))
            }
            (block, _) => self.without_cursor(block),
        }
    }

    /// The block, where it is not a duplicate in rounds.
    #[inline]
    fn without_cursor(&self, block: Block) -> NextBlock {
        match block {
            Block::Zero => NextBlock::Zero,
            Block::New(new) => NextBlock::New(new),
            Block::Again { duplicates, new } => match &self.references {
                References::Repeats(repeats) => repeats.at(duplicates, new),
                References::Previous | References::Rounds(_) => {
                    NextBlock::Again(new.saturating_sub(1))
                }
            },
        }
    }

    /// The ids of [`ROW`] positions from `position` on: cheaper than [`Written::at`] for each.
    #[inline]
    pub fn row(
        &self,
        position: u64,
        first_ids: FirstIds,
        ids: &mut [ContentId; ROW],
        cursor: &mut Cursor,
    ) {
        let mut blocks = self.shares.blocks_from(position);
        let References::Rounds(rounds) = &self.references else {
            ids.iter_mut().for_each(|id| *id = first_ids.id_of(self.without_cursor(blocks.turn())));
            return;
        };
        let first = blocks.duplicates();
        let count = self.shares.blocks_from(position + ROW as u64).duplicates() - first;
        // The contents of duplicates are put at the end of the row first: their places are overwritten last.
        let waiting = ROW - count as usize;
        rounds.row(first, ids[waiting..].iter_mut().map(|id| &mut id.0), cursor);
        let mut next = waiting;
        for n in 0..ROW {
            ids[n] = first_ids.id_of(match blocks.turn() {
                Block::Zero => NextBlock::Zero,
                Block::New(new) => NextBlock::New(new),
                Block::Again { .. } => {
                    next += 1;
                    NextBlock::Again(ids[(next - 1) % ROW].0)
                }
            });
        }
    }

    /// Tells whether every block is new.
    pub fn all_new(&self) -> bool {
        self.shares.all_new()
    }

    /// Most writes of one content once rounds have stopped growing; `None` where there is no bound.
    pub fn most_references(&self) -> Option<u64> {
        match &self.references {
            References::Previous => Some(1 + self.shares.again_per_new().ceil() as u64),
            References::Rounds(rounds) => Some(1 + rounds.most_references()),
            References::Repeats(_) => None,
        }
    }

    /// [`Rounds::beginning`], where duplicates come in rounds.
    pub fn beginning(&self) -> Option<u64> {
        match &self.references {
            References::Rounds(rounds) => rounds.beginning(),
            _ => None,
        }
    }

    /// Tells whether a cap on references leaves no choice but to repeat each content at once.
    pub fn capped_to_previous(spec: &ContentSpec) -> bool {
        let (again, zero) = spec.shares();
        matches!(spec.popularity, Popularity::Cap(_))
            && again > 0.0
            && spec.distance != Some(Distance::Previous)
            && Rounds::new(Shares::new(again, zero), spec.popularity, 16, Seed(0)).is_none()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::HashMap;
    use units::Percent;

    fn spec(dedupe: f64, zero: f64, window: u64) -> ContentSpec {
        ContentSpec {
            dedupe: Percent(dedupe),
            zero: Percent(zero),
            window: Some(window),
            ..Default::default()
        }
    }

    fn order(spec: &ContentSpec, seed: u64) -> impl Iterator<Item = NextBlock> {
        let (written, mut cursor) = (Written::new(spec, Seed(seed)), Cursor::default());
        (0..).map(move |n| written.at(n, &mut cursor))
    }

    #[test]
    fn shares_are_exact_at_every_length() {
        for (dedupe, zero) in [
            (50.0, 0.0),
            (90.0, 0.0),
            (33.3, 10.0),
            (0.0, 25.0),
            (25.0, 50.0),
            (12.5, 87.0),
            (0.0, 100.0),
        ] {
            for distance in ["recent", "all", "previous", "1..64=1,64..4096=1"] {
                let distance = Some(distance.parse().unwrap());
                let spec = ContentSpec { distance, ..spec(dedupe, zero, 16_384) };
                let (mut zeros, mut again) = (0u32, 0u32);
                for (n, next) in (1..=50_000u32).zip(order(&spec, 1)) {
                    match next {
                        NextBlock::Zero => zeros += 1,
                        NextBlock::Again(_) | NextBlock::Pool(_) => again += 1,
                        NextBlock::New(_) => {}
                    }
                    let off = |count: u32, share: f64| {
                        (f64::from(count) - f64::from(n) * share / 100.0).abs()
                    };
                    assert!(off(zeros, zero) < 1.001, "{dedupe}/{zero} at {n}: {zeros} zeros");
                    assert!(off(again, dedupe) < 2.001, "{dedupe}/{zero} at {n}: {again} again");
                }
            }
        }
    }

    #[test]
    fn duplicates_are_of_earlier_blocks_within_the_window() {
        for dedupe in [1.0, 10.0, 50.0, 75.0, 90.0, 99.0] {
            for window in [1, 2, 3, 100, 1024, 16_384] {
                for popularity in [Popularity::Uniform, Popularity::Zipf(1.1), Popularity::Cap(120)]
                {
                    let spec = ContentSpec { popularity, ..spec(dedupe, 0.0, window) };
                    let mut new = 0;
                    for (n, next) in (0..60_000).zip(order(&spec, 2)) {
                        match next {
                            NextBlock::New(content) => {
                                assert_eq!(content, new);
                                new += 1;
                            }
                            NextBlock::Again(content) => {
                                assert!(content < new, "{dedupe} {window} at {n}");
                                let back = new - content;
                                assert!(back <= window + 1, "{dedupe} {window} at {n}: {back}");
                            }
                            other => panic!("{other:?} was not asked for"),
                        }
                    }
                }
            }
        }
    }

    /// Distances from the first writing, in distinct blocks, of the duplicates after `skip` blocks.
    fn distances(spec: &ContentSpec, skip: usize, take: usize) -> Vec<u64> {
        let mut new = 0;
        let mut distances = Vec::new();
        for (n, next) in order(spec, 5).take(take).enumerate() {
            match next {
                NextBlock::Again(content) if n >= skip => distances.push(new - content),
                NextBlock::New(_) => new += 1,
                _ => {}
            }
        }
        distances
    }

    #[test]
    fn distances_in_a_window_are_triangular() {
        for dedupe in [25.0, 50.0, 90.0] {
            // What keeps duplicates off their contents is at most a quarter of the window.
            let least = min_distance(dedupe / 100.0).min(1024.0);
            let half = (4096.0 - least) / 2.0;
            for popularity in [Popularity::Uniform, Popularity::Zipf(0.9)] {
                let spec = ContentSpec { popularity, ..spec(dedupe, 0.0, 4096) };
                let mut found = distances(&spec, 200_000, 600_000);
                found.sort_unstable();
                let triangular = |x: f64| {
                    let x = ((x - least) / half).clamp(0.0, 2.0);
                    if x < 1.0 { x * x / 2.0 } else { 1.0 - (2.0 - x) * (2.0 - x) / 2.0 }
                };
                let worst = found
                    .iter()
                    .enumerate()
                    .map(|(i, &d)| (i as f64 / found.len() as f64 - triangular(d as f64)).abs())
                    .fold(0.0, f64::max);
                assert!(worst < 0.02, "{dedupe} {popularity}: {worst}");
            }
        }
    }

    #[test]
    fn the_whole_set_is_reached_and_the_previous_is_just_that() {
        let all = ContentSpec { distance: Some(Distance::All), ..spec(50.0, 0.0, 1) };
        let all = ContentSpec { window: None, ..all };
        let far = distances(&all, 200_000, 400_000);
        let beyond =
            |least: u64| far.iter().filter(|&&d| d >= least).count() as f64 / far.len() as f64;
        assert!(
            beyond(50_000) > 0.4 && beyond(100_000) > 0.05,
            "{} {}",
            beyond(50_000),
            beyond(100_000)
        );
        let previous = ContentSpec { distance: Some(Distance::Previous), ..all };
        assert!(distances(&previous, 0, 10_000).iter().all(|&d| d == 1));
    }

    /// Distinct blocks that keep duplicates off their contents: what 2560 written blocks hold, and 256.
    fn min_distance(again: f64) -> f64 {
        2560.0 * (1.0 - again) + 256.0
    }

    /// Duplicates of the beginning, for which nothing is old enough.
    fn early(again: f64) -> u64 {
        (min_distance(again).floor() * again / (1.0 - again)) as u64
    }

    #[test]
    fn no_content_is_repeated_while_vdo_may_have_it_under_way_but_a_few_at_the_beginning() {
        for (dedupe, zero) in [(10.0, 0.0), (25.0, 0.0), (50.0, 20.0), (75.0, 0.0), (90.0, 0.0)] {
            for distance in [Distance::Recent, Distance::All] {
                for popularity in [Popularity::Uniform, Popularity::Zipf(1.1)] {
                    let distance = Some(distance.clone());
                    let spec = ContentSpec { distance, popularity, ..spec(dedupe, zero, 16_384) };
                    let again = dedupe / (100.0 - zero);
                    let (mut firsts, mut duplicates) = (Vec::new(), 0);
                    let mut often: HashMap<u64, (u64, usize)> = HashMap::new();
                    for (n, next) in (0..200_000).zip(order(&spec, 7)) {
                        match next {
                            NextBlock::New(_) => firsts.push(n),
                            NextBlock::Again(content) if duplicates < early(again) => {
                                duplicates += 1;
                                let (copies, last) = often.entry(content).or_insert((0, n));
                                // The first comes at once, all others further apart than a record of 32 blocks.
                                let since = n - firsts[content as usize];
                                assert!(*copies > 0 || since < 16, "{dedupe} at {n}: {since}");
                                let settled = *copies > 0 && n > 1000;
                                assert!(!settled || n - *last > 32, "{dedupe} at {n}: {content}");
                                (*copies, *last) = (*copies + 1, n);
                            }
                            NextBlock::Again(content) => {
                                let since = n - firsts[content as usize];
                                assert!(since > 2560, "{dedupe} at {n}: {content}, {since} ago");
                            }
                            _ => {}
                        }
                    }
                    assert!(often.len() <= 40, "{dedupe}: {} contents", often.len());
                    assert!(often.values().all(|&(n, _)| n <= 200), "{dedupe}: {often:?}");
                }
            }
        }
    }

    fn references(spec: &ContentSpec, take: usize) -> HashMap<u64, u64> {
        let mut references = HashMap::new();
        for next in order(spec, 3).take(take) {
            if let NextBlock::New(content) | NextBlock::Again(content) = next {
                *references.entry(content).or_insert(0u64) += 1;
            }
        }
        references
    }

    #[test]
    fn contents_come_about_equally_often_and_never_above_a_cap() {
        for (dedupe, most) in [(50.0, 3), (75.0, 9), (90.0, 20)] {
            let counts = references(&spec(dedupe, 0.0, 16_384), 400_000);
            // But for the contents that the beginning repeats.
            let mut counts: Vec<_> = counts.into_values().collect();
            counts.sort_unstable_by(|a, b| b.cmp(a));
            let highest = counts[(40.0 * dedupe / 100.0) as usize + 1];
            assert!(highest <= most, "{dedupe}: {highest} references");
        }
        for (dedupe, cap) in [(50.0, 2), (50.0, 3), (75.0, 4), (75.0, 5), (90.0, 10), (90.0, 12)] {
            for distance in ["recent", "all"] {
                let distance = Some(distance.parse().unwrap());
                let popularity = Popularity::Cap(cap);
                let spec =
                    ContentSpec { popularity, distance, window: None, ..spec(dedupe, 0.0, 1) };
                let highest = references(&spec, 100_000).values().max().copied().unwrap();
                assert!(highest <= cap, "{dedupe} cap {cap}: {highest} references");
            }
        }
    }

    #[test]
    fn popular_contents_come_as_often_as_zipf_says() {
        for theta in [0.7, 1.0, 1.3] {
            let spec = ContentSpec { popularity: Popularity::Zipf(theta), ..spec(80.0, 0.0, 8192) };
            // Rounds that have grown: every range of 4096 contents gets its duplicates from one round.
            let counts = references(&spec, 800_000);
            let mut ranges: HashMap<u64, Vec<u64>> = HashMap::new();
            for (&content, &count) in &counts {
                if (40_000..100_000).contains(&content) {
                    ranges.entry(content / 4096).or_default().push(count - 1);
                }
            }
            let mut top = [0.0; 3];
            let mut all = 0.0;
            let mut full = 0.0;
            for counts in ranges.values_mut().filter(|counts| counts.len() == 4096) {
                counts.sort_unstable_by(|a, b| b.cmp(a));
                all += counts.iter().sum::<u64>() as f64;
                full += 1.0;
                top.iter_mut().zip([0, 9, 99]).for_each(|(t, rank)| *t += counts[rank] as f64);
            }
            let sum: f64 = (1..=4096).map(|n| f64::from(n).powf(-theta)).sum();
            println!("zipf {theta}: {full} ranges, top {top:?} of {all}");
            // Ranges of rounds and of this test do not coincide: each of the latter holds parts of two of the former.
            for (got, rank) in top.into_iter().zip([1.0f64, 10.0, 100.0]) {
                let expected = rank.powf(-theta) / sum * all;
                assert!(
                    (got / expected - 1.0).abs() < 0.35,
                    "{theta} rank {rank}: {got} {expected}"
                );
            }
        }
    }
}
