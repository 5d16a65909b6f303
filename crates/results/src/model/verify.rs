//! The figures of verification: blocks that are right, and blocks that are wrong in each way.

use serde::{Deserialize, Deserializer, Serialize, Serializer};
use units::show;

/// The way in which a block is wrong.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WrongKind {
    /// A known content in which some bits or sectors are damaged.
    Corrupt,
    /// Some sectors of one content, the others of another.
    Torn,
    /// An older block of this address: a write was lost.
    Stale,
    /// An intact block that belongs to another address.
    Misplaced,
    /// Zeros where there was data.
    Zeros,
    /// Data that the load never wrote to its targets.
    Foreign,
}

impl WrongKind {
    /// All kinds.
    pub const ALL: [Self; 6] =
        [Self::Corrupt, Self::Torn, Self::Stale, Self::Misplaced, Self::Zeros, Self::Foreign];

    /// The word for it.
    pub fn word(self) -> &'static str {
        match self {
            Self::Corrupt => "corrupt",
            Self::Torn => "torn",
            Self::Stale => "stale",
            Self::Misplaced => "misplaced",
            Self::Zeros => "zeros",
            Self::Foreign => "foreign",
        }
    }
}

/// A block whose content is not what its address must hold.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct WrongBlock {
    /// Time at which it was read, nanoseconds since the run's epoch.
    pub at_ns: u64,
    /// Number of the target in the load, from 0.
    pub target: u32,
    /// Its offset on the target, bytes.
    pub offset: u64,
    /// Size of the block, bytes.
    pub length: u32,
    /// The way in which it is wrong.
    pub kind: WrongKind,
    /// The content id expected there, in hexadecimal; `None` where only its short hash was kept.
    pub expected: Option<String>,
    /// The content id found there, or that of most of the block; `None` for zeros and for foreign data.
    pub found: Option<String>,
    /// Indices of the wrong sectors of 512 bytes, from 0 within the block.
    pub sectors: Vec<u32>,
    /// Indices of the wrong bits, from 0 within the block; at most 16 of them.
    pub bits: Vec<u32>,
    /// The place where a misplaced block belongs: number of the target and offset in bytes, the first of `homes`.
    pub home: Option<(u32, u64)>,
    /// Number of addresses that must hold the misplaced content.
    pub homes: u64,
}

/// Counts of blocks that reads checked against the content that their addresses must hold.
///
/// A block that was read is checked, and found correct or wrong, if it is known what was written there. All other blocks are untouched, unwritten,
/// discarded or unsure.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(default, remote = "Self")]
pub struct VerifyFigures {
    /// Number of blocks that were read whole.
    pub read: u64,
    /// Number of these that were checked.
    pub checked: u64,
    /// Number of checked blocks that were right.
    pub correct: u64,
    /// Number of blocks that were never written and held zeros, as in a new file: right, but no proof of any write.
    pub untouched: u64,
    /// Number of blocks that were never written, or whose write failed: they may hold anything. Before 28 November 2026 also discarded ones.
    pub unwritten: u64,
    /// Number of blocks that were discarded, on a device, which may return anything for them.
    pub discarded: u64,
    /// Number of blocks that changed several times while they were read, so that they cannot be judged.
    pub unsure: u64,
    /// Bytes that were read but do not form a whole block, so that they were not checked.
    pub partial_bytes: u64,
    /// Memory for the state of the targets' blocks, bytes; 0 where no state was needed to know what must be there.
    pub table_bytes: u64,
    /// Number of blocks made of two writes.
    pub torn: u64,
    /// Number of blocks that held an older write of the same address.
    pub stale: u64,
    /// Number of blocks that held the data of another address.
    pub misplaced: u64,
    /// Number of blocks with damaged bits or sectors.
    pub corrupt: u64,
    /// Number of blocks that held zeros where there was data.
    pub zeros: u64,
    /// Number of blocks that held data that was never written.
    pub foreign: u64,
    /// The first wrong blocks.
    pub wrong: Vec<WrongBlock>,
    /// The first wrong blocks, in sentences.
    pub first: Vec<String>,
}

impl Serialize for VerifyFigures {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        Self::serialize(self, to)
    }
}

impl<'de> Deserialize<'de> for VerifyFigures {
    /// Results from before 25 November 2026 have no `read`, and count every block that was read as checked.
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut found = Self::deserialize(from)?;
        if found.read < found.checked {
            found.read = found.checked;
            found.checked = found.checked.saturating_sub(found.unwritten + found.unsure);
        }
        Ok(found)
    }
}

impl VerifyFigures {
    /// Counts a block that was checked: wrong in the given way, or right.
    pub fn judged(&mut self, wrong: Option<WrongKind>) {
        self.checked += 1;
        match wrong {
            Some(kind) => *self.counter(kind) += 1,
            None => self.correct += 1,
        }
    }

    /// Describes the blocks that were read and not checked: `1,391 discarded and 2 that changed meanwhile`; `None` where there were none.
    fn unchecked(&self) -> Option<String> {
        let kinds = [
            (self.untouched, "never written"),
            (self.discarded, "discarded"),
            (self.unwritten, "of unknown content"),
            (self.unsure, "that changed meanwhile"),
        ];
        let some = kinds.iter().filter(|(count, _)| *count > 0);
        let parts = some.map(|(count, what)| format!("{} {what}", show::grouped(*count)));
        listed(&parts.collect::<Vec<_>>())
    }

    /// Returns the number of blocks that were wrong, of any kind.
    pub fn wrong_blocks(&self) -> u64 {
        WrongKind::ALL.iter().map(|&kind| self.count(kind)).sum()
    }

    /// Returns the number of blocks that were wrong in one way.
    pub fn count(&self, kind: WrongKind) -> u64 {
        match kind {
            WrongKind::Corrupt => self.corrupt,
            WrongKind::Torn => self.torn,
            WrongKind::Stale => self.stale,
            WrongKind::Misplaced => self.misplaced,
            WrongKind::Zeros => self.zeros,
            WrongKind::Foreign => self.foreign,
        }
    }

    /// Describes the kinds of wrong blocks and their numbers: `2 torn and 260 foreign`; `None` where no block was wrong.
    pub fn wrong_kinds(&self) -> Option<String> {
        let kinds = WrongKind::ALL.iter().filter(|&&kind| self.count(kind) > 0);
        let parts = kinds.map(|&k| format!("{} {}", show::grouped(self.count(k)), k.word()));
        listed(&parts.collect::<Vec<_>>())
    }

    /// Returns the error text of a load with wrong blocks: `verification found 260 foreign blocks among 8,192 checked`; `None` where no
    /// block was wrong.
    pub fn accusation(&self) -> Option<String> {
        let blocks = if self.wrong_blocks() == 1 { "block" } else { "blocks" };
        let checked = show::grouped(self.checked);
        Some(format!("verification found {} {blocks} among {checked} checked", self.wrong_kinds()?))
    }

    /// Counts one less of `from` and one more of `to`.
    pub fn rename(&mut self, from: WrongKind, to: WrongKind) {
        *self.counter(from) = self.counter(from).saturating_sub(1);
        *self.counter(to) += 1;
    }

    fn counter(&mut self, kind: WrongKind) -> &mut u64 {
        match kind {
            WrongKind::Corrupt => &mut self.corrupt,
            WrongKind::Torn => &mut self.torn,
            WrongKind::Stale => &mut self.stale,
            WrongKind::Misplaced => &mut self.misplaced,
            WrongKind::Zeros => &mut self.zeros,
            WrongKind::Foreign => &mut self.foreign,
        }
    }

    /// Adds the counts of `other`; its list of blocks is not taken over.
    pub fn add_counts(&mut self, other: &Self) {
        self.read += other.read;
        self.checked += other.checked;
        self.correct += other.correct;
        self.untouched += other.untouched;
        self.unwritten += other.unwritten;
        self.discarded += other.discarded;
        self.unsure += other.unsure;
        self.partial_bytes += other.partial_bytes;
        self.torn += other.torn;
        self.stale += other.stale;
        self.misplaced += other.misplaced;
        self.corrupt += other.corrupt;
        self.zeros += other.zeros;
        self.foreign += other.foreign;
    }
}

/// Joins parts as `a, b and c`; `None` where there are none.
fn listed(parts: &[String]) -> Option<String> {
    let (last, rest) = parts.split_last()?;
    Some(if rest.is_empty() { last.clone() } else { format!("{} and {last}", rest.join(", ")) })
}

/// Writes `262 wrong (2 torn and 260 foreign) of 8,187 checked, of 8,192 read; not checked: 5 discarded`; wrong blocks are only mentioned if any
/// block was checked.
impl std::fmt::Display for VerifyFigures {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        let (checked, read) = (show::grouped(self.checked), show::grouped(self.read));
        let rest = if self.checked == 0 {
            write!(f, "no block checked, of {read} read")?;
            ":"
        } else {
            write!(f, "{} wrong", show::grouped(self.wrong_blocks()))?;
            if let Some(kinds) = self.wrong_kinds() {
                write!(f, " ({kinds})")?;
            }
            write!(f, " of {checked} checked, of {read} read")?;
            "; not checked:"
        };
        self.unchecked().map_or(Ok(()), |unchecked| write!(f, "{rest} {unchecked}"))
    }
}

impl WrongBlock {
    /// Describes where the block is and how it is wrong; `targets` are the names of the load's targets.
    pub fn sentence(&self, targets: &[String]) -> String {
        let name = |target: u32| {
            let name = targets.get(target as usize);
            name.map_or_else(|| format!("target {target}"), String::clone)
        };
        let (kind, length) = (self.kind.word(), self.length);
        let mut text =
            format!("{kind}: {length} bytes at {} of {}", self.offset, name(self.target));
        match (&self.expected, &self.found) {
            (Some(expected), Some(found)) if expected == found => {
                text += &format!(", content {found}, spoilt");
            }
            (expected, found) => {
                let parts = [("expected", expected), ("found", found)];
                for (word, id) in
                    parts.iter().filter_map(|(word, id)| Some((word, (*id).as_ref()?)))
                {
                    text += &format!(", {word} content {id}");
                }
            }
        }
        if let Some((target, offset)) = self.home {
            text += &format!(", which belongs to {offset} of {}", name(target));
        }
        if self.homes > 1 {
            text += &format!(" (or to {} others)", self.homes - 1);
        }
        let all = self.length.div_ceil(512);
        if !self.sectors.is_empty() && (self.sectors.len() as u32) < all {
            text += &format!(", sectors {:?} of {all}", self.sectors);
        }
        if !self.bits.is_empty() {
            text += &format!(", bits {:?}", self.bits);
        }
        text
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_found_is_said_by_kind_and_count() {
        let clean =
            VerifyFigures { read: 8200, checked: 8192, correct: 8192, ..VerifyFigures::default() };
        assert_eq!(
            (clean.to_string().as_str(), clean.accusation()),
            ("0 wrong of 8,192 checked, of 8,200 read", None)
        );
        let one = VerifyFigures { foreign: 1, ..clean.clone() };
        let sentence = "verification found 1 foreign block among 8,192 checked";
        assert_eq!(one.accusation().as_deref(), Some(sentence));
        let many = VerifyFigures { torn: 2, stale: 1, foreign: 1260, ..clean };
        assert_eq!(
            many.to_string(),
            "1,263 wrong (2 torn, 1 stale and 1,260 foreign) of 8,192 checked, of 8,200 read"
        );
    }

    #[test]
    fn a_wrong_block_is_told_by_the_name_of_its_target_and_one_id_once() {
        let block = WrongBlock {
            at_ns: 0,
            target: 1,
            offset: 8192,
            length: 4096,
            kind: WrongKind::Corrupt,
            expected: Some("ab".into()),
            found: Some("ab".into()),
            sectors: vec![3],
            bits: vec![12_345],
            home: None,
            homes: 0,
        };
        let names = ["a.dat", "/dev/sdx"].map(str::to_owned);
        assert_eq!(
            block.sentence(&names),
            "corrupt: 4096 bytes at 8192 of /dev/sdx, content ab, spoilt, sectors [3] of 8, bits [12345]"
        );
        let moved = WrongBlock {
            kind: WrongKind::Misplaced,
            found: Some("cd".into()),
            home: Some((0, 512)),
            homes: 3,
            bits: Vec::new(),
            ..block
        };
        assert_eq!(
            moved.sentence(&names),
            "misplaced: 4096 bytes at 8192 of /dev/sdx, expected content ab, found content cd, which belongs to 512 of a.dat (or to 2 others), sectors [3] of 8"
        );
        assert!(moved.sentence(&[]).contains("of target 1, expected"));
    }

    #[test]
    fn without_a_block_that_was_checked_none_is_called_wrong_or_right() {
        let unknown = VerifyFigures { read: 1024, unwritten: 1024, ..VerifyFigures::default() };
        assert_eq!(
            unknown.to_string(),
            "no block checked, of 1,024 read: 1,024 of unknown content"
        );
        assert_eq!(VerifyFigures::default().to_string(), "no block checked, of 0 read");
        let holes = VerifyFigures { read: 1024, untouched: 1000, unwritten: 24, ..unknown };
        assert_eq!(
            holes.to_string(),
            "no block checked, of 1,024 read: 1,000 never written and 24 of unknown content"
        );
    }

    #[test]
    fn blocks_that_were_read_and_not_checked_are_named_by_kind_and_count() {
        let some = VerifyFigures { read: 5656, checked: 4265, correct: 4265, ..Default::default() };
        let discarded = VerifyFigures { discarded: 1391, ..some.clone() };
        assert_eq!(
            discarded.to_string(),
            "0 wrong of 4,265 checked, of 5,656 read; not checked: 1,391 discarded"
        );
        let several = VerifyFigures { discarded: 1300, unwritten: 90, unsure: 1, ..some };
        let said =
            "not checked: 1,300 discarded, 90 of unknown content and 1 that changed meanwhile";
        assert!(several.to_string().ends_with(said), "{several}");
    }

    #[test]
    fn results_that_counted_every_block_as_checked_are_read_as_if_they_had_not() {
        let old =
            r#"{"checked": 1000, "correct": 600, "unwritten": 300, "unsure": 98, "stale": 2}"#;
        let found: VerifyFigures = serde_json::from_str(old).unwrap();
        assert_eq!((found.read, found.checked, found.correct), (1000, 602, 600));
        let none: VerifyFigures =
            serde_json::from_str(r#"{"checked": 16384, "unwritten": 16384}"#).unwrap();
        assert_eq!((none.read, none.checked), (16_384, 0));
        for new in [found, none, VerifyFigures { read: 5, unsure: 5, ..Default::default() }] {
            let text = serde_json::to_string(&new).unwrap();
            assert_eq!(serde_json::from_str::<VerifyFigures>(&text).unwrap(), new);
        }
    }
}
