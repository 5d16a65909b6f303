//! A hard disk: one arm over turning platters, with seek time and rotational latency; a command queue (NCQ) that it serves in the order
//! that suits it, read-ahead, and a volatile write cache.

mod ahead;
mod geometry;
mod write_cache;

use std::collections::VecDeque;

use ahead::ReadAhead;
use geometry::{Geometry, Place};
use write_cache::{Extent, WriteCache};

use crate::profile::Profile;
use crate::request::{Event, Op, Request, instant};

/// A request that needs the medium.
#[derive(Debug, Clone, Copy)]
struct Waiting {
    request: Request,
    /// Instant from which on the arm may go for it.
    ready: f64,
    place: Place,
    /// The write's number.
    number: u64,
}

/// An extent on its way from the cache to the medium.
#[derive(Debug, Clone, Copy)]
struct Writing {
    extent: Extent,
    end: f64,
    /// The number of the last write that can be in it.
    upto: u64,
}

/// The disk. Times in nanoseconds since it was switched on; the platter turned through 0 then.
#[derive(Debug, Clone)]
pub(crate) struct Hdd {
    geometry: Geometry,
    ahead: ReadAhead,
    cache: WriteCache,
    cached: bool,
    settle: f64,
    missed: f64,
    overhead: f64,
    /// Nanoseconds for a byte on the interface.
    per_byte: f64,
    depth: usize,
    ageing: f64,

    /// Requests that need the medium, in the order of arrival.
    queue: VecDeque<Waiting>,
    /// Writes, with their numbers, that wait for room in the cache.
    held: VecDeque<(Request, u64)>,
    /// Flushes and the last write that they cover.
    flushes: VecDeque<(u64, u64)>,
    writing: Option<Writing>,
    /// Discarded ranges that a power cut may still bring back.
    discarded: Vec<(u64, u64, u64)>,
    /// Writes so far.
    written: u64,
    /// Instant at which the arm is free; the next field is its place then: the byte after the last transfer.
    free: f64,
    head: Place,
    head_byte: u64,
    link_free: f64,
    /// Instant since which there is something in the write cache.
    dirty_since: f64,
    /// Tells whether the cache had the arm last, while writes or flushes waited for it.
    cache_had_turn: bool,
}

impl Hdd {
    pub(crate) fn new(profile: &Profile, size: u64) -> Self {
        let get = |name| profile.get(name);
        let geometry = Geometry::new(profile, size);
        let head = geometry.place(0);
        Self {
            ahead: ReadAhead::new(profile, size),
            cache: WriteCache::new(get("cache_size") as u64, get("cache_extents") as usize),
            cached: get("write_cache") != 0.0,
            settle: get("write_settle"),
            missed: get("missed"),
            overhead: get("overhead"),
            per_byte: 1e9 / get("interface"),
            depth: get("queue") as usize,
            ageing: get("ageing"),
            queue: VecDeque::new(),
            held: VecDeque::new(),
            flushes: VecDeque::new(),
            writing: None,
            discarded: Vec::new(),
            written: 0,
            free: 0.0,
            head,
            head_byte: 0,
            link_free: 0.0,
            dirty_since: 0.0,
            cache_had_turn: false,
            geometry,
        }
    }

    pub(crate) fn submit(&mut self, request: Request, events: &mut Vec<Event>) {
        let now = request.arrival as f64;
        let ready = now + self.overhead;
        let (begin, end) = (request.offset, request.end());
        match request.op {
            Op::Read => {
                let range = (begin, end);
                if self.cache.holds(begin, end) || self.ahead.has(&self.geometry, range, ready) {
                    let at = self.cross(ready, request.length);
                    events.push(Event::done(request.id, at));
                } else {
                    self.wait(request, ready);
                }
            }
            Op::Write => {
                self.written += 1;
                self.ahead.forget(&self.geometry, (begin, end), now);
                if request.fua || !self.cached {
                    self.wait(request, ready);
                } else {
                    self.held.push_back((request, self.written));
                    self.admit(ready, events);
                }
            }
            Op::Flush => {
                self.flushes.push_back((request.id, self.written));
                self.finish_flushes(ready, events);
            }
            Op::Discard => {
                self.written += 1;
                self.cache.remove(begin, end);
                self.ahead.forget(&self.geometry, (begin, end), now);
                self.discarded.push((begin, request.length, self.written));
                events.push(Event::done(request.id, ready));
                self.relieve(ready, events);
            }
        }
    }

    fn wait(&mut self, request: Request, ready: f64) {
        let place = self.geometry.place(request.offset);
        self.queue.push_back(Waiting { request, ready, place, number: self.written });
    }

    /// Occupies the interface from `ready` on; returns the instant when the bytes have crossed it.
    fn cross(&mut self, ready: f64, length: u64) -> f64 {
        self.link_free = self.link_free.max(ready) + length as f64 * self.per_byte;
        self.link_free
    }

    /// Takes writes into the cache, in their order, while there is room.
    fn admit(&mut self, from: f64, events: &mut Vec<Event>) {
        let leaving = self.writing.map_or(0, |w| w.extent.end - w.extent.begin);
        while let Some(&(request, number)) = self.held.front() {
            let (begin, end) = (request.offset, request.end());
            if !self.cache.has_room(begin, end, leaving) {
                return;
            }
            self.held.pop_front();
            let at = self.cross(from.max(request.arrival as f64 + self.overhead), request.length);
            if self.cache.is_empty() {
                self.dirty_since = at;
            }
            self.cache.insert(begin, end, number);
            events.push(Event::done(request.id, at));
        }
    }

    /// Replies to flushes whose writes are all on the medium.
    fn finish_flushes(&mut self, now: f64, events: &mut Vec<Event>) {
        while let Some(&(id, upto)) = self.flushes.front() {
            // An extent that is being written is not on the medium yet.
            if self.writing.is_some() || self.cache.oldest().is_some_and(|oldest| oldest <= upto) {
                return;
            }
            self.flushes.pop_front();
            for (offset, length, upto) in self.discarded.drain(..) {
                events.push(Event::Stable { offset, length, upto, at: instant(now) });
            }
            events.push(Event::done(id, now));
        }
    }

    pub(crate) fn next(&self) -> Option<f64> {
        if let Some(writing) = self.writing {
            return Some(writing.end);
        }
        let next_ready = self.queue.iter().take(self.depth).map(|w| w.ready).min_by(f64::total_cmp);
        let dirty = (!self.cache.is_empty()).then_some(self.dirty_since);
        let first = next_ready.into_iter().chain(dirty).min_by(f64::total_cmp)?;
        Some(first.max(self.free))
    }

    pub(crate) fn advance(&mut self, now: f64, events: &mut Vec<Event>) {
        while let Some(at) = self.next().filter(|at| *at <= now) {
            match self.writing.take() {
                Some(writing) => self.written_back(writing, events),
                None => self.dispatch(at, events),
            }
        }
    }

    /// Notes that an extent is on the medium.
    fn written_back(&mut self, Writing { extent, end, upto }: Writing, events: &mut Vec<Event>) {
        let (offset, length) = (extent.begin, extent.end - extent.begin);
        events.push(Event::Stable { offset, length, upto, at: instant(end) });
        self.relieve(end, events);
    }

    /// Makes use of the room that has come free in the cache: admits writes, and perhaps ends a flush.
    fn relieve(&mut self, now: f64, events: &mut Vec<Event>) {
        self.admit(now, events);
        self.finish_flushes(now, events);
    }

    /// Gives the arm, which is free at `now`, something to do. Requests go before the cache; while writes or flushes wait for the cache, the two take
    /// turns.
    fn dispatch(&mut self, now: f64, events: &mut Vec<Event>) {
        let is_ready = self.queue.iter().take(self.depth).any(|w| w.ready <= now);
        let dirty = !self.cache.is_empty() && self.dirty_since <= now;
        let urgent = !self.held.is_empty() || !self.flushes.is_empty();
        if dirty && (!is_ready || (urgent && !self.cache_had_turn)) {
            self.cache_had_turn = true;
            self.write_back(now);
        } else {
            self.cache_had_turn = false;
            self.serve(now, events);
        }
    }

    /// Returns the time until a place is below the head. A place that passes before the arm has settled on a track is missed for one turn.
    fn positioning(&self, head: &Place, now: f64, place: &Place, writes: bool) -> f64 {
        let seek = self.geometry.seek(head, place);
        if seek == 0.0 {
            return self.geometry.rotation(place.spin, now);
        }
        let seek = seek + if writes { self.settle } else { 0.0 };
        let wait = self.geometry.rotation(place.spin, now + seek);
        seek + wait + if wait < self.missed { self.geometry.turn } else { 0.0 }
    }

    /// Serves the request that is below the head soonest, of the oldest `depth`; one that has waited long counts as nearer
    /// (shortest positioning time first, with ageing).
    fn serve(&mut self, now: f64, events: &mut Vec<Event>) {
        let head = self.ahead.head(&self.geometry, now).unwrap_or(self.head);
        let cost = |w: &Waiting| {
            let writes = w.request.op == Op::Write;
            let range = (w.request.offset, w.request.end());
            let comes = if writes { None } else { self.ahead.comes(&self.geometry, range) };
            let time = match comes {
                Some(at) => (at - now).max(0.0),
                None => self.positioning(&head, now, &w.place, writes),
            };
            (time - self.ageing * (now - w.request.arrival as f64), time, comes.is_some())
        };
        let ready = self.queue.iter().take(self.depth).enumerate().filter(|(_, w)| w.ready <= now);
        let best = ready.map(|(i, w)| (i, cost(w))).min_by(|a, b| a.1.0.total_cmp(&b.1.0));
        let Some((chosen, (_, time, streamed))) = best else { return };
        let Some(Waiting { request, number, .. }) = self.queue.remove(chosen) else { return };
        let (begin, end) = (request.offset, request.end());
        if streamed {
            self.free = now + time;
            self.ahead.extend_beyond(&self.geometry, end, self.free);
            let at = if time > 0.0 { self.free } else { self.cross(now, request.length) };
            events.push(Event::done(request.id, at));
            return;
        }
        self.transfer(now, time, begin, end);
        if request.op == Op::Read {
            self.ahead.begin((begin, end), self.free);
        } else {
            self.cache.remove(begin, end);
            let (length, at) = (request.length, instant(self.free));
            events.push(Event::Stable { offset: begin, length, upto: number, at });
        }
        events.push(Event::done(request.id, self.free));
        self.relieve(self.free, events);
    }

    /// Writes back the extent that is below the head soonest, of those near it; for a flush, of those that it waits for.
    fn write_back(&mut self, now: f64) {
        let head = self.ahead.head(&self.geometry, now).unwrap_or(self.head);
        let upto = self.flushes.front().map_or(u64::MAX, |&(_, upto)| upto);
        let time = |e: &Extent| self.positioning(&head, now, &self.geometry.place(e.begin), true);
        let near = self.cache.near(self.head_byte, upto);
        let best = near.map(|e| (e, time(&e))).min_by(|a, b| a.1.total_cmp(&b.1));
        let Some((extent, time)) = best else { return };
        let extent = self.cache.pull(extent);
        self.transfer(now, time, extent.begin, extent.end);
        self.writing = Some(Writing { extent, end: self.free, upto: self.written });
    }

    /// Moves bytes to or from the medium, after `positioning`.
    fn transfer(&mut self, now: f64, positioning: f64, begin: u64, end: u64) {
        self.ahead.stop(&self.geometry, now);
        self.free = now + positioning + self.geometry.transfer(begin, end);
        self.head = self.geometry.place(end);
        self.head_byte = end;
    }
}
