//! A range divided into pieces of several sizes: a pass that visits each piece once touches each byte once.

use units::Seed;

use crate::block_size::divisor;
use crate::sizes::Sizes;
use crate::{BlockSize, divided, seeds};

/// Least number of pieces after which the order of sizes repeats.
const ROW: u64 = 1024;

/// One I/O of a pass.
#[derive(Debug, Clone, Copy)]
struct Piece {
    /// Its start, bytes.
    start: u64,
    /// Bytes of all pieces before it.
    before: u64,
    length: u32,
}

/// Pieces side by side.
#[derive(Debug, Clone, Default)]
struct Row {
    pieces: Box<[Piece]>,
    /// Distance from the start of the first piece to the start of whatever follows the last, bytes.
    span: u64,
    /// Bytes of all its pieces.
    bytes: u64,
}

impl Row {
    fn of(lengths: impl Iterator<Item = u32>, align: u64) -> Self {
        let mut row = Self::default();
        let piece = |length: u32| {
            let piece = Piece { start: row.span, before: row.bytes, length };
            row.span += span(length, align);
            row.bytes += u64::from(length);
            piece
        };
        let pieces = lengths.map(piece).collect();
        Self { pieces, ..row }
    }
}

/// Returns the space that a piece takes in the range: the next piece starts at the next multiple of `align`.
fn span(length: u32, align: u64) -> u64 {
    u64::from(length).div_ceil(align) * align
}

/// The pieces of a range: as many whole decks of sizes as fit, then pieces of one more deck, the last one cut to the remaining space. Their number
/// and lengths depend only on sizes and range; their positions depend on the seed too.
#[derive(Debug, Clone)]
pub(crate) struct Pieces {
    /// Whole decks in random order; this row is repeated.
    row: Row,
    /// Number of pieces in whole decks.
    whole: u64,
    /// The pieces behind the whole decks.
    rest: Row,
    /// The position of these remaining pieces.
    rest_at: Piece,
}

impl Pieces {
    /// Returns the unit of space for pieces of `sizes`: the used part of a range is a multiple of it, bytes. It is never larger than the space of the
    /// smallest piece.
    pub(crate) fn unit(sizes: &BlockSize, align: u64) -> u64 {
        Self::units(&Sizes::new(sizes, align, Seed(0)), align).0
    }

    /// Returns two units, in bytes: the used part of the range is a multiple of the first, the length of a cut piece a multiple of the second.
    fn units(sizes: &Sizes, align: u64) -> (u64, u64) {
        let common = sizes.each().fold(0, |common, size| divisor(common, size.into())).max(1);
        (if common.is_multiple_of(align) { common } else { align }, common)
    }

    /// Divides a range of `bytes` bytes into pieces.
    pub(crate) fn new(block_size: &BlockSize, align: u64, bytes: u64, seed: Seed) -> Self {
        // A fixed seed, since amounts must be known before there is a seed.
        let mut sizes = Sizes::new(block_size, align, Seed(0));
        let (unit, common) = Self::units(&sizes, align);
        let bytes = bytes / unit * unit;
        let deck_len = sizes.deck_len();
        let deck: Vec<u32> = (0..deck_len).map(|_| sizes.next()).collect();
        let deck_span: u64 = deck.iter().map(|&length| span(length, align)).sum();
        let decks = bytes / deck_span;
        let mut left = bytes % deck_span;
        let mut rest = Vec::new();
        for length in deck {
            let fitted = match span(length, align) <= left {
                true => length,
                false => (left / common * common) as u32,
            };
            left -= span(fitted, align).min(left);
            rest.extend((fitted > 0).then_some(fitted));
        }
        let mut rng = seeds::nth(seed, u64::MAX).generator();
        for last in (1..rest.len()).rev() {
            rest.swap(last, rng.below(last as u64 + 1) as usize);
        }
        let mut sizes = Sizes::new(block_size, align, seed);
        let row = decks.min(ROW.div_ceil(deck_len)) * deck_len;
        let row = Row::of((0..row).map(|_| sizes.next()), align);
        let deck_bytes =
            if decks > 0 { row.bytes / (row.pieces.len() as u64 / deck_len) } else { 0 };
        let rest_at = Piece { start: decks * deck_span, before: decks * deck_bytes, length: 0 };
        Self { row, whole: decks * deck_len, rest: Row::of(rest.into_iter(), align), rest_at }
    }

    /// Returns the number of pieces.
    pub(crate) fn count(&self) -> u64 {
        self.whole + self.rest.pieces.len() as u64
    }

    /// Bytes of all pieces.
    pub(crate) fn bytes(&self) -> u64 {
        self.rest_at.before + self.rest.bytes
    }

    /// Returns start (counted from the start of the range) and length of piece number `place`.
    #[inline]
    pub(crate) fn at(&self, place: u64) -> (u64, u32) {
        if let Some(place) = place.checked_sub(self.whole) {
            return self
                .rest
                .pieces
                .get(place as usize)
                .map_or((0, 0), |piece| (self.rest_at.start + piece.start, piece.length));
        }
        let (rows, within) = divided(place, self.row.pieces.len() as u64);
        let piece = self.row.pieces[within as usize];
        (rows * self.row.span + piece.start, piece.length)
    }

    /// Bytes of the pieces before number `place`; if `place` is the number of all pieces, their total.
    pub(crate) fn before(&self, place: u64) -> u64 {
        if let Some(place) = place.checked_sub(self.whole) {
            let piece = self.rest.pieces.get(place as usize);
            return self.rest_at.before + piece.map_or(self.rest.bytes, |piece| piece.before);
        }
        let (rows, within) = divided(place, self.row.pieces.len() as u64);
        rows * self.row.bytes + self.row.pieces[within as usize].before
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::{prop_assert, prop_assert_eq, proptest};

    use super::*;

    proptest! {
        #[test]
        fn pieces_lie_side_by_side_and_their_number_does_not_depend_on_the_seed(
            sizes in proptest::sample::select(vec!["4k=50,64k=50", "4k..64k", "8k=99.5,12k=0.5", "512=1,1M=99"]),
            align in proptest::sample::select(vec![0, 512, 4096, 65_536]),
            bytes in 1_048_576u64..40_000_000, seed: u64,
        ) {
            let sizes: BlockSize = sizes.parse().unwrap();
            let align = if align == 0 { sizes.common() } else { align };
            let pieces = Pieces::new(&sizes, align, bytes, Seed(seed));
            let (mut end, mut sum) = (0, 0);
            for place in 0..pieces.count() {
                let (start, length) = pieces.at(place);
                prop_assert_eq!((start, pieces.before(place)), (end, sum));
                prop_assert!(length > 0);
                end = start + span(length, align);
                sum += u64::from(length);
            }
            prop_assert!(end <= bytes && bytes - end < Pieces::unit(&sizes, align).max(align));
            prop_assert_eq!((sum, pieces.before(pieces.count())), (pieces.bytes(), sum));
            prop_assert_eq!(pieces.count(), Pieces::new(&sizes, align, bytes, Seed(!seed)).count());
        }
    }

    #[test]
    fn each_size_has_its_share_and_one_piece_at_most_is_cut() {
        let sizes: BlockSize = "4k=50,64k=50".parse().unwrap();
        // 14 times both sizes, and a rest of 16 KiB, which cannot hold a piece of 64 KiB.
        let pieces = Pieces::new(&sizes, 4096, 242 * 4096, Seed(7));
        let lengths: Vec<u32> = (0..pieces.count()).map(|place| pieces.at(place).1).collect();
        let of = |length| lengths.iter().filter(|&&other| other == length).count();
        assert_eq!(
            (of(4096) - of(65_536)) + 2 * of(65_536),
            lengths.len() - 1 + usize::from(of(16_384) == 0)
        );
        assert_eq!(of(65_536), 14);
    }

    #[test]
    fn sizes_come_in_a_random_order() {
        let sizes: BlockSize = "4k=50,64k=50".parse().unwrap();
        let order = |seed| {
            let pieces = Pieces::new(&sizes, 4096, 1 << 30, Seed(seed));
            (0..200).map(|place| pieces.at(place).1).collect::<Vec<_>>()
        };
        assert_ne!(order(1), order(2));
        let swapped = order(1).chunks(2).filter(|pair| pair[0] < pair[1]).count();
        assert!((25..75).contains(&swapped), "{swapped} of 100");
    }
}
