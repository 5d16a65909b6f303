//! The logical zone: one request at a time for each address, the block map, and the replies that promise durability.

use crate::block::{Block, Data, Lbn};
use crate::core::batch::Batches;
use crate::core::cache::{Cache, Interior, Need};
use crate::core::dirty::Dirty;
use crate::core::locks::Locks;
use crate::core::message::{
    Item, Owner, Post, Then, ToCpu, ToDoor, ToHash, ToJournal, ToLogical, ToPacker, ToPhysical,
    Zone,
};
use crate::core::request::{Failure, Task};
use crate::core::rules::{Rule, Rules};
use crate::core::saver::Saver;
use crate::core::settings::{Discards, Policy, Settings};
use crate::core::store;
use crate::core::tree::Growth;
use crate::core::undone::Undone;
use crate::core::vio::{Kind, Vio};
use crate::format::{ENTRIES, Entry, Mapping, Nonce, Page, PageKey};

/// The logical zone.
pub(crate) struct Logical {
    nonce: Nonce,
    pub cache: Cache,
    growth: Growth,
    batches: Batches,
    discards: Discards,
    locks: Locks,
    undone: Undone,
    dirty: Dirty<PageKey>,
    saver: Saver<PageKey>,
    /// Leaves that have to be written, so that they can leave memory.
    leaving: Vec<PageKey>,
    save_upto: u64,
    applied: u64,
    batch: usize,
    reduces: bool,
    policy: Policy,
    rules: Rules,
    dead: bool,
    zeros: Data,
}

impl Logical {
    pub fn new(nonce: Nonce, interior: Interior, applied: u64, settings: &Settings) -> Self {
        Self {
            nonce,
            cache: Cache::new(interior, settings.cache_pages),
            growth: Growth::default(),
            batches: Batches::default(),
            discards: settings.discards,
            locks: Locks::default(),
            undone: Undone::default(),
            dirty: Dirty::default(),
            saver: Saver::new(Zone::Logical, settings.policy, settings.rules()),
            leaving: Vec::new(),
            save_upto: 0,
            applied,
            batch: settings.page_batch.max(1),
            reduces: settings.deduplication || settings.compression,
            policy: settings.policy,
            rules: settings.rules(),
            dead: false,
            zeros: Data::default(),
        }
    }

    pub fn take(&mut self, message: ToLogical, post: &mut Post) {
        match message {
            ToLogical::Begin(vio) => {
                if vio.kind != Kind::Read {
                    self.undone.begin(vio.id);
                }
                self.lock(vio, post);
            }
            ToLogical::Walk(vio) => self.lock(vio, post),
            ToLogical::Flush { before, request } => {
                if self.policy != Policy::Sync {
                    post.packer(ToPacker::HurryBefore(before));
                }
                self.undone.flush(before, request);
                self.check_flushes(post);
            }
            ToLogical::Allocated(vio) => self.allocated(vio, post),
            ToLogical::PagesAllocated { leaf, pages } => match pages {
                Some(pages) => {
                    let fua = self.rules.hold(Rule::PageBeforeLink);
                    self.growth.format(leaf.root, pages, &self.nonce, fua, post);
                }
                None => self.no_pages(leaf, post),
            },
            ToLogical::PageFormatted { root, ok: true } => self.growth.formatted(root, post),
            ToLogical::PageFormatted { ok: false, .. } | ToLogical::SaverIo(false) => {
                post.journal(ToJournal::Fail);
            }
            ToLogical::Locate(vio) if vio.home == Some(vio.new) => self.finish(vio, post),
            ToLogical::Locate(vio) => self.locate(vio, post),
            ToLogical::Committed { seq, items } => self.committed(seq, items, post),
            ToLogical::Loaded { leaf, block } => self.loaded(leaf, block, post),
            ToLogical::ReadDone(vio, data) => self.read(vio, data, post),
            ToLogical::Flushed(vio, true) => self.acknowledge(vio, post),
            ToLogical::Flushed(mut vio, false) => {
                vio.failed = Some(Failure::Io);
                post.journal(ToJournal::Fail);
                self.failed(vio, post);
            }
            ToLogical::Failed(vio) => self.failed(vio, post),
            ToLogical::Save(upto) => {
                self.save_upto = self.save_upto.max(upto);
                self.save(post);
            }
            ToLogical::SaverIo(true) => self.saved(post),
            ToLogical::ReadOnly => self.give_up(post),
            ToLogical::Policy(policy) => {
                self.policy = policy;
                self.saver.set_policy(policy);
            }
        }
    }

    fn lock(&mut self, vio: Box<Vio>, post: &mut Post) {
        if let Some(vio) = self.locks.take(vio, post) {
            self.proceed(vio, post);
        }
    }

    fn unlock(&mut self, lbn: Lbn, post: &mut Post) {
        if let Some(next) = self.locks.leave(lbn, post) {
            self.proceed(next, post);
        }
    }

    /// Starts a request that has its address.
    fn proceed(&mut self, mut vio: Box<Vio>, post: &mut Post) {
        let leaf = PageKey::leaf(vio.lbn);
        let exists = self.cache.place(leaf).is_some();
        match vio.kind {
            _ if self.dead && vio.kind != Kind::Read => {
                vio.failed = Some(Failure::ReadOnly);
                self.failed(vio, post);
            }
            Kind::Read if !exists => {
                post.reply(vio.request, Ok(Some(self.zeros.clone())));
                self.finish(vio, post);
            }
            Kind::Discard if !exists => {
                // Nothing is mapped up to the end of the leaf.
                let lbn = vio.lbn;
                let skipped = (ENTRIES as u64 - lbn % ENTRIES as u64).min(vio.left);
                self.walk(vio, skipped, post);
            }
            Kind::Write if vio.patch.is_some() && exists => self.locate(vio, post),
            Kind::Write if vio.patch.is_some() => {
                vio.merge(&self.zeros);
                self.proceed(vio, post);
            }
            Kind::Write if !exists => {
                if self.growth.wait(leaf.root, vio) {
                    let keys = self.cache.missing(leaf);
                    post.physical(ToPhysical::AllocatePages { leaf, keys });
                }
            }
            Kind::Read | Kind::Discard => self.locate(vio, post),
            Kind::Write if vio.zero => {
                vio.new = Mapping::ZERO;
                if self.policy != Policy::Sync && !vio.fua {
                    ack(&mut vio, post);
                }
                self.locate(vio, post);
            }
            Kind::Write => post.physical(ToPhysical::Allocate(vio)),
        }
    }

    fn no_pages(&mut self, leaf: PageKey, post: &mut Post) {
        let mut waiting = self.growth.end(leaf.root);
        if let Some(mut vio) = waiting.pop_front() {
            vio.failed = Some(Failure::NoSpace);
            self.failed(vio, post);
        }
        waiting.into_iter().for_each(|vio| self.proceed(vio, post));
    }

    fn allocated(&mut self, mut vio: Box<Vio>, post: &mut Post) {
        match vio.pin {
            Some(_) if self.policy == Policy::Sync => {
                store::store_whole(vio, self.policy, self.rules, post);
            }
            _ => {
                // Not acknowledged before there is room: an acknowledged write cannot fail for lack of space.
                if vio.pin.is_some() && !vio.fua {
                    ack(&mut vio, post);
                }
                self.reduce(vio, post);
            }
        }
    }

    fn reduce(&mut self, mut vio: Box<Vio>, post: &mut Post) {
        vio.reduced = true;
        match self.reduces {
            true => post.cpu(ToCpu::Fingerprint(vio)),
            false => store::store_whole(vio, self.policy, self.rules, post),
        }
    }

    /// Looks the address up.
    fn locate(&mut self, vio: Box<Vio>, post: &mut Post) {
        match self.cache.get(vio.lbn) {
            Some(mapping) => self.found(vio, mapping, post),
            None => {
                self.cache.wait(PageKey::leaf(vio.lbn), vio);
                self.make_room(post);
            }
        }
    }

    fn found(&mut self, mut vio: Box<Vio>, mapping: Mapping, post: &mut Post) {
        vio.old = mapping;
        let reads = vio.kind == Kind::Read || vio.patch.is_some();
        match (vio.kind, mapping.block()) {
            (_, Some(pbn)) if reads => post.bio(Task::Read { pbn }, Then::Data(vio)),
            (_, None) if reads => self.read(vio, Some(self.zeros.clone()), post),
            (Kind::Discard, _) if !mapping.is_mapped() => self.walk(vio, 1, post),
            (Kind::Discard, _) if self.discards == Discards::Batch && vio.left > 1 => {
                self.go_on_alone(&vio, post);
                vio.left -= 1;
                vio.lbn += 1;
                post.logical(ToLogical::Walk(vio));
            }
            (_, _) => {
                if vio.kind == Kind::Discard {
                    vio.new = Mapping::UNMAPPED;
                }
                self.append(vio, post);
            }
        }
    }

    fn append(&mut self, vio: Box<Vio>, post: &mut Post) {
        self.cache.pin(vio.lbn);
        let entry = Entry { key: vio.lbn, old: vio.old, new: vio.new };
        post.journal(ToJournal::Append(Item { entry, owner: Owner::Vio(vio) }));
    }

    /// Takes the bytes of a block that was read, for a client or for a write of a part of the block.
    fn read(&mut self, mut vio: Box<Vio>, data: Option<Data>, post: &mut Post) {
        match data {
            Some(data) if vio.patch.is_some() => {
                vio.merge(&data);
                self.proceed(vio, post);
            }
            None if vio.patch.is_some() => {
                vio.failed = Some(Failure::Io);
                self.failed(vio, post);
            }
            data => {
                post.reply(vio.request, data.map(Some).ok_or(Failure::Io));
                self.finish(vio, post);
            }
        }
    }

    /// Discards the block that a discard has come to by itself, under the discard's lock, while the discard walks on.
    fn go_on_alone(&mut self, discard: &Vio, post: &mut Post) {
        let Vio { id, request, kind, lbn, old, .. } = *discard;
        let mut block = Box::new(Vio::new(id, request, kind, lbn, self.zeros.clone()));
        (block.old, block.batched) = (old, true);
        self.batches.begin(id);
        self.append(block, post);
    }

    /// Ends a block of a discard, which may have been the last.
    fn batched(&mut self, block: &Vio, post: &mut Post) {
        self.unlock(block.lbn, post);
        if let Some(discard) = self.batches.ended(block.id) {
            self.done(discard, post);
        }
    }

    /// Moves a discard on by `blocks` blocks.
    fn walk(&mut self, mut vio: Box<Vio>, blocks: u64, post: &mut Post) {
        let lbn = vio.lbn;
        vio.left -= blocks;
        if vio.left == 0 {
            if let Some(vio) = self.batches.walked(vio) {
                self.done(vio, post);
            }
            return;
        }
        vio.lbn += blocks;
        self.unlock(lbn, post);
        post.logical(ToLogical::Walk(vio));
    }

    fn committed(&mut self, seq: u64, items: Vec<Item>, post: &mut Post) {
        let mut grown = Vec::new();
        for item in items {
            let Entry { new, .. } = item.entry;
            match item.owner {
                Owner::Page(key) => {
                    let pbn = new.block().unwrap_or(0);
                    self.cache.link(key, Page::empty(), pbn);
                    self.dirty.mark(key.parent(), seq);
                    grown.extend(self.growth.linked(key.root));
                }
                Owner::Vio(vio) => {
                    self.cache.set(vio.lbn, new);
                    self.dirty.mark(PageKey::leaf(vio.lbn), seq);
                    match vio.kind {
                        Kind::Discard if vio.batched => self.batched(&vio, post),
                        Kind::Discard => self.walk(vio, 1, post),
                        _ => self.done(vio, post),
                    }
                }
            }
        }
        self.applied = seq;
        grown.into_iter().for_each(|vio| self.proceed(vio, post));
        self.report(post);
        self.save(post);
        self.make_room(post);
    }

    /// Completes a request whose last entry is committed, or that needed none.
    fn done(&mut self, mut vio: Box<Vio>, post: &mut Post) {
        if self.dead && vio.kind == Kind::Discard {
            // Some of its blocks may have failed.
            vio.failed = Some(Failure::ReadOnly);
            return self.failed(vio, post);
        }
        let flush = self.policy == Policy::AsyncUnsafe && vio.fua && !vio.acked;
        if flush && self.rules.hold(Rule::FlushBeforeAck) {
            post.bio(Task::Flush, Then::Durable(vio));
        } else {
            self.acknowledge(vio, post);
        }
    }

    fn acknowledge(&mut self, mut vio: Box<Vio>, post: &mut Post) {
        if !vio.acked {
            ack(&mut vio, post);
        }
        self.durable(vio.id, post);
        let second = vio.kind == Kind::Write && !vio.zero && !vio.reduced;
        if second && self.policy == Policy::Sync && self.reduces && !self.dead {
            vio.home = Some(vio.new);
            self.reduce(vio, post);
        } else {
            self.finish(vio, post);
        }
    }

    /// Lets a request leave the volume.
    fn finish(&mut self, mut vio: Box<Vio>, post: &mut Post) {
        self.durable(vio.id, post);
        self.unlock(vio.lbn, post);
        if vio.agent {
            post.hash(ToHash::Release(vio));
        } else if let Some(pbn) = vio.pin.take() {
            post.physical(ToPhysical::Unpin(pbn));
        }
        post.door(ToDoor::Left);
    }

    fn failed(&mut self, vio: Box<Vio>, post: &mut Post) {
        if vio.batched {
            return self.batched(&vio, post);
        }
        match vio.failed {
            Some(failure) if !vio.acked => post.reply(vio.request, Err(failure)),
            // It was acknowledged already: the promise cannot be kept.
            Some(_) if vio.home.is_none() => post.journal(ToJournal::Fail),
            _ => {}
        }
        self.finish(vio, post);
    }

    fn durable(&mut self, id: u64, post: &mut Post) {
        if self.undone.end(id) {
            self.check_flushes(post);
        }
    }

    fn check_flushes(&mut self, post: &mut Post) {
        let now = self.dead || !self.rules.hold(Rule::FlushWaits);
        while let Some(request) = self.undone.next_flush(now) {
            if self.policy == Policy::AsyncUnsafe && !self.dead {
                post.bio(Task::Flush, Then::Flush(request));
            } else {
                post.reply(request, if self.dead { Err(Failure::ReadOnly) } else { Ok(None) });
                post.door(ToDoor::Left);
            }
        }
    }

    fn loaded(&mut self, leaf: PageKey, block: Option<Box<Block>>, post: &mut Post) {
        let pbn = self.cache.place(leaf).unwrap_or(0);
        let page = block.and_then(|block| Page::read(&block, &self.nonce, pbn));
        for mut vio in self.cache.loaded(leaf, page) {
            match self.cache.get(vio.lbn) {
                Some(mapping) => self.found(vio, mapping, post),
                None => {
                    vio.failed = Some(Failure::Io);
                    post.physical(ToPhysical::Drop(vio));
                }
            }
        }
        self.make_room(post);
    }

    fn make_room(&mut self, post: &mut Post) {
        let dirty = &self.dirty;
        let needs = self.cache.needs(|key| dirty.is_dirty(key), |key| dirty.is_saving(key));
        for need in needs {
            match need {
                Need::Load(key, pbn) => post.bio(Task::Read { pbn }, Then::Leaf(key)),
                Need::Save(key) => self.leaving.push(key),
            }
        }
        if self.dead {
            return self.give_up_loads(post);
        }
        self.save(post);
    }

    fn report(&self, post: &mut Post) {
        let oldest = self.dirty.oldest().unwrap_or(self.applied + 1);
        post.journal(ToJournal::Oldest(Zone::Logical, oldest));
    }

    fn save(&mut self, post: &mut Post) {
        if !self.saver.is_idle() || self.dead {
            return;
        }
        let mut keys = std::mem::take(&mut self.leaving);
        keys.extend(self.dirty.before(self.save_upto, self.batch));
        let mut batch = Vec::new();
        for key in keys {
            if self.dirty.is_dirty(key)
                && let Some((page, pbn)) = self.cache.page(key)
            {
                self.dirty.take(key);
                batch.push((key, pbn, Data::new(page.sealed(&self.nonce, pbn))));
            }
        }
        self.cache.stats.pages_saved += batch.len() as u64;
        self.saver.begin(batch, post);
    }

    fn saved(&mut self, post: &mut Post) {
        if let Some(keys) = self.saver.done(post) {
            keys.into_iter().for_each(|key| self.dirty.saved(key));
            self.report(post);
            self.save(post);
            self.make_room(post);
        }
    }

    /// Makes the volume read-only from here on.
    fn give_up(&mut self, post: &mut Post) {
        self.dead = true;
        self.check_flushes(post);
        for mut vio in self.growth.give_up() {
            vio.failed = Some(Failure::ReadOnly);
            self.failed(vio, post);
        }
        self.make_room(post);
    }

    fn give_up_loads(&mut self, post: &mut Post) {
        for mut vio in self.cache.give_up() {
            vio.failed = Some(Failure::ReadOnly);
            post.physical(ToPhysical::Drop(vio));
        }
    }
}

fn ack(vio: &mut Vio, post: &mut Post) {
    vio.acked = true;
    post.reply(vio.request, Ok(None));
}
