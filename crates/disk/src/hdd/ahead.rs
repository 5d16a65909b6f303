//! The data that a drive has read: segments of its memory, and the stream of an idle head that reads on.

use std::collections::VecDeque;

use super::geometry::{Geometry, Place};
use crate::profile::Profile;

/// A range of bytes: the first, and the one after the last.
type Range = (u64, u64);

/// A stream of the idle head, which reads on from a byte at an instant, and stops at a byte.
#[derive(Debug, Clone, Copy)]
struct Stream {
    /// The first byte that it or the request before it read.
    begin: u64,
    /// The byte that passes below the head at `since`.
    from: u64,
    since: f64,
    limit: u64,
}

impl Stream {
    /// Returns when the bytes up to `byte` are read.
    fn when(&self, geometry: &Geometry, byte: u64) -> f64 {
        if byte <= self.from { f64::MIN } else { self.since + geometry.transfer(self.from, byte) }
    }

    /// Returns the byte up to which it has read at `now`.
    fn reached(&self, geometry: &Geometry, now: f64) -> u64 {
        let turned = now - self.since;
        if turned <= 0.0 {
            return self.from;
        }
        geometry.byte_at(geometry.place(self.from).spin + turned).clamp(self.from, self.limit)
    }
}

/// The drive's read cache: segments of data that were read, and the stream that the idle head reads on.
#[derive(Debug, Clone)]
pub(crate) struct ReadAhead {
    /// Bytes that it reads ahead of the last request.
    ahead: u64,
    /// Largest number of segments; the least recently used (LRU) is dropped first.
    most: usize,
    segments: VecDeque<Range>,
    stream: Option<Stream>,
    size: u64,
}

impl ReadAhead {
    pub(crate) fn new(profile: &Profile, size: u64) -> Self {
        Self {
            ahead: profile.get("read_ahead") as u64,
            most: profile.get("segments") as usize,
            segments: VecDeque::new(),
            stream: None,
            size,
        }
    }

    /// Tells whether all of a range is in memory at `now`. A hit on the running stream lets it read further.
    pub(crate) fn has(&mut self, geometry: &Geometry, range: Range, now: f64) -> bool {
        if let Some(stream) = self.stream
            && stream.begin <= range.0
            && range.1 <= stream.reached(geometry, now)
        {
            self.extend_beyond(geometry, range.1, now);
            return true;
        }
        let Some(hit) = self.segments.iter().position(|s| s.0 <= range.0 && range.1 <= s.1) else {
            return false;
        };
        // Most recently used: dropped last.
        if let Some(segment) = self.segments.remove(hit) {
            self.segments.push_back(segment);
        }
        true
    }

    /// Returns when the stream will have read a range, if that is on its way.
    pub(crate) fn comes(&self, geometry: &Geometry, range: Range) -> Option<f64> {
        let stream = self.stream?;
        (stream.begin <= range.0 && range.0 <= stream.limit && range.1 <= stream.limit)
            .then(|| stream.when(geometry, range.1))
    }

    /// Lets the stream go on ahead of `byte`, up to which the host has read. One that has stopped starts again when less than half of its read-ahead
    /// is left.
    pub(crate) fn extend_beyond(&mut self, geometry: &Geometry, byte: u64, now: f64) {
        let limit = byte.saturating_add(self.ahead).min(self.size);
        let Some(stream) = &mut self.stream else { return };
        if limit <= stream.limit {
            return;
        }
        if stream.when(geometry, stream.limit) > now {
            stream.limit = limit;
        } else if stream.limit.saturating_sub(byte) < self.ahead / 2 {
            stream.since = now + geometry.rotation(geometry.place(stream.limit).spin, now);
            stream.from = stream.limit;
            stream.limit = limit;
        }
    }

    /// Lets the head read on after a request from `begin` to `end`, which was read from the medium until `since`.
    pub(crate) fn begin(&mut self, (begin, end): Range, since: f64) {
        if self.ahead == 0 {
            return;
        }
        let limit = end.saturating_add(self.ahead).min(self.size);
        self.stream = Some(Stream { begin, from: end, since, limit });
    }

    /// Returns where the head is at `now`, while it reads on.
    pub(crate) fn head(&self, geometry: &Geometry, now: f64) -> Option<Place> {
        Some(geometry.place(self.stream?.reached(geometry, now)))
    }

    /// Stops the stream, since the head is wanted elsewhere at `now`; what was read until then is kept.
    pub(crate) fn stop(&mut self, geometry: &Geometry, now: f64) {
        if let Some(stream) = self.stream.take() {
            self.keep((stream.begin, stream.reached(geometry, now)));
        }
    }

    fn keep(&mut self, mut range: Range) {
        if self.most == 0 || range.0 >= range.1 {
            return;
        }
        // Segments that touch it are merged with it.
        self.segments.retain(|&(begin, end)| {
            let touches = begin <= range.1 && range.0 <= end;
            if touches {
                range = (range.0.min(begin), range.1.max(end));
            }
            !touches
        });
        self.segments.push_back(range);
        if self.segments.len() > self.most {
            self.segments.pop_front();
        }
    }

    /// Forgets a range, which is written.
    pub(crate) fn forget(&mut self, geometry: &Geometry, range: Range, now: f64) {
        let apart = |s: &Range| s.1 <= range.0 || range.1 <= s.0;
        if self.stream.is_some_and(|s| !apart(&(s.begin, s.limit))) {
            self.stop(geometry, now);
        }
        self.segments.retain(apart);
    }
}
