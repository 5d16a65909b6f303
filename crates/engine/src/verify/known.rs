//! What every block of a target must hold, computed from what was written: no memory for each block.
//!
//! Loads that write one operation in passes follow from seed and counts: the pattern is asked backwards which I/O of
//! which job went to an address last, and the content which id that I/O got. Only blocks where that does not hold
//! (writes that failed, what a state file says otherwise) are kept.

use std::collections::{HashMap, HashSet};
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, OnceLock, PoisonError};

use content::{ContentId, Contents, Look};

use super::layer::{Layer, Row};
use super::word::{UNCERTAIN, Word};

/// Passes of one load that are looked through for what a block held before.
const PASSES: u32 = 1000;

/// All that was written to one target.
pub(crate) struct Known {
    blocks: usize,
    unit: u64,
    /// Loads before this one, the earliest first.
    earlier: Vec<Layer>,
    /// This load, when it has ended.
    own: OnceLock<Layer>,
    /// Blocks that `earlier` does not tell.
    others: HashMap<usize, Word>,
    /// Blocks that this load tried to write and may not have.
    failed: Mutex<HashSet<usize>>,
    any_failed: AtomicBool,
}

impl Known {
    pub(crate) fn new(
        (blocks, unit): (u64, usize),
        earlier: Vec<Layer>,
        others: HashMap<usize, Word>,
    ) -> Self {
        Self {
            blocks: blocks as usize,
            unit: unit as u64,
            earlier,
            own: OnceLock::new(),
            others,
            failed: Mutex::default(),
            any_failed: AtomicBool::new(false),
        }
    }

    /// Blocks that there are.
    pub(crate) fn len(&self) -> usize {
        self.blocks
    }

    /// This load has ended, and `layer` is what it wrote.
    pub(crate) fn ended(&self, layer: Layer) {
        // It ends once; what is there stays.
        let _ = self.own.set(layer);
    }

    /// Writes of these blocks failed, or never ended.
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

    /// The content of `block` with who makes it, if that is known; or what else is known of it.
    #[inline]
    pub(crate) fn held(&self, block: usize) -> Result<(ContentId, &Contents), Word> {
        if self.has_failed(block) {
            return Err(Word::resting(UNCERTAIN));
        }
        let offset = block as u64 * self.unit;
        let of = |layer: &'_ Layer| layer.ids(offset).next();
        if let Some(own) = self.own.get()
            && let Some(id) = of(own)
        {
            return Ok((id, &own.contents));
        }
        if !self.others.is_empty()
            && let Some(word) = self.others.get(&block)
        {
            return Err(*word);
        }
        let mut earlier = self.earlier.iter().rev();
        earlier.find_map(|layer| Some((of(layer)?, &layer.contents))).ok_or(Word(0))
    }

    /// What was written last, with how it is looked at, where that says it all of its stretch.
    pub(crate) fn row(&self) -> Option<(Row, Look)> {
        let excepted = !self.others.is_empty() || self.any_failed.load(Ordering::Acquire);
        let last = self.own.get().or(self.earlier.last()).filter(|_| !excepted)?;
        last.row().zip(last.contents.look())
    }

    /// Whether `block` ever held the content of `id`.
    pub(crate) fn has_held(&self, block: usize, id: ContentId) -> bool {
        let offset = block as u64 * self.unit;
        let layers = self.own.get().into_iter().chain(&self.earlier);
        layers.flat_map(|layer| layer.ids(offset).take(PASSES as usize)).any(|held| held == id)
    }

    /// Blocks that are not what making all again would give.
    pub(crate) fn others(&self) -> Vec<(usize, Word)> {
        let failed = self.failed.lock().unwrap_or_else(PoisonError::into_inner);
        let own = |block: usize| {
            self.own.get().is_some_and(|own| own.ids(block as u64 * self.unit).next().is_some())
        };
        let left = self.others.iter().map(|(&block, &word)| (block, word));
        let left = left
            .filter(|(block, word)| !word.is_mapped() && !failed.contains(block) && !own(*block));
        let mut all: Vec<_> =
            failed.iter().map(|&block| (block, Word::resting(UNCERTAIN))).chain(left).collect();
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

    use super::super::layer::follows;
    use super::super::makers::{Makers, Plain};
    use super::super::replay::{Lane, Replay};
    use super::super::table::Promises;
    use super::super::verifier::Verifier;
    use super::super::words::Width;
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

    /// A load on a part of the target that came to some place.
    fn replay(text: &str, seed: u64, random: &mut SplitMix64) -> Replay {
        let spec: LoadSpec = toml::from_str(text).unwrap();
        let first = random.below(BLOCKS / 3);
        let blocks = 200 + random.below(BLOCKS - first - 200 + 1);
        let (start, bytes) = (first * BLOCK as u64, blocks * BLOCK as u64);
        let made =
            (0..spec.jobs).map(|_| random.below(3 * blocks / u64::from(spec.jobs))).collect();
        let (range, seed) = (Range { start, bytes }, Seed(seed));
        let spec = LoadSpec { size: Some(Bytes(bytes)), ..spec };
        Replay::of(seed, vec![Lane { spec, seed, range, made }]).unwrap()
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
            let makers = Makers::of(Plain(content::Layout::head(BLOCK)));
            let targets = [(size, Promises::default())];
            let table = Verifier::new(&targets, BLOCK, Width::Four, makers).unwrap();
            let table = Arc::new(table);
            assert!(replays.iter().all(|replay| replay.apply(&table)));
            let layer = |replay: &Replay| Layer::of(replay, 0, &replay.lanes()[0]).unwrap();
            let layers = replays.iter().map(layer).collect();
            let known = Known::new((BLOCKS, BLOCK), layers, HashMap::new());
            let cells = super::super::cells::Cells::known(Width::Four, known);
            for block in 0..BLOCKS as usize {
                let real = table.targets[0].table.cells.load(block);
                assert_eq!(cells.load(block).tag(), real.tag(), "{round} {block}: {replays:?}");
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
            let lane = &replay.lanes()[0];
            let layer = Layer::of(&replay, 0, lane).unwrap();
            let in_a_row = lane.spec.jobs == 1
                && layer.ids(lane.range.start).count() == 1
                && content.is_empty();
            let known = Known::new((BLOCKS, BLOCK), vec![layer], HashMap::new());
            let Some((row, _)) = known.row() else {
                assert!(!in_a_row, "{replay:?}");
                continue;
            };
            rows += 1;
            for block in 0..BLOCKS as usize {
                let held = known.held(block).ok().map(|(id, _)| id);
                assert_eq!(row.id_at((block * BLOCK) as u64), held, "{block}: {replay:?}");
            }
            known.fail(0..1);
            assert!(known.row().is_none(), "blocks that may hold anything are in no row");
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
        let known = Known::new((8, BLOCK), Vec::new(), HashMap::new());
        known.fail(3..5);
        let uncertain = |block| known.held(block).err() == Some(Word::resting(UNCERTAIN));
        assert_eq!([2, 3, 4, 5].map(uncertain), [false, true, true, false]);
        let blocks: Vec<_> = known.others().iter().map(|(block, _)| *block).collect();
        assert_eq!(blocks, [3, 4]);
    }
}
