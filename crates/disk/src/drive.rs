//! A disk with its contents: what the model decides about the future happens to the store when its time comes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap};

use units::Seed;

use crate::request::{Event, Failure, Op, Request};
use crate::store::{Cut, Store};
use crate::{Disk, StoreError};

/// A reply that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// The request's.
    pub id: u64,
    /// The instant that the model computed for it.
    pub at: u64,
    /// Why it failed, if it did.
    pub failed: Option<Failure>,
}

/// When an event happens, whether it is a reply (at the same time, bytes become safe first), and when it was decided.
type Due = Reverse<(u64, bool, u64)>;

/// A modelled disk with its contents.
#[derive(Debug)]
pub struct Drive {
    disk: Disk,
    store: Store,
    /// Events of the future.
    due: BinaryHeap<Due>,
    events: HashMap<u64, Event>,
    decided: u64,
    /// Writes that the disk took.
    written: u64,
    new: Vec<Event>,
}

impl Drive {
    /// An empty store under a fresh disk.
    pub fn new(disk: Disk, store: Store) -> Self {
        Self {
            disk,
            store,
            due: BinaryHeap::new(),
            events: HashMap::new(),
            decided: 0,
            written: 0,
            new: Vec::new(),
        }
    }

    /// Takes a request and, for a write, its bytes. Everything up to its arrival must have been done ([`Self::advance`]).
    pub fn submit(&mut self, request: Request, bytes: &[u8]) {
        let refused = match request.op {
            Op::Write | Op::Read if request.length > 0 => {
                self.store.check(request.offset, request.length)
            }
            _ => Ok(()),
        };
        match refused {
            Err(StoreError::Full) if request.op == Op::Read => {}
            Err(error) => {
                let failed =
                    Some(if error == StoreError::Full { Failure::Full } else { Failure::Io });
                self.new.push(Event::Done { id: request.id, at: request.arrival, failed });
                return self.decide();
            }
            Ok(()) => {}
        }
        if self.disk.submit(request, &mut self.new) {
            // What the store refuses was refused above.
            let _ = match request.op {
                Op::Write => {
                    self.written += 1;
                    self.store.write(self.written, request.offset, bytes)
                }
                Op::Discard => {
                    self.written += 1;
                    self.store.discard(self.written, request.offset, request.length)
                }
                Op::Read | Op::Flush => Ok(()),
            };
        }
        self.decide();
    }

    /// The bytes that a read replies with, when it is due.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), StoreError> {
        self.store.read(offset, bytes)
    }

    /// Returns what it holds.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns when something happens next, if no request comes.
    pub fn next(&self) -> Option<u64> {
        let due = self.due.peek().map(|Reverse((at, ..))| *at);
        due.into_iter().chain(self.disk.next()).min()
    }

    /// Lets happen what happens up to `now`.
    pub fn advance(&mut self, now: u64, replies: &mut Vec<Reply>) {
        self.disk.advance(now, &mut self.new);
        self.decide();
        while let Some(&Reverse((at, _, decided))) = self.due.peek() {
            if at > now {
                return;
            }
            self.due.pop();
            match self.events.remove(&decided) {
                Some(Event::Stable { offset, length, upto, .. }) => {
                    self.store.stable(offset, length, upto);
                }
                Some(Event::Done { id, at, failed }) => replies.push(Reply { id, at, failed }),
                None => {}
            }
        }
    }

    /// The power is cut now: what is not on the medium is kept, dropped or torn as `cut` draws it. What is left is a disk that
    /// is off.
    #[must_use]
    pub fn cut(mut self, now: u64, cut: Cut, seed: Seed) -> Store {
        self.advance(now, &mut Vec::new());
        self.store.cut(cut, seed);
        self.store
    }

    fn decide(&mut self) {
        for event in self.new.drain(..) {
            self.decided += 1;
            let reply = matches!(event, Event::Done { .. });
            self.due.push(Reverse((event.at(), reply, self.decided)));
            self.events.insert(self.decided, event);
        }
    }
}
