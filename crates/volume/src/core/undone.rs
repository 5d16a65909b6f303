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
    /// A request that is not durable.
    pub fn begin(&mut self, id: u64) {
        self.requests.insert(id);
    }

    /// Notes that a request is durable, or gone; tells if it was not before.
    pub fn end(&mut self, id: u64) -> bool {
        self.requests.remove(&id)
    }

    /// A flush of all requests before a number.
    pub fn flush(&mut self, before: u64, request: u64) {
        self.flushes.push_back((before, request));
    }

    /// The next flush that waits for nothing; with `now` the next that there is.
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
