//! The journal zone: changes of mappings in their order, one commit at a time.
//!
//! A cycle takes what has been appended, flushes where the policy asks for it, and writes whole new blocks. Blocks of the ring
//! are used again when a durable header says that recovery does not need them. Two slots are kept for headers alone.

use std::collections::VecDeque;

use crate::block::Data;
use crate::core::message::{
    Item, Owner, Post, Then, ToDoor, ToJournal, ToLogical, ToPhysical, Zone,
};
use crate::core::request::{Failure, Task};
use crate::core::rules::{Rule, Rules};
use crate::core::settings::{Policy, Settings};
use crate::core::stats::JournalStats;
use crate::format::{Header, JournalBlock, MOST_ENTRIES, Nonce, Superblock};

/// Slots that only headers may take.
const HEADER_SLOTS: u64 = 2;

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Idle,
    /// Flushing the data that the entries name.
    Before,
    Writing {
        left: usize,
    },
    /// Flushing the blocks, so that their tail is durable (async-unsafe).
    After,
}

/// The journal zone.
pub(crate) struct Journal {
    ring: u64,
    first: u64,
    epoch: u64,
    nonce: Nonce,
    per_block: usize,
    threshold: u64,
    policy: Policy,
    rules: Rules,
    pending: VecDeque<Item>,
    phase: Phase,
    /// The blocks of this cycle; `cycle_tail` is the tail in their headers.
    cycle: Vec<(u64, Vec<Item>)>,
    cycle_tail: u64,
    next: u64,
    /// The tail in the newest header that is durable.
    durable: u64,
    /// The tail in the newest header that is written, which may not be durable yet.
    written_tail: u64,
    /// The oldest block that each zone needs: logical, physical.
    oldest: [u64; 2],
    logical_used: u64,
    /// Blocks of the volume in use before each journal block from the durable tail on.
    used_before: VecDeque<(u64, u64)>,
    saved_upto: u64,
    quiescing: bool,
    dead: bool,
    pub stats: JournalStats,
}

impl Journal {
    pub fn new(superblock: &Superblock, settings: &Settings) -> Self {
        let ring = superblock.geometry.sizes.journal;
        let threshold =
            (ring * settings.checkpoint_percent / 100).clamp(1, ring - HEADER_SLOTS - 1);
        let next = superblock.first_seq;
        Self {
            ring,
            first: superblock.geometry.journal_at,
            epoch: superblock.epoch,
            nonce: superblock.nonce,
            per_block: settings.journal_entries.clamp(1, MOST_ENTRIES),
            threshold,
            policy: settings.policy,
            rules: settings.rules(),
            pending: VecDeque::new(),
            phase: Phase::Idle,
            cycle: Vec::new(),
            cycle_tail: next,
            next,
            durable: next,
            written_tail: next,
            oldest: [next; 2],
            logical_used: superblock.logical_used,
            used_before: VecDeque::new(),
            saved_upto: 0,
            quiescing: false,
            dead: false,
            stats: JournalStats::default(),
        }
    }

    /// The first block of the next epoch, and the blocks of the volume in use.
    pub fn end(&self) -> (u64, u64) {
        (self.next, self.logical_used)
    }

    pub fn take(&mut self, message: ToJournal, post: &mut Post) {
        match message {
            ToJournal::Append(item) => self.append(item, post),
            ToJournal::Oldest(zone, seq) => {
                self.oldest[usize::from(zone == Zone::Physical)] = seq;
                self.ask_to_save(post);
            }
            ToJournal::FlushDone(false) | ToJournal::BlockDone(false) | ToJournal::Fail => {
                self.fail(post);
            }
            ToJournal::FlushDone(true) => match self.phase {
                Phase::After => {
                    self.durable = self.written_tail;
                    self.phase = Phase::Idle;
                }
                _ => self.write(post),
            },
            ToJournal::BlockDone(true) => match self.phase {
                Phase::Writing { left } if left > 1 => {
                    self.phase = Phase::Writing { left: left - 1 };
                }
                _ => self.commit(post),
            },
            ToJournal::Quiesce => {
                self.quiescing = true;
                self.ask_to_save(post);
            }
            ToJournal::Policy(policy) => {
                // Everything was flushed before.
                self.durable = self.written_tail;
                self.policy = policy;
            }
            ToJournal::Ring(superblock) => {
                (self.first, self.epoch) = (superblock.geometry.journal_at, superblock.epoch);
                (self.durable, self.written_tail) = (self.next, self.next);
                self.used_before.clear();
            }
        }
    }

    fn tail(&self) -> u64 {
        self.oldest[0].min(self.oldest[1])
    }

    fn append(&mut self, item: Item, post: &mut Post) {
        #[cfg(test)]
        if !self.rules.hold(Rule::FreeAtCommit)
            && let Some(pbn) = item.entry.old.block()
        {
            post.physical(ToPhysical::FreeEarly(pbn));
        }
        if self.dead {
            return refuse(item, post);
        }
        self.pending.push_back(item);
    }

    /// Begins a cycle, when there is nothing else to do.
    pub fn rest(&mut self, post: &mut Post) {
        if self.dead || self.phase != Phase::Idle {
            return;
        }
        let tail = self.tail();
        if self.quiescing && self.pending.is_empty() && tail == self.next {
            self.quiescing = false;
            return post.door(ToDoor::Quiet);
        }
        if self.pending.is_empty() {
            return;
        }
        let safe = if self.rules.hold(Rule::TailBeforeReuse) { self.durable } else { tail };
        let room = self.ring.saturating_sub(self.next - safe);
        let blocks = self.pending.len().div_ceil(self.per_block) as u64;
        let blocks = blocks.min(room.saturating_sub(HEADER_SLOTS));
        if blocks == 0 && (room == 0 || tail <= self.durable.max(self.written_tail)) {
            if self.written_tail > self.durable {
                self.phase = Phase::After;
                post.bio(Task::Flush, Then::JournalFlush);
            }
            return self.ask_to_save(post);
        }
        self.cycle_tail = tail;
        for _ in 0..blocks {
            let items = self.pending.len().min(self.per_block);
            self.cycle.push((self.next, self.pending.drain(..items).collect()));
            self.next += 1;
        }
        if blocks == 0 {
            self.cycle.push((self.next, Vec::new()));
            self.next += 1;
        }
        if self.policy == Policy::Async && self.rules.hold(Rule::DataBeforeJournal) {
            self.phase = Phase::Before;
            post.bio(Task::Flush, Then::JournalFlush);
        } else {
            self.write(post);
        }
    }

    fn write(&mut self, post: &mut Post) {
        let cycle = std::mem::take(&mut self.cycle);
        self.phase = Phase::Writing { left: cycle.len() };
        // Without FUA only the blocks before the tail, which recovery does not need, are known to be durable.
        let committed = match self.policy {
            Policy::AsyncUnsafe => self.cycle_tail,
            _ => cycle.first().map_or(self.cycle_tail, |(seq, _)| *seq),
        };
        for (seq, items) in &cycle {
            self.used_before.push_back((*seq, self.logical_used));
            items.iter().for_each(|item| self.count(item));
            let at = self.used_before.iter().find(|(seq, _)| *seq >= self.cycle_tail);
            let header = Header {
                epoch: self.epoch,
                seq: *seq,
                tail: self.cycle_tail,
                logical_at_tail: at.map_or(self.logical_used, |(_, used)| *used),
                committed,
            };
            let entries = items.iter().map(|item| item.entry).collect();
            let data = Data::new(JournalBlock { header, entries }.sealed(&self.nonce));
            let fua = self.policy != Policy::AsyncUnsafe;
            let pbn = self.first + seq % self.ring;
            post.bio(Task::Write { pbn, data, fua }, Then::JournalBlock);
        }
        self.cycle = cycle;
    }

    fn count(&mut self, item: &Item) {
        if matches!(item.owner, Owner::Vio(_)) {
            let (old, new) = (item.entry.old.is_mapped(), item.entry.new.is_mapped());
            self.logical_used = self.logical_used + u64::from(new) - u64::from(old);
        }
    }

    fn commit(&mut self, post: &mut Post) {
        self.stats.cycles += 1;
        for (seq, items) in self.cycle.drain(..) {
            self.stats.blocks += 1;
            self.stats.entries += items.len() as u64;
            post.physical(ToPhysical::Apply { seq, items });
        }
        self.stats.logical_blocks = self.logical_used;
        self.written_tail = self.cycle_tail;
        self.phase = Phase::Idle;
        if self.policy != Policy::AsyncUnsafe {
            self.durable = self.written_tail;
        } else if self.next - self.durable > self.threshold && self.written_tail > self.durable {
            self.phase = Phase::After;
            post.bio(Task::Flush, Then::JournalFlush);
        }
        while self.used_before.front().is_some_and(|(seq, _)| *seq < self.written_tail) {
            self.used_before.pop_front();
        }
        self.ask_to_save(post);
    }

    /// Asks for pages and counts to be written out when the ring fills, or when nothing is to be left in it.
    fn ask_to_save(&mut self, post: &mut Post) {
        let tail = self.tail();
        let full = self.next - tail >= self.threshold;
        let upto = match self.quiescing {
            true => self.next,
            false if full => tail + (self.threshold / 2).max(1),
            false => return,
        };
        if upto > self.saved_upto {
            self.saved_upto = upto;
            post.logical(ToLogical::Save(upto));
            post.physical(ToPhysical::Save(upto));
        }
    }

    /// Fails all entries from here on: nothing can be promised any more.
    fn fail(&mut self, post: &mut Post) {
        if !self.dead {
            self.dead = true;
            post.door(ToDoor::ReadOnly);
            post.logical(ToLogical::ReadOnly);
        }
        let cycle = std::mem::take(&mut self.cycle);
        let items = cycle.into_iter().flat_map(|(_, items)| items);
        items.chain(self.pending.drain(..)).for_each(|item| refuse(item, post));
    }
}

fn refuse(item: Item, post: &mut Post) {
    if let Owner::Vio(mut vio) = item.owner {
        vio.failed = Some(Failure::ReadOnly);
        post.physical(ToPhysical::Drop(vio));
    }
}
