//! Duplicates in streams, which reproduce a histogram of distances, or the distances and copies of a profile.
//!
//! Each stream has a share of the new blocks and of the duplicates, dealt by two tables of 4096 entries. The kth copy of a content comes
//! when its stream has written k lags more of new blocks, in permuted order within a window; before a lag has been written,
//! duplicates are of the older half of the stream.

use units::{Permutation, Seed};

use crate::next_block::NextBlock;
use crate::shares::Shares;
use crate::strata::{STRATUM, Strata, mix};
use crate::{DistanceShare, Profile};

/// Denominator of a stream's duplicates per new block.
const WHOLE: u64 = 1_000_000_000;
/// With fewer new blocks of its own between two copies, a stream cannot keep its distance accurately.
const COARSE: f64 = 4.0;
/// Contents with fewer than this many of 4096 new blocks form a pool that is repeated all the time.
const FEW: f64 = 2.0;

/// Duplicates per new block from which a content can be repeated at once, while the packer still holds it. Below that the next duplicate
/// comes too late, and near duplicates are placed by distance alone.
const ENOUGH: f64 = 0.4;

/// Attempts to find a content that belongs to no stream.
const TRIED: u64 = 512;

/// Duplicates of one range of distances, before shares are rounded to 4096ths.
#[derive(Debug, Clone, Copy)]
struct DistanceBin {
    /// Nearest and farthest, distinct blocks.
    from: u64,
    to: u64,
    /// Contents that are repeated at these distances.
    contents: f64,
    /// Duplicates.
    duplicates: f64,
}

#[derive(Debug, Clone, Copy)]
enum Reach {
    /// At this distance among all new blocks.
    Near { from: u64, to: u64 },
    /// The newest content that is to be repeated at once.
    Newest,
    /// `windows` windows of `window` contents of the stream back, for each copy.
    Lag { window: u64, windows: u64 },
    /// One of `contents` contents of the pool, from `first` on.
    Pool { first: u64, contents: u64 },
}

impl Reach {
    /// Tells whether fewer than [`COARSE`] new blocks of a stream of its own would come between copies. `contents`: all of them.
    fn is_near(bin: &DistanceBin, contents: f64) -> bool {
        let new = bin.contents * STRATUM as f64 / contents;
        let middle = (bin.from + bin.to) as f64 / 2.0;
        middle * new / (STRATUM as f64) < COARSE || new < 1.0
    }
}

#[derive(Debug, Clone)]
struct Stream {
    reach: Reach,
    /// The places of the stream's new blocks among 4096.
    places: Vec<u16>,
    /// Duplicates of 4096.
    duplicates: u64,
    /// Duplicates per new block of the stream, as the fraction `per` / `of`.
    per: u64,
    of: u64,
}

/// All streams.
#[derive(Debug, Clone)]
pub(crate) struct Streams {
    seed: u64,
    shares: Shares,
    /// Of 4096 new blocks, those that are repeated by the first duplicate after them.
    near: Vec<u16>,
    streams: Vec<Stream>,
    /// For each of 4096 new blocks: whether it belongs to no stream.
    free: Vec<bool>,
    /// For each of 4096 duplicates: its stream, and its number among those of the stream.
    turns: Vec<(u16, u16)>,
}

impl Streams {
    /// Streams of these distances; contents are repeated equally often in all of them.
    pub fn of_distances(distances: &[DistanceShare], shares: Shares, seed: Seed) -> Self {
        let bins: Vec<_> = distances
            .iter()
            .map(|d| DistanceBin {
                from: d.from,
                to: d.to,
                contents: d.weight,
                duplicates: d.weight,
            })
            .collect();
        let weights: f64 = bins.iter().map(|c| c.contents).sum();
        Self::new(&bins, weights, shares, seed)
    }

    /// Streams with the distances and copies of `profile`.
    pub fn of_profile(profile: &Profile, shares: Shares, seed: Seed) -> Self {
        let mut bins: Vec<_> = Self::bins(profile).collect();
        let pooled: f64 =
            bins.iter().filter(|c| Self::is_pool(c, profile)).map(|c| c.contents).sum();
        let contents = (profile.blocks.unique as f64 - pooled).max(1.0);
        // Contents whose packing was cancelled (`near` of the sizes) are repeated at once; other near duplicates keep their distance.
        let held: u64 = profile.sizes.iter().map(|size| size.near).sum();
        let is_near = |c: &DistanceBin| !Self::is_pool(c, profile) && Reach::is_near(c, contents);
        let all =
            |of: fn(&DistanceBin) -> f64| bins.iter().filter(|c| is_near(c)).map(of).sum::<f64>();
        let (near, copies) = (all(|c| c.contents), all(|c| c.duplicates));
        let dense = profile.blocks.duplicate as f64 >= ENOUGH * profile.blocks.unique as f64;
        let held = if dense { (held as f64).min(near) } else { 0.0 };
        if held > 0.0 {
            for bin in bins.iter_mut().filter(|bin| is_near(bin)) {
                bin.duplicates = bin.contents * (1.0 - held / near);
            }
            bins.retain(|bin| bin.duplicates > 0.0);
            let duplicates = (copies - near).max(0.0);
            bins.push(DistanceBin { from: 0, to: 0, contents: held, duplicates });
        }
        Self::new(&bins, contents, shares, seed)
    }

    /// For each of 4096 new blocks: whether its content is repeated at once. The same for every seed.
    pub fn near_places(profile: &Profile) -> Vec<bool> {
        let streams = Self::of_profile(profile, Shares::new(0.5, 0.0), Seed(0));
        let mut near = vec![false; STRATUM as usize];
        streams.near.iter().for_each(|&place| near[usize::from(place)] = true);
        near
    }

    fn bins(profile: &Profile) -> impl Iterator<Item = DistanceBin> {
        profile.reuse.iter().filter(|row| row.duplicates > 0).map(|row| DistanceBin {
            from: row.distance_from.max(1),
            to: row.distance_to.max(row.distance_from).max(1),
            contents: row.contents as f64,
            duplicates: row.duplicates as f64,
        })
    }

    fn is_pool(bin: &DistanceBin, profile: &Profile) -> bool {
        bin.contents * STRATUM as f64 / (profile.blocks.unique.max(1) as f64) < FEW
            && bin.duplicates > 4.0 * bin.contents
    }

    /// Contents of `profile` that are in the pool: the first copy of each takes the place of a duplicate.
    pub fn pooled(profile: &Profile) -> u64 {
        Self::bins(profile).filter(|c| Self::is_pool(c, profile)).map(|c| c.contents as u64).sum()
    }

    fn new(bins: &[DistanceBin], contents: f64, shares: Shares, seed: Seed) -> Self {
        let of_all = STRATUM as f64 / contents;
        let mut pool = 0;
        let mut reaches = Vec::new();
        let mut news = Vec::new();
        for bin in bins {
            let new = bin.contents * of_all;
            let (middle, half) =
                ((bin.from + bin.to) as f64 / 2.0, (bin.to - bin.from) as f64 / 2.0);
            let per_new = new / STRATUM as f64;
            if bin.to == 0 {
                reaches.push(Reach::Newest);
                news.push(new);
            } else if new < FEW && bin.duplicates > 4.0 * bin.contents {
                let contents = (bin.contents as u64).max(1);
                reaches.push(Reach::Pool { first: pool, contents });
                pool += contents;
                news.push(0.0);
            } else if Reach::is_near(bin, contents) {
                reaches.push(Reach::Near { from: bin.from, to: bin.to });
                news.push(0.0);
            } else {
                // As wide as the range allows around its middle, less the variation by the order of streams.
                let widest = (0.9 * half * per_new - 1.5).max(1.0);
                let windows = (middle * per_new / widest).ceil().max(1.0);
                let window = (middle * per_new / windows).round().max(1.0);
                reaches.push(Reach::Lag { window: window as u64, windows: windows as u64 });
                news.push(new);
            }
        }
        let duplicates: Vec<_> = bins.iter().map(|c| c.duplicates).collect();
        Self::build(&reaches, &news, &duplicates, shares, seed)
    }

    fn build(
        reaches: &[Reach],
        news: &[f64],
        duplicates: &[f64],
        shares: Shares,
        seed: Seed,
    ) -> Self {
        let (news, duplicates) =
            (rounded(news, STRATUM as f64), rounded(duplicates, duplicates.iter().sum()));
        // Not by the seed: sizes are dealt to the same places, and are the same for all targets.
        let new_turns = deal(&news, Strata::new(Seed(0).derive("streams of new blocks")));
        let turns = deal(&duplicates, Strata::new(seed.derive("streams of duplicates")));
        let is_newest = |reach: &Reach| matches!(reach, Reach::Newest);
        let near = reaches.iter().zip(&news).find(|(reach, _)| is_newest(reach));
        let near = near.map_or(0.0, |(_, &new)| new as f64 / STRATUM as f64);
        // Duplicates for each new block that streams have to give.
        let again = (shares.again_per_new() - near).clamp(1e-6, 1e5);
        let again = (again * WHOLE as f64).round() as u64;
        let mut streams: Vec<_> = reaches
            .iter()
            .zip(news.iter().zip(&duplicates))
            .map(|(&reach, (&new, &duplicates))| Stream {
                reach,
                places: Vec::with_capacity(new as usize),
                duplicates,
                per: duplicates * again,
                of: new * WHOLE,
            })
            .collect();
        for (place, turn) in new_turns.iter().enumerate() {
            if let Some((stream, _)) = turn {
                streams[usize::from(*stream)].places.push(place as u16);
            }
        }
        // Shares of duplicates sum to all: every turn is some stream's, unless there are none at all.
        let turns = turns.into_iter().map(Option::unwrap_or_default).collect();
        let free = new_turns.iter().map(Option::is_none).collect();
        let near = streams.iter().find(|stream| is_newest(&stream.reach));
        let near = near.map_or_else(Vec::new, |stream| stream.places.clone());
        Self { seed: seed.0, shares, near, streams, free, turns }
    }

    /// Contents that are repeated at once, among the first `new`.
    fn near_before(&self, new: u64) -> u64 {
        let here = self.near.partition_point(|&place| u64::from(place) < new % STRATUM);
        new / STRATUM * self.near.len() as u64 + here as u64
    }

    /// The newest of these among the first `new`.
    fn newest(&self, new: u64) -> Option<u64> {
        let (number, each) = (self.near_before(new).checked_sub(1)?, self.near.len() as u64);
        Some(number / each * STRATUM + u64::from(self.near[(number % each) as usize]))
    }

    /// Returns what duplicate number `duplicate` is, when `new` contents have been written.
    pub fn at(&self, duplicate: u64, new: u64) -> NextBlock {
        let mut duplicate = duplicate;
        if !self.near.is_empty() {
            let before = duplicate.checked_sub(1).map_or(0, |last| self.shares.new_before(last));
            let given = self.near_before(before);
            if self.near_before(new) > given {
                return NextBlock::Again(self.newest(new).unwrap_or(new - 1));
            }
            duplicate -= given.min(duplicate);
        }
        let (stratum, turn) = (duplicate / STRATUM, self.turns[(duplicate % STRATUM) as usize]);
        let draw = mix(self.seed ^ mix(duplicate));
        let Some(stream) = self.streams.get(usize::from(turn.0)) else {
            return NextBlock::Again(new - 1);
        };
        let number = stratum * stream.duplicates + u64::from(turn.1);
        match stream.reach {
            Reach::Pool { first, contents } => {
                let order = Permutation::new(contents, Seed(self.seed ^ mix(number / contents)));
                NextBlock::Pool(first + order.at(number % contents))
            }
            Reach::Near { from, to } => {
                let back = from + draw % (to - from + 1);
                let content = if back <= new { new - back } else { draw % new };
                // Preferably of a content of no stream: streams count the copies of theirs.
                let free = |content: &u64| self.free[(content % STRATUM) as usize];
                let nearest =
                    (content.saturating_sub((2 * to).clamp(64, TRIED))..=content).rev().find(free);
                NextBlock::Again(nearest.unwrap_or(content))
            }
            Reach::Newest => NextBlock::Again(self.newest(new).unwrap_or(new - 1)),
            Reach::Lag { window, windows } => {
                let content = stream.lagging(number, window, windows, draw, self.seed);
                NextBlock::Again(if content < new { content } else { new - 1 - draw % new.min(16) })
            }
        }
    }
}

impl Stream {
    /// The content of the stream's duplicate `number`, by its ordinal.
    fn lagging(&self, number: u64, window: u64, windows: u64, draw: u64, seed: u64) -> u64 {
        let (per, of) = (u128::from(self.per.max(1)), u128::from(self.of.max(1)));
        // The stream has written this many new blocks, and this is the kth duplicate since.
        let new = (u128::from(number) * of / per) as u64;
        let copy = number - ((u128::from(new) * per).div_ceil(of) as u64).min(number);
        let content = match (new / window).checked_sub((copy + 1) * windows) {
            Some(at) => {
                let order = Permutation::new(window, Seed(mix(seed ^ mix(at << 16 ^ copy))));
                at * window + order.at(new % window)
            }
            // Nothing is that old yet: one of the older half.
            None => draw % (new / 2).max(1),
        };
        let each = self.places.len().max(1) as u64;
        let place = self.places.get((content % each) as usize).copied().unwrap_or_default();
        content / each * STRATUM + u64::from(place)
    }
}

/// `weights` of `whole` as whole 4096ths that keep their sum (the method of largest remainders).
fn rounded(weights: &[f64], whole: f64) -> Vec<u64> {
    let scale = if whole > 0.0 { STRATUM as f64 / whole } else { 0.0 };
    let exact: Vec<f64> = weights.iter().map(|w| w * scale).collect();
    let mut parts: Vec<u64> = exact.iter().map(|e| e.floor() as u64).collect();
    let all = exact.iter().sum::<f64>().round() as u64;
    let mut order: Vec<usize> = (0..parts.len()).collect();
    order.sort_by(|&a, &b| exact[b].fract().total_cmp(&exact[a].fract()));
    let missing = all.saturating_sub(parts.iter().sum()) as usize;
    order.into_iter().take(missing).for_each(|i| parts[i] += 1);
    parts
}

/// Deals 4096 turns evenly to streams with these shares: for each turn the stream, and its number within the stream.
fn deal(shares: &[u64], strata: Strata) -> Vec<Option<(u16, u16)>> {
    let ends: Vec<u64> = shares
        .iter()
        .scan(0, |sum, share| {
            *sum += share;
            Some(*sum)
        })
        .collect();
    let mut counts = vec![0u16; shares.len()];
    (0..STRATUM)
        .map(|turn| {
            let at = strata.at(turn);
            let stream = ends.partition_point(|&end| end <= at);
            let count = counts.get_mut(stream)?;
            *count += 1;
            Some((stream as u16, *count - 1))
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ContentSpec, Distance};
    use std::collections::HashMap;
    use units::Percent;

    /// Distances from the last writing, in distinct blocks, and copies of each content.
    fn observe(spec: &ContentSpec, skip: u64, take: u64) -> (Vec<u64>, HashMap<u64, u64>) {
        let written = crate::written::Written::new(spec, Seed(4));
        let mut place = crate::rounds::Cursor::default();
        let (mut new, mut last, mut distances) = (0, HashMap::new(), Vec::new());
        let mut copies = HashMap::new();
        for n in 0..take {
            match written.at(n, &mut place) {
                NextBlock::New(content) => {
                    new += 1;
                    last.insert(content, new);
                    copies.insert(content, 1);
                }
                NextBlock::Again(content) => {
                    let before = last.insert(content, new).unwrap();
                    if n >= skip {
                        distances.push((new - before + 1).max(1));
                    }
                    *copies.get_mut(&content).unwrap() += 1;
                }
                _ => {}
            }
        }
        (distances, copies)
    }

    #[test]
    fn distances_are_those_of_the_histogram() {
        for (text, dedupe) in [
            ("1..63=20,64..1023=30,1024..16383=50", 50.0),
            ("64..127=50,8192..16383=50", 80.0),
            ("256..511=100", 25.0),
            ("1..1=100", 50.0),
        ] {
            let distance: Distance = text.parse().unwrap();
            let Distance::Histogram(asked) = distance.clone() else { panic!() };
            let spec = ContentSpec {
                dedupe: Percent(dedupe),
                distance: Some(distance),
                ..ContentSpec::default()
            };
            let (found, _) = observe(&spec, 400_000, 800_000);
            let whole: f64 = asked.iter().map(|a| a.weight).sum();
            for a in asked {
                let within = found.iter().filter(|&&d| (a.from..=a.to).contains(&d)).count();
                let (got, wanted) = (within as f64 / found.len() as f64, a.weight / whole);
                println!("{text} {dedupe}: {}..{} {got:.4}", a.from, a.to);
                assert!((got - wanted).abs() < 0.02, "{text} {dedupe}: {}..{} {got}", a.from, a.to);
            }
        }
    }

    #[test]
    fn contents_that_left_the_packer_come_again_at_once_and_others_as_far_away_as_before() {
        let row = |distance_from, distance_to, contents, duplicates| crate::ProfileReuse {
            copies_from: 2,
            copies_to: 3,
            distance_from,
            distance_to,
            contents,
            duplicates,
        };
        let profile = Profile {
            fathom_profile: Profile::VERSION,
            block_bytes: 4096,
            blocks: crate::ProfileBlocks {
                total: 100_000,
                zero: 0,
                duplicate: 40_000,
                unique: 60_000,
            },
            sizes: vec![crate::ProfileSize { lz4_bytes: 1000, blocks: 60_000, near: 10_000 }],
            neighbours: None,
            reuse: vec![row(1, 1, 10_000, 12_000), row(1024, 2047, 20_000, 28_000)],
            packer_saving_percent: None,
            texture: None,
        };
        let near = Streams::near_places(&profile);
        let places = near.iter().filter(|&&is| is).count();
        assert!(places.abs_diff(STRATUM as usize / 6) <= 1, "{places}");
        let profile = Some(crate::ProfileSource::Loaded(Box::new(profile)));
        let (distances, copies) =
            observe(&ContentSpec { profile, ..ContentSpec::default() }, 100_000, 400_000);
        let share = |from, to| {
            let within = distances.iter().filter(|&&d| (from..=to).contains(&d)).count();
            within as f64 / distances.len() as f64
        };
        assert!((share(1, 30) - 0.3).abs() < 0.02, "{}", share(1, 30));
        assert!((share(1024, 2047) - 0.7).abs() < 0.05, "{}", share(1024, 2047));
        // One in twenty shares its duplicate with another that came between two duplicates.
        let again = copies.iter().filter(|(content, _)| near[(*content % STRATUM) as usize]);
        let once = again.clone().filter(|&(_, &copies)| copies == 1).count();
        assert!(once * 10 <= again.count(), "{once} near contents came once");
    }
}
