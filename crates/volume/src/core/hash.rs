//! The hash zone: blocks with one fingerprint come together here, those under way and those in the index.

use std::collections::VecDeque;

use reduce::Fingerprint;
use rustc_hash::FxHashMap;

use crate::block::Data;
use crate::core::chapters::Chapters;
use crate::core::message::{Post, ToCpu, ToHash, ToLogical, ToPacker, ToPhysical};
use crate::core::rules::{Rule, Rules};
use crate::core::settings::{Policy, Settings};
use crate::core::stats::{HashStats, IndexStats};
use crate::core::store;
use crate::core::vio::Vio;
use crate::format::{Mapping, Superblock};
use crate::index::Index;

/// One fingerprint under way.
struct Lock {
    /// The request that stores the block, or finds it stored.
    agent: u64,
    data: Data,
    /// The place of the block, once it is known.
    known: Option<Mapping>,
    waiters: VecDeque<Box<Vio>>,
}

/// The hash zone.
pub(crate) struct Hash {
    locks: FxHashMap<Fingerprint, Lock>,
    index: Index,
    chapters: Chapters,
    deduplication: bool,
    compression: bool,
    policy: Policy,
    rules: Rules,
    pub stats: HashStats,
    counts: IndexStats,
}

impl Hash {
    pub fn new(superblock: &Superblock, index: Index, settings: &Settings) -> Self {
        let Superblock { geometry, nonce, .. } = *superblock;
        Self {
            locks: FxHashMap::default(),
            index,
            chapters: Chapters::new(geometry, nonce),
            deduplication: settings.deduplication,
            compression: settings.compression,
            policy: settings.policy,
            rules: settings.rules(),
            stats: HashStats::default(),
            counts: IndexStats::default(),
        }
    }

    /// Counters of the index.
    pub fn index_stats(&self) -> IndexStats {
        let Index { records, discarded, .. } = self.index;
        IndexStats { records, discarded, ..self.counts }
    }

    pub fn take(&mut self, message: ToHash, post: &mut Post) {
        match message {
            ToHash::Enter(vio) => self.enter(vio, post),
            ToHash::Located(vio) => self.located(vio, post),
            ToHash::Anew(vio) => {
                self.stats.advice_stale += u64::from(vio.agent);
                self.store(vio, post);
            }
            ToHash::Refused(vio) => self.refused(vio, post),
            ToHash::Failed(vio) => self.failed(vio, post),
            ToHash::Release(vio) => self.release(&vio, post),
            ToHash::Policy(policy) => self.policy = policy,
            ToHash::ChapterWritten => self.chapters.written(post),
            ToHash::Close => self.chapters.close(self.index.open_chapter(), post),
        }
        while let Some(chapter) = self.index.next_full() {
            self.chapters.keep(chapter, post);
        }
    }

    fn enter(&mut self, mut vio: Box<Vio>, post: &mut Post) {
        let print = vio.print;
        if let Some(lock) = self.locks.get_mut(&print) {
            if *lock.data != *vio.data && self.rules.hold(Rule::Compared) {
                // A different block with the same fingerprint: it is stored whole, without sharing.
                self.stats.collisions += 1;
                return store::store_whole(vio, self.policy, self.rules, post);
            }
            self.stats.concurrent += 1;
            match lock.known {
                Some(known) => post.physical(ToPhysical::Share(vio, known)),
                None => {
                    post.packer(ToPacker::Hurry(lock.agent));
                    lock.waiters.push_back(vio);
                }
            }
            return;
        }
        vio.agent = true;
        self.locks.insert(print, lock(&vio));
        let advice = self.deduplication.then(|| self.index.find(print)).flatten();
        self.counts.found += u64::from(advice.is_some());
        self.counts.not_found += u64::from(self.deduplication && advice.is_none());
        match advice {
            Some(advice) => post.physical(ToPhysical::Verify(vio, advice)),
            None => self.store(vio, post),
        }
    }

    /// Stores a block anew.
    fn store(&mut self, vio: Box<Vio>, post: &mut Post) {
        let waited = self.locks.get(&vio.print).is_some_and(|lock| !lock.waiters.is_empty());
        if vio.fua || waited || !self.compression || !vio.agent {
            store::store_whole(vio, self.policy, self.rules, post);
        } else {
            post.cpu(ToCpu::Compress(vio));
        }
    }

    fn located(&mut self, vio: Box<Vio>, post: &mut Post) {
        if let Some(lock) = self.locks.get_mut(&vio.print).filter(|lock| lock.agent == vio.id) {
            lock.known = Some(vio.new);
            for waiter in lock.waiters.drain(..) {
                post.physical(ToPhysical::Share(waiter, vio.new));
            }
        }
        post.logical(ToLogical::Locate(vio));
    }

    /// Stores a block once more whose copy has all the references that it can have; the index follows the new copy.
    fn refused(&mut self, mut vio: Box<Vio>, post: &mut Post) {
        let print = vio.print;
        match self.locks.get_mut(&print) {
            Some(lock) if lock.known.is_none() => {
                post.packer(ToPacker::Hurry(lock.agent));
                return lock.waiters.push_back(vio);
            }
            Some(lock) => {
                lock.agent = vio.id;
                lock.known = None;
            }
            None => _ = self.locks.insert(print, lock(&vio)),
        }
        vio.agent = true;
        self.store(vio, post);
    }

    fn failed(&mut self, mut vio: Box<Vio>, post: &mut Post) {
        vio.agent = false;
        post.packer(ToPacker::Forget(vio.id));
        let print = vio.print;
        if let Some(lock) = self.locks.get_mut(&print).filter(|lock| lock.agent == vio.id) {
            match lock.waiters.pop_front() {
                Some(mut next) => {
                    next.agent = true;
                    lock.agent = next.id;
                    self.store(next, post);
                }
                None => _ = self.locks.remove(&print),
            }
        }
        post.logical(ToLogical::Failed(vio));
    }

    fn release(&mut self, vio: &Vio, post: &mut Post) {
        post.packer(ToPacker::Forget(vio.id));
        if self.locks.get(&vio.print).is_some_and(|lock| lock.agent == vio.id) {
            self.locks.remove(&vio.print);
        }
        let before = self.deduplication.then(|| self.index.insert(vio.print, vio.new)).flatten();
        self.counts.updated += u64::from(before.is_some_and(|before| before != vio.new));
        if let Some(pbn) = vio.pin {
            post.physical(ToPhysical::Unpin(pbn));
        }
    }
}

fn lock(vio: &Vio) -> Lock {
    Lock { agent: vio.id, data: vio.data.clone(), known: None, waiters: VecDeque::new() }
}
