//! A disk with its contents: the model decides about future events, and the store is changed when their time comes.

use std::cmp::Reverse;
use std::collections::{BinaryHeap, HashMap, HashSet, VecDeque};

use units::Seed;

use crate::attributes::Destage;
use crate::request::{Event, Failure, Op, Request};
use crate::store::{Cut, Store};
use crate::{Disk, StoreError};

/// Most bytes that a disk with a [`Destage`] holds back; beyond this it writes the oldest half to the medium, without a flush.
const HELD_BACK: u64 = 32 << 20;

/// A reply that is due.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Reply {
    /// The id of the request.
    pub id: u64,
    /// The instant that the model computed for it.
    pub at: u64,
    /// The reason why it failed, if it did.
    pub failed: Option<Failure>,
}

/// Sort key of an event: its instant, whether it is a reply (at the same instant, bytes become safe first), and the number of its decision.
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
    /// Number of writes that the disk took.
    written: u64,
    new: Vec<Event>,
    /// The moment at which bytes that the model has written out become safe; `None`: at once.
    destage: Option<Destage>,
    /// Places that are held back until then, with the last write of each.
    held_back: VecDeque<(u64, u64, u64)>,
    /// Flushes that have no reply yet.
    flushes: HashSet<u64>,
}

impl Drive {
    /// A drive of a fresh disk and a store, whose contents are all on the medium.
    pub fn new(disk: Disk, store: Store) -> Self {
        Self {
            disk,
            store,
            due: BinaryHeap::new(),
            events: HashMap::new(),
            decided: 0,
            written: 0,
            new: Vec::new(),
            destage: None,
            held_back: VecDeque::new(),
            flushes: HashSet::new(),
        }
    }

    /// The same drive, whose cache goes to the medium at other moments than the model's.
    #[must_use]
    pub fn destaging(self, destage: Option<Destage>) -> Self {
        Self { destage, ..self }
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
        if request.op == Op::Flush && self.destage == Some(Destage::AtFlush) {
            self.flushes.insert(request.id);
        }
        if self.disk.submit(request, &mut self.new) {
            // Requests that the store would refuse were refused above.
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

    /// Reads the bytes for the reply to a read, when that reply is due.
    pub fn read(&self, offset: u64, bytes: &mut [u8]) -> Result<(), StoreError> {
        self.store.read(offset, bytes)
    }

    /// Returns its contents.
    pub fn store(&self) -> &Store {
        &self.store
    }

    /// Returns when something happens next, if no request comes.
    pub fn next(&self) -> Option<u64> {
        let due = self.due.peek().map(|Reverse((at, ..))| *at);
        due.into_iter().chain(self.disk.next()).min()
    }

    /// Carries out the events that are due up to `now`.
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
                    self.written_out(offset, length, upto);
                }
                Some(Event::Done { id, at, failed }) => {
                    if self.flushes.remove(&id) && failed.is_none() {
                        self.release(0);
                    }
                    replies.push(Reply { id, at, failed });
                }
                None => {}
            }
        }
    }

    /// Handles bytes that the model has written to the medium: makes them safe, or holds them back.
    fn written_out(&mut self, offset: u64, length: u64, upto: u64) {
        if self.destage.is_none() {
            return self.store.stable(offset, length, upto);
        }
        self.held_back.push_back((offset, length, upto));
        if self.store.volatile().0 > HELD_BACK {
            self.release(self.held_back.len() / 2);
        }
    }

    /// Makes safe what is held back, the oldest first, until `left` places are left.
    fn release(&mut self, left: usize) {
        while self.held_back.len() > left {
            let Some((offset, length, upto)) = self.held_back.pop_front() else { return };
            self.store.stable(offset, length, upto);
        }
    }

    /// Cuts the power at `now`: what is not on the medium is kept, dropped or torn as `cut` says. Returns the contents of the disk, which is off
    /// then.
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
