//! Content ids, and how they are put together.
//!
//! Bit 63 is set, so that no id is that of zero. Below it, the sum of a base drawn from the run's seed (62 bits) and of
//! an offset that says where the content comes from: generator (10 bits), kind (2), series (12), ordinal (36). Two
//! runs with different seeds share an id with a probability of about (generators x series)^2 x contents / 2^61.

use units::Seed;

/// The id of a block's content. Within a load, equal ids mean equal bytes and different ids mean different bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ContentId(pub u64);

impl ContentId {
    /// The content of a zero block.
    pub const ZERO: Self = Self(0);
}

/// The kind of content that an id stands for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum ContentKind {
    /// Written for the first time when its turn came (and as duplicates later).
    New,
    /// One of a set of contents that come again and again.
    Pool,
    /// The bytes of a content and of its successor, out of line with blocks.
    Shifted,
}

impl ContentKind {
    const ALL: [Self; 3] = [Self::New, Self::Pool, Self::Shifted];
}

/// An id taken apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Parts {
    /// The generator that made it: that of a target or of a stage, below [`Parts::GENERATORS`].
    pub generator: u16,
    /// The kind of content.
    pub kind: ContentKind,
    /// Written scope: the job whose content it is, 0 where jobs share theirs. Live scope: the place of its size among all
    /// sizes, in 4096ths.
    pub series: u16,
    /// Number of the content in its series, below 2^36.
    pub ordinal: u64,
}

const ORDINAL_BITS: u32 = 36;
const SERIES_BITS: u32 = 12;
const KIND_BITS: u32 = 2;
const GENERATOR_BITS: u32 = 10;

impl Parts {
    /// Generators that ids can tell apart.
    pub const GENERATORS: u16 = 1 << GENERATOR_BITS;
    /// Series (jobs) that ids can tell apart.
    pub const SERIES: u16 = 1 << SERIES_BITS;
    /// Contents in a series: 256 TiB of them at 4 KiB.
    pub const ORDINALS: u64 = 1 << ORDINAL_BITS;
}

/// Puts ids together and takes them apart.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Ids {
    base: u64,
}

impl Ids {
    /// The ids of a run.
    pub fn new(seed: Seed) -> Self {
        Self { base: 1 << 63 | seed.derive("content").0 >> 2 }
    }

    /// The id of `parts`; what is too large for its field is cut.
    #[inline]
    pub fn id(self, parts: Parts) -> ContentId {
        let kind = match parts.kind {
            ContentKind::New => 0,
            ContentKind::Pool => 1,
            ContentKind::Shifted => 2,
        };
        let head = u64::from(parts.generator & (Parts::GENERATORS - 1)) << KIND_BITS | kind;
        let series = head << SERIES_BITS | u64::from(parts.series & (Parts::SERIES - 1));
        ContentId(self.base + (series << ORDINAL_BITS | parts.ordinal & (Parts::ORDINALS - 1)))
    }

    /// The parts of `id`; `None` for zero and for ids of other runs (those whose base is far off).
    #[inline]
    pub fn parts(self, id: ContentId) -> Option<Parts> {
        let offset = id.0.checked_sub(self.base)?;
        let mut rest = offset >> ORDINAL_BITS;
        let mut field = |bits: u32| {
            let value = rest & ((1 << bits) - 1);
            rest >>= bits;
            value
        };
        let (series, kind, generator) =
            (field(SERIES_BITS) as u16, field(KIND_BITS), field(GENERATOR_BITS) as u16);
        let kind = ContentKind::ALL.get(kind as usize).copied();
        let parts =
            Parts { generator, kind: kind?, series, ordinal: offset & (Parts::ORDINALS - 1) };
        (rest == 0).then_some(parts)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_id_is_taken_apart_into_what_it_was_made_of() {
        for seed in [0, 1, u64::MAX, 77] {
            let ids = Ids::new(Seed(seed));
            for generator in [0, 1, 1023] {
                for series in [0, 5, 4095] {
                    for (ordinal, kind) in [0, 1, (1 << 36) - 1].into_iter().zip(ContentKind::ALL) {
                        let parts = Parts { generator, kind, series, ordinal };
                        let id = ids.id(parts);
                        assert!(id.0 >= 1 << 63);
                        assert_eq!(ids.parts(id), Some(parts));
                    }
                }
            }
            assert_eq!(ids.parts(ContentId::ZERO), None);
            assert_eq!(ids.parts(ContentId(u64::MAX)), None);
        }
    }
}
