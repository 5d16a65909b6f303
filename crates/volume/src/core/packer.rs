//! The packer zone: compressed blocks wait here for others that fit into one block with them.
//!
//! No request stays here while another one waits for its address or its fingerprint, or a flush waits for it.

use reduce::{Bins, Fragment};
use rustc_hash::{FxHashMap, FxHashSet};

use crate::block::Data;
use crate::core::message::{Post, ToPacker, ToPhysical};
use crate::core::rules::{Rule, Rules};
use crate::core::settings::{Policy, Settings};
use crate::core::store;
use crate::core::vio::Vio;
use crate::format;

/// The packer zone.
pub(crate) struct Packer {
    bins: Bins,
    parked: FxHashMap<u32, Box<Vio>>,
    tags: FxHashMap<u64, u32>,
    next: u32,
    /// Requests that others wait for.
    hurried: FxHashSet<u64>,
    /// Requests before this one are waited for.
    before: u64,
    /// Tells if some of those requests are parked.
    urgent: bool,
    policy: Policy,
    most: usize,
    rules: Rules,
}

impl Packer {
    pub fn new(settings: &Settings) -> Self {
        Self {
            bins: Bins::default(),
            parked: FxHashMap::default(),
            tags: FxHashMap::default(),
            next: 0,
            hurried: FxHashSet::default(),
            before: 0,
            urgent: false,
            policy: settings.policy,
            most: usize::from(settings.reference_limit),
            rules: settings.rules(),
        }
    }

    pub fn take(&mut self, message: ToPacker, post: &mut Post) {
        match message {
            ToPacker::Pack(vio) => self.pack(vio, post),
            ToPacker::Hurry(_) if !self.rules.hold(Rule::NotParkedWhileWaited) => {}
            ToPacker::Hurry(id) => {
                self.hurried.insert(id);
                let vio = self.tags.get(&id).copied().and_then(|tag| {
                    self.bins.remove(tag);
                    self.unpark(tag)
                });
                if let Some(vio) = vio {
                    self.store_whole(vio, post);
                }
            }
            ToPacker::Forget(id) => _ = self.hurried.remove(&id),
            ToPacker::HurryBefore(id) => {
                self.before = self.before.max(id);
                self.urgent |= self.tags.keys().any(|parked| *parked < id);
            }
            ToPacker::Policy(policy) => self.policy = policy,
        }
    }

    /// Fragments in bins.
    pub fn parked(&self) -> usize {
        self.parked.len()
    }

    /// Writes all bins out if a parked request is waited for, when there is nothing else to do.
    pub fn rest(&mut self, post: &mut Post) {
        if self.urgent {
            self.urgent = false;
            let mut groups = Vec::new();
            self.bins.flush(&mut |group: &[Fragment]| groups.push(tags(group)));
            groups.into_iter().for_each(|group| self.write(&group, post));
        }
    }

    fn pack(&mut self, vio: Box<Vio>, post: &mut Post) {
        if vio.fragment.is_empty() || self.hurried.contains(&vio.id) {
            return self.store_whole(vio, post);
        }
        self.next = self.next.wrapping_add(1);
        let fragment = Fragment { lz4_bytes: vio.fragment.len(), tag: self.next };
        // A request that got no separate block is not acknowledged yet: its client still waits.
        self.urgent |= vio.id < self.before || !vio.acked;
        self.tags.insert(vio.id, self.next);
        self.parked.insert(self.next, vio);
        let mut groups = Vec::new();
        self.bins.add(fragment, &mut |group: &[Fragment]| groups.push(tags(group)));
        groups.into_iter().for_each(|group| self.write(&group, post));
    }

    fn unpark(&mut self, tag: u32) -> Option<Box<Vio>> {
        let vio = self.parked.remove(&tag)?;
        self.tags.remove(&vio.id);
        Some(vio)
    }

    fn write(&mut self, group: &[u32], post: &mut Post) {
        for part in group.chunks(self.most.max(1)) {
            let mut vios: Vec<_> = part.iter().filter_map(|tag| self.unpark(*tag)).collect();
            if vios.len() > 1 {
                let block = format::pack(vios.iter().map(|vio| vio.fragment.as_slice()));
                post.physical(ToPhysical::Place(vios, Data::new(block)));
            } else if let Some(vio) = vios.pop() {
                self.store_whole(vio, post);
            }
        }
    }

    fn store_whole(&self, vio: Box<Vio>, post: &mut Post) {
        store::store_whole(vio, self.policy, self.rules, post);
    }
}

fn tags(group: &[Fragment]) -> Vec<u32> {
    group.iter().map(|fragment| fragment.tag).collect()
}
