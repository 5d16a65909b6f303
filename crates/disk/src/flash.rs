//! Flash behind a link: dies that read and program pages, one serial link, a write buffer.
//!
//! Each request is computed when it arrives: its end depends only on the requests before it. A read chooses its die by a hash of the address, and a
//! write takes dies in turn, so that a page need not be read from the die that programmed it. Not modelled: garbage collection, a fast first part (SLC
//! cache), and thermal throttling.

use std::collections::VecDeque;

use crate::profile::Profile;
use crate::request::{Event, Op, Request, instant};

/// A drive of flash. Times in nanoseconds.
#[derive(Debug, Clone)]
pub(crate) struct Flash {
    page: u64,
    read: f64,
    program: f64,
    firmware: f64,
    command: f64,
    /// Nanoseconds for a byte on the link.
    per_byte: f64,
    buffer_latency: f64,
    buffer_size: u64,
    flush: f64,
    /// Tells whether capacitors keep the buffer through a power cut.
    protected: bool,

    /// Instants at which the dies are free.
    dies: Vec<f64>,
    /// The die that takes the next page to program.
    turn: usize,
    link_free: f64,
    /// Bytes that wait to be programmed, with the instant at which that ends.
    buffered: VecDeque<(f64, u64)>,
    in_buffer: u64,
    /// Ranges in the page that is being filled. The next field is the number of bytes of the page that they take: a discard takes fewer than its
    /// length.
    filling: Vec<(u64, u64)>,
    filled: u64,
    last_program: f64,
    /// Number of writes and discards so far.
    write_number: u64,
}

impl Flash {
    pub(crate) fn new(profile: &Profile) -> Self {
        let get = |name| profile.get(name);
        Self {
            page: get("page") as u64,
            read: get("read"),
            program: get("program"),
            firmware: get("firmware"),
            command: get("command"),
            per_byte: 1e9 / get("link"),
            buffer_latency: get("buffer_latency"),
            buffer_size: get("buffer_size") as u64,
            flush: get("flush"),
            protected: get("power_loss_protection") != 0.0,
            dies: vec![0.0; get("dies") as usize],
            turn: 0,
            link_free: 0.0,
            buffered: VecDeque::new(),
            in_buffer: 0,
            filling: Vec::new(),
            filled: 0,
            last_program: 0.0,
            write_number: 0,
        }
    }

    pub(crate) fn submit(&mut self, request: Request, events: &mut Vec<Event>) {
        let now = request.arrival as f64;
        let at = match request.op {
            Op::Read => self.reads(&request, now),
            Op::Write => self.writes(&request, now, events),
            Op::Flush => self.flushes(now, events),
            // A discard is a note in the map of the firmware, which is programmed like data.
            Op::Discard => {
                self.write_number += 1;
                let at = now + self.firmware + self.command;
                self.fill(request.offset, request.length, 64, at, events);
                at
            }
        };
        events.push(Event::done(request.id, at));
    }

    /// Reads each page on its die; then everything crosses the link, in the order of arrival. Returns the instant of the end.
    fn reads(&mut self, request: &Request, now: f64) -> f64 {
        let first = request.offset / self.page;
        let last = request.end().saturating_sub(1).max(request.offset) / self.page;
        let mut read = now + self.firmware;
        for page in first..=last {
            let die = (page_hash(page) % self.dies.len() as u64) as usize;
            let free = (now + self.firmware).max(self.dies[die]) + self.read;
            self.dies[die] = free;
            read = read.max(free);
        }
        self.cross(read, request.length)
    }

    /// Occupies the link from `ready` on; returns the instant when the bytes have crossed it.
    fn cross(&mut self, ready: f64, length: u64) -> f64 {
        let free = self.link_free.max(ready) + self.command + length as f64 * self.per_byte;
        self.link_free = free;
        free
    }

    /// Moves bytes across the link into the buffer, once there is room for them. Returns the instant of the end.
    fn writes(&mut self, request: &Request, now: f64, events: &mut Vec<Event>) -> f64 {
        self.write_number += 1;
        let mut at = self.cross(now, request.length) + self.buffer_latency;
        let wanted = request.length.min(self.buffer_size);
        while let Some(&(programmed, bytes)) = self.buffered.front() {
            if programmed > at && self.in_buffer + wanted <= self.buffer_size {
                break;
            }
            at = at.max(programmed);
            self.in_buffer -= bytes;
            self.buffered.pop_front();
        }
        // A write that waits for room occupies the link.
        self.link_free = self.link_free.max(at - self.buffer_latency);
        self.fill(request.offset, request.length, request.length, at, events);
        if self.protected || request.fua {
            let stable = if self.protected { at } else { self.program_rest(at, events) };
            let (offset, length, upto) = (request.offset, request.length, self.write_number);
            events.push(Event::Stable { offset, length, upto, at: instant(stable) });
            at = stable;
        }
        at
    }

    /// Puts a range that takes up `bytes` into pages, and programs those that are full.
    fn fill(&mut self, offset: u64, length: u64, bytes: u64, at: f64, events: &mut Vec<Event>) {
        let (mut done, mut left) = (0, bytes);
        while left > 0 {
            let part = left.min(self.page - self.filled);
            // A range that takes fewer bytes than its length (a discard) goes whole with its last part.
            let covered = if part == left { length - done } else { part.min(length - done) };
            self.filling.push((offset + done, covered));
            done += covered;
            left -= part;
            self.filled += part;
            if self.filled == self.page {
                self.program_page(at, events);
            }
        }
        self.in_buffer += bytes;
    }

    /// Programs the page that is being filled.
    fn program_page(&mut self, at: f64, events: &mut Vec<Event>) -> f64 {
        let die = self.turn;
        self.turn = (self.turn + 1) % self.dies.len();
        let end = self.dies[die].max(at) + self.program;
        self.dies[die] = end;
        self.last_program = self.last_program.max(end);
        // Pages finish in order, unless reads held one up; room in the buffer is freed in order all the same.
        let end_in_order = self.buffered.back().map_or(end, |&(before, _)| before.max(end));
        self.buffered.push_back((end_in_order, self.filled));
        self.filled = 0;
        let upto = self.write_number;
        for (offset, length) in self.filling.drain(..) {
            events.push(Event::Stable { offset, length, upto, at: instant(end) });
        }
        end
    }

    /// Programs a page even if it is not full; returns the instant when everything is programmed.
    fn program_rest(&mut self, now: f64, events: &mut Vec<Event>) -> f64 {
        if self.filled > 0 {
            self.program_page(now, events);
        }
        self.last_program.max(now)
    }

    /// Programs what is in the buffer, unless it survives a power cut. Returns the instant of the end.
    fn flushes(&mut self, now: f64, events: &mut Vec<Event>) -> f64 {
        let taken = now + self.command;
        if self.protected {
            return taken;
        }
        self.program_rest(taken, events) + self.flush
    }
}

/// A hash of a page's number, so that neighbours lie on different dies.
fn page_hash(page: u64) -> u64 {
    units::Seed(page).generator().next_u64()
}
