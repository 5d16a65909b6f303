//! The volume: its zones, and who works next.

use units::{Seed, SplitMix64};

use crate::block::Block;
use crate::core::ack;
use crate::core::bio::Bio;
use crate::core::cache::Interior;
use crate::core::cpu::Cpu;
use crate::core::door::Door;
use crate::core::hash::Hash;
use crate::core::inboxes::Inboxes;
use crate::core::journal::Journal;
use crate::core::logical::Logical;
use crate::core::message::{Message, Post, ToBio, ToDoor, Zone};
use crate::core::packer::Packer;
use crate::core::physical::Physical;
use crate::core::request::{Operation, OperationId, Reply, Request};
use crate::core::settings::{Order, Settings};
use crate::core::stats::Stats;
use crate::format::{Page, PageKey, Superblock};

use std::collections::VecDeque;

/// All that a volume needs of its device to begin.
#[derive(Debug)]
pub struct Contents {
    /// Written already, with an epoch of this start.
    pub superblock: Superblock,
    /// The count of every data block.
    pub counts: Vec<u8>,
    /// Roots and all pages above the leaves, with their places.
    pub interior: Vec<(PageKey, Page, u64)>,
}

/// A volume at work.
///
/// It does nothing by itself. A shell submits requests, takes operations and does them, completes them, and takes replies; whatever
/// it calls, it goes on until neither operations nor replies come. [`crate::pump`] is that loop.
pub struct Volume {
    door: Door,
    logical: Logical,
    physical: Physical,
    hash: Hash,
    cpu: Cpu,
    packer: Packer,
    journal: Journal,
    bio: Bio,
    inboxes: Inboxes,
    post: Post,
    random: Option<SplitMix64>,
    operations: VecDeque<Operation>,
    replies: VecDeque<Reply>,
}

impl Volume {
    /// A volume with these contents.
    pub fn new(contents: Contents, settings: &Settings) -> Self {
        let Contents { superblock, counts, interior } = contents;
        let Superblock { geometry, nonce, first_seq, .. } = superblock;
        let applied = first_seq.saturating_sub(1);
        let pages = interior.into_iter().map(|(key, page, pbn)| (key, (page, pbn)));
        let interior: Interior = pages.collect();
        Self {
            door: Door::new(superblock, settings),
            logical: Logical::new(nonce, interior, applied, settings),
            physical: Physical::new(geometry, nonce, counts, applied, settings),
            hash: Hash::new(settings),
            cpu: Cpu::new(settings),
            packer: Packer::new(settings),
            journal: Journal::new(&superblock, settings),
            bio: Bio::default(),
            inboxes: Inboxes::default(),
            post: Post::default(),
            random: match settings.order {
                Order::InTurn => None,
                Order::Drawn(seed) => Some(Seed(seed).generator()),
            },
            operations: VecDeque::new(),
            replies: VecDeque::new(),
        }
    }

    /// Takes a request.
    pub fn submit(&mut self, request: Request) {
        self.inboxes.put(Message::Door(ToDoor::Submit(request)));
    }

    /// The next operation for the device. `None` until something is submitted or completed.
    pub fn next_operation(&mut self) -> Option<Operation> {
        self.work();
        self.operations.pop_front()
    }

    /// Ends an operation: `None` when the device failed it, else the block that was read, if it read one.
    pub fn complete(&mut self, id: OperationId, result: Option<Option<Box<Block>>>) {
        self.inboxes.put(Message::Bio(ToBio::Done(id, result)));
    }

    /// The next reply for a client. `None` until something is submitted or completed.
    pub fn next_reply(&mut self) -> Option<Reply> {
        self.work();
        self.replies.pop_front()
    }

    /// All counters.
    pub fn stats(&self) -> Stats {
        let mut journal = self.journal.stats;
        journal.logical_blocks = self.journal.end().1;
        Stats {
            hash: self.hash.stats,
            map: self.logical.cache.stats,
            space: self.physical.space.stats,
            journal,
            device: self.bio.stats,
            parked: self.packer.parked() as u64,
            in_flight: self.door.in_flight as u64,
            read_only: self.door.read_only,
        }
    }

    /// Lets all zones work until nothing is left to do.
    fn work(&mut self) {
        loop {
            match &mut self.random {
                None => self.in_turn(),
                Some(_) => self.drawn(),
            }
            self.packer.rest(&mut self.post);
            self.deliver();
            if self.inboxes.is_empty() {
                self.journal.rest(&mut self.post);
                self.deliver();
            }
            if self.inboxes.is_empty() {
                return;
            }
        }
    }

    fn in_turn(&mut self) {
        while !self.inboxes.is_empty() {
            for zone in Zone::ALL {
                while let Some(message) = self.inboxes.take(zone) {
                    self.handle(message);
                }
            }
        }
    }

    /// Any zone with a message; now and then one rests too early, as threads would.
    fn drawn(&mut self) {
        while !self.inboxes.is_empty() {
            let Some(random) = &mut self.random else { return };
            let zone = Zone::ALL[random.below(Zone::ALL.len() as u64) as usize];
            match random.below(40) {
                0 => self.packer.rest(&mut self.post),
                1 => self.journal.rest(&mut self.post),
                _ => {}
            }
            self.deliver();
            if self.inboxes.has(zone)
                && let Some(message) = self.inboxes.take(zone)
            {
                self.handle(message);
            }
        }
    }

    fn handle(&mut self, message: Message) {
        let post = &mut self.post;
        match message {
            Message::Door(message) => self.door.take(message, self.journal.end(), post),
            Message::Logical(message) => self.logical.take(message, post),
            Message::Physical(message) => self.physical.take(message, post),
            Message::Hash(message) => self.hash.take(message, post),
            Message::Cpu(message) => self.cpu.take(message, post),
            Message::Packer(message) => self.packer.take(message, post),
            Message::Journal(message) => self.journal.take(message, post),
            Message::Bio(message) => self.bio.take(message, post),
            Message::Ack(message) => ack::take(message, post),
        }
        self.deliver();
    }

    fn deliver(&mut self) {
        self.post.sent.drain(..).for_each(|message| self.inboxes.put(message));
        self.operations.extend(self.post.operations.drain(..));
        self.replies.extend(self.post.replies.drain(..));
    }
}
