//! The state file: what the targets must hold, for the next start of the program.
//!
//! An eight-letter signature, a version, a header in JSON, in chunks the expected blocks about which anything is known, the blocks that may hold one
//! of several contents, and a CRC-32 over everything. It is replaced as a whole or not at all.

use std::collections::HashMap;
use std::fs::File;
use std::io::{self, BufReader, Read, Write};
use std::path::Path;
use std::sync::Arc;

use content::{Contents, Part};

use super::expected_block::{ExpectedBlock, Tag};
use super::expected_blocks::Width;
use super::file::{MAGIC, Summed, VERSION, begin, damaged, end, number, replace};
use super::header::{Header, Recipe};
use super::known_contents::BlockContents;
use super::rebuild;
use super::replay::Replay;
use super::verifier::{TargetTable, Verifier};
use super::written_load::{self, WrittenLoad};
use crate::error::{EngineError, ErrorKind};

/// Blocks in a chunk.
const CHUNK: usize = 1 << 16;
/// Most bytes in a header.
const HEADER: u32 = 1 << 24;
/// Most contents that one block may hold according to a state file.
const CONTENTS: usize = 1024;

pub(crate) fn refused(path: &Path, why: &str, help: &str) -> EngineError {
    let message = format!("The verification state {} {why}", path.display());
    EngineError::new(ErrorKind::Usage, message, help)
}

/// The error for a state that cannot be written to `path`.
pub(crate) fn unwritable(path: &Path, error: io::Error) -> EngineError {
    let message = format!("The verification state {} cannot be written", path.display());
    let (kind, help) = match error.kind() {
        io::ErrorKind::AlreadyExists => (ErrorKind::Refused, "name another file"),
        _ => (ErrorKind::Environment, "check that its folder exists and has room"),
    };
    EngineError::new(kind, message, help).because(error)
}

/// The remedy for a state that cannot be used.
const WRITE_AGAIN: &str = "remove the file, or name another, and write the target again: what it holds now cannot be verified";

/// The remedy for a state of another target.
const ANOTHER: &str = "name the target that it was written for, or another file for the state; --verify-state-of-another uses it \
     anyway, for a target that holds what that one held";

/// The remedy for a state of targets of other sizes.
const SIZES: &str = "name the targets that it was written for, or another file for the state, and write the targets again";

/// The writes of loads to one target, the earliest first, and the exceptions: blocks that none of these writes explains.
pub(crate) type EarlierWrites = (Vec<WrittenLoad>, HashMap<usize, ExpectedBlock>);

/// A state that was read.
pub(crate) struct SavedState {
    pub(crate) header: Header,
    /// The contents of earlier loads.
    pub(crate) known_contents: Vec<Arc<dyn BlockContents>>,
    /// For each target, its chunks: the first block of each, and its expected blocks.
    chunks: Vec<Vec<(usize, Vec<u8>)>>,
    /// For each target, the exceptions: blocks for which a replay gives the wrong content.
    others: Vec<Vec<(usize, ExpectedBlock)>>,
    overlaps: Vec<Vec<(usize, Vec<Tag>)>>,
}

impl SavedState {
    /// Reads the state at `path`; `None` if it does not exist. Refuses a file that is damaged or is not for the targets of `wanted`, which may have
    /// grown since. With `of_another` it may be for other targets.
    pub(crate) fn open(
        path: &Path,
        wanted: &Header,
        of_another: bool,
    ) -> Result<Option<Self>, EngineError> {
        let file = match sys::input::open(path) {
            Ok(file) => file,
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(None),
            Err(error) => {
                let help = "check the path and its permissions";
                return Err(refused(path, "cannot be read", help).because(error));
            }
        };
        let mut from = Summed { inner: BufReader::new(file), crc: crc32fast::Hasher::new() };
        let head = number::<8>(&mut from).and_then(|magic| Ok((magic, number::<4>(&mut from)?)));
        match head {
            Ok((magic, version)) if &magic == MAGIC => {
                let version = u32::from_le_bytes(version);
                if version != VERSION {
                    let why = format!("is of version {version}, and this program knows {VERSION}");
                    return Err(refused(
                        path,
                        &why,
                        "use the program that wrote it, or remove the file",
                    ));
                }
            }
            _ => {
                return Err(refused(
                    path,
                    "is not a state file: it was not written by fathom",
                    "name another file; this one was left as it is",
                ));
            }
        }
        let saved = Self::read(&mut from, wanted)
            .map_err(|e| refused(path, "is damaged", WRITE_AGAIN).because(e))?;
        let differs = |what: &str| {
            let why = format!("has another {what} than this load");
            refused(
                path,
                &why,
                "verify with the same targets, block size and width, or name another file",
            )
        };
        let other = saved.header.other_target(wanted).filter(|_| !of_another);
        match &saved.header {
            header if !header.may_match(wanted) => {
                Err(refused(path, &header.describe_size_difference(wanted), SIZES))
            }
            header if header.unit != wanted.unit => Err(differs("block size")),
            header if header.width != wanted.width => Err(differs("number of bytes per block")),
            _ => other.map_or(Ok(Some(saved)), |why| Err(refused(path, &why, ANOTHER))),
        }
    }

    fn read(from: &mut Summed<impl Read>, wanted: &Header) -> io::Result<Self> {
        let length = u32::from_le_bytes(number(from)?);
        if length > HEADER {
            return Err(damaged("the header is too long"));
        }
        let mut json = vec![0; length as usize];
        from.read_exact(&mut json)?;
        let header: Header = serde_json::from_slice(&json)?;
        if header.unit == 0 || ![1, 4].contains(&header.width) {
            return Err(damaged("the header makes no sense"));
        }
        let (mut chunks, mut others, mut overlaps) = (Vec::new(), Vec::new(), Vec::new());
        // A state with other targets is refused because of its header anyway, so the rest of it is not read.
        let targets = if header.may_match(wanted) { header.targets.as_slice() } else { &[] };
        for size in targets {
            let blocks = (size / header.unit) as usize;
            if header.replayed {
                others.push(Self::read_others(from, blocks)?);
            } else {
                chunks.push(Self::read_chunks(from, blocks, header.width.into())?);
            }
            overlaps.push(Self::read_overlaps(from, blocks)?);
        }
        if !targets.is_empty() {
            let sum = from.crc.clone().finalize();
            if u32::from_le_bytes(number(from)?) != sum {
                return Err(damaged("its checksum is wrong"));
            }
        }
        let block_contents = |recipe: &Recipe| {
            let Recipe { spec, seed, generator, jobs, blocks } = recipe.clone();
            let contents = Contents::new(&spec, seed, Part { generator, jobs, blocks });
            contents.map(|made| Arc::new(made) as Arc<dyn BlockContents>).map_err(io::Error::other)
        };
        let known_contents =
            header.recipes.iter().map(block_contents).collect::<io::Result<_>>()?;
        Ok(Self { header, known_contents, chunks, others, overlaps })
    }

    fn read_chunks(
        from: &mut impl Read,
        blocks: usize,
        width: usize,
    ) -> io::Result<Vec<(usize, Vec<u8>)>> {
        let count = u64::from_le_bytes(number(from)?);
        if count > blocks.div_ceil(CHUNK) as u64 {
            return Err(damaged("it has more chunks than blocks"));
        }
        let chunk = |_| {
            let first = u64::from_le_bytes(number(from)?) as usize;
            if first >= blocks || !first.is_multiple_of(CHUNK) {
                return Err(damaged("a chunk lies outside the target"));
            }
            let mut bytes = vec![0; CHUNK.min(blocks - first) * width];
            from.read_exact(&mut bytes)?;
            Ok((first, bytes))
        };
        (0..count).map(chunk).collect()
    }

    fn read_others(from: &mut impl Read, blocks: usize) -> io::Result<Vec<(usize, ExpectedBlock)>> {
        let count = u64::from_le_bytes(number(from)?);
        let other = |_| {
            let block = u64::from_le_bytes(number(from)?) as usize;
            let expected = ExpectedBlock(u32::from_le_bytes(number(from)?));
            if block < blocks {
                Ok((block, expected))
            } else {
                Err(damaged("a block lies outside the target"))
            }
        };
        (0..count).map(other).collect()
    }

    fn read_overlaps(from: &mut impl Read, blocks: usize) -> io::Result<Vec<(usize, Vec<Tag>)>> {
        let count = u64::from_le_bytes(number(from)?);
        let overlap = |_| {
            let block = u64::from_le_bytes(number(from)?) as usize;
            let tags = u16::from_le_bytes(number(from)?);
            if block >= blocks || usize::from(tags) > CONTENTS {
                return Err(damaged("a block lies outside the target"));
            }
            let tags = (0..tags).map(|_| number(from).map(u16::from_le_bytes));
            Ok((block, tags.collect::<io::Result<_>>()?))
        };
        (0..count).map(overlap).collect()
    }

    /// Returns the notices about the state, where the targets are those of `now`.
    pub(crate) fn notices(&self, now: &Header) -> Vec<String> {
        let loads = self.header.unfinished.len();
        let text = "did not come to their end, or were not in stable storage when it was lost: what the blocks of their ranges hold is not verified until they are written again";
        let unfinished =
            (loads > 0).then(|| format!("{loads} earlier load(s) that wrote these targets {text}"));
        let grown = (self.header.targets != now.targets).then(|| {
            let sizes = self.header.describe_size_difference(now);
            format!("The verification state {sizes}: nothing is known about the added space")
        });
        unfinished.into_iter().chain(grown).collect()
    }

    /// For each target, the writes of all loads and the exceptions; `None` where the writes cannot be inverted.
    pub(crate) fn written_loads(&self) -> Option<Vec<EarlierWrites>> {
        let replays = self.header.replays.as_ref()?;
        if !self.header.replayed || !self.header.unfinished.is_empty() {
            return None;
        }
        let unit = self.header.unit as usize;
        let target = |target: usize| {
            let written_load = |replay: &Replay| {
                let target_load = replay.target_loads().get(target)?;
                written_load::follows(&target_load.spec, unit)
                    .then(|| WrittenLoad::of(replay, target, target_load))?
            };
            let written_loads = replays.iter().map(written_load).collect::<Option<_>>()?;
            let overlaps = self.overlaps[target]
                .iter()
                .map(|(block, _)| (*block, ExpectedBlock(0).with_overlap()));
            Some((written_loads, self.others[target].iter().copied().chain(overlaps).collect()))
        };
        (0..self.header.targets.len()).map(target).collect()
    }

    /// Loads the saved state into a new verifier of the same targets.
    pub(crate) fn restore(self, verifier: &Arc<Verifier>, path: &Path) -> Result<(), EngineError> {
        let known =
            verifier.targets.iter().any(|area| area.table.expectations.as_computed().is_some());
        if self.header.replayed && !known {
            let mut replays = self.header.replays.iter().flatten();
            if !replays.all(|replay| rebuild::apply(replay, verifier)) {
                return Err(refused(
                    path,
                    "holds a content that cannot be made again",
                    WRITE_AGAIN,
                ));
            }
        }
        for (area, others) in verifier.targets.iter().zip(&self.others) {
            others
                .iter()
                .for_each(|&(block, expected)| area.table.expectations.store(block, expected));
        }
        for (area, chunks) in verifier.targets.iter().zip(self.chunks) {
            let expectations = &area.table.expectations;
            for (first, bytes) in chunks {
                match expectations.width() {
                    Width::Four => {
                        let words = bytes.as_chunks::<4>().0.iter();
                        let words =
                            words.map(|expected| ExpectedBlock(u32::from_le_bytes(*expected)));
                        (first..)
                            .zip(words)
                            .for_each(|(block, expected)| expectations.store(block, expected));
                    }
                    Width::One => {
                        let words = bytes.iter().map(|&byte| ExpectedBlock::at_rest(byte.into()));
                        (first..)
                            .zip(words)
                            .for_each(|(block, expected)| expectations.store(block, expected));
                    }
                }
            }
        }
        for (area, overlaps) in verifier.targets.iter().zip(self.overlaps) {
            for (block, tags) in overlaps {
                area.table.restore_overlap(block, &tags);
            }
        }
        for ranges in &self.header.unfinished {
            for (target, range) in ranges.iter().enumerate().take(verifier.targets.len()) {
                let (first, blocks) = verifier.blocks(target, range.start, range.bytes);
                let table = &verifier.targets[target].table;
                (first..first + blocks).for_each(|block| table.forget(block));
            }
        }
        Ok(())
    }
}

/// Replaces the state at `path` by what `verifier` knows. All I/Os must have ended.
pub(crate) fn save(path: &Path, header: &Header, verifier: &Verifier) -> Result<(), EngineError> {
    let others = others(header, verifier);
    let header = &Header { replayed: others.is_some(), ..header.clone() };
    replace(path, |file| write(file, header, verifier, others.as_deref()))
        .map_err(|error| unwritable(path, error))
}

/// For each target, the blocks for which a replay gives the wrong content; `None` when storing all blocks takes less room.
fn others(header: &Header, verifier: &Verifier) -> Option<Vec<Vec<(usize, ExpectedBlock)>>> {
    let replays = header.replays.as_ref()?;
    let blocks: usize = verifier.targets.iter().map(|area| area.table.expectations.len()).sum();
    let ios: u64 = replays.iter().map(Replay::ios).sum();
    let known: Option<Vec<_>> =
        verifier.targets.iter().map(|area| area.table.expectations.as_computed()).collect();
    if let Some(known) = known {
        let others: Vec<_> = known.iter().map(|known| known.others()).collect();
        let count: usize = others.iter().map(Vec::len).sum();
        return (count <= blocks / 16).then_some(others);
    }
    if replays.is_empty() || ios > 4 * blocks as u64 {
        return None;
    }
    let model = Arc::new(verifier.empty().ok()?);
    if !replays.iter().all(|replay| rebuild::apply(replay, &model)) {
        return None;
    }
    let mut left = blocks / 16;
    let differing = |(real, model): (&TargetTable, &TargetTable)| {
        let (real, model) = (&real.table.expectations, &model.table.expectations);
        let words = (0..real.len()).map(|block| {
            (block, real.load(block).for_state_file(), model.load(block).for_state_file())
        });
        let other = words.filter(|(_, real, model)| real.with_changes(0) != model.with_changes(0));
        let others: Vec<_> = other.map(|(block, real, _)| (block, real)).take(left + 1).collect();
        left = left.checked_sub(others.len())?;
        Some(others)
    };
    verifier.targets.iter().zip(&model.targets).map(differing).collect()
}

fn write(
    file: File,
    header: &Header,
    verifier: &Verifier,
    others: Option<&[Vec<(usize, ExpectedBlock)>]>,
) -> io::Result<()> {
    let mut to = begin(file, header)?;
    for (target, area) in verifier.targets.iter().enumerate() {
        match others {
            Some(others) => write_others(&mut to, &others[target])?,
            None => write_cells(&mut to, area)?,
        }
        let overlaps = area.table.overlaps();
        to.write_all(&(overlaps.len() as u64).to_le_bytes())?;
        for (block, tags) in overlaps {
            let tags = &tags[..tags.len().min(CONTENTS)];
            to.write_all(&(block as u64).to_le_bytes())?;
            to.write_all(&(tags.len() as u16).to_le_bytes())?;
            for tag in tags {
                to.write_all(&tag.to_le_bytes())?;
            }
        }
    }
    end(to)
}

fn write_others(to: &mut impl Write, others: &[(usize, ExpectedBlock)]) -> io::Result<()> {
    to.write_all(&(others.len() as u64).to_le_bytes())?;
    for (block, expected) in others {
        to.write_all(&(*block as u64).to_le_bytes())?;
        to.write_all(&expected.0.to_le_bytes())?;
    }
    Ok(())
}

/// Writes the chunks that contain blocks about which anything is known.
fn write_cells(to: &mut impl Write, area: &TargetTable) -> io::Result<()> {
    let expectations = &area.table.expectations;
    let known = |first: &usize| {
        (*first..expectations.len().min(first + CHUNK)).any(|block| {
            expectations.load(block).tag() != 0 || expectations.load(block).has_overlap()
        })
    };
    let chunks: Vec<_> = (0..expectations.len()).step_by(CHUNK).filter(known).collect();
    to.write_all(&(chunks.len() as u64).to_le_bytes())?;
    for first in chunks {
        to.write_all(&(first as u64).to_le_bytes())?;
        for block in first..expectations.len().min(first + CHUNK) {
            let expected = expectations.load(block).for_state_file();
            match expectations.width() {
                Width::Four => to.write_all(&expected.0.to_le_bytes())?,
                Width::One => to.write_all(&[expected.tag() as u8])?,
            }
        }
    }
    Ok(())
}
