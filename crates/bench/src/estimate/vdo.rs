//! Estimates against real dm-vdo: each corpus is copied onto one volume from a read-only disk, then the engine writes the data that its profile
//! reproduces; after each of these the volume is brought to rest and its statistics are read.

use std::path::PathBuf;

use results::ResultSet;
use results::model::{CellState, Row, SampleRow};
use serde::{Deserialize, Serialize};

/// Mark of the readings at rest after a stage.
const SETTLED: &str = "stage_settled";
/// Bytes of one write: so few blocks at once that VDO nearly keeps their order, yet enough that an emulated guest is not too slow.
pub const WRITE: u64 = 16 << 10;
/// Pause after each write of a set that a profile made. The originals are copied: between two writes another disk is read, while VDO, which
/// acknowledges a write early, goes on with the one before. Without a pause more blocks of a load are under way, meet the packer out of order, and
/// pack better.
const PAUSE: &str = "1ms";
/// Stretches of the volume begin at multiples of this.
const STRETCH: u64 = 16 << 20;

/// Data that is estimated and written.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Corpus {
    /// Its name.
    pub name: String,
    /// An image of whole blocks of 4 KiB.
    pub image: PathBuf,
    /// Its size.
    pub bytes: u64,
    /// Bytes at its start that are written with deduplication off.
    pub forgotten_bytes: u64,
    /// Its profile.
    pub profile: PathBuf,
}

/// Shares of saved, duplicate and packed blocks of a volume, in percent of all its blocks.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Shares {
    /// Blocks saved.
    pub saving_percent: f64,
    /// Duplicates that were stored once.
    pub duplicate_percent: f64,
    /// Blocks that were stored as fragments.
    pub fragment_percent: f64,
}

impl Shares {
    /// Returns the shares of `blocks`, `zeros` of which are zero blocks, and `stored` of which are neither zero blocks nor duplicates that were
    /// found.
    pub fn of(blocks: u64, zeros: u64, stored: u64, fragments: u64, physical: u64) -> Self {
        let percent = |part: u64| 100.0 * part as f64 / blocks.max(1) as f64;
        Self {
            saving_percent: 100.0 - percent(physical),
            duplicate_percent: 100.0 - percent(zeros + stored),
            fragment_percent: percent(fragments),
        }
    }

    /// The largest difference, points.
    pub fn distance(&self, other: &Self) -> f64 {
        let of = |figure: fn(&Self) -> f64| (figure(self) - figure(other)).abs();
        of(|s| s.saving_percent).max(of(|s| s.duplicate_percent)).max(of(|s| s.fragment_percent))
    }
}

/// Growth of VDO's counters.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
pub struct Growth {
    /// `dataBlocksUsed`.
    pub data_blocks: u64,
    /// `packer.compressedFragmentsWritten`.
    pub fragments: u64,
    /// `packer.compressedBlocksWritten`.
    pub packed_blocks: u64,
    /// `hashLock.dedupeAdviceValid`: duplicates that the index found.
    pub advice_valid: u64,
    /// `hashLock.concurrentDataMatches`: duplicates of blocks that were under way.
    pub concurrent_matches: u64,
}

impl Growth {
    /// Returns the growth as shares of `blocks`, `zeros` of which are zero blocks (VDO does not count those separately).
    pub fn shares(&self, blocks: u64, zeros: u64) -> Shares {
        let stored = (self.data_blocks + self.fragments).saturating_sub(self.packed_blocks);
        Shares::of(blocks, zeros, stored, self.fragments, self.data_blocks)
    }

    fn and(self, other: Self) -> Self {
        Self {
            data_blocks: self.data_blocks + other.data_blocks,
            fragments: self.fragments + other.fragments,
            packed_blocks: self.packed_blocks + other.packed_blocks,
            advice_valid: self.advice_valid + other.advice_valid,
            concurrent_matches: self.concurrent_matches + other.concurrent_matches,
        }
    }
}

/// Growth of VDO's counters by the data of one corpus.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct Stored {
    /// Growth by the corpus itself.
    pub original: Growth,
    /// Growth by the data that its profile reproduces.
    pub reproduced: Growth,
}

/// Bytes of the set that is reproduced: whole writes.
pub fn reproduced_bytes(corpus: &Corpus) -> u64 {
    (corpus.bytes / WRITE * WRITE).max(WRITE)
}

/// The experiment: one cell, whose stages write one stretch of the volume each.
pub fn experiment(corpora: &[Corpus]) -> String {
    let stretch = |bytes: u64| bytes.next_multiple_of(STRETCH);
    let all: u64 = corpora.iter().map(|c| 2 * stretch(c.bytes)).sum();
    let gib = all.div_ceil(1 << 30);
    let mut text = format!(
        "name = \"estimate-on-vdo\"\n\
         about = \"What dm-vdo stores of data that was estimated, and of sets made from their profiles\"\n\
         repeat = 1\n[devices.data]\nsize = \"{}G\"\n",
        gib + 7
    );
    for (n, corpus) in corpora.iter().enumerate() {
        text += &format!("[devices.corpus{n}]\nfile = {:?}\n", corpus.image.display().to_string());
    }
    text += &format!(
        "[[stack]]\nlayer = \"vdo\"\non = \"data\"\nlogical_size = \"{gib}G\"\n\
         [[stage]]\ndo = \"allocate\"\nsettle = true\n"
    );
    let mut at = 0;
    for (n, corpus) in corpora.iter().enumerate() {
        let forgotten = corpus.forgotten_bytes.min(corpus.bytes);
        if forgotten > 0 {
            text += &copy(n, "forgotten", [0, at, forgotten]);
            text += "set.\"vdo.dedupe\" = false\n";
        }
        if forgotten < corpus.bytes {
            text += &copy(n, "copy", [forgotten, at + forgotten, corpus.bytes - forgotten]);
            text += if forgotten > 0 { "set.\"vdo.dedupe\" = true\n" } else { "" };
        }
        at += stretch(corpus.bytes);
    }
    for (n, corpus) in corpora.iter().enumerate() {
        text += &format!(
            "[[stage]]\ndo = \"load\"\nname = \"{n}-reproduced\"\nmeasure = true\nsettle = true\n\
             ops = {{ write = 100 }}\nblock_size = {WRITE}\ndepth = 1\nthink = \"{PAUSE}\"\npasses = 1\n\
             offset = {at}\nsize = {}\n\
             content = {{ profile = {:?} }}\n",
            reproduced_bytes(corpus),
            corpus.profile.display().to_string(),
        );
        at += stretch(corpus.bytes);
    }
    text
}

fn copy(n: usize, what: &str, [from, to, bytes]: [u64; 3]) -> String {
    format!(
        "[[stage]]\ndo = \"copy\"\nname = \"{n}-{what}\"\nfrom = \"corpus{n}\"\nsettle = true\nblock_size = {WRITE}\n\
         from_offset = {from}\noffset = {to}\nsize = {bytes}\n"
    )
}

/// Reads what VDO stored from the result of [`experiment()`].
///
/// # Errors
/// When a part of the result is missing; the error names it.
pub fn stored(result: &ResultSet, corpora: &[Corpus]) -> Result<Vec<Stored>, String> {
    let cell = result.cells.first().ok_or("the result holds no cell")?;
    let record = cell.record.as_ref().ok_or("the cell was never recorded")?;
    if record.state != CellState::Done {
        let reason = record.reason.as_deref().unwrap_or("no reason is known");
        return Err(format!("the cell is not done: {reason}"));
    }
    let samples = cell.rows.iter().filter_map(|row| match row {
        Row::Sample(sample) => Some(sample),
        _ => None,
    });
    let rest: Vec<&SampleRow> =
        samples.filter(|s| s.source == "vdo.stats" && s.mark.as_deref() == Some(SETTLED)).collect();
    let mut grown = rest.windows(2).map(|pair| growth(pair[0], pair[1]));
    let mut next = || grown.next().ok_or("VDO was not read after every stage")?;
    let mut all = Vec::new();
    for corpus in corpora {
        let mut original = Growth::default();
        let forgotten = corpus.forgotten_bytes.min(corpus.bytes);
        for part in [forgotten, corpus.bytes - forgotten] {
            original = if part > 0 { original.and(next()?) } else { original };
        }
        all.push(Stored { original, reproduced: Growth::default() });
    }
    for stored in &mut all {
        stored.reproduced = next()?;
    }
    Ok(all)
}

fn growth(before: &SampleRow, after: &SampleRow) -> Result<Growth, String> {
    let grown = |field: &str| {
        let get = |row: &SampleRow| row.fields.get(field).copied().flatten();
        let grown = get(after).zip(get(before)).map(|(after, before)| (after - before) as u64);
        grown.ok_or_else(|| format!("VDO's statistics do not hold {field}"))
    };
    Ok(Growth {
        data_blocks: grown("dataBlocksUsed")?,
        fragments: grown("packer.compressedFragmentsWritten")?,
        packed_blocks: grown("packer.compressedBlocksWritten")?,
        advice_valid: grown("hashLock.dedupeAdviceValid")?,
        concurrent_matches: grown("hashLock.concurrentDataMatches")?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn corpus(bytes: u64, forgotten_bytes: u64) -> Corpus {
        Corpus {
            name: "c".into(),
            image: "/c.img".into(),
            bytes,
            forgotten_bytes,
            profile: "/c.json".into(),
        }
    }

    #[test]
    fn counters_become_shares_of_all_blocks() {
        // 1000 blocks: 100 zero, 400 found duplicates; 300 of the rest as fragments in 100 blocks, 200 whole.
        let growth =
            Growth { data_blocks: 300, fragments: 300, packed_blocks: 100, ..Growth::default() };
        let shares = growth.shares(1000, 100);
        assert_eq!(
            (shares.saving_percent, shares.duplicate_percent, shares.fragment_percent),
            (70.0, 40.0, 30.0)
        );
        let other = Growth { fragments: 320, ..growth }.shares(1000, 100);
        assert!((shares.distance(&other) - 2.0).abs() < 1e-9);
    }

    #[test]
    fn every_corpus_has_its_stages_and_stretches_do_not_meet() {
        let text = experiment(&[corpus(40 << 20, 0), corpus(100 << 20, 30 << 20)]);
        assert_eq!(text.matches("do = \"copy\"").count(), 3);
        assert_eq!(text.matches("do = \"load\"").count(), 2);
        assert!(text.contains("name = \"1-forgotten\"") && text.contains("logical_size = \"1G\""));
        let off = text.find("set.\"vdo.dedupe\" = false").unwrap();
        assert!(text.find("set.\"vdo.dedupe\" = true").unwrap() > off);
        // 48 MiB for the first; the second's rest begins behind its forgotten part.
        assert!(text.contains(&format!("offset = {}\nsize = {}\n", 78 << 20, 70 << 20)), "{text}");
    }
}
