//! The verifier of a load: what its workers share (tables, known contents, wrong blocks and counts).
//!
//! Workers call it only when a block is not right: the block is diagnosed, classified and kept. The counts of a worker are added when it ends.

use std::sync::{Mutex, PoisonError};

use content::ContentId;
use results::model::{VerifyFigures, WrongBlock, WrongKind};
use workload::divided;

use super::computed::Computed;
use super::diagnosis::{Diagnosis, SECTOR, diagnose};
use super::expectations::Snapshot;
use super::expected_block::{DISCARDED, NEVER, Tag, ZERO, lower};
use super::expected_blocks::Width;
use super::known_contents::KnownContents;
use super::refine::{self, PastLoad};
use super::table::{Fit, Promises, Table};
use crate::error::EngineError;

/// Wrong blocks that are kept in full; all are counted.
const MAX_WRONG_BLOCKS_KEPT: usize = 1000;
/// Most addresses that are found in a search for the place where a misplaced block belongs.
const HOMES: usize = 64;
/// A tag that belongs to no content and no state.
const NOBODY: Tag = 4;

/// The table of one target, from its first block on.
pub(crate) struct TargetTable {
    pub(crate) table: Table,
}

/// The expected contents of all targets of a load, and the wrong blocks that were found.
pub struct Verifier {
    pub(crate) targets: Vec<TargetTable>,
    pub(crate) known_contents: KnownContents,
    unit: usize,
    /// The wrong blocks, each with the tag that its address had.
    wrong: Mutex<Vec<(WrongBlock, Tag)>>,
    /// Counts of workers that have ended.
    counted: Mutex<VerifyFigures>,
    /// Number of I/Os begun by workers that have ended: for each target, for each job.
    made: Mutex<Vec<Vec<u64>>>,
}

impl Verifier {
    /// A verifier for targets of these sizes in bytes, in blocks of `unit` bytes. A partial block at the end of a target is not verified.
    pub fn new(
        targets: &[(u64, Promises)],
        unit: usize,
        width: Width,
        known_contents: KnownContents,
    ) -> Result<Self, EngineError> {
        Self::with_tables(targets, unit, known_contents, |blocks, promises| {
            Table::new(width, blocks, promises)
        })
    }

    /// A verifier for loads that do not read what they write: without the memory that such reads need, since setting that up takes most of the time.
    pub fn still(
        targets: &[(u64, Promises)],
        unit: usize,
        width: Width,
        known_contents: KnownContents,
    ) -> Result<Self, EngineError> {
        Self::with_tables(targets, unit, known_contents, |blocks, promises| {
            Table::still(width, blocks, promises)
        })
    }

    fn with_tables(
        targets: &[(u64, Promises)],
        unit: usize,
        known_contents: KnownContents,
        table: impl Fn(u64, Promises) -> Result<Table, EngineError>,
    ) -> Result<Self, EngineError> {
        let area = |&(bytes, promises): &(u64, Promises)| {
            Ok(TargetTable { table: table(bytes / unit as u64, promises)? })
        };
        let targets = targets.iter().map(area).collect::<Result<_, EngineError>>()?;
        Ok(Self::of(targets, unit, known_contents))
    }

    /// A verifier that computes expected contents from what was written, without memory for each block.
    pub(crate) fn computed(
        targets: Vec<(Promises, Computed)>,
        unit: usize,
        width: Width,
        known_contents: KnownContents,
    ) -> Self {
        let area = |(promises, computed)| TargetTable {
            table: Table::computed(width, promises, computed),
        };
        Self::of(targets.into_iter().map(area).collect(), unit, known_contents)
    }

    /// Creates a verifier from existing tables.
    pub(crate) fn of(
        targets: Vec<TargetTable>,
        unit: usize,
        known_contents: KnownContents,
    ) -> Self {
        Self {
            targets,
            known_contents,
            unit,
            wrong: Mutex::default(),
            counted: Mutex::default(),
            made: Mutex::default(),
        }
    }

    /// An empty verifier of the same targets, for replaying loads into it.
    pub(crate) fn empty(&self) -> Result<Self, EngineError> {
        let sizes = self
            .targets
            .iter()
            .map(|area| ((area.table.expectations.len() * self.unit) as u64, area.table.promises));
        let sizes: Vec<_> = sizes.collect();
        let width = self.targets.first().map(|area| area.table.expectations.width());
        Self::still(&sizes, self.unit, width.unwrap_or_default(), self.known_contents.clone())
    }

    /// Size of a block, bytes.
    #[inline]
    pub fn unit(&self) -> usize {
        self.unit
    }

    /// First block that a range touches, and the number of blocks.
    #[inline]
    pub(crate) fn blocks(&self, target: usize, offset: u64, length: u64) -> (usize, usize) {
        let unit = self.unit as u64;
        let all = self.targets[target].table.expectations.len();
        let first = (divided(offset, unit).0 as usize).min(all);
        let end = (divided(offset + length + unit - 1, unit).0 as usize).min(all);
        (first, end - first)
    }

    /// The block that `length` bytes from `offset` on make up, if they are exactly one.
    #[inline]
    pub(crate) fn exact_block(&self, target: usize, offset: u64, length: usize) -> Option<usize> {
        let (block, within) = divided(offset, self.unit as u64);
        let aligned = within == 0 && length == self.unit;
        let block = block as usize;
        (aligned && block < self.targets[target].table.expectations.len()).then_some(block)
    }

    /// Returns the offset of `block`, bytes.
    #[inline]
    pub(crate) fn offset(&self, _target: usize, block: usize) -> u64 {
        block as u64 * self.unit as u64
    }

    /// Tells whether all of `block` lies in the range.
    #[inline]
    pub(crate) fn covers(&self, target: usize, block: usize, offset: u64, length: u64) -> bool {
        let start = self.offset(target, block);
        start >= offset && start + self.unit as u64 <= offset + length
    }

    /// The wrong blocks that were kept, in order of time, with the counts of all workers.
    pub fn figures(&self, workers: impl Iterator<Item = VerifyFigures>) -> VerifyFigures {
        let mut all = VerifyFigures::default();
        workers.for_each(|figures| all.add_counts(&figures));
        let wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        all.wrong = wrong.iter().map(|(wrong, _)| wrong.clone()).collect();
        drop(wrong);
        all.wrong.sort_by_key(|wrong| wrong.at_ns);
        all
    }

    /// Returns the figures of the workers that have ended.
    pub(crate) fn total(&self) -> VerifyFigures {
        let counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        let table = self.targets.iter().map(|area| area.table.expectations.bytes() as u64).sum();
        VerifyFigures { table_bytes: table, ..self.figures(std::iter::once(counted.clone())) }
    }

    /// Adds what a worker of job number `job` counted.
    pub(crate) fn take(&self, figures: &VerifyFigures, job: usize, made: &[u64]) {
        self.counted.lock().unwrap_or_else(PoisonError::into_inner).add_counts(figures);
        let mut all = self.made.lock().unwrap_or_else(PoisonError::into_inner);
        all.resize(self.targets.len(), Vec::new());
        for (all, made) in all.iter_mut().zip(made) {
            all.resize(all.len().max(job + 1), 0);
            all[job] += made;
        }
    }

    /// Number of I/Os begun since the last call: for each target, for each job.
    pub(crate) fn take_made(&self) -> Vec<Vec<u64>> {
        std::mem::take(&mut *self.made.lock().unwrap_or_else(PoisonError::into_inner))
    }

    /// Determines the exact kinds of the kept blocks from all that was written.
    pub(crate) fn refine(&self, past: &[PastLoad]) {
        let mut wrong = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(area) = self.targets.first().filter(|_| !wrong.is_empty()) else { return };
        let kinds =
            |wrong: &[(WrongBlock, Tag)]| wrong.iter().map(|w| w.0.kind).collect::<Vec<_>>();
        let before = kinds(&wrong);
        refine::refine(&mut wrong, past, &area.table, self.unit as u64);
        let mut counted = self.counted.lock().unwrap_or_else(PoisonError::into_inner);
        for (before, after) in before.into_iter().zip(kinds(&wrong)) {
            counted.rename(before, after);
        }
    }

    /// Diagnoses a block that the first check did not find right. It may be right all the same; otherwise its kind of error is determined and the
    /// block is kept.
    #[cold]
    pub(crate) fn explain(
        &self,
        target: usize,
        block: usize,
        before: Snapshot,
        bytes: &[u8],
        now_ns: u64,
    ) -> Result<Fit, WrongKind> {
        let table = &self.targets[target].table;
        let any = table.fit(block, before, NOBODY);
        if any.accepts_any() {
            return Ok(any);
        }
        let computed =
            table.expectations.as_computed().and_then(|computed| computed.held(block).ok());
        let fit = |id: ContentId| match computed {
            Some((held, _)) if held == id => Fit::Right,
            Some(_) => Fit::Wrong,
            None => table.fit(block, before, table.tag(id)),
        };
        let moved = || table.moved_since(block, before);
        let diagnosis = diagnose(bytes, &self.known_contents, &|id| fit(id) > Fit::Unsure);
        let kept = self.wrong.lock().unwrap_or_else(PoisonError::into_inner).len();
        let mut wrong = WrongBlock {
            at_ns: now_ns,
            target: target as u32,
            offset: self.offset(target, block),
            length: self.unit as u32,
            kind: WrongKind::Foreign,
            expected: None,
            found: None,
            sectors: Vec::new(),
            bits: Vec::new(),
            home: None,
            homes: 0,
        };
        match diagnosis {
            Diagnosis::Whole(id) => {
                let fit = fit(id);
                if fit != Fit::Wrong {
                    return Ok(fit);
                }
                self.name_whole(&mut wrong, id, block, kept < MAX_WRONG_BLOCKS_KEPT);
            }
            Diagnosis::Mixed(owners) => {
                let worst = owners.iter().map(|&id| fit(id)).min().unwrap_or(Fit::Wrong);
                if worst != Fit::Wrong && moved() {
                    // Part of it has been written, whatever the rest was.
                    return Ok(if worst == Fit::Untouched { Fit::Right } else { worst });
                }
                self.name_mixed(&mut wrong, &owners, &fit);
            }
            // Through the page cache not even a sector is read atomically: it may be part old and part new.
            Diagnosis::Spoilt { id, .. } if fit(id) != Fit::Wrong && moved() => {
                return Ok(Fit::Unsure);
            }
            Diagnosis::Nothing if moved() => return Ok(Fit::Unsure),
            Diagnosis::Spoilt { id, sectors, bits } => {
                wrong.kind = WrongKind::Corrupt;
                wrong.found = name(id);
                wrong.expected = name(id).filter(|_| fit(id) == Fit::Right);
                (wrong.sectors, wrong.bits) = (sectors, bits);
            }
            Diagnosis::Nothing => wrong.sectors = (0..self.unit.div_ceil(SECTOR) as u32).collect(),
        }
        let kind = wrong.kind;
        let mut list = self.wrong.lock().unwrap_or_else(PoisonError::into_inner);
        if list.len() < MAX_WRONG_BLOCKS_KEPT {
            list.push((wrong, table.snapshot(block).expected.tag()));
        }
        Err(kind)
    }

    /// Classifies a block that holds, as a whole, a content `id` that must not be there.
    fn name_whole(&self, wrong: &mut WrongBlock, id: ContentId, block: usize, search: bool) {
        wrong.found = name(id);
        wrong.sectors = (0..self.unit.div_ceil(SECTOR) as u32).collect();
        let table = &self.targets[wrong.target as usize].table;
        let tag = table.tag(id);
        let expected = table.snapshot(block).expected;
        let was = expected
            .before()
            .is_some_and(|before| before == lower(tag) || tag == ZERO && before == DISCARDED);
        let computed =
            table.expectations.as_computed().map(|computed| computed.has_held(block, id));
        wrong.kind = if !self.known_contents.can_make(id) {
            WrongKind::Foreign
        } else if computed == Some(true) {
            WrongKind::Stale
        } else if computed.is_some() && id != ContentId::ZERO {
            // Where it belongs is determined after the load, from a replay of all writes.
            WrongKind::Misplaced
        } else if was && expected.tag() != NEVER {
            WrongKind::Stale
        } else if id == ContentId::ZERO {
            WrongKind::Zeros
        } else if table.expectations.width() == Width::One {
            // With 119 tags, a search would find blocks of other contents.
            WrongKind::Stale
        } else {
            if search {
                self.find_home(wrong, tag);
            }
            if wrong.homes > 0 || !search { WrongKind::Misplaced } else { WrongKind::Stale }
        };
    }

    fn find_home(&self, wrong: &mut WrongBlock, tag: Tag) {
        for (number, area) in (0..).zip(&self.targets) {
            for block in area.table.expectations.find(tag, HOMES) {
                wrong.homes += 1;
                wrong.home = wrong.home.or(Some((number, self.offset(number as usize, block))));
            }
        }
    }

    /// Classifies a block of whole sectors of several contents.
    fn name_mixed(
        &self,
        wrong: &mut WrongBlock,
        owners: &[ContentId],
        fit: &dyn Fn(ContentId) -> Fit,
    ) {
        wrong.kind = WrongKind::Torn;
        let meant = owners.iter().copied().find(|&id| fit(id) == Fit::Right);
        wrong.expected = meant.and_then(name);
        let other = |id: &&ContentId| Some(**id) != meant;
        wrong.found = owners.iter().find(other).copied().and_then(name);
        let sectors = (0..).zip(owners).filter(|(_, id)| other(id)).map(|(sector, _)| sector);
        wrong.sectors = sectors.collect();
    }
}

/// The text form of an id; `None` for zeros.
fn name(id: ContentId) -> Option<String> {
    (id != ContentId::ZERO).then(|| format!("{:016x}", id.0))
}
