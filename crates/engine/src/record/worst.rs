//! The slowest I/Os.

use crate::record::Completion;

/// One slow I/O.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct SlowIo {
    pub latency_ns: u64,
    /// The intended start, nanoseconds.
    pub at_ns: u64,
    pub offset: u64,
    pub length: u32,
    pub operation: u16,
    pub target: u16,
    pub job: u16,
}

/// The slowest `room` I/Os that one worker has seen; its memory is allocated at the start.
#[derive(Debug, Clone)]
pub(crate) struct Worst {
    room: usize,
    list: Vec<SlowIo>,
    /// Latency that an I/O must exceed to be included, nanoseconds.
    floor_ns: u64,
}

impl Worst {
    pub(crate) fn new(room: usize) -> Self {
        let floor_ns = if room == 0 { u64::MAX } else { 0 };
        Self { room, list: Vec::with_capacity(room), floor_ns }
    }

    /// Tells whether an I/O of this latency is among the slowest.
    #[inline]
    pub(crate) fn concerns(&self, latency_ns: u64) -> bool {
        latency_ns > self.floor_ns
    }

    /// Adds an I/O that is among the slowest.
    #[cold]
    pub(crate) fn add(&mut self, io: &Completion, job: u16) {
        let long = SlowIo {
            latency_ns: io.latency_ns(),
            at_ns: io.intended_ns,
            offset: io.offset,
            length: io.length,
            operation: io.operation as u16,
            target: io.target as u16,
            job,
        };
        self.insert(long);
    }

    fn insert(&mut self, long: SlowIo) {
        if self.list.len() < self.room {
            self.list.push(long);
        } else if let Some(least) = self.list.iter_mut().min_by_key(|l| l.latency_ns)
            && long.latency_ns > least.latency_ns
        {
            *least = long;
        }
        if self.list.len() == self.room {
            self.floor_ns = self.list.iter().map(|l| l.latency_ns).min().unwrap_or(u64::MAX);
        }
    }

    /// Becomes a copy of `other`, without new memory.
    pub(crate) fn copy_from(&mut self, other: &Self) {
        self.list.clone_from(&other.list);
        self.floor_ns = other.floor_ns;
    }

    /// The slowest I/Os of several workers, longest first.
    pub(crate) fn of_all<'a>(room: usize, parts: impl Iterator<Item = &'a Self>) -> Vec<SlowIo> {
        let mut all: Vec<SlowIo> = parts.flat_map(|part| part.list.iter().copied()).collect();
        all.sort_by_key(|l| (std::cmp::Reverse(l.latency_ns), l.at_ns, l.offset));
        all.truncate(room);
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn io(latency_ns: u64, offset: u64) -> Completion {
        Completion { offset, reaped_ns: latency_ns, ..Completion::default() }
    }

    proptest! {
        #[test]
        fn the_worst_of_all_workers_are_the_longest_of_all_ios(
            latencies in prop::collection::vec(1u64..1000, 0..200), room in 0usize..20, workers in 1usize..4,
        ) {
            let mut worst = vec![Worst::new(room); workers];
            for (i, &latency) in latencies.iter().enumerate() {
                let one = &mut worst[i % workers];
                if one.concerns(latency) {
                    one.add(&io(latency, i as u64), 0);
                }
            }
            let mut expected = latencies;
            expected.sort_by_key(|&l| std::cmp::Reverse(l));
            expected.truncate(room);
            let found: Vec<u64> =
                Worst::of_all(room, worst.iter()).iter().map(|l| l.latency_ns).collect();
            prop_assert_eq!(found, expected);
        }
    }
}
