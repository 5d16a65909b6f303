//! Addresses in use: one request at a time for each.

use std::collections::VecDeque;

use rustc_hash::FxHashMap;

use crate::block::Lbn;
use crate::core::message::{Post, ToPacker};
use crate::core::vio::Vio;

struct Lock {
    holder: u64,
    waiters: VecDeque<Box<Vio>>,
}

/// Addresses in use.
#[derive(Default)]
pub(crate) struct Locks(FxHashMap<Lbn, Lock>);

impl Locks {
    /// Returns a request that may use its address now, or lets it wait.
    pub fn take(&mut self, vio: Box<Vio>, post: &mut Post) -> Option<Box<Vio>> {
        if let Some(lock) = self.0.get_mut(&vio.lbn) {
            if lock.waiters.is_empty() {
                post.packer(ToPacker::Hurry(lock.holder));
            }
            lock.waiters.push_back(vio);
            return None;
        }
        self.0.insert(vio.lbn, Lock { holder: vio.id, waiters: VecDeque::new() });
        Some(vio)
    }

    /// Ends the use of an address; returns the request that uses it from here on.
    pub fn leave(&mut self, lbn: Lbn, post: &mut Post) -> Option<Box<Vio>> {
        let lock = self.0.get_mut(&lbn)?;
        let Some(next) = lock.waiters.pop_front() else {
            self.0.remove(&lbn);
            return None;
        };
        post.packer(ToPacker::Forget(lock.holder));
        lock.holder = next.id;
        if !lock.waiters.is_empty() {
            post.packer(ToPacker::Hurry(lock.holder));
        }
        Some(next)
    }
}
