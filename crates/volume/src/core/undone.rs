//! Writes and discards that are not durable, and the flushes that wait for them.

use std::collections::{BTreeSet, VecDeque};

/// Requests that are not durable, and flushes.
#[derive(Debug, Default)]
pub(crate) struct Undone {
    requests: BTreeSet<u64>,
    /// Flushes, with the first request that each need not wait for.
    flushes: VecDeque<(u64, u64)>,
}

impl Undone {
    /// Adds a request that is not durable yet.
    pub fn begin(&mut self, id: u64) {
        self.requests.insert(id);
    }

    /// Removes a request that is durable now, or gone; tells if it was here.
    pub fn end(&mut self, id: u64) -> bool {
        self.requests.remove(&id)
    }

    /// Adds a flush of all requests before a number.
    pub fn flush(&mut self, before: u64, request: u64) {
        self.flushes.push_back((before, request));
    }

    /// Takes the next flush if it waits for no request any more; with `now`, whatever it waits for.
    pub fn next_flush(&mut self, now: bool) -> Option<u64> {
        let (before, request) = *self.flushes.front()?;
        let waits = self.requests.first().is_some_and(|oldest| *oldest < before);
        if waits && !now {
            return None;
        }
        self.flushes.pop_front();
        Some(request)
    }
}
