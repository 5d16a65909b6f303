//! Texts: bytes that LZ4 packs and unpacks with as much work as real data, and to a size that is asked for.
//!
//! A block of a text is the lane that names its content, the text, and random bytes of the content. LZ4 reads forwards: the lane is
//! found nowhere again, and what the last bytes are changes nothing before them. So all blocks of a text have one LZ4 size, and no two of
//! them are alike.

use reduce::{BLOCK, Lz4};
use units::{Seed, SplitMix64};

use crate::fill::Text;
use crate::sequences::{Drawn, ONE, ProfileTexture};
use crate::{ContentId, LANE};

/// Fewest and most random bytes behind a text.
const TAIL: std::ops::RangeInclusive<usize> = 16..=480;
/// LZ4 sizes that texts are made for; others are random bytes and zeros.
const SIZES: std::ops::RangeInclusive<usize> = 96..=4050;
/// Texts in all: so many blocks come before one has the text of an earlier one, where all have one size.
pub(crate) const TEXTS: usize = 512;
/// Number of vocabularies, one for each range of LZ4 sizes: blocks of text that compresses twice as far need another one.
const VOCABULARIES: usize = 8;
/// The most of a block that is shared.
const MOST_SHARED: f64 = 0.99;
/// Shortest and longest pieces of a vocabulary, bytes: the shortest if blocks share next to nothing, the longest if they share nearly all. Blocks
/// have the pieces in different orders, or a processor would learn to predict them.
const PIECE: std::ops::RangeInclusive<usize> = 24..=2048;
/// LZ4 size of what can still be called text, bytes of a block.
const LEAST_PACKED: f64 = 0.9 * BLOCK as f64;
/// Attempts at a text.
const TRIED: usize = 64;
/// Attempts after which less is shared.
const LESS: usize = 8;
/// Bytes by which a text without its tail may be too small; for larger differences another factor is tried.
const CLOSE: usize = 64;

/// The texts of one target's content.
#[derive(Debug, Clone, Default)]
pub(crate) struct Texts {
    bytes: Vec<u8>,
    /// The place at which the tail of each begins.
    tails: Vec<u16>,
}

impl Texts {
    /// The text of a content, one of the `count` from `first` on. Contents that follow each other have different texts.
    #[inline]
    pub fn text_of(&self, first: u32, count: u32, id: ContentId) -> Text<'_> {
        let number = first as usize + (id.0 % u64::from(count.max(1))) as usize;
        let start = number * BLOCK;
        Text { bytes: &self.bytes[start..start + BLOCK], tail: usize::from(self.tails[number]) }
    }
}

/// Writes texts.
pub(crate) struct TextWriter {
    texture: ProfileTexture,
    lz4: Lz4,
    rng: SplitMix64,
    vocabularies: [Option<Vec<u8>>; VOCABULARIES],
    pub texts: Texts,
}

impl TextWriter {
    pub fn new(texture: ProfileTexture) -> Self {
        let rng = Seed(1).derive("texts").generator();
        Self {
            texture,
            lz4: Lz4::new(),
            rng,
            vocabularies: Default::default(),
            texts: Texts::default(),
        }
    }

    /// Writes `count` texts of this LZ4 size; gives the number of the first, or `None` where none can be had.
    pub fn write(&mut self, size: usize, count: usize) -> Option<u32> {
        if !SIZES.contains(&size) {
            return None;
        }
        let drawn = Drawn::of(&self.texture, size)?;
        let first = self.texts.tails.len();
        let mut factor = ONE;
        for _ in 0..count {
            match self.text(size, &drawn, &mut factor) {
                Some((bytes, tail)) => {
                    self.texts.bytes.extend(bytes);
                    self.texts.tails.push(tail as u16);
                }
                None => {
                    self.texts.bytes.truncate(first * BLOCK);
                    self.texts.tails.truncate(first);
                    return None;
                }
            }
        }
        Some(first as u32)
    }

    /// A text of exactly this size, and where its tail begins. `factor` is what the last one was written with.
    fn text(&mut self, size: usize, drawn: &Drawn, factor: &mut u64) -> Option<(Vec<u8>, usize)> {
        let shared = self.vocabulary(size);
        self.text_after(&shared, size, drawn, factor)
    }

    fn text_after(
        &mut self,
        shared: &Shared,
        size: usize,
        drawn: &Drawn,
        factor: &mut u64,
    ) -> Option<(Vec<u8>, usize)> {
        for tried in 0..TRIED {
            // If so much is shared that the rest cannot make up for it, less is shared.
            let length = shared.length * (TRIED - tried / LESS * LESS) / TRIED;
            let mut text = Passage::after(shared.pieces(length, &mut self.rng), &mut self.rng);
            text.write(drawn, *factor, BLOCK, &mut self.rng);
            let bytes = text.bytes;
            let least = self.size_with_tail(&bytes, *TAIL.start())?;
            // Literals grow with the factor, and so does the size.
            if least > size {
                *factor = (*factor * 31 / 32).max(8);
                continue;
            }
            if least + CLOSE < size {
                *factor = (*factor * 33 / 32 + 1).min(64 * ONE);
                if tried < TRIED / 2 || least + (TAIL.end() - TAIL.start()) / 2 < size {
                    continue;
                }
            }
            if let Some(tail) = self.tail(&bytes, size) {
                let mut bytes = bytes;
                bytes[BLOCK - tail - 1] ^= 0x55;
                return Some((bytes, BLOCK - tail));
            }
        }
        None
    }

    /// Finds the number of random bytes behind the text with which the block has exactly this LZ4 size.
    fn tail(&mut self, bytes: &[u8], size: usize) -> Option<usize> {
        let (mut low, mut high) = TAIL.into_inner();
        while low < high {
            let middle = low.midpoint(high);
            if self.size_with_tail(bytes, middle)? < size {
                low = middle + 1;
            } else {
                high = middle;
            }
        }
        (self.size_with_tail(bytes, low)? == size).then_some(low)
    }

    fn size_with_tail(&mut self, bytes: &[u8], tail: usize) -> Option<usize> {
        let mut block: [u8; BLOCK] = bytes.try_into().ok()?;
        let mut rng = Seed(tail as u64).generator();
        // A last literal, so that no tail makes the last match longer.
        block[BLOCK - tail - 1] ^= 0x55;
        block[BLOCK - tail..].iter_mut().for_each(|byte| *byte = rng.next_u64() as u8);
        self.lz4.size(&block).ok()
    }

    /// The beginning that blocks of about this size share.
    fn vocabulary(&mut self, size: usize) -> Shared {
        let level = size * VOCABULARIES / (BLOCK + 1);
        let middle = BLOCK * (2 * level + 1) / (2 * VOCABULARIES);
        if self.vocabularies[level].is_none() {
            let drawn = Drawn::of(&self.texture, middle);
            let text = drawn.and_then(|drawn| {
                self.text_after(
                    &Shared { all: Vec::new(), length: 0, piece: 1 },
                    middle,
                    &drawn,
                    &mut ONE.clone(),
                )
            });
            self.vocabularies[level] =
                Some(text.map_or(Vec::new(), |text| text.0[LANE..text.1].to_vec()));
        }
        let share = (self.texture.shared_percent / 100.0).clamp(0.0, MOST_SHARED);
        // Limits the shared part, so that it takes no more than its share of the size, and the rest need not exceed the size of text.
        let (size, middle) = (size as f64, middle as f64);
        let most = (LEAST_PACKED - size) / (LEAST_PACKED - middle);
        let length = BLOCK as f64 * share.min(most.max(0.0)) * (size / middle).min(1.0);
        // Data that has more in common has it in longer pieces.
        let distinct = 1.0 - share;
        let piece = (*PIECE.start() as f64 / (distinct * distinct.sqrt())) as usize;
        let piece = piece.min(*PIECE.end());
        let all = self.vocabularies[level].clone().unwrap_or_default();
        Shared { all, length: length as usize, piece }
    }
}

/// A vocabulary, and how much of it a block has.
struct Shared {
    all: Vec<u8>,
    length: usize,
    piece: usize,
}

impl Shared {
    /// Returns `length` bytes of it, cut into pieces in random order.
    fn pieces(&self, length: usize, rng: &mut SplitMix64) -> Vec<u8> {
        let first = 1 + rng.below(self.piece as u64) as usize;
        let (head, rest) = self.all.split_at(first.min(self.all.len()));
        let mut pieces: Vec<_> = std::iter::once(head).chain(rest.chunks(self.piece)).collect();
        for i in (1..pieces.len()).rev() {
            pieces.swap(i, rng.below(i as u64 + 1) as usize);
        }
        let mut bytes = pieces.concat();
        bytes.truncate(length);
        bytes
    }
}

/// A text that is being written.
struct Passage {
    bytes: Vec<u8>,
    /// The places of literals: LZ4 finds matches of these.
    places: Vec<u16>,
    /// The byte that would make the last match longer.
    avoid: Option<u8>,
}

impl Passage {
    /// A text that begins with a vocabulary, but for the lane in front of it.
    fn after(shared: Vec<u8>, rng: &mut SplitMix64) -> Self {
        let mut passage =
            Self { bytes: Vec::with_capacity(2 * BLOCK), places: Vec::new(), avoid: None };
        (0..LANE).for_each(|_| passage.bytes.push(rng.next_u64() as u8));
        passage.bytes.extend(shared);
        passage.places.extend((LANE..passage.bytes.len().saturating_sub(8)).map(|at| at as u16));
        (0..8).for_each(|_| passage.literal(rng));
        passage
    }

    fn literal(&mut self, rng: &mut SplitMix64) {
        let mut byte = rng.next_u64() as u8;
        if self.avoid.take() == Some(byte) {
            byte ^= 1;
        }
        self.places.push(self.bytes.len() as u16);
        self.bytes.push(byte);
    }

    fn write(&mut self, drawn: &Drawn, factor: u64, upto: usize, rng: &mut SplitMix64) {
        while self.bytes.len() < upto {
            let sequence = drawn.draw(factor, rng);
            (0..sequence.literals).for_each(|_| self.literal(rng));
            let source = if sequence.run { self.run(rng) } else { self.source(rng) };
            for at in source..source + sequence.matched as usize {
                self.bytes.push(self.bytes[at]);
            }
            self.avoid = self.bytes.get(source + sequence.matched as usize).copied();
            if self.bytes.len() > 2 * BLOCK {
                break;
            }
        }
        self.bytes.truncate(upto);
    }

    fn run(&self, rng: &mut SplitMix64) -> usize {
        self.bytes.len() - [1, 1, 2, 4][rng.below(4) as usize]
    }

    /// Returns a place to copy a match from, such that the match does not grow longer on either side.
    fn source(&self, rng: &mut SplitMix64) -> usize {
        let end = self.bytes.len();
        let near = self.places.partition_point(|&place| usize::from(place) + 9 < end).max(1);
        let mut source = LANE + 1;
        for _ in 0..8 {
            // The byte before it must belong to the text: a byte of the lane might make the match longer.
            source = usize::from(self.places[rng.below(near as u64) as usize]).max(LANE + 1);
            if self.bytes[source - 1] != self.bytes[end - 1]
                && Some(self.bytes[source]) != self.avoid
            {
                break;
            }
        }
        source
    }
}
