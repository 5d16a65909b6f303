//! Duplicates in streams, which reproduce a histogram of distances, or the distances and copies of a profile.
//!
//! Each stream has a share of the new blocks and of the duplicates, dealt by two tables of 4096 entries. The kth copy of a content comes
//! when its stream has written k lags more of new blocks, in permuted order within a window; before a lag has been written,
//! duplicates repeat contents of the stream's older half.

use units::{Permutation, Seed};

use crate::DistanceShare;
use crate::next_block::NextBlock;
use crate::strata::{STRATUM, Strata, mix};

/// Denominator of a stream's duplicates per new block.
const WHOLE: u64 = 1_000_000_000;
/// A stream with fewer new blocks than this between two copies cannot keep its distance accurately.
const COARSE: f64 = 4.0;

/// Attempts to find a content that belongs to no stream.
const TRIED: u64 = 512;

/// Distance between copies of a content.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Apart {
    /// Distances in distinct blocks, nearest and farthest.
    Blocks { from: u64, to: u64 },
    /// Contents that are repeated all the time.
    Pool,
    /// Right after the newest content that came again at once: the caller knows which it is.
    Newest,
}

impl Apart {
    /// The nearest, distinct blocks.
    pub fn from(self) -> u64 {
        if let Self::Blocks { from, .. } = self { from } else { 0 }
    }

    /// Returns it with distances of at least `least` blocks.
    pub fn at_least(self, least: u64) -> Self {
        match self {
            Self::Blocks { from, to } => {
                Self::Blocks { from: from.max(least), to: to.max(2 * least) }
            }
            other => other,
        }
    }

    /// Returns it in a count that includes only this share of all new blocks.
    pub fn scaled(self, share: f64) -> Self {
        let scaled = |blocks: u64| ((blocks as f64 * share).round() as u64).max(1);
        match self {
            Self::Blocks { from, to } => Self::Blocks { from: scaled(from), to: scaled(to) },
            other => other,
        }
    }
}

/// Contents that are repeated alike, before shares are rounded to 4096ths.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Repeated {
    /// The distance of their copies.
    pub apart: Apart,
    /// Contents.
    pub contents: f64,
    /// Their duplicates.
    pub duplicates: f64,
}

#[derive(Debug, Clone, Copy)]
enum Reach {
    /// At this distance among all new blocks.
    Near { from: u64, to: u64 },
    /// The newest content that came again at once.
    Newest,
    /// `windows` windows of `window` contents of the stream back, for each copy.
    Lag { window: u64, windows: u64 },
    /// One of `contents` contents of the pool, from `first` on.
    Pool { first: u64, contents: u64 },
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
    /// New blocks after which a content may come again.
    min_reuse_lag: u64,
    streams: Vec<Stream>,
    /// For each of 4096 new blocks: whether it belongs to no stream.
    free: Vec<bool>,
    /// For each of 4096 duplicates: its stream, and its number among those of the stream.
    turns: Vec<(u16, u16)>,
}

impl Streams {
    /// Streams of these distances, with `again` duplicates for each new block; contents are repeated equally often in all of them.
    pub fn of_distances(distances: &[DistanceShare], again: f64, seed: Seed) -> Self {
        let repeated = distances.iter().map(|d| Repeated {
            apart: Apart::Blocks { from: d.from, to: d.to },
            contents: d.weight,
            duplicates: d.weight,
        });
        let weights: f64 = distances.iter().map(|d| d.weight).sum();
        Self::new(&repeated.collect::<Vec<_>>(), weights, again, seed)
    }

    /// Streams of contents that are repeated, among `contents` in all, with `again` duplicates for each new block.
    pub fn new(repeated: &[Repeated], contents: f64, again: f64, seed: Seed) -> Self {
        let of_all = STRATUM as f64 / contents;
        let mut pool = 0;
        let (mut reaches, mut news) = (Vec::new(), Vec::new());
        for row in repeated {
            let new = row.contents * of_all;
            let (reach, new) = match row.apart {
                Apart::Newest => (Reach::Newest, 0.0),
                Apart::Pool => {
                    let (first, contents) = (pool, (row.contents as u64).max(1));
                    pool += contents;
                    (Reach::Pool { first, contents }, 0.0)
                }
                Apart::Blocks { from, to } => Reach::of(from, to, new),
            };
            reaches.push(reach);
            news.push(new);
        }
        let duplicates: Vec<_> = repeated.iter().map(|row| row.duplicates).collect();
        Self::build(&reaches, &news, &duplicates, again, seed)
    }

    fn build(reaches: &[Reach], news: &[f64], duplicates: &[f64], again: f64, seed: Seed) -> Self {
        let (news, duplicates) =
            (rounded(news, STRATUM as f64), rounded(duplicates, duplicates.iter().sum()));
        // Not by the seed: sizes are dealt to the same places, and are the same for all targets.
        let new_turns = deal(&news, Strata::new(Seed(0).derive("streams of new blocks")));
        let turns = deal(&duplicates, Strata::new(seed.derive("streams of duplicates")));
        let again = (again.clamp(1e-6, 1e5) * WHOLE as f64).round() as u64;
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
        // Shares of duplicates sum to all: every turn belongs to a stream, unless there are no duplicates at all.
        let turns = turns.into_iter().map(Option::unwrap_or_default).collect();
        let free = new_turns.iter().map(Option::is_none).collect();
        Self { seed: seed.0, min_reuse_lag: 0, streams, free, turns }
    }

    /// Returns them with contents that come again after `min_reuse_lag` new blocks at the earliest, except for a few at the beginning.
    pub fn with_min_reuse_lag(self, min_reuse_lag: u64) -> Self {
        Self { min_reuse_lag, ..self }
    }

    /// Returns how many of the first `new` contents may come again; these are `per_new` contents for each new block.
    fn reusable(&self, new: u64, per_new: f64) -> u64 {
        let recent = (self.min_reuse_lag as f64 * per_new) as u64;
        new.saturating_sub(recent).max(new / 8).max(1)
    }

    /// Returns what duplicate number `duplicate` is, when `new` contents have been written; `None` for one of the newest content that came
    /// again at once.
    pub fn at(&self, duplicate: u64, new: u64) -> Option<NextBlock> {
        let (stratum, turn) = (duplicate / STRATUM, self.turns[(duplicate % STRATUM) as usize]);
        let draw = mix(self.seed ^ mix(duplicate));
        let stream = self.streams.get(usize::from(turn.0))?;
        let number = stratum * stream.duplicates + u64::from(turn.1);
        match stream.reach {
            Reach::Pool { first, contents } => {
                let order = Permutation::new(contents, Seed(self.seed ^ mix(number / contents)));
                Some(NextBlock::Pool(first + order.at(number % contents)))
            }
            Reach::Near { from, to } => {
                let back = from + draw % (to - from + 1);
                let content = if back <= new { new - back } else { draw % self.reusable(new, 1.0) };
                // Preferably of a content of no stream: streams count the copies of theirs.
                let free = |content: &u64| self.free[(content % STRATUM) as usize];
                let nearest =
                    (content.saturating_sub((2 * to).clamp(64, TRIED))..=content).rev().find(free);
                Some(NextBlock::Again(nearest.unwrap_or(content)))
            }
            Reach::Newest => None,
            Reach::Lag { window, windows } => {
                let each = stream.places.len() as f64 / STRATUM as f64;
                let early = |total: u64| draw % (total / 2).clamp(1, self.reusable(total, each));
                let content = stream.lagging(number, window, windows, self.seed, early);
                let written = match content < new {
                    true => content,
                    false if self.min_reuse_lag == 0 => new - 1 - draw % new.min(16),
                    false => draw % self.reusable(new, 1.0),
                };
                Some(NextBlock::Again(written))
            }
        }
    }
}

impl Reach {
    /// Returns the reach of a stream with these distances, and how many of 4096 new blocks belong to it; `new` were asked for.
    fn of(from: u64, to: u64, new: f64) -> (Self, f64) {
        let (middle, half) = ((from + to) as f64 / 2.0, (to - from) as f64 / 2.0);
        let per_new = new / STRATUM as f64;
        if middle * per_new < COARSE || new < 1.0 {
            return (Self::Near { from, to }, 0.0);
        }
        // As wide as the range allows around its middle, less the variation by the order of streams.
        let widest = (0.9 * half * per_new - 1.5).max(1.0);
        let windows = (middle * per_new / widest).ceil().max(1.0);
        let window = (middle * per_new / windows).round().max(1.0);
        (Self::Lag { window: window as u64, windows: windows as u64 }, new)
    }
}

impl Stream {
    /// The ordinal of the content that the stream's duplicate `number` repeats. Where none is old enough, `early` chooses one by its number in
    /// the stream.
    fn lagging(
        &self,
        number: u64,
        window: u64,
        windows: u64,
        seed: u64,
        early: impl Fn(u64) -> u64,
    ) -> u64 {
        let (per, of) = (u128::from(self.per.max(1)), u128::from(self.of.max(1)));
        // The stream has written this many new blocks, and this is the kth duplicate since.
        let new = (u128::from(number) * of / per) as u64;
        let copy = number - ((u128::from(new) * per).div_ceil(of) as u64).min(number);
        let content = match (new / window).checked_sub((copy + 1) * windows) {
            Some(at) => {
                let order = Permutation::new(window, Seed(mix(seed ^ mix(at << 16 ^ copy))));
                at * window + order.at(new % window)
            }
            // Nothing is that old yet.
            None => early(new),
        };
        let each = self.places.len().max(1) as u64;
        let place = self.places.get((content % each) as usize).copied().unwrap_or_default();
        content / each * STRATUM + u64::from(place)
    }
}

/// Returns the shares of `weights` in `whole`, rounded to whole 4096ths that keep their sum (the method of largest remainders).
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
            let Distance::Histogram(wanted_distances) = distance.clone() else { panic!() };
            let spec = ContentSpec {
                dedupe: Percent(dedupe),
                distance: Some(distance),
                ..ContentSpec::default()
            };
            let (found, _) = observe(&spec, 400_000, 800_000);
            let whole: f64 = wanted_distances.iter().map(|a| a.weight).sum();
            for a in wanted_distances {
                let within = found.iter().filter(|&&d| (a.from..=a.to).contains(&d)).count();
                let (got, wanted) = (within as f64 / found.len() as f64, a.weight / whole);
                println!("{text} {dedupe}: {}..{} {got:.4}", a.from, a.to);
                assert!((got - wanted).abs() < 0.02, "{text} {dedupe}: {}..{} {got}", a.from, a.to);
            }
        }
    }
}
