//! Writing pages and counts out, in batches, in the order of operations that the policy asks for.

use crate::block::{Data, Pbn};
use crate::core::message::{Post, Then, Zone};
use crate::core::request::Task;
use crate::core::rules::{Rule, Rules};
use crate::core::settings::Policy;

#[derive(Debug, PartialEq, Eq)]
enum Phase {
    Idle,
    /// Flushing the journal entries that the batch has.
    Before,
    Writing,
    /// Flushing the batch.
    After,
}

/// Writes one batch at a time.
#[derive(Debug)]
pub(crate) struct Saver<K> {
    zone: Zone,
    rules: Rules,
    policy: Policy,
    phase: Phase,
    keys: Vec<K>,
    writes: Vec<(Pbn, Data)>,
    left: usize,
}

impl<K> Saver<K> {
    pub fn new(zone: Zone, policy: Policy, rules: Rules) -> Self {
        let phase = Phase::Idle;
        Self { zone, rules, policy, phase, keys: Vec::new(), writes: Vec::new(), left: 0 }
    }

    pub fn is_idle(&self) -> bool {
        self.phase == Phase::Idle
    }

    pub fn set_policy(&mut self, policy: Policy) {
        self.policy = policy;
    }

    /// Begins to write a batch of snapshots, which must not change from here on.
    pub fn begin(&mut self, batch: Vec<(K, Pbn, Data)>, post: &mut Post) {
        if batch.is_empty() {
            return;
        }
        for (key, pbn, data) in batch {
            self.keys.push(key);
            self.writes.push((pbn, data));
        }
        let first = self.rules.hold(Rule::EntriesBeforePages);
        if self.policy == Policy::AsyncUnsafe && first {
            self.phase = Phase::Before;
            post.bio(Task::Flush, Then::Saver(self.zone));
        } else {
            self.write(post);
        }
    }

    fn write(&mut self, post: &mut Post) {
        self.phase = Phase::Writing;
        self.left = self.writes.len();
        for (pbn, data) in self.writes.drain(..) {
            post.bio(Task::Write { pbn, data, fua: false }, Then::Saver(self.zone));
        }
    }

    /// Takes note that an operation has ended. Returns the batch when it is safe, so that its journal entries are no longer needed.
    ///
    /// Under async nothing is flushed here: the journal's next cycle flushes before it writes the header with the new tail.
    pub fn done(&mut self, post: &mut Post) -> Option<Vec<K>> {
        match self.phase {
            Phase::Before => self.write(post),
            Phase::Writing if self.left > 1 => self.left -= 1,
            Phase::Writing => {
                let flushed = self.policy != Policy::Async;
                if flushed && self.rules.hold(Rule::PagesBeforeTail) {
                    self.phase = Phase::After;
                    post.bio(Task::Flush, Then::Saver(self.zone));
                    return None;
                }
                self.phase = Phase::Idle;
                return Some(std::mem::take(&mut self.keys));
            }
            Phase::After => {
                self.phase = Phase::Idle;
                return Some(std::mem::take(&mut self.keys));
            }
            Phase::Idle => {}
        }
        None
    }
}
