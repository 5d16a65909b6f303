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
use crate::core::message::{Message, Post, ToBio, ToDoor, ToJournal, Zone};
use crate::core::packer::Packer;
use crate::core::physical::Physical;
use crate::core::request::{Operation, OperationId, Reply, Request};
use crate::core::settings::{Order, Settings};
use crate::core::stats::Stats;
use crate::format::{Geometry, Page, PageKey, State, Superblock};
use crate::index::Index;

use std::collections::VecDeque;

/// All that a volume needs of its device to begin.
#[derive(Debug)]
pub(crate) struct Contents {
    /// Written already, with an epoch of this start.
    pub superblock: Superblock,
    /// The count of every data block.
    pub counts: Vec<u8>,
    /// Roots and all pages above the leaves, with their places.
    pub interior: Vec<(PageKey, Page, u64)>,
    /// The index, with the chapters that the device kept.
    pub index: Index,
}

/// A volume at work.
///
/// It does nothing by itself. A shell submits requests, takes operations and does them, completes them, and takes replies. After any
/// call the shell goes on until neither operations nor replies come. [`crate::pump`] is that loop.
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
    /// A zone that does not work at present, as a thread may not.
    asleep: Option<Zone>,
    operations: VecDeque<Operation>,
    replies: VecDeque<Reply>,
}

impl Volume {
    /// A volume with these contents.
    pub(crate) fn new(contents: Contents, settings: &Settings) -> Self {
        let Contents { superblock, counts, interior, index } = contents;
        let Superblock { geometry, nonce, first_seq, .. } = superblock;
        let applied = first_seq.saturating_sub(1);
        let pages = interior.into_iter().map(|(key, page, pbn)| (key, (page, pbn)));
        let interior: Interior = pages.collect();
        let mut volume = Self {
            door: Door::new(superblock, settings),
            logical: Logical::new(nonce, interior, applied, settings),
            physical: Physical::new(geometry, nonce, counts, applied, settings),
            hash: Hash::new(&superblock, index, settings),
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
            asleep: None,
            operations: VecDeque::new(),
            replies: VecDeque::new(),
        };
        if superblock.state == State::ReadOnly {
            volume.handle(Message::Journal(ToJournal::Fail));
            volume.in_turn(usize::MAX);
        }
        volume
    }

    /// The places of everything on its device.
    pub fn geometry(&self) -> &Geometry {
        self.door.geometry()
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
        if self.random.is_none() {
            self.work();
        }
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
            device: self.bio.begun,
            ended: self.bio.ended,
            requests: self.door.stats,
            index: self.hash.index_stats(),
            parked: self.packer.parked() as u64,
            in_flight: self.door.in_flight as u64,
            most_in_flight: self.door.most_in_flight as u64,
            read_only: self.door.read_only,
        }
    }

    /// Tells the volume that its device lost something without failing an operation: the volume is read-only from here on.
    pub fn fail(&mut self) {
        self.inboxes.put(Message::Journal(ToJournal::Fail));
        self.in_turn(usize::MAX);
    }

    /// Lets the zones handle messages until `most` were handled, then write out what packer and journal hold back. Tells if messages are left.
    pub(crate) fn work_a_turn(&mut self, most: usize) -> bool {
        self.in_turn(most);
        self.packer.rest(&mut self.post);
        self.journal.rest(&mut self.post);
        self.deliver();
        !self.inboxes.is_empty()
    }

    /// Takes the operations that there are, without any work.
    pub(crate) fn taken_operations(&mut self) -> impl Iterator<Item = Operation> + use<> {
        std::mem::take(&mut self.operations).into_iter()
    }

    /// Takes the replies that there are, without any work.
    pub(crate) fn taken_replies(&mut self) -> impl Iterator<Item = Reply> + use<> {
        std::mem::take(&mut self.replies).into_iter()
    }

    /// Lets all zones work until nothing is left to do.
    fn work(&mut self) {
        loop {
            if self.random.is_none() {
                self.in_turn(usize::MAX);
            } else if !self.drawn() {
                return;
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

    /// Lets one zone after the other handle the messages that it has by then, until none is left or `most` were handled. So a zone that
    /// sends messages to itself does not keep the others from work.
    fn in_turn(&mut self, most: usize) {
        let mut handled = 0;
        while handled < most && !self.inboxes.is_empty() {
            for zone in Zone::ALL {
                let there = self.inboxes.length(zone);
                for _ in 0..there {
                    if let Some(message) = self.inboxes.take(zone) {
                        self.handle(message);
                    }
                }
                handled += there;
            }
        }
    }

    /// Lets zones in random order handle a message each; now and then one rests too early, as threads would, or sleeps while the device ends
    /// operations. Tells if all messages were handled.
    fn drawn(&mut self) -> bool {
        while !self.inboxes.is_empty() {
            // Waiting for the device: it has taken every operation, and the end of none has come in.
            let has_more = self.inboxes.has(Zone::Bio) || !self.operations.is_empty();
            let waits = self.bio.is_busy() && !has_more;
            let Some(random) = &mut self.random else { return true };
            let zone = Zone::ALL[random.below(Zone::ALL.len() as u64) as usize];
            match random.below(80) {
                0 => self.packer.rest(&mut self.post),
                1 => self.journal.rest(&mut self.post),
                // The bio zone knows what is under way: it hears of every end.
                2 => self.asleep = Some(zone).filter(|zone| *zone != Zone::Bio),
                3 if waits && self.asleep.is_some() => return false,
                _ => {}
            }
            self.deliver();
            if self.asleep == Some(zone) {
                let rest =
                    Zone::ALL.into_iter().any(|other| other != zone && self.inboxes.has(other));
                if !rest && !waits {
                    self.asleep = None;
                }
            } else if let Some(message) = self.inboxes.take(zone) {
                self.handle(message);
            }
        }
        true
    }

    /// Lets all zones but one work; returns the operations for the device.
    #[cfg(test)]
    pub(crate) fn turn_without(&mut self, asleep: Option<Zone>) -> Vec<Operation> {
        let awake = || Zone::ALL.into_iter().filter(move |zone| Some(*zone) != asleep);
        loop {
            while let Some(zone) = awake().find(|zone| self.inboxes.has(*zone)) {
                self.inboxes.take(zone).into_iter().for_each(|message| self.handle(message));
            }
            self.packer.rest(&mut self.post);
            self.journal.rest(&mut self.post);
            self.deliver();
            if !awake().any(|zone| self.inboxes.has(zone)) {
                return self.operations.drain(..).collect();
            }
        }
    }

    /// Tells if a block may be allocated.
    #[cfg(test)]
    pub(crate) fn is_free(&self, pbn: crate::block::Pbn) -> bool {
        self.geometry().number(pbn).is_some_and(|number| self.physical.space.is_free(number))
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
