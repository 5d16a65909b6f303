//! The door: requests wait here for a permit, and while the volume changes its policy or stops.

use std::collections::VecDeque;

use crate::block::{BLOCK, Data, Lbn};
use crate::core::message::{
    Post, Then, ToDoor, ToHash, ToJournal, ToLogical, ToPacker, ToPhysical,
};
use crate::core::request::{Failure, Request, Task, Verb};
use crate::core::rules::{Rule, Rules};
use crate::core::settings::{Policy, Settings};
use crate::core::stats::RequestStats;
use crate::core::vio::{Kind, Vio};
use crate::format::{Geometry, State, Superblock};

/// A change for which everything else has to end first.
#[derive(Debug, Clone, Copy)]
enum Closing {
    Policy(Policy),
    /// A change to this layout.
    Grow(Geometry),
    /// The same, once the old journal is no longer needed and the new slabs have counts.
    Grown(Geometry),
    Stop,
}

/// The door.
pub(crate) struct Door {
    waiting: VecDeque<Request>,
    pub in_flight: usize,
    permits: usize,
    next: u64,
    superblock: Superblock,
    /// A change for which everything else has to end first.
    closing: Option<(u64, Closing)>,
    rules: Rules,
    pub read_only: bool,
    pub stats: RequestStats,
    pub most_in_flight: usize,
    zeros: Data,
}

impl Door {
    pub fn new(superblock: Superblock, settings: &Settings) -> Self {
        Self {
            waiting: VecDeque::new(),
            in_flight: 0,
            permits: settings.permits.max(1),
            next: 1,
            superblock,
            closing: None,
            rules: settings.rules(),
            read_only: false,
            stats: RequestStats::default(),
            most_in_flight: 0,
            zeros: Data::default(),
        }
    }

    /// The places of everything on the device.
    pub fn geometry(&self) -> &Geometry {
        &self.superblock.geometry
    }

    /// Takes a message. `end` is the sequence number of the first journal block of the next epoch, and the number of blocks of the volume in use.
    pub fn take(&mut self, message: ToDoor, end: (u64, u64), post: &mut Post) {
        match message {
            ToDoor::Submit(request) => {
                self.waiting.push_back(request);
                self.admit(post);
                self.hurry_if_full(post);
            }
            ToDoor::Left => {
                self.in_flight -= 1;
                if self.closing.is_some() && self.in_flight == 0 {
                    self.quiesce(post);
                }
                self.admit(post);
                self.hurry_if_full(post);
            }
            ToDoor::Quiet => post.bio(Task::Flush, Then::Quiet),
            ToDoor::QuietFlushed(false) => post.journal(ToJournal::Fail),
            ToDoor::QuietFlushed(true) => self.quiet(end, post),
            // Nobody waits for the superblock that says read-only, and nothing can be done if writing it failed.
            ToDoor::SuperblockWritten(_) if self.read_only => {}
            ToDoor::SuperblockWritten(false) => post.journal(ToJournal::Fail),
            ToDoor::SuperblockWritten(true) => self.superblock_written(post),
            ToDoor::SlabsAdded if self.rules.hold(Rule::CountsBeforeGrowth) => self.quiesce(post),
            ToDoor::SlabsAdded => self.quiet(end, post),
            ToDoor::ReadOnly => self.give_up(post),
        }
    }

    fn admit(&mut self, post: &mut Post) {
        while self.closing.is_none() && self.in_flight < self.permits {
            let Some(Request { id, verb }) = self.waiting.pop_front() else { return };
            self.count(&verb);
            let zeros = self.zeros.clone();
            match verb {
                Verb::Policy(policy) => self.close(id, Closing::Policy(policy), post),
                Verb::Stop => self.close(id, Closing::Stop, post),
                Verb::Grow { device, logical } => match self.geometry().grown(device, logical) {
                    Ok(grown) => self.close(id, Closing::Grow(grown), post),
                    Err(error) => post.reply(id, Err(error.into())),
                },
                Verb::Flush => {
                    self.in_flight += 1;
                    post.logical(ToLogical::Flush { before: self.next, request: id });
                }
                Verb::Read { lbn } => self.begin(id, (lbn, 1), Kind::Read, zeros, post, |_| {}),
                Verb::Write { lbn, data, fua } => {
                    self.begin(id, (lbn, 1), Kind::Write, data, post, |vio| vio.fua = fua);
                }
                Verb::Patch { at, bytes, .. } if at + bytes.len() > BLOCK => {
                    post.reply(id, Err(Failure::Beyond));
                }
                Verb::Patch { lbn, at, bytes, fua } => {
                    self.begin(id, (lbn, 1), Kind::Write, zeros, post, |vio| {
                        (vio.fua, vio.zero, vio.patch) = (fua, false, Some((at, bytes)));
                    });
                }
                Verb::Discard { lbn, blocks } => {
                    self.begin(id, (lbn, blocks), Kind::Discard, zeros, post, |_| {});
                }
            }
            self.most_in_flight = self.most_in_flight.max(self.in_flight);
        }
    }

    fn count(&mut self, verb: &Verb) {
        let stats = &mut self.stats;
        match verb {
            Verb::Read { .. } => stats.reads += 1,
            Verb::Write { fua, .. } => {
                stats.writes += 1;
                stats.fua += u64::from(*fua);
            }
            Verb::Patch { fua, .. } => {
                stats.writes += 1;
                stats.patches += 1;
                stats.fua += u64::from(*fua);
            }
            Verb::Discard { blocks, .. } => stats.discards += u64::from(*blocks > 0),
            Verb::Flush => stats.flushes += 1,
            Verb::Policy(_) | Verb::Grow { .. } | Verb::Stop => {}
        }
    }

    fn hurry_if_full(&self, post: &mut Post) {
        // A request that waits in the packer keeps its permit, and another request needs one.
        if self.in_flight >= self.permits && !self.waiting.is_empty() {
            post.packer(ToPacker::HurryBefore(self.next));
        }
    }

    /// Lets a request in, or replies why not.
    fn begin(
        &mut self,
        id: u64,
        (lbn, blocks): (Lbn, u64),
        kind: Kind,
        data: Data,
        post: &mut Post,
        with: impl FnOnce(&mut Vio),
    ) {
        let logical = self.superblock.geometry.sizes.logical;
        let refused = if lbn.checked_add(blocks).is_none_or(|end| end > logical) {
            Some(Err(Failure::Beyond))
        } else if self.read_only && kind != Kind::Read {
            self.stats.refused += 1;
            Some(Err(Failure::ReadOnly))
        } else {
            (blocks == 0).then_some(Ok(None))
        };
        if let Some(result) = refused {
            return post.reply(id, result);
        }
        self.in_flight += 1;
        let mut vio = Box::new(Vio::new(self.next, id, kind, lbn, data));
        vio.left = blocks;
        with(&mut vio);
        self.next += 1;
        post.logical(ToLogical::Begin(vio));
    }

    fn close(&mut self, id: u64, closing: Closing, post: &mut Post) {
        if self.read_only {
            return post.reply(id, Err(Failure::ReadOnly));
        }
        self.closing = Some((id, closing));
        match self.in_flight {
            0 => self.quiesce(post),
            _ => post.packer(ToPacker::HurryBefore(self.next)),
        }
    }

    fn quiesce(&mut self, post: &mut Post) {
        match self.closing {
            Some((_, Closing::Stop)) => post.hash(ToHash::Close),
            _ => post.journal(ToJournal::Quiesce),
        }
    }

    /// Makes the change: nothing is under way, and everything is durable where it belongs.
    fn quiet(&mut self, (first_seq, logical_used): (u64, u64), post: &mut Post) {
        let Superblock { epoch, geometry, .. } = self.superblock;
        let ended = Superblock { first_seq, logical_used, ..self.superblock };
        let next = match self.closing {
            Some((_, Closing::Policy(policy))) => {
                post.logical(ToLogical::Policy(policy));
                post.physical(ToPhysical::Policy(policy));
                post.hash(ToHash::Policy(policy));
                post.packer(ToPacker::Policy(policy));
                post.journal(ToJournal::Policy(policy));
                return self.closed(Ok(None), post);
            }
            // New slabs take the place of the journal: its epoch ends first.
            Some((id, Closing::Grow(grown))) if grown.slabs > geometry.slabs => {
                if !self.rules.hold(Rule::RingBeforeSlabs) {
                    self.closing = Some((id, Closing::Grown(grown)));
                    return post.physical(ToPhysical::Grow(grown));
                }
                Superblock { epoch: epoch + 1, ..ended }
            }
            Some((_, Closing::Grow(geometry) | Closing::Grown(geometry))) => {
                Superblock { epoch: epoch + 1, geometry, ..ended }
            }
            Some((_, Closing::Stop)) => Superblock { state: State::Clean, ..ended },
            None => return,
        };
        let durable = matches!(next.state, State::Clean) || self.rules.hold(Rule::GrownBeforeUse);
        self.superblock = Superblock { generation: next.generation + 1, ..next };
        post.superblock(&self.superblock, durable);
    }

    /// Completes a change that is on the device.
    fn superblock_written(&mut self, post: &mut Post) {
        match self.closing {
            Some((id, Closing::Grow(grown))) if grown.slabs > self.geometry().slabs => {
                self.closing = Some((id, Closing::Grown(grown)));
                post.physical(ToPhysical::Grow(grown));
            }
            Some((_, Closing::Grow(_) | Closing::Grown(_))) => {
                post.journal(ToJournal::Ring(self.superblock));
                self.closed(Ok(None), post);
            }
            _ => self.closed(Ok(None), post),
        }
    }

    /// Makes the volume read-only from here on, and after its next start.
    fn give_up(&mut self, post: &mut Post) {
        self.read_only = true;
        if self.superblock.state != State::ReadOnly {
            let generation = self.superblock.generation + 1;
            self.superblock = Superblock { generation, state: State::ReadOnly, ..self.superblock };
            post.superblock(&self.superblock, true);
        }
        self.closed(Err(Failure::ReadOnly), post);
    }

    fn closed(&mut self, result: Result<Option<Data>, Failure>, post: &mut Post) {
        if let Some((id, _)) = self.closing.take() {
            post.reply(id, result);
        }
        self.admit(post);
    }
}
