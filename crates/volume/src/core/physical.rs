//! The physical zone: which blocks are free, which may be shared.

use crate::block::{Block, Data, Pbn};
use crate::core::dirty::Dirty;
use crate::core::message::{
    Item, Owner, Post, Then, ToDoor, ToHash, ToJournal, ToLogical, ToPhysical, Zone,
};
use crate::core::request::{Failure, Task};
use crate::core::rules::{Rule, Rules};
use crate::core::saver::Saver;
use crate::core::settings::{Policy, Settings};
use crate::core::space::Space;
use crate::core::store;
use crate::core::vio::Vio;
use crate::format::{COUNTS_PER_SECTOR, CountSector, Geometry, MAP_PAGE, Mapping, Nonce, PageKey};

/// The physical zone.
pub(crate) struct Physical {
    geometry: Geometry,
    nonce: Nonce,
    pub space: Space,
    /// Blocks of counts that are newer than on the device.
    dirty: Dirty<u64>,
    saver: Saver<u64>,
    /// Sequence number of the last journal block whose entries are counted.
    applied: u64,
    save_upto: u64,
    batch: usize,
    policy: Policy,
    rules: Rules,
}

impl Physical {
    pub fn new(
        geometry: Geometry,
        nonce: Nonce,
        counts: Vec<u8>,
        applied: u64,
        settings: &Settings,
    ) -> Self {
        Self {
            geometry,
            nonce,
            space: Space::new(geometry, counts, settings.reference_limit),
            dirty: Dirty::default(),
            saver: Saver::new(Zone::Physical, settings.policy, settings.rules()),
            applied,
            save_upto: 0,
            batch: settings.page_batch.max(1),
            policy: settings.policy,
            rules: settings.rules(),
        }
    }

    pub fn take(&mut self, message: ToPhysical, post: &mut Post) {
        match message {
            ToPhysical::Allocate(mut vio) => {
                vio.pin = self.space.allocate().map(|number| self.geometry.data_block(number));
                self.space.stats.no_space += u64::from(vio.pin.is_none());
                post.logical(ToLogical::Allocated(vio));
            }
            ToPhysical::AllocatePages { leaf, keys } => self.allocate_pages(leaf, keys, post),
            ToPhysical::Share(vio, mapping) => self.share(vio, mapping, post),
            ToPhysical::Verify(vio, mapping) => self.verify(vio, mapping, post),
            ToPhysical::Compared(vio, equal) => self.compared(vio, equal, post),
            ToPhysical::Hold(mut vio) => {
                vio.new = vio.home.unwrap_or_default();
                vio.pin = vio.new.block();
                self.pin(vio.pin);
                post.hash(ToHash::Located(vio));
            }
            ToPhysical::Place(vios, data) => self.place(vios, data, post),
            ToPhysical::Unpin(pbn) => self.unpin(Some(pbn)),
            ToPhysical::Drop(mut vio) => {
                self.unpin(vio.pin.take());
                self.unpin(vio.candidate.take().and_then(Mapping::block));
                match vio.agent {
                    true => post.hash(ToHash::Failed(vio)),
                    false => post.logical(ToLogical::Failed(vio)),
                }
            }
            ToPhysical::Apply { seq, items } => self.apply(seq, items, post),
            #[cfg(test)]
            ToPhysical::FreeEarly(pbn) => {
                if let Some(number) = self.geometry.number(pbn) {
                    self.space.forget(number);
                    self.dirty.mark(self.geometry.count_block_of(number), self.applied + 1);
                }
            }
            ToPhysical::Save(upto) => {
                self.save_upto = self.save_upto.max(upto);
                self.save(post);
            }
            ToPhysical::SaverIo(ok) => self.saved(ok, post),
            ToPhysical::Policy(policy) => {
                self.policy = policy;
                self.saver.set_policy(policy);
            }
            ToPhysical::Grow(geometry) => {
                let new = self.space.grow(geometry);
                self.geometry = geometry;
                new.for_each(|block| self.dirty.mark(block, self.applied));
                self.report(post);
                post.door(ToDoor::SlabsAdded);
                self.save_upto = self.applied + 1;
                self.save(post);
            }
        }
    }

    fn pin(&mut self, pbn: Option<Pbn>) {
        if let Some(number) = pbn.and_then(|pbn| self.geometry.number(pbn)) {
            self.space.pin(number);
        }
    }

    fn unpin(&mut self, pbn: Option<Pbn>) {
        if let Some(number) = pbn.and_then(|pbn| self.geometry.number(pbn)) {
            self.space.unpin(number);
        }
    }

    fn allocate_pages(&mut self, leaf: PageKey, keys: Vec<PageKey>, post: &mut Post) {
        let numbers: Vec<_> = keys.iter().map_while(|_| self.space.allocate()).collect();
        let all = numbers.len() == keys.len();
        if !all {
            self.space.stats.no_space += 1;
            numbers.iter().for_each(|number| self.space.unpin(*number));
        }
        let blocks = numbers.into_iter().map(|number| self.geometry.data_block(number));
        let pages = all.then(|| keys.into_iter().zip(blocks).collect());
        post.logical(ToLogical::PagesAllocated { leaf, pages });
    }

    fn share(&mut self, mut vio: Box<Vio>, mapping: Mapping, post: &mut Post) {
        let number = mapping.block().and_then(|pbn| self.geometry.number(pbn));
        match number.filter(|number| self.space.may_share(*number)) {
            Some(number) => {
                self.space.pin(number);
                self.unpin(vio.pin.take());
                vio.pin = mapping.block();
                vio.new = mapping;
                post.logical(ToLogical::Locate(vio));
            }
            None => post.hash(ToHash::Refused(vio)),
        }
    }

    fn verify(&mut self, mut vio: Box<Vio>, mapping: Mapping, post: &mut Post) {
        let number = mapping.block().and_then(|pbn| self.geometry.number(pbn));
        let number = number.filter(|number| {
            let counted = !self.rules.hold(Rule::AdviceCounted) || self.space.count(*number) > 0;
            counted && self.space.may_share(*number)
        });
        let Some((number, pbn)) = number.zip(mapping.block()) else {
            return post.hash(ToHash::Anew(vio));
        };
        if self.rules.hold(Rule::PinnedWhileCompared) {
            self.space.pin(number);
        }
        vio.candidate = Some(mapping);
        post.bio(Task::Read { pbn }, Then::Compare(vio));
    }

    fn compared(&mut self, mut vio: Box<Vio>, equal: bool, post: &mut Post) {
        let Some(candidate) = vio.candidate.take() else { return };
        if !self.rules.hold(Rule::PinnedWhileCompared) {
            self.pin(candidate.block());
        }
        if equal {
            self.space.stats.advice_valid += 1;
            self.unpin(vio.pin.take());
            vio.pin = candidate.block();
            vio.new = candidate;
            post.hash(ToHash::Located(vio));
        } else {
            self.unpin(candidate.block());
            post.hash(ToHash::Anew(vio));
        }
    }

    /// Finds a block for packed fragments: one that was allocated for one of them, else another.
    fn place(&mut self, mut vios: Vec<Box<Vio>>, data: Data, post: &mut Post) {
        let pinned = vios.iter().find_map(|vio| vio.pin.filter(|_| vio.home.is_none()));
        let allocated = pinned.is_none().then(|| self.space.allocate()).flatten();
        let Some(pbn) = pinned.or(allocated.map(|number| self.geometry.data_block(number))) else {
            for vio in vios {
                store::store_whole(vio, self.policy, self.rules, post);
            }
            return;
        };
        for (slot, vio) in vios.iter_mut().enumerate() {
            if slot == 0 || self.rules.hold(Rule::FragmentPinned) {
                self.pin(Some(pbn));
            }
            self.unpin(vio.pin.take());
            vio.pin = Some(pbn);
            vio.new = Mapping::fragment(pbn, slot);
        }
        if let Some(number) = allocated {
            self.space.unpin(number);
        }
        self.space.stats.packed_blocks += 1;
        self.space.stats.fragments += vios.len() as u64;
        let fua = store::durable(self.policy, self.rules);
        post.bio(Task::Write { pbn, data, fua }, Then::Packed(vios));
    }

    /// Counts the entries of a committed journal block.
    fn apply(&mut self, seq: u64, mut items: Vec<Item>, post: &mut Post) {
        for item in &mut items {
            if let Some(number) = item.entry.new.block().and_then(|b| self.geometry.number(b)) {
                match &mut item.owner {
                    Owner::Page(_) => {
                        self.space.set_count(number, MAP_PAGE);
                        self.space.unpin(number);
                    }
                    Owner::Vio(vio) => {
                        self.space.refer(number);
                        // An agent keeps its pin until its fingerprint is released.
                        if !vio.agent || !self.rules.hold(Rule::AgentPinned) {
                            vio.pin = None;
                            self.space.unpin(number);
                        }
                    }
                }
                self.dirty.mark(self.geometry.count_block_of(number), seq);
            }
            if let Some(number) = item.entry.old.block().and_then(|b| self.geometry.number(b)) {
                if self.rules.hold(Rule::FreeAtCommit) {
                    self.space.forget(number);
                }
                self.dirty.mark(self.geometry.count_block_of(number), seq);
            }
        }
        self.applied = seq;
        post.logical(ToLogical::Committed { seq, items });
        self.report(post);
        self.save(post);
    }

    fn report(&self, post: &mut Post) {
        let oldest = self.dirty.oldest().unwrap_or(self.applied + 1);
        post.journal(ToJournal::Oldest(Zone::Physical, oldest));
    }

    fn save(&mut self, post: &mut Post) {
        if !self.saver.is_idle() {
            return;
        }
        let blocks = self.dirty.before(self.save_upto, self.batch);
        let mut batch = Vec::new();
        for block in blocks {
            self.dirty.take(block);
            batch.push((block, self.geometry.count_block(block), self.snapshot(block)));
        }
        self.saver.begin(batch, post);
    }

    fn snapshot(&self, block: u64) -> Data {
        let mut bytes = Block::default();
        let counts = self.space.counts(self.geometry.counted_in(block));
        let pbn = self.geometry.count_block(block);
        for (at, part) in counts.chunks(COUNTS_PER_SECTOR).enumerate() {
            let mut sector = CountSector { seq: self.applied, counts: [0; COUNTS_PER_SECTOR] };
            sector.counts[..part.len()].copy_from_slice(part);
            sector.write(&mut bytes, &self.nonce, pbn, at);
        }
        Data::new(bytes)
    }

    fn saved(&mut self, ok: bool, post: &mut Post) {
        if !ok {
            return post.journal(ToJournal::Fail);
        }
        if let Some(blocks) = self.saver.done(post) {
            blocks.into_iter().for_each(|block| self.dirty.saved(block));
            self.report(post);
            self.save(post);
        }
    }
}

/// The failure of a request whose data could not be written.
pub(crate) fn io_failure(mut vio: Box<Vio>, post: &mut Post) {
    vio.failed = Some(Failure::Io);
    post.physical(ToPhysical::Drop(vio));
}
