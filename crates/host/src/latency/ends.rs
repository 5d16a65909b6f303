//! I/Os from beginning to end: finds the I/Os under way that an event of the kernel ends, and their latency.

use std::collections::BTreeMap;

use layers::machine::step_of;

/// Largest number of I/Os of a device under way: if more seem to be, the kernel does not report how they end.
const UNDER_WAY: usize = 1 << 16;
/// Number of I/Os that must have begun before the kernel is taken not to report how they end.
const TELLING: u64 = 100;

/// The moment in the course of an I/O that an event marks.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Edge {
    /// A bio was handed to the device.
    Begin,
    /// A request of the device, or a part of it, is done, with all bios that it is made of.
    RequestEnd,
    /// A bio is done.
    BioEnd,
}

/// An event of the kernel.
#[derive(Debug, Clone, Copy)]
pub(super) struct Happened {
    pub at_ns: u64,
    pub moment: Edge,
    pub dev: u32,
    pub sector: u64,
    pub sectors: u64,
    pub write: bool,
}

/// One device that is traced, or a part of one.
#[derive(Debug, Default)]
pub(super) struct Traced {
    dev: u32,
    /// Its sectors on the disk: from `from` up to `to`.
    from: u64,
    to: u64,
    /// I/Os under way by their first sector and their number.
    under_way: BTreeMap<(u64, u64), Begun>,
    begun: u64,
    ended: u64,
    longest: u64,
    /// Number of I/Os whose end was never reported.
    pub forgotten: u64,
    /// Number of I/Os in each step of latency: reads, writes.
    pub counts: [BTreeMap<usize, u64>; 2],
}

#[derive(Debug, Clone, Copy)]
struct Begun {
    at_ns: u64,
    end: u64,
    /// Sectors that are not done.
    left: u64,
    write: bool,
}

impl Traced {
    /// A device of this number in the kernel's own form, from one sector up to another.
    pub(super) fn new(dev: u32, from: u64, to: u64) -> Self {
        Self { dev, from, to, ..Self::default() }
    }

    /// Tells whether the kernel reports that I/Os begin, but never that one ends.
    pub(super) fn has_no_ends(&self) -> bool {
        self.begun >= TELLING && self.ended == 0
    }

    /// Takes an event; ignores those of other devices.
    pub(super) fn take(&mut self, what: &Happened) {
        let is_here = what.dev == self.dev && (self.from..self.to).contains(&what.sector);
        match what.moment {
            Edge::Begin if is_here && what.sectors > 0 => self.begin(what),
            Edge::RequestEnd if is_here => self.request_end(what),
            // The sector of a bio that is done may be its end, which can be the end of the device.
            Edge::BioEnd if what.dev == self.dev => self.bio_end(what),
            _ => {}
        }
    }

    fn begin(&mut self, what: &Happened) {
        self.begun += 1;
        self.longest = self.longest.max(what.sectors);
        if self.under_way.len() >= UNDER_WAY {
            self.forgotten += self.under_way.len() as u64;
            self.under_way.clear();
        }
        let (at_ns, end, left) = (what.at_ns, what.sector + what.sectors, what.sectors);
        let begun = Begun { at_ns, end, left, write: what.write };
        self.under_way.insert((what.sector, self.begun), begun);
    }

    /// Ends all bios in a range of sectors; where several cover exactly the same sectors, only the one that began first.
    fn request_end(&mut self, what: &Happened) {
        let (from, to) = (what.sector, what.sector + what.sectors);
        let mut done = Vec::new();
        let mut before = None;
        let first = from.saturating_sub(self.longest);
        for (key, begun) in self.under_way.range_mut((first, 0)..(to, 0)) {
            let over = (key.0, begun.end);
            if begun.write != what.write || begun.end <= from || before == Some(over) {
                continue;
            }
            before = Some(over);
            let part = begun.end.min(to) - key.0.max(from);
            begun.left = begun.left.saturating_sub(part);
            if begun.left == 0 {
                done.push(*key);
            }
        }
        done.into_iter().for_each(|key| self.done(key, what.at_ns));
    }

    /// Ends the bio that has the same end as this event, since parts that were done before may be missing from its beginning.
    fn bio_end(&mut self, what: &Happened) {
        let end = what.sector + what.sectors;
        let first = end.saturating_sub(self.longest);
        let mut ends = self.under_way.range((first, 0)..(end, 0));
        let is = |begun: &Begun| begun.end == end && begun.write == what.write;
        let key = ends.find(|(_, begun)| is(begun)).map(|(key, _)| *key);
        if let Some(key) = key {
            self.done(key, what.at_ns);
        }
    }

    fn done(&mut self, key: (u64, u64), at_ns: u64) {
        if let Some(begun) = self.under_way.remove(&key) {
            self.ended += 1;
            let step = step_of(at_ns.saturating_sub(begun.at_ns));
            *self.counts[usize::from(begun.write)].entry(step).or_default() += 1;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const DEV: u32 = 7 << 20;

    fn of(at_us: u64, moment: Edge, sector: u64, sectors: u64, write: bool) -> Happened {
        Happened { at_ns: at_us * 1000, moment, dev: DEV, sector, sectors, write }
    }

    fn all(events: &[Happened]) -> Traced {
        let mut traced = Traced::new(DEV, 0, 1000);
        events.iter().for_each(|what| traced.take(what));
        traced
    }

    fn steps(us: &[u64]) -> BTreeMap<usize, u64> {
        let mut steps = BTreeMap::new();
        us.iter().for_each(|us| *steps.entry(step_of(us * 1000)).or_default() += 1);
        steps
    }

    use Edge::{Begin, BioEnd, RequestEnd};

    #[test]
    fn a_request_ends_all_that_was_merged_into_it_and_a_part_of_one_ends_nothing() {
        let traced = all(&[
            of(0, Begin, 0, 8, true),
            of(10, Begin, 8, 8, true),
            of(11, Begin, 8, 8, false),
            of(20, Begin, 100, 64, true),
            of(110, RequestEnd, 0, 16, true),
            of(120, RequestEnd, 100, 32, true),
            of(320, RequestEnd, 132, 32, true),
            of(400, RequestEnd, 500, 8, true),
        ]);
        assert_eq!(traced.counts[1], steps(&[110, 100, 300]));
        assert_eq!((traced.counts[0].len(), traced.under_way.len()), (0, 1), "the read goes on");
    }

    #[test]
    fn of_two_over_the_same_sectors_the_first_one_ends_first() {
        let traced = all(&[
            of(0, Begin, 8, 8, false),
            of(100, Begin, 8, 8, false),
            of(200, RequestEnd, 8, 8, false),
            of(900, RequestEnd, 8, 8, false),
        ]);
        assert_eq!(traced.counts[0], steps(&[200, 800]));
    }

    #[test]
    fn a_bio_ends_where_it_was_to_end_however_far_it_has_come() {
        let traced = all(&[
            of(0, Begin, 0, 8, false),
            of(0, Begin, 16, 16, true),
            of(0, Begin, 992, 8, false),
            of(50, BioEnd, 0, 8, false),
            // The front of one that was split, then the rest of it.
            of(60, BioEnd, 16, 8, true),
            of(70, BioEnd, 24, 8, true),
            of(80, BioEnd, 1000, 0, false),
        ]);
        assert_eq!((&traced.counts[0], &traced.counts[1]), (&steps(&[50, 80]), &steps(&[70])));
        assert!(traced.under_way.is_empty());
    }

    #[test]
    fn what_is_of_another_part_of_the_disk_or_moves_nothing_is_left_out() {
        let mut traced = Traced::new(DEV, 100, 200);
        for what in [
            of(0, Begin, 99, 1, true),
            of(0, Begin, 200, 1, true),
            of(0, Begin, 100, 0, true),
            Happened { dev: DEV + 1, ..of(0, Begin, 150, 1, true) },
            of(0, Begin, 199, 1, true),
            of(5, RequestEnd, 199, 1, true),
        ] {
            traced.take(&what);
        }
        assert_eq!((traced.begun, traced.ended), (1, 1));
    }

    #[test]
    fn begins_without_ends_are_noticed_and_not_kept_for_ever() {
        let mut traced = Traced::new(DEV, 0, u64::MAX);
        for i in 0..UNDER_WAY as u64 + 1 {
            traced.take(&of(i, Begin, i, 1, true));
        }
        assert!(traced.has_no_ends());
        assert_eq!((traced.forgotten, traced.under_way.len()), (UNDER_WAY as u64, 1));
        traced.take(&of(70_000, RequestEnd, UNDER_WAY as u64, 1, true));
        assert!(!traced.has_no_ends());
    }
}
