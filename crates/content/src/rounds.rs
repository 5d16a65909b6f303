//! Duplicates in rounds: each round refers to blocks that were new in the round before, in permuted order and as often as their
//! popularity says. Rounds grow until they are as long as the window allows, so that distances are spread over the window and only the
//! growing rounds need a table.
//!
//! A round longer than the one before refers to its contents more often. So rounds grow by a quarter (without a window they double),
//! and contents of the beginning are referred to that much more often than later ones, unless a cap forbids it.
//!
//! VDO does not compress a block whose duplicate comes while the block is still being processed. So rounds lag: they refer to what was
//! new before the last [`MIN_DISTANCE_BLOCKS`] blocks and [`PACKED`] distinct ones. Nothing is old enough for the first duplicates: these take turns
//! among a few contents, which the packer loses.

use units::{Permutation, Seed};

use crate::Popularity;
use crate::shares::Shares;
use crate::strata::mix;

/// Most growing rounds. Only a cap near the mean number of copies makes them grow so slowly that there are more.
const MOST_GROWING: usize = 1024;
/// Longest round, duplicates.
const MAX_ROUND: u64 = 1 << 50;
/// Least written blocks between a content and its first duplicate: VDO processes at most 2048 blocks at once.
const MIN_DISTANCE_BLOCKS: u64 = 2560;
/// And least distinct blocks on top: VDO's packer may hold 16 bins of up to 14 blocks (16 x 14 = 224) before it writes one.
const PACKED: u64 = 256;
/// Blocks from one copy of a content of the beginning to the next: more than a record of 128 KiB has.
const TURN: f64 = 40.0;
/// Most duplicates of each content of the beginning, below VDO's limit of 254 references to a physical block.
const EACH: u64 = 200;
/// Zipf ranks whose weight is summed exactly; weights beyond are integrated.
const EXACT_RANKS: usize = 64;

#[derive(Debug, Clone, Copy)]
struct Round {
    /// First duplicate.
    start: u64,
    /// First content referred to.
    first: u64,
    /// Contents referred to.
    contents: u64,
}

/// All rounds.
#[derive(Debug, Clone)]
pub(crate) struct Rounds {
    shares: Shares,
    seed: Seed,
    growing: Vec<Round>,
    /// First duplicate after the growing rounds; from there all rounds have `length` duplicates.
    settled: u64,
    length: u64,
    /// Most contents that a round refers to.
    widest: u64,
    zipf: Option<Zipf>,
    beginning: Beginning,
}

/// The first duplicates, before any content is old enough: they refer to a few contents in turn. Each content joins as soon as it is
/// written, so that VDO sees its first duplicate while it still processes the block, and stores it uncompressed.
#[derive(Debug, Clone, Copy)]
struct Beginning {
    /// Number of duplicates that repeat contents of the beginning.
    duplicates: u64,
    /// Number of contents that these duplicates repeat.
    contents: u64,
    /// Duplicates between one content that joins and the next.
    step: u64,
}

/// Distinct blocks that VDO needs between a content and its first duplicate, where a share `again` of all blocks are duplicates.
pub(crate) fn min_distance(again: f64) -> u64 {
    (MIN_DISTANCE_BLOCKS as f64 * (1.0 - again)) as u64 + PACKED
}

impl Beginning {
    /// As long as `window` and the share of duplicates allow; empty where they leave no room.
    fn new(shares: Shares, window: u64) -> Self {
        let (again, per_new) = (shares.again().fraction(), shares.again_per_new());
        // The lag takes at most a quarter of the window.
        let new = min_distance(again).min(window / 4) as f64;
        let duplicates = (new * per_new).min(MAX_ROUND as f64) as u64;
        let step = per_new.ceil().max(1.0) as u64;
        // With so few, no new contents would be left for the first round.
        let duplicates = if (duplicates as f64) < 4.0 * per_new { 0 } else { duplicates };
        let wanted = ((TURN * again).ceil() as u64).max(duplicates.div_ceil(EACH));
        Self { duplicates, contents: wanted.min(duplicates / step).max(1), step }
    }

    const NONE: Self = Self { duplicates: 0, contents: 1, step: 1 };

    /// The content that duplicate number `duplicate` repeats.
    #[cold]
    fn at(self, duplicate: u64, shares: Shares) -> u64 {
        let joined = (duplicate / self.step + 1).min(self.contents);
        let newest = (joined - 1) * self.step;
        let turn = if duplicate == newest { joined - 1 } else { duplicate % joined };
        // The content that joins is the newest; `saturating_sub`, as the first block has no predecessor.
        shares.new_before(turn * self.step).saturating_sub(1)
    }
}

/// A caller's cursor: the round and the permutation that it looked up last.
#[derive(Debug, Clone)]
pub(crate) struct Cursor {
    start: u64,
    end: u64,
    number: u64,
    first: u64,
    contents: u64,
    /// The pass to which `order` belongs: its start in the round, and its length, which is 0 before the first pass.
    pass: (u64, u64),
    order: Permutation,
    ranks: Permutation,
}

impl Default for Cursor {
    fn default() -> Self {
        let none = Permutation::new(1, Seed(0));
        Self {
            start: 0,
            end: 0,
            number: 0,
            first: 0,
            contents: 1,
            pass: (0, 0),
            order: none,
            ranks: none,
        }
    }
}

impl Rounds {
    /// Rounds within `window` distinct blocks; `None` when a cap on references leaves no room for them to grow.
    pub fn new(shares: Shares, popularity: Popularity, window: u64, seed: Seed) -> Option<Self> {
        let per_new = shares.again_per_new();
        // The few contents of the beginning would come more often than a cap allows.
        let beginning = match popularity {
            Popularity::Cap(_) => Beginning::NONE,
            _ => Beginning::new(shares, window),
        };
        let endless = window == u64::MAX;
        let window = match beginning.duplicates {
            0 => window,
            _ if endless => window,
            lag => window - (lag as f64 / per_new).ceil() as u64,
        };
        let widest = window.div_ceil(2).max(1);
        let longest = ((window / 2) as f64 * per_new).min(MAX_ROUND as f64).max(1.0) as u64;
        let most_each = match popularity {
            Popularity::Cap(most) => Some(most.saturating_sub(1)),
            _ => None,
        };
        // Rounds grow by references to spare: a cap so near to the mean leaves none.
        if most_each.is_some_and(|most| per_new > 0.97 * most as f64) {
            return None;
        }
        let mut rounds = Self {
            shares,
            seed,
            growing: Vec::new(),
            settled: 0,
            length: longest,
            widest,
            zipf: match popularity {
                Popularity::Zipf(theta) => Some(Zipf::new(theta)),
                _ => None,
            },
            beginning,
        };
        rounds.grow(longest, most_each, endless)?;
        Some(rounds)
    }

    fn grow(&mut self, longest: u64, most_each: Option<u64>, endless: bool) -> Option<()> {
        // Under a cap, a round is as long as its contents allow: those that were new in the round before.
        let first = if most_each.is_some() { u64::MAX } else { 1 };
        let (mut start, mut length, mut before) = (0u64, first, 0);
        loop {
            let round = self.range(start, before);
            let room = most_each.map_or(u64::MAX, |most| round.contents.saturating_mul(most));
            if room == 0 || self.growing.len() == MOST_GROWING {
                return None;
            }
            length = length.min(room).min(longest);
            self.growing.push(round);
            before = self.shares.new_before(start);
            start += length;
            if length == longest && self.growing.len() > 1 {
                self.settled = start;
                return Some(());
            }
            length = match most_each {
                Some(_) => u64::MAX,
                None if endless => length.saturating_mul(2),
                None => length.saturating_add(length.div_ceil(4)),
            };
        }
    }

    /// The round that starts with duplicate `start`, when the one before began after `before` contents.
    fn range(&self, start: u64, before: u64) -> Round {
        let new = self.shares.new_before(start).max(1);
        // From the newest content to half a window of them. The first block is always new.
        let first = before.max(new.saturating_sub(self.widest)).min(new - 1);
        Round { start, first, contents: new - first }
    }

    /// Returns how many contents take turns in the beginning; `None` where there is none.
    pub fn beginning(&self) -> Option<u64> {
        let Beginning { duplicates, contents, .. } = self.beginning;
        (duplicates > 0).then_some(contents)
    }

    /// Most references to one content, once rounds have grown.
    pub fn most_references(&self) -> u64 {
        let contents = self.widest.min(1 << 50) as f64;
        match &self.zipf {
            Some(zipf) => (self.length as f64 * zipf.share(1, contents as u64)).ceil() as u64,
            None => self.shares.again_per_new().ceil() as u64,
        }
    }

    /// The content that duplicate number `duplicate` repeats.
    #[inline]
    pub fn at(&self, duplicate: u64, cursor: &mut Cursor) -> u64 {
        match duplicate.checked_sub(self.beginning.duplicates) {
            None => self.beginning.at(duplicate, self.shares),
            Some(later) => self.in_rounds(later, cursor),
        }
    }

    /// The contents of the duplicates from number `duplicate` on: cheaper than [`Rounds::at`] for each.
    #[inline]
    pub fn row<'a>(
        &self,
        duplicate: u64,
        contents: impl ExactSizeIterator<Item = &'a mut u64>,
        cursor: &mut Cursor,
    ) {
        let Some(entry) = self.in_pass(duplicate, contents.len() as u64, cursor) else {
            let numbers = contents.zip(duplicate..);
            return numbers.for_each(|(content, number)| *content = self.at(number, cursor));
        };
        let (first, order) = (cursor.first, cursor.order);
        contents.zip(entry..).for_each(|(content, entry)| *content = first + order.at(entry));
    }

    /// The index of duplicate number `duplicate` in the permutation that `cursor` holds, if it covers `count` duplicates from there on.
    #[inline]
    fn in_pass(&self, duplicate: u64, count: u64, cursor: &Cursor) -> Option<u64> {
        let later = duplicate.checked_sub(self.beginning.duplicates)?;
        let entry = later.checked_sub(cursor.start + cursor.pass.0)?;
        let all = later + count <= cursor.end && entry + count <= cursor.pass.1;
        (all && self.zipf.is_none()).then_some(entry)
    }

    /// The content of a duplicate, numbered from the first round on.
    #[inline]
    fn in_rounds(&self, duplicate: u64, cursor: &mut Cursor) -> u64 {
        if duplicate.wrapping_sub(cursor.start) >= cursor.end.wrapping_sub(cursor.start) {
            self.find(duplicate, cursor);
        }
        let position = duplicate - cursor.start;
        if self.zipf.is_some() {
            return self.popular(position, cursor);
        }
        if position.wrapping_sub(cursor.pass.0) >= cursor.pass.1 {
            self.begin_pass(position, cursor);
        }
        cursor.first + cursor.order.at(position - cursor.pass.0)
    }

    #[cold]
    fn begin_pass(&self, position: u64, cursor: &mut Cursor) {
        let pass = position / cursor.contents;
        cursor.pass = (pass * cursor.contents, cursor.contents);
        cursor.order = Permutation::new(cursor.contents, self.part(cursor.number, pass));
    }

    fn popular(&self, position: u64, cursor: &mut Cursor) -> u64 {
        let length = cursor.end - cursor.start;
        if cursor.pass.1 != length {
            cursor.pass = (0, length);
            cursor.order = Permutation::new(length, self.part(cursor.number, 0));
            cursor.ranks = Permutation::new(cursor.contents, self.part(cursor.number, 1));
        }
        // Each rank has a part of the round in proportion to its popularity; the round's order is permuted.
        let at = (cursor.order.at(position) as f64 + 0.5) / length as f64;
        let rank = self.zipf.as_ref().map_or(0, |zipf| zipf.rank(at, cursor.contents));
        cursor.first + cursor.ranks.at(rank)
    }

    #[cold]
    fn find(&self, duplicate: u64, cursor: &mut Cursor) {
        let number = match duplicate.checked_sub(self.settled) {
            Some(beyond) => self.growing.len() as u64 + beyond / self.length,
            None => self.growing.partition_point(|round| round.start <= duplicate) as u64 - 1,
        };
        let start = |number: u64| match self.growing.get(number as usize) {
            Some(round) => round.start,
            None => self.settled + (number - self.growing.len() as u64) * self.length,
        };
        let round = match self.growing.get(number as usize) {
            Some(round) => *round,
            None => self.range(start(number), self.shares.new_before(start(number - 1))),
        };
        *cursor = Cursor {
            start: round.start,
            end: start(number + 1),
            number,
            first: round.first,
            contents: round.contents,
            ..Cursor::default()
        };
    }

    fn part(&self, round: u64, pass: u64) -> Seed {
        Seed(mix(self.seed.0 ^ mix(round << 20 ^ pass)))
    }
}

/// Zipf's law: the nth of some contents has a weight of n^-theta.
#[derive(Debug, Clone)]
struct Zipf {
    theta: f64,
    /// Cumulative weights of the first ranks.
    sums: Vec<f64>,
}

impl Zipf {
    fn new(theta: f64) -> Self {
        let mut sum = 0.0;
        let weight = |n: usize| {
            sum += (n as f64).powf(-theta);
            sum
        };
        Self { theta, sums: (1..=EXACT_RANKS).map(weight).collect() }
    }

    /// The integral of x^-theta from the end of the exact ranks to n + 1/2 (the midpoint rule for the sum of weights).
    fn sum_beyond_exact(&self, n: f64) -> f64 {
        let (from, to) = (EXACT_RANKS as f64 + 0.5, n + 0.5);
        let power = 1.0 - self.theta;
        if power.abs() < 1e-9 {
            (to / from).ln()
        } else {
            (to.powf(power) - from.powf(power)) / power
        }
    }

    /// Weight of the first `n` ranks.
    fn sum(&self, n: u64) -> f64 {
        match self.sums.get((n as usize).saturating_sub(1)) {
            Some(sum) => *sum,
            None => self.sums[EXACT_RANKS - 1] + self.sum_beyond_exact(n as f64),
        }
    }

    /// Share of the rank `n`, counted from 1, among `contents`.
    fn share(&self, n: u64, contents: u64) -> f64 {
        let before = if n > 1 { self.sum(n - 1) } else { 0.0 };
        (self.sum(n) - before) / self.sum(contents.max(1))
    }

    /// The rank, counted from 0, at the fraction `at` of the whole weight of `contents`.
    fn rank(&self, at: f64, contents: u64) -> u64 {
        let weight = at * self.sum(contents);
        let rank = match self.sums.last() {
            Some(&last) if weight > last => {
                let (from, power) = (EXACT_RANKS as f64 + 0.5, 1.0 - self.theta);
                let rest = weight - last;
                let to = if power.abs() < 1e-9 {
                    from * rest.exp()
                } else {
                    (rest * power + from.powf(power)).powf(1.0 / power)
                };
                (to - 0.5).ceil() as u64 - 1
            }
            _ => self.sums.partition_point(|&sum| sum < weight) as u64,
        };
        rank.min(contents - 1)
    }
}
