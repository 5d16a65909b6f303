//! Expected blocks that are computed from what was written, without memory for each block.
//!
//! The writes of a load with one operation that goes over its range in passes are determined by its seed and counts: the inverse of the pattern gives
//! the job and the I/O that wrote an address last, and the content source gives the id that this I/O wrote. Only exceptions are stored: writes that
//! failed, and blocks that a state file lists.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use content::{BlockCheck, ContentId, Contents};

use super::expected_block::{ExpectedBlock, UNCERTAIN};
use super::written_load::{IdRun, WrittenLoad};

/// Most passes of one load that are searched for an earlier content of a block.
const PASSES: u32 = 1000;

/// All writes to one target.
pub(crate) struct Computed {
    blocks: usize,
    unit: u64,
    /// Loads before this one, the earliest first.
    earlier: Vec<WrittenLoad>,
    /// This load, once it has ended.
    this_load: OnceLock<WrittenLoad>,
    /// Exceptions: blocks for which `earlier` gives the wrong content.
    others: HashMap<usize, ExpectedBlock>,
    /// Blocks whose write by this load failed or never ended.
    failed: Mutex<HashSet<usize>>,
    any_failed: AtomicBool,
}

impl Computed {
    pub(crate) fn new(
        (blocks, unit): (u64, usize),
        earlier: Vec<WrittenLoad>,
        others: HashMap<usize, ExpectedBlock>,
    ) -> Self {
        Self {
            blocks: blocks as usize,
            unit: unit as u64,
            earlier,
            this_load: OnceLock::new(),
            others,
            failed: Mutex::default(),
            any_failed: AtomicBool::new(false),
        }
    }

    /// Returns the computation for the next load, on a target that now has `blocks` blocks: this load becomes an earlier one, and of all earlier ones
    /// the last `loads` are kept.
    pub(crate) fn for_next_load(mut self, blocks: usize, loads: usize) -> Self {
        let overlapping = self.others.iter().filter(|(_, expected)| expected.has_overlap());
        let overlapping = overlapping
            .map(|(&block, _)| block)
            .filter(|&block| self.held(block).err().is_some_and(ExpectedBlock::has_overlap));
        let overlapping: Vec<_> =
            overlapping.map(|block| (block, ExpectedBlock(0).with_overlap())).collect();
        let others = self.others().into_iter().chain(overlapping);
        let others = others.filter(|(block, _)| *block < blocks).collect();
        self.earlier.extend(self.this_load.take());
        self.earlier.drain(..self.earlier.len().saturating_sub(loads));
        Self::new((blocks as u64, self.unit as usize), self.earlier, others)
    }

    /// Number of blocks.
    pub(crate) fn len(&self) -> usize {
        self.blocks
    }

    /// Notes that this load has ended, with the writes `written_load`.
    pub(crate) fn ended(&self, written_load: WrittenLoad) {
        // A load ends only once.
        let _ = self.this_load.set(written_load);
    }

    /// Notes that writes of these blocks failed or never ended.
    #[cold]
    pub(crate) fn fail(&self, blocks: std::ops::Range<usize>) {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).extend(blocks);
        self.any_failed.store(true, Ordering::Release);
    }

    #[inline]
    fn has_failed(&self, block: usize) -> bool {
        self.any_failed.load(Ordering::Acquire) && self.is_among_the_failed(block)
    }

    #[cold]
    fn is_among_the_failed(&self, block: usize) -> bool {
        self.failed.lock().unwrap_or_else(PoisonError::into_inner).contains(&block)
    }

    /// The content of `block`: its id and the source that generates its bytes, or the stored exception.
    #[inline]
    pub(crate) fn held(&self, block: usize) -> Result<(ContentId, &Contents), ExpectedBlock> {
        if self.has_failed(block) {
            return Err(ExpectedBlock::at_rest(UNCERTAIN));
        }
        let offset = block as u64 * self.unit;
        let of = |written_load: &'_ WrittenLoad| written_load.ids(offset).next();
        if let Some(load) = self.this_load.get()
            && let Some(id) = of(load)
        {
            return Ok((id, &load.contents));
        }
        if !self.others.is_empty()
            && let Some(expected) = self.others.get(&block)
        {
            return Err(*expected);
        }
        let mut earlier = self.earlier.iter().rev();
        earlier
            .find_map(|written_load| Some((of(written_load)?, &written_load.contents)))
            .ok_or(ExpectedBlock(0))
    }

    /// The last load as a run of consecutive ids, with the check for its blocks, if it wrote in order and there are no exceptions.
    pub(crate) fn id_run(&self) -> Option<(IdRun, BlockCheck)> {
        let excepted = !self.others.is_empty() || self.any_failed.load(Ordering::Acquire);
        let last = self.this_load.get().or(self.earlier.last()).filter(|_| !excepted)?;
        last.id_run().zip(last.contents.block_check())
    }

    /// Tells whether `block` ever held the content of `id`.
    pub(crate) fn has_held(&self, block: usize, id: ContentId) -> bool {
        let offset = block as u64 * self.unit;
        let written_loads = self.this_load.get().into_iter().chain(&self.earlier);
        written_loads
            .flat_map(|written_load| written_load.ids(offset).take(PASSES as usize))
            .any(|held| held == id)
    }

    /// Exceptions: blocks for which a replay of all loads gives the wrong content.
    pub(crate) fn others(&self) -> Vec<(usize, ExpectedBlock)> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let is_computed = |block: usize| {
            self.this_load
                .get()
                .is_some_and(|load| load.ids(block as u64 * self.unit).next().is_some())
        };
        let left = self.others.iter().map(|(&block, &expected)| (block, expected));
        let left = left.filter(|(block, expected)| {
            !expected.has_overlap() && !failed.contains(block) && !is_computed(*block)
        });
        let mut all: Vec<_> = failed
            .iter()
            .map(|&block| (block, ExpectedBlock::at_rest(UNCERTAIN)))
            .chain(left)
            .collect();
        all.sort_unstable_by_key(|(block, _)| *block);
        all
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use content::BLOCK;
    use units::{Bytes, Seed, SplitMix64};
    use workload::{LoadSpec, Range};

    use super::super::expected_blocks::Width;
    use super::super::known_contents::{KnownContents, OneLayout};
    use super::super::replay::{Replay, TargetLoad};
    use super::super::table::Promises;
    use super::super::verifier::Verifier;
    use super::super::written_load::follows;
    use super::*;

    const BLOCKS: u64 = 997;

    const LOADS: [&str; 8] = [
        "ops = { write = 100 }",
        "ops = { randwrite = 100 }\npattern = 'permutation'\njobs = 3",
        "ops = { randwrite = 100 }\npattern = 'permutation'\njobs = 3\nshare = 'parts'",
        "ops = { write = 100 }\nblock_size = '64k'\njobs = 2",
        "ops = { write = 100 }\npattern = 'interleaved:8'\njobs = 5",
        "ops = { randwrite = 100 }\npattern = 'permutation'\nblock_size = '16k'\njobs = 2",
        "ops = { write = 100 }\nsync = 'fdatasync:32'\nshare = 'parts'\njobs = 4",
        "ops = { write = 100 }\nblock_size = '20k'",
    ];
    const CONTENTS: [&str; 5] = [
        "",
        "content = { dedupe = 40, zero = 10 }",
        "content = { dedupe = 75, popularity = 'zipf:1.1', compress = '3x' }",
        "content = { dedupe = 30, scope = 'live' }",
        "content = { dedupe = 50, distance = 'all' }",
    ];

    /// A load on a part of the target that was stopped at some point.
    fn replay(text: &str, seed: u64, random: &mut SplitMix64) -> Replay {
        let spec: LoadSpec = toml::from_str(text).unwrap();
        let first = random.below(BLOCKS / 3);
        let blocks = 200 + random.below(BLOCKS - first - 200 + 1);
        let (start, bytes) = (first * BLOCK as u64, blocks * BLOCK as u64);
        let made =
            (0..spec.jobs).map(|_| random.below(3 * blocks / u64::from(spec.jobs))).collect();
        let (range, seed) = (Range { start, bytes }, Seed(seed));
        let spec = LoadSpec { size: Some(Bytes(bytes).into()), ..spec };
        Replay::of(seed, vec![TargetLoad { spec, seed, range, made }]).unwrap()
    }

    #[test]
    fn what_is_computed_is_what_a_table_would_hold() {
        let mut random = Seed(5).generator();
        for round in 0..120 {
            let replays: Vec<_> = (0..1 + random.below(3))
                .map(|n| {
                    let load = LOADS[random.below(LOADS.len() as u64) as usize];
                    let content = CONTENTS[random.below(CONTENTS.len() as u64) as usize];
                    replay(&format!("{load}\n{content}"), round * 10 + n + 1, &mut random)
                })
                .collect();
            let size = BLOCKS * BLOCK as u64;
            let known_contents = KnownContents::of(OneLayout(content::BlockLayout::head(BLOCK)));
            let targets = [(size, Promises::default())];
            let table = Verifier::new(&targets, BLOCK, Width::Four, known_contents).unwrap();
            let table = Arc::new(table);
            assert!(replays.iter().all(|replay| crate::verify::rebuild::apply(replay, &table)));
            let written_load =
                |replay: &Replay| WrittenLoad::of(replay, 0, &replay.target_loads()[0]).unwrap();
            let written_loads = replays.iter().map(written_load).collect();
            let known = Computed::new((BLOCKS, BLOCK), written_loads, HashMap::new());
            let expectations =
                super::super::expectations::Expectations::computed(Width::Four, known);
            for block in 0..BLOCKS as usize {
                let real = table.targets[0].table.expectations.load(block);
                assert_eq!(
                    expectations.load(block).tag(),
                    real.tag(),
                    "{round} {block}: {replays:?}"
                );
            }
        }
    }

    #[test]
    fn a_row_says_what_was_written_last_and_says_nothing_of_what_it_is_not() {
        let mut random = Seed(6).generator();
        let mut rows = 0;
        for round in 0..200 {
            let load = LOADS[random.below(LOADS.len() as u64) as usize];
            let content = CONTENTS[random.below(2) as usize];
            let replay = replay(&format!("{load}\n{content}"), round, &mut random);
            let target_load = &replay.target_loads()[0];
            let written_load = WrittenLoad::of(&replay, 0, target_load).unwrap();
            let in_a_row = target_load.spec.jobs == 1
                && written_load.ids(target_load.range.start).count() == 1
                && content.is_empty();
            let known = Computed::new((BLOCKS, BLOCK), vec![written_load], HashMap::new());
            let Some((id_run, _)) = known.id_run() else {
                assert!(!in_a_row, "{replay:?}");
                continue;
            };
            rows += 1;
            for block in 0..BLOCKS as usize {
                let held = known.held(block).ok().map(|(id, _)| id);
                assert_eq!(id_run.id_at((block * BLOCK) as u64), held, "{block}: {replay:?}");
            }
            known.fail(0..1);
            assert!(known.id_run().is_none(), "blocks that may hold anything are in no row");
        }
        assert!(rows > 5, "{rows}");
    }

    #[test]
    fn loads_that_do_not_follow_from_their_counts_have_a_table() {
        let follows = |text: &str| follows(&toml::from_str(text).unwrap(), BLOCK);
        assert!(LOADS.iter().all(|load| follows(load)));
        for load in [
            "ops = { randwrite = 100 }",
            "ops = { write = 50, read = 50 }",
            "ops = { discard = 100 }",
            "ops = { write = 100 }\nblock_size = '4k..64k'",
            "ops = { write = 100 }\nblock_size = 512",
            "ops = { write = 100 }\nalign = '8k'",
            "ops = { write = 100 }\npattern = 'strided:4'",
            "ops = { write = 100 }\njobs = 2\nshare = 'shared'",
            "ops = { write = 100 }\njobs = 2\nshare = 'own'",
        ] {
            assert!(!follows(load), "{load}");
        }
    }

    #[test]
    fn writes_that_failed_may_have_left_anything() {
        let known = Computed::new((8, BLOCK), Vec::new(), HashMap::new());
        known.fail(3..5);
        let uncertain = |block| known.held(block).err() == Some(ExpectedBlock::at_rest(UNCERTAIN));
        assert_eq!([2, 3, 4, 5].map(uncertain), [false, true, true, false]);
        let blocks: Vec<_> = known.others().iter().map(|(block, _)| *block).collect();
        assert_eq!(blocks, [3, 4]);
    }
}
