//! The door: requests wait here for a permit, and while the volume changes its policy or stops.

use std::collections::VecDeque;

use crate::block::{Data, Lbn};
use crate::core::message::{
    Post, Then, ToDoor, ToHash, ToJournal, ToLogical, ToPacker, ToPhysical,
};
use crate::core::request::{Failure, Request, Task, Verb};
use crate::core::settings::{Policy, Settings};
use crate::core::vio::{Kind, Vio};
use crate::format::{State, Superblock};

/// The door.
pub(crate) struct Door {
    waiting: VecDeque<Request>,
    pub in_flight: usize,
    permits: usize,
    next: u64,
    superblock: Superblock,
    /// A change of policy or the end, for which everything else has to end first.
    closing: Option<(u64, Option<Policy>)>,
    pub read_only: bool,
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
            read_only: false,
            zeros: Data::default(),
        }
    }

    /// Takes a message. `end` is the first journal block of the next epoch and the blocks of the volume in use.
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
            ToDoor::SuperblockWritten(ok) => {
                let result = if ok { Ok(None) } else { Err(Failure::Io) };
                self.closed(result, post);
            }
            ToDoor::ReadOnly => {
                self.read_only = true;
                self.closed(Err(Failure::ReadOnly), post);
            }
        }
    }

    fn admit(&mut self, post: &mut Post) {
        while self.closing.is_none() && self.in_flight < self.permits {
            let Some(Request { id, verb }) = self.waiting.pop_front() else { return };
            match verb {
                Verb::Policy(policy) => self.close(id, Some(policy), post),
                Verb::Stop => self.close(id, None, post),
                Verb::Flush => {
                    self.in_flight += 1;
                    post.logical(ToLogical::Flush { before: self.next, request: id });
                }
                Verb::Read { lbn } => {
                    self.begin(id, Kind::Read, lbn, 1, self.zeros.clone(), post);
                }
                Verb::Write { lbn, data, fua } => {
                    if let Some(mut vio) = self.vio(id, Kind::Write, lbn, 1, data, post) {
                        vio.fua = fua;
                        post.logical(ToLogical::Begin(vio));
                    }
                }
                Verb::Discard { lbn, blocks } => {
                    self.begin(id, Kind::Discard, lbn, blocks, self.zeros.clone(), post);
                }
            }
        }
    }

    fn hurry_if_full(&self, post: &mut Post) {
        // Who waits in the packer keeps a permit, and somebody needs one.
        if self.in_flight >= self.permits && !self.waiting.is_empty() {
            post.packer(ToPacker::HurryBefore(self.next));
        }
    }

    fn begin(&mut self, id: u64, kind: Kind, lbn: Lbn, blocks: u64, data: Data, post: &mut Post) {
        if let Some(vio) = self.vio(id, kind, lbn, blocks, data, post) {
            post.logical(ToLogical::Begin(vio));
        }
    }

    /// Lets a request in, or says why not.
    fn vio(
        &mut self,
        id: u64,
        kind: Kind,
        lbn: Lbn,
        blocks: u64,
        data: Data,
        post: &mut Post,
    ) -> Option<Box<Vio>> {
        let logical = self.superblock.geometry.sizes.logical;
        let refused = if lbn.checked_add(blocks).is_none_or(|end| end > logical) {
            Some(Err(Failure::Beyond))
        } else if self.read_only && kind != Kind::Read {
            Some(Err(Failure::ReadOnly))
        } else {
            (blocks == 0).then_some(Ok(None))
        };
        if let Some(result) = refused {
            post.reply(id, result);
            return None;
        }
        self.in_flight += 1;
        let mut vio = Box::new(Vio::new(self.next, id, kind, lbn, data));
        vio.left = blocks;
        self.next += 1;
        Some(vio)
    }

    fn close(&mut self, id: u64, policy: Option<Policy>, post: &mut Post) {
        if self.read_only {
            return post.reply(id, Err(Failure::ReadOnly));
        }
        self.closing = Some((id, policy));
        match self.in_flight {
            0 => self.quiesce(post),
            _ => post.packer(ToPacker::HurryBefore(self.next)),
        }
    }

    fn quiesce(&mut self, post: &mut Post) {
        post.journal(ToJournal::Quiesce);
    }

    /// Nothing is under way, and everything is durable where it belongs.
    fn quiet(&mut self, (first_seq, logical_used): (u64, u64), post: &mut Post) {
        match self.closing {
            Some((_, Some(policy))) => {
                post.logical(ToLogical::Policy(policy));
                post.physical(ToPhysical::Policy(policy));
                post.hash(ToHash::Policy(policy));
                post.packer(ToPacker::Policy(policy));
                post.journal(ToJournal::Policy(policy));
                self.closed(Ok(None), post);
            }
            Some((_, None)) => {
                let generation = self.superblock.generation + 1;
                let state = State::Clean;
                self.superblock =
                    Superblock { generation, state, first_seq, logical_used, ..self.superblock };
                post.superblock(&self.superblock);
            }
            None => {}
        }
    }

    fn closed(&mut self, result: Result<Option<Data>, Failure>, post: &mut Post) {
        if let Some((id, _)) = self.closing.take() {
            post.reply(id, result);
        }
        self.admit(post);
    }
}
