//! The place of a byte: its track, its part of the stroke, and the turn of the platter at which it passes below the head.

use crate::profile::Profile;

/// A place on the medium: the one below the head at an instant, or the one where a request begins.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Place {
    /// The track.
    pub track: (usize, u64),
    /// Its part of the stroke, from 0 (outer) to 1.
    pub stroke: f64,
    /// The turn of the platter, in nanoseconds of rotation since byte 0, turns of the skew included.
    pub spin: f64,
}

/// Tracks of one density.
#[derive(Debug, Clone, Copy)]
struct Zone {
    /// The first byte.
    first: f64,
    bytes: f64,
    track_bytes: f64,
    /// Rotation up to its first byte.
    spin: f64,
    /// The part of the stroke at which it begins; the next field is the part that it takes.
    from: f64,
    width: f64,
}

/// Zones of equal width over the stroke; rates fall linearly from the outer to the inner one.
#[derive(Debug, Clone)]
pub(crate) struct Geometry {
    zones: Vec<Zone>,
    pub turn: f64,
    skew: f64,
    seek: Seek,
}

impl Geometry {
    /// A disk of `size` bytes that takes a share of the stroke, from outside.
    pub(crate) fn new(profile: &Profile, size: u64) -> Self {
        let get = |name| profile.get(name);
        let (turn, skew) = (60e9 / get("rpm"), get("track_skew"));
        let (count, stroke) = (get("zones"), get("stroke"));
        let (outer, inner) = (get("rate_outer"), get("rate_inner"));
        let used: Vec<(f64, f64, f64)> = (0..count as usize)
            .map(|i| {
                let share = if count > 1.0 { i as f64 / (count - 1.0) } else { 0.0 };
                let from = i as f64 / count;
                (from, (stroke - from).min(1.0 / count), outer - (outer - inner) * share)
            })
            .filter(|(_, width, _)| *width > 0.0)
            .collect();
        let all: f64 = used.iter().map(|(_, width, rate)| width * rate).sum();
        let (mut first, mut spin) = (0.0, 0.0);
        let zones = used
            .iter()
            .map(|&(from, width, rate)| {
                let bytes = size as f64 * width * rate / all;
                // The rates are the sustained ones of data sheets, the skew from track to track included.
                let track_bytes = rate * (turn + skew) / 1e9;
                let zone = Zone { first, bytes, track_bytes, spin, from, width };
                first += bytes;
                spin += bytes / track_bytes * (turn + skew);
                zone
            })
            .collect();
        Self { zones, turn, skew, seek: Seek::new(profile) }
    }

    /// Returns where `byte` lies.
    pub(crate) fn place(&self, byte: u64) -> Place {
        let at = byte as f64;
        let number = self.zones.partition_point(|zone| zone.first <= at).saturating_sub(1);
        let Some(zone) = self.zones.get(number) else {
            return Place { track: (0, 0), stroke: 0.0, spin: 0.0 };
        };
        let inside = at - zone.first;
        let track = (inside / zone.track_bytes).floor();
        let on_track = inside / zone.track_bytes - track;
        Place {
            track: (number, track as u64),
            stroke: zone.from + zone.width * (track * zone.track_bytes / zone.bytes).min(1.0),
            spin: zone.spin + track * (self.turn + self.skew) + on_track * self.turn,
        }
    }

    /// The byte below the head when the platter has turned to `spin` since byte 0.
    pub(crate) fn byte_at(&self, spin: f64) -> u64 {
        let number = self.zones.partition_point(|zone| zone.spin <= spin).saturating_sub(1);
        let Some(zone) = self.zones.get(number) else { return 0 };
        let inside = (spin - zone.spin).max(0.0);
        let track = (inside / (self.turn + self.skew)).floor();
        let on_track = ((inside - track * (self.turn + self.skew)) / self.turn).min(1.0);
        (zone.first + (track + on_track) * zone.track_bytes) as u64
    }

    /// Returns how long bytes `from` to `to` take to pass below the head.
    pub(crate) fn transfer(&self, from: u64, to: u64) -> f64 {
        (self.place(to).spin - self.place(from).spin).max(0.0)
    }

    /// Rotational latency: how long the platter turns, from `now` on, until `spin` comes below the head.
    pub(crate) fn rotation(&self, spin: f64, now: f64) -> f64 {
        /// Places nearer than this, in nanoseconds of rotation, are below the head: computed instants are rounded.
        const BELOW_HEAD_NS: f64 = 1_000.0;
        let wait = (spin - now).rem_euclid(self.turn);
        if wait > self.turn - BELOW_HEAD_NS { 0.0 } else { wait }
    }

    /// Seek time: how long the arm takes from one track to another.
    pub(crate) fn seek(&self, from: &Place, to: &Place) -> f64 {
        if from.track == to.track { 0.0 } else { self.seek.time((from.stroke - to.stroke).abs()) }
    }
}

/// The time of a seek over a share f of the stroke: a + b·√f while the arm speeds up and brakes, c + e·f for distances over which it also coasts;
/// both have the same value and slope where they meet (Ruemmler and Wilkes, "An introduction to disk drive modeling", IEEE Computer 27(3), 1994).
#[derive(Debug, Clone, Copy)]
struct Seek {
    least: f64,
    root: f64,
    knee: f64,
}

impl Seek {
    fn new(profile: &Profile) -> Self {
        let get = |name| profile.get(name);
        Self { least: get("seek_least"), root: get("seek_root"), knee: get("seek_knee") }
    }

    fn time(&self, share: f64) -> f64 {
        if share < self.knee {
            return self.least + self.root * share.sqrt();
        }
        let slope = self.root / (2.0 * self.knee.sqrt());
        self.least + self.root * self.knee.sqrt() + slope * (share - self.knee)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn geometry(size: u64) -> Geometry {
        Geometry::new(crate::profile("hdd").unwrap(), size)
    }

    #[test]
    fn every_byte_is_found_again_by_the_turn_it_lies_at() {
        let geometry = geometry(16 << 30);
        for i in 0..1000u64 {
            let byte = i * ((16 << 30) / 1000) + i;
            let found = geometry.byte_at(geometry.place(byte).spin);
            assert!(found.abs_diff(byte) <= 64, "{byte} {found}");
        }
    }

    #[test]
    fn the_outer_zone_is_as_fast_as_its_rate_and_the_inner_one_too() {
        let size = 4u64 << 40;
        let geometry = geometry(size);
        for (from, rate) in [(0, 227e6), (size - (64 << 20), 110e6)] {
            let took = geometry.transfer(from, from + (60 << 20));
            let reached = (60u64 << 20) as f64 / took * 1e9;
            assert!((reached / rate - 1.0).abs() < 0.02, "{reached}");
        }
    }

    #[test]
    fn the_seek_curve_meets_in_value_and_slope_and_spans_what_data_sheets_say() {
        let seek = Seek { least: 0.5, root: 12.4, knee: 0.3 };
        let step = 1e-6;
        let (before, at, after) = (seek.time(0.3 - step), seek.time(0.3), seek.time(0.3 + step));
        assert!((after - 2.0 * at + before).abs() < 1e-9);
        assert!((seek.time(1.0) - 15.2).abs() < 0.05, "{}", seek.time(1.0));
        // Of two places drawn at random, a distance f is as likely as 2(1-f).
        let mean: f64 = (0..10_000)
            .map(|i| (f64::from(i) + 0.5) / 10_000.0)
            .map(|f| 2.0 * (1.0 - f) * seek.time(f) / 10_000.0)
            .sum();
        assert!((mean - 7.4).abs() < 0.1, "{mean}");
    }
}
