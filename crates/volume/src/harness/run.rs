//! Lives of one device, with a power cut after each.

use units::{Seed, SplitMix64};

use crate::block::{Block, Lbn, Pbn};
use crate::check::check;
use crate::core::{Discards, Order, Policy, Rule, Rules, Settings, Volume};
use crate::format::{Geometry, Sizes};
use crate::harness::content;
use crate::harness::device::Disk;
use crate::harness::life::{Life, Load};
use crate::harness::oracle::{Oracle, Seen};
use crate::rebuild::{Rebuilt, rebuild};
use crate::start::{create, start};

/// Lives of a device.
pub(super) const LIVES: u64 = 12;

/// The policy of lives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Policies {
    One(Policy),
    Mixed,
}

#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Outcome {
    pub cuts: u64,
    pub cuts_in_recovery: u64,
    pub seen: Seen,
    pub no_space: u64,
    pub journal_blocks: u64,
    pub grown: u64,
    pub cuts_in_growth: u64,
}

impl Outcome {
    pub fn add(&mut self, other: &Self) {
        self.cuts += other.cuts;
        self.cuts_in_recovery += other.cuts_in_recovery;
        self.seen.old += other.seen.old;
        self.seen.garbage += other.seen.garbage;
        self.seen.foreign += other.seen.foreign;
        self.no_space += other.no_space;
        self.journal_blocks += other.journal_blocks;
        self.grown += other.grown;
        self.cuts_in_growth += other.cuts_in_growth;
    }
}

pub(super) fn one_of<T: Copy>(random: &mut SplitMix64, of: &[T]) -> T {
    of[random.below(of.len() as u64) as usize]
}

fn between(random: &mut SplitMix64, from: u64, upto: u64) -> u64 {
    from + random.below(upto - from + 1)
}

/// A tiny volume, drawn.
pub(super) fn geometry(random: &mut SplitMix64) -> Geometry {
    let (slab, slabs) = (between(random, 64, 288), between(random, 2, 4));
    let journal = between(random, 5, 51);
    let device = 62 + slab * slabs + journal;
    let sizes = Sizes { device, logical: 812 * 600, slab, journal, index: 0, reserved: 0 };
    Geometry::new(sizes).unwrap()
}

/// The sizes to which a device and its volume grow in one life, and (`at`) the number of the request before which they do.
#[derive(Debug, Clone, Copy)]
pub(super) struct Grow {
    pub at: u64,
    pub device: Option<u64>,
    pub logical: Option<u64>,
    /// The life ends soon after this block is written: the first counts of the new slabs.
    pub ends: Option<Pbn>,
}

/// Lets some volumes keep their index, and half of all grow: these have room behind the last slab, so that a new slab reaches into the old
/// journal. Returns the layout and the most blocks that the device may have. Draws from a separate generator.
fn growing(geometry: Geometry, random: &mut SplitMix64) -> (Geometry, u64) {
    let index = one_of(random, &[0, 8, 20]);
    let Sizes { slab, journal, device, .. } = geometry.sizes;
    let device = device + index;
    if random.below(2) > 0 {
        let sizes = Sizes { device, index, ..geometry.sizes };
        return (Geometry::new(sizes).unwrap(), device);
    }
    let behind = slab - 1 - random.below(journal.min(slab));
    let sizes = Sizes { device: device + behind, index, ..geometry.sizes };
    (Geometry::new(sizes).unwrap(), device + behind + slab * between(random, 1, 6))
}

/// Draws a growth by all slabs at once, by one, or by none; half of the lives that add slabs end in the middle of it.
fn growth(geometry: &Geometry, most: u64, load: &mut Load, random: &mut SplitMix64) {
    let Sizes { device, slab, logical, .. } = geometry.sizes;
    if most == device || random.below(2) > 0 {
        return;
    }
    let larger = one_of(random, &[most, device + slab, device + slab, device + slab / 2]).min(most);
    let at = 1 + random.below(load.requests);
    let device = (random.below(8) > 0).then_some(larger);
    let logical = (random.below(3) == 0).then_some(logical + random.below(1000));
    let grown = geometry.grown(device, logical).ok().filter(|grown| grown.slabs > geometry.slabs);
    let ends = grown.map(|grown| grown.count_block(geometry.count_total()));
    let ends = ends.filter(|_| random.below(2) == 0);
    load.grow = Some(Grow { at, device, logical, ends });
    match random.below(4) {
        0 if ends.is_none() => load.requests = at + random.below(30),
        // All requests are to end, unless the life ends with the growth.
        _ => load.to_the_end = ends.is_some(),
    }
}

/// A medium on which half of the blocks hold old data that is not the volume's.
pub(super) fn medium(blocks: u64, random: &mut SplitMix64) -> Vec<Block> {
    let block = |n: u64| match random.below(2) {
        0 => content::block(1 << 50 | n << 1 | 1),
        _ => Block::default(),
    };
    (0..blocks).map(block).collect()
}

/// Settings of one life, drawn.
pub(super) fn settings(random: &mut SplitMix64, policy: Policy, rules: Rules) -> Settings {
    Settings {
        policy,
        deduplication: random.below(8) > 0,
        compression: random.below(8) > 0,
        cache_pages: between(random, 2, 10) as usize,
        index_records: one_of(random, &[0, 64, 512, 4096]),
        reference_limit: one_of(random, &[2, 3, 6, 254]),
        journal_entries: one_of(random, &[1, 2, 3, 8, 217]),
        checkpoint_percent: between(random, 20, 100),
        page_batch: between(random, 1, 8) as usize,
        discards: one_of(random, &[Discards::Serial, Discards::Batch]),
        permits: one_of(random, &[4, 16, 2048]),
        order: match random.below(3) {
            0 => Order::InTurn,
            _ => Order::Drawn(random.next_u64()),
        },
        rules,
    }
}

/// Addresses on leaves of a few roots.
pub(super) fn addresses(random: &mut SplitMix64) -> Vec<Lbn> {
    let leaves = between(random, 2, 14);
    let most = one_of(random, &[4, 40, 200, 500]);
    let slots = one_of(random, &[24, 400]);
    let address = |random: &mut SplitMix64| {
        let leaf = random.below(leaves);
        (leaf / 3 + leaf % 3 * 60) * 812 + random.below(slots)
    };
    (0..most).map(|_| address(random)).collect()
}

/// Runs the lives of one device; the first promise that is broken ends them.
pub(super) fn lives(seed: u64, policies: Policies, rules: Rules) -> Result<Outcome, String> {
    let random = &mut Seed(seed).generator();
    let apart = &mut Seed(seed ^ 0x6707).generator();
    let first = geometry(random);
    let (geometry, most) = growing(first, apart);
    let mut sizes = geometry.sizes;
    let mut blocks = medium(first.sizes.device, random);
    blocks.extend(medium(most - first.sizes.device, apart));
    let mut disk = Disk::new(blocks);
    create(&mut disk, geometry, [seed as u8; 16]).map_err(|error| error.to_string())?;
    let mut oracle = Oracle::default();
    let mut outcome = Outcome::default();
    let addresses = addresses(random);
    for life in 0..LIVES {
        let at = |error: String| format!("seed {seed}, life {life}: {error}");
        let policy = match policies {
            Policies::One(policy) => policy,
            Policies::Mixed => one_of(random, &[Policy::Sync, Policy::Async, Policy::AsyncUnsafe]),
        };
        let settings = settings(random, policy, rules);
        let mut volume = recovered(&mut disk, &settings, random, &mut outcome).map_err(at)?;
        let mut load = Load {
            addresses: addresses.clone(),
            depth: between(random, 1, 40) as usize,
            requests: between(random, 1, 700),
            flushes: one_of(random, &[0, 10, 60]),
            shared: one_of(random, &[3, 30, 300]),
            changes: policies == Policies::Mixed,
            to_the_end: false,
            grow: None,
        };
        let found = volume.geometry().sizes;
        if found.device < sizes.device || found.logical < sizes.logical {
            return Err(at(format!("it grew to {sizes:?}, and has {found:?} after a cut")));
        }
        growth(volume.geometry(), most, &mut load, apart);
        let mut life = Life::new(&mut volume, &mut disk, &mut oracle, random, policy);
        if outcome.cuts > 0 {
            for lbn in life.oracle.addresses() {
                let value = life.read(lbn).map_err(at)?;
                life.oracle.found(lbn, value, &mut outcome.seen).map_err(at)?;
            }
        }
        life.run(&load).map_err(at)?;
        outcome.no_space += life.no_space;
        outcome.grown += life.grown;
        outcome.cuts_in_growth += u64::from(life.is_growing());
        if life.grown > 0 {
            sizes = volume.geometry().sizes;
        }
        outcome.journal_blocks += volume.stats().journal.blocks;
        disk.cut(random);
        outcome.cuts += 1;
        checked(&mut disk).map_err(at)?;
        if apart.below(8) == 0 {
            rebuilt(&mut disk, apart).map_err(at)?;
        }
    }
    Ok(outcome)
}

/// Starts a volume; now and then the power is cut during the start.
fn recovered(
    disk: &mut Disk,
    settings: &Settings,
    random: &mut SplitMix64,
    outcome: &mut Outcome,
) -> Result<Volume, String> {
    while random.below(100) < 14 {
        disk.budget = Some(random.below(30));
        let started = start(disk, settings);
        let cut = started.is_err() && disk.budget == Some(0);
        if let (Err(error), false) = (&started, cut) {
            return Err(error.to_string());
        }
        outcome.cuts_in_recovery += u64::from(cut);
        disk.cut(random);
        checked(disk)?;
    }
    start(disk, settings).map(|(volume, _)| volume).map_err(|error| error.to_string())
}

/// Rebuilds a volume; the power may be cut during the rebuild.
fn rebuilt(disk: &mut Disk, random: &mut SplitMix64) -> Result<(), String> {
    disk.budget = Some(random.below(60));
    let rebuilt = rebuild(disk);
    let cut = disk.budget == Some(0);
    match rebuilt {
        Ok(Rebuilt { counts: 0, .. }) => {}
        Ok(rebuilt) => return Err(format!("a sound volume was mended: {rebuilt:?}")),
        Err(_) if cut => {}
        Err(error) => return Err(error.to_string()),
    }
    disk.cut(random);
    checked(disk)
}

/// Counts all references again and compares every count.
pub(super) fn checked(disk: &mut Disk) -> Result<(), String> {
    let report = check(disk).map_err(|error| error.to_string())?;
    match report.problems.first() {
        Some(problem) => Err(format!("{} problems, first {problem:?}", report.problems.len())),
        None => Ok(()),
    }
}

/// The rules with one left out.
pub(super) fn rules_without(rule: Rule) -> Rules {
    Rules { without: Some(rule) }
}
