//! The same volume over a modelled disk, in model time.

use std::collections::{BTreeSet, HashMap};

use disk::{Disk, Event, Op, profile};
use units::Seed;
use volume::{
    Device, Geometry, Memory, Operation, Policy, Request, Settings, Sizes, Task, Volume, create,
    pump, start,
};

use crate::load::write;

const LEAF: u64 = 812;

/// A volume on a modelled disk: bytes in memory, times by the model.
struct Modelled {
    volume: Volume,
    device: Memory,
    disk: Disk,
    now: u64,
    under_way: HashMap<u64, Operation>,
    /// Ends of operations, by their instants.
    ends: BTreeSet<(u64, u64)>,
    open: usize,
    next: u64,
}

impl Modelled {
    fn new(name: &str, logical: u64, settings: &Settings) -> Self {
        let device = 62 + 4 * (1 << 13) + 32_832;
        let sizes =
            Sizes { device, logical, slab: 1 << 13, journal: 32_768, index: 0, reserved: 64 };
        let mut device = Memory::new(sizes.device);
        create(&mut device, Geometry::new(sizes).unwrap(), [5; 16]).unwrap();
        let (volume, _) = start(&mut device, settings).unwrap();
        let disk = Disk::new(profile(name).unwrap(), sizes.device * 4096);
        let (under_way, ends) = (HashMap::new(), BTreeSet::new());
        Self { volume, device, disk, now: 0, under_way, ends, open: 0, next: 0 }
    }

    fn pump(&mut self) {
        let (disk, now, open) = (&mut self.disk, self.now, &mut self.open);
        let (under_way, mut events) = (&mut self.under_way, Vec::new());
        pump(
            &mut self.volume,
            &mut |_, operation| {
                let (op, pbn, length, fua) = match operation.task {
                    Task::Read { pbn } => (Op::Read, pbn, 4096, false),
                    Task::Write { pbn, fua, .. } => (Op::Write, pbn, 4096, fua),
                    Task::Flush => (Op::Flush, 0, 0, false),
                };
                let (id, offset) = (operation.id.0, pbn * 4096);
                let request = disk::Request { id, arrival: now, op, offset, length, fua };
                under_way.insert(id, operation);
                disk.submit(request, &mut events);
            },
            &mut |_, reply| {
                assert!(reply.result.is_ok());
                *open -= 1;
            },
        );
        self.note(&events);
    }

    /// Notes ends that the model has computed, which may lie in the future.
    fn note(&mut self, events: &[Event]) {
        for event in events {
            if let Event::Done { id, at, .. } = event {
                self.ends.insert((*at, *id));
            }
        }
    }

    /// Lets happen what happens next.
    fn step(&mut self) {
        let end = self.ends.first().copied();
        if let Some(next) = self.disk.next().filter(|next| end.is_none_or(|(at, _)| *next <= at)) {
            let mut events = Vec::new();
            self.now = self.now.max(next);
            self.disk.advance(next, &mut events);
            return self.note(&events);
        }
        if let Some((at, id)) = self.ends.pop_first()
            && let Some(operation) = self.under_way.remove(&id)
        {
            self.now = self.now.max(at);
            let result = self.device.perform(&operation.task);
            self.volume.complete(operation.id, result);
        }
    }

    /// Random writes at a depth; gives writes a second of model time.
    fn writes(&mut self, depth: usize, count: u64, logical: u64) -> f64 {
        let random = &mut Seed(self.next + 1).generator();
        let (from, mut left) = (self.now, count);
        while left > 0 || self.open > 0 {
            while left > 0 && self.open < depth {
                self.next += 1;
                self.open += 1;
                left -= 1;
                let verb = write(random.below(logical), self.next, 4096);
                self.volume.submit(Request { id: self.next, verb });
            }
            self.pump();
            if self.open >= depth || left == 0 {
                self.step();
            }
        }
        count as f64 * 1e9 / (self.now - from).max(1) as f64
    }
}

/// Model time between the ends of random writes of 4 KiB on a disk alone, as many as it takes at a time.
fn bare(name: &str) -> f64 {
    let mut disk = Disk::new(profile(name).unwrap(), 1 << 30);
    let random = &mut Seed(2).generator();
    let (mut events, count) = (Vec::new(), 20_000);
    for id in 0..count {
        let offset = random.below(1 << 18) * 4096;
        let (op, length, fua) = (Op::Write, 4096, false);
        disk.submit(disk::Request { id, arrival: 0, op, offset, length, fua }, &mut events);
    }
    while let Some(next) = disk.next() {
        disk.advance(next, &mut events);
    }
    let ends = events.iter().filter_map(|event| match event {
        Event::Done { at, .. } => Some(*at),
        Event::Stable { .. } => None,
    });
    ends.max().unwrap() as f64 / count as f64
}

#[test]
fn a_cache_that_is_too_small_costs_a_hard_disk_most_of_its_speed() {
    let leaves = 400;
    let speed = |cache: usize| {
        let settings = Settings { cache_pages: cache, compression: false, ..Settings::default() };
        let mut modelled = Modelled::new("hdd", leaves * LEAF, &settings);
        modelled.writes(32, 3000, leaves * LEAF);
        modelled.writes(8, 3000, leaves * LEAF)
    };
    let (enough, small) = (speed(500), speed(100));
    println!("enough {enough:.0}/s, too small {small:.0}/s");
    assert!(enough > 5.0 * small, "{enough} {small}");
}

#[test]
fn sync_is_slower_than_async_and_async_unsafe_no_slower_on_flash() {
    let speed = |policy| {
        let settings = Settings { policy, ..Settings::default() };
        let mut modelled = Modelled::new("nvme", 20 * LEAF, &settings);
        modelled.writes(64, 3000, 20 * LEAF);
        modelled.writes(64, 6000, 20 * LEAF)
    };
    let [sync, normal, unsafely] = [Policy::Sync, Policy::Async, Policy::AsyncUnsafe].map(speed);
    println!("sync {sync:.0}/s, async {normal:.0}/s, async-unsafe {unsafely:.0}/s");
    assert!(sync < normal && normal <= unsafely * 1.02, "{sync} {normal} {unsafely}");
}

/// In model time the volume's own work takes no time: what is left under async-unsafe are the commands of the disk, whose link takes
/// 2.4 µs for each. Writes a second are its rate, less what the journal takes.
#[test]
fn async_unsafe_on_nvme_is_as_fast_as_the_link_of_the_disk_carries_commands() {
    let settings = Settings { policy: Policy::AsyncUnsafe, ..Settings::default() };
    let mut modelled = Modelled::new("nvme", 20 * LEAF, &settings);
    modelled.writes(64, 3000, 20 * LEAF);
    let (from, before) = (modelled.now, modelled.volume.stats().ended.total());
    let speed = modelled.writes(64, 6000, 20 * LEAF);
    let (took, after) = (modelled.now - from, modelled.volume.stats().ended.total());
    let commands = (after.writes + after.reads) - (before.writes + before.reads);
    let command = bare("nvme");
    let busy = commands as f64 * command / took as f64;
    println!(
        "{speed:.0}/s, {commands} commands of {command:.0} ns for 6000 writes: {busy:.3} of the time"
    );
    assert!(speed < 1e9 / command, "faster than the disk alone");
    assert!((0.95..1.01).contains(&busy), "the link is busy for {busy} of the time");
}

/// The device is a trait too, so that this file says so once.
#[test]
fn a_memory_reads_back_what_was_written() {
    let mut memory = Memory::new(2);
    let block = crate::load::block(4, 4096);
    memory.write(1, &block).unwrap();
    let mut read = volume::Block::default();
    memory.read(1, &mut read).unwrap();
    assert!(read == *block && memory.read(2, &mut read).is_err());
}
