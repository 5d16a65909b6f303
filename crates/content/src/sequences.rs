//! The way in which LZ4 writes data: sequences of literals and a match, by which packing and unpacking take their time.
//!
//! A profile keeps, for a few classes of LZ4 sizes, how long literals and matches are. That reveals nothing about the bytes.

use reduce::BLOCK;
use serde::{Deserialize, Serialize};
use units::SplitMix64;

/// Classes by LZ4 size.
const CLASSES: usize = 8;
/// LZ4 sizes of a class, bytes.
const CLASS_BYTES: usize = BLOCK / CLASSES;
/// Lengths below this are counted one by one; from here on a step is a quarter of the length.
const TOLD_APART: u32 = 20;
/// Offsets up to this many bytes are those of runs.
const RUN_OFFSET: usize = 8;
/// Bytes of the shortest match.
pub(crate) const SHORTEST: u32 = 4;

/// The sequences that LZ4 makes of data, and what blocks have in common.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileTexture {
    /// Percent of a compressible block that comes from the vocabulary that all blocks share, and that a record of 128 KiB thus repeats.
    pub shared_percent: f64,
    /// Sequences of LZ4, by the sizes of blocks; classes without any are left out.
    pub sequences: Vec<ProfileSequences>,
}

/// Sequences of the blocks of one class of LZ4 sizes: counts of lengths, each with the first of the lengths that are counted together.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ProfileSequences {
    /// Largest LZ4 size, bytes.
    pub upto_bytes: u32,
    /// Literals before a match.
    pub literals: Vec<(u32, u64)>,
    /// Matches.
    pub matches: Vec<(u32, u64)>,
    /// Matches that repeat the last 1 to 8 bytes.
    pub runs: Vec<(u32, u64)>,
}

/// Literals, matches and runs of 2000 sequences in program text (8 MiB of Rust crates, in blocks that LZ4 packs to 44 %).
const LITERALS: [(u32, u64); 27] = [
    (0, 1085),
    (1, 194),
    (2, 119),
    (3, 96),
    (4, 76),
    (5, 62),
    (6, 56),
    (7, 52),
    (8, 38),
    (9, 30),
    (10, 25),
    (11, 21),
    (12, 18),
    (13, 15),
    (14, 13),
    (15, 11),
    (16, 10),
    (17, 9),
    (18, 7),
    (19, 7),
    (20, 22),
    (25, 14),
    (31, 9),
    (38, 6),
    (47, 3),
    (58, 2),
    (72, 1),
];
const MATCHES: [(u32, u64); 29] = [
    (4, 403),
    (5, 315),
    (6, 211),
    (7, 146),
    (8, 96),
    (9, 95),
    (10, 79),
    (11, 72),
    (12, 46),
    (13, 40),
    (14, 37),
    (15, 32),
    (16, 24),
    (17, 23),
    (18, 22),
    (19, 18),
    (20, 63),
    (25, 44),
    (31, 29),
    (38, 23),
    (47, 17),
    (58, 12),
    (72, 9),
    (90, 5),
    (112, 4),
    (140, 2),
    (175, 2),
    (218, 1),
    (272, 1),
];
const RUNS: [(u32, u64); 9] =
    [(4, 78), (5, 7), (6, 2), (7, 3), (8, 27), (11, 1), (12, 6), (15, 1), (16, 3)];
/// Percent of each block that blocks of one size have in common: with it zstd saves on records of 128 KiB what it does on such text, 77 %.
const SHARED_PERCENT: f64 = 48.0;

impl Default for ProfileTexture {
    /// That of program text.
    fn default() -> Self {
        let sequences = ProfileSequences {
            upto_bytes: BLOCK as u32,
            literals: LITERALS.to_vec(),
            matches: MATCHES.to_vec(),
            runs: RUNS.to_vec(),
        };
        Self { shared_percent: SHARED_PERCENT, sequences: vec![sequences] }
    }
}

impl ProfileTexture {
    /// Returns the reason that these figures are impossible, if they are.
    pub(crate) fn contradiction(&self) -> Option<String> {
        if !(0.0..=100.0).contains(&self.shared_percent) {
            return Some(format!("blocks share {} %", self.shared_percent));
        }
        let bytes = BLOCK as u32;
        let wrong = |counts: &Vec<(u32, u64)>, least: u32| {
            let sum = counts.iter().try_fold(0u64, |sum, &(_, count)| sum.checked_add(count));
            sum.is_none_or(|sum| sum > u64::from(u32::MAX) << 16)
                || counts.iter().any(|&(length, _)| !(least..=bytes).contains(&length))
        };
        let wrong = self.sequences.iter().find(|class| {
            class.upto_bytes > bytes
                || wrong(&class.literals, 0)
                || wrong(&class.matches, SHORTEST)
                || wrong(&class.runs, SHORTEST)
        });
        wrong.map(|class| format!("sequences of blocks of up to {} B cannot be", class.upto_bytes))
    }
}

/// Returns the first length that is counted together with `length`, and the first that is not any more.
fn step(length: u32) -> (u32, u32) {
    if length < TOLD_APART {
        return (length, length + 1);
    }
    let (mut from, mut to) = (TOLD_APART, TOLD_APART + TOLD_APART / 4);
    while to <= length {
        (from, to) = (to, to + to / 4);
    }
    (from, to)
}

/// Counts sequences of blocks.
#[derive(Debug, Clone, Default)]
pub struct SequenceCounter {
    classes: [[std::collections::BTreeMap<u32, u64>; 3]; CLASSES],
}

impl SequenceCounter {
    /// Counts what LZ4 made of a block, for `weight` blocks; nothing of one that it did not make smaller.
    pub fn add(&mut self, packed: &[u8], weight: u64) {
        if packed.is_empty() || packed.len() >= BLOCK {
            return;
        }
        let [literals, matches, runs] = &mut self.classes[packed.len() / CLASS_BYTES];
        for (length, offset, matched) in Sequences(packed) {
            *literals.entry(step(length).0).or_default() += weight;
            let of = if offset <= RUN_OFFSET { &mut *runs } else { &mut *matches };
            *of.entry(step(matched).0).or_default() += weight;
        }
    }

    /// Adds what another one counted.
    pub fn merge(&mut self, other: &Self) {
        let pairs = self.classes.iter_mut().flatten().zip(other.classes.iter().flatten());
        for (counts, added) in pairs {
            added.iter().for_each(|(&length, count)| *counts.entry(length).or_default() += count);
        }
    }

    /// Returns what was counted.
    pub fn classes(&self) -> Vec<ProfileSequences> {
        let counted =
            self.classes.iter().enumerate().filter(|(_, [literals, ..])| !literals.is_empty());
        let listed = |counts: &std::collections::BTreeMap<u32, u64>| {
            counts.iter().map(|(&l, &n)| (l, n)).collect()
        };
        counted
            .map(|(class, [literals, matches, runs])| ProfileSequences {
                upto_bytes: ((class + 1) * CLASS_BYTES - 1) as u32,
                literals: listed(literals),
                matches: listed(matches),
                runs: listed(runs),
            })
            .collect()
    }
}

/// The sequences of an LZ4 block: literals, offset and length of the match; the last literals are left out.
struct Sequences<'a>(&'a [u8]);

impl Sequences<'_> {
    fn byte(&mut self) -> Option<u8> {
        let (&byte, rest) = self.0.split_first()?;
        self.0 = rest;
        Some(byte)
    }

    fn length(&mut self, nibble: u8) -> Option<u32> {
        let mut length = u32::from(nibble);
        if nibble == 15 {
            loop {
                let more = self.byte()?;
                length += u32::from(more);
                if more < 255 {
                    break;
                }
            }
        }
        Some(length)
    }
}

impl Iterator for Sequences<'_> {
    type Item = (u32, usize, u32);

    fn next(&mut self) -> Option<Self::Item> {
        let token = self.byte()?;
        let literals = self.length(token >> 4)?;
        self.0 = self.0.get(literals as usize..)?;
        let offset = usize::from(u16::from_le_bytes([self.byte()?, self.byte()?]));
        Some((literals, offset, self.length(token & 15)? + SHORTEST))
    }
}

/// Lengths to be drawn as often as they were counted.
#[derive(Debug, Clone)]
struct Lengths(Vec<(u64, u32)>);

impl Lengths {
    fn of(counts: &[(u32, u64)]) -> Self {
        let mut sum = 0;
        let sums = counts.iter().map(|&(length, count)| {
            sum += count;
            (sum, length)
        });
        Self(sums.collect())
    }

    fn all(&self) -> u64 {
        self.0.last().map_or(0, |last| last.0)
    }

    /// A length; 0 where there are none.
    fn draw(&self, rng: &mut SplitMix64) -> u32 {
        let at = rng.below(self.all().max(1));
        let place = self.0.partition_point(|&(sum, _)| sum <= at);
        let Some(&(_, length)) = self.0.get(place) else { return 0 };
        let (from, to) = step(length);
        from + rng.below(u64::from(to - from)) as u32
    }
}

/// One sequence to be written.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Sequence {
    pub literals: u32,
    pub matched: u32,
    /// Tells whether the match repeats the last few bytes.
    pub run: bool,
}

/// The distribution that sequences of blocks of about one size are drawn from.
#[derive(Debug, Clone)]
pub(crate) struct Drawn {
    literals: Lengths,
    matches: Lengths,
    runs: Lengths,
}

/// The factor 1: factors of lengths are given in 256ths.
pub(crate) const ONE: u64 = 256;

impl Drawn {
    /// Those of the class that is nearest to `size`.
    pub fn of(texture: &ProfileTexture, size: usize) -> Option<Self> {
        let middle =
            |class: &&ProfileSequences| (class.upto_bytes as usize).saturating_sub(CLASS_BYTES / 2);
        let of = texture.sequences.iter().min_by_key(|class| middle(class).abs_diff(size))?;
        let lengths = [&of.literals, &of.matches, &of.runs].map(|counts| Lengths::of(counts));
        let [literals, matches, runs] = lengths;
        (matches.all() + runs.all() > 0).then_some(Self { literals, matches, runs })
    }

    /// The next sequence, its literals longer and its match shorter by `factor` / [`ONE`].
    pub fn draw(&self, factor: u64, rng: &mut SplitMix64) -> Sequence {
        let (matches, runs) = (self.matches.all(), self.runs.all());
        let run = rng.below(matches + runs) >= matches;
        let lengths = if run { &self.runs } else { &self.matches };
        let literals = u64::from(self.literals.draw(rng));
        let more = u64::from(lengths.draw(rng).saturating_sub(SHORTEST));
        let literals = (literals * factor + rng.below(ONE)) / ONE;
        let more = (more * ONE + rng.below(factor)) / factor;
        Sequence { literals: literals as u32, matched: SHORTEST + more as u32, run }
    }
}
