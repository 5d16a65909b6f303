//! The bytes of the file and what its faults do to them.

use std::time::Duration;

use units::{Seed, SplitMix64};

use crate::fault::{Fault, On, What};
use crate::{BLOCK, SECTOR};

/// Error number of a device without room.
const ENOSPC: i32 = 28;

/// The answer to a request to the file: done, or with a fault.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Answer {
    /// Bytes moved, or an error number.
    pub result: Result<usize, i32>,
    /// Time for which the answer is to be held back.
    pub stall: Option<Duration>,
}

/// A fault that happened.
#[derive(Debug, Clone, PartialEq)]
pub struct Injected {
    /// Requests of any kind before this one.
    pub request: u64,
    /// Byte address of the request, or of the block that was spoilt.
    pub at: u64,
    /// Bytes that were asked for, or of that block.
    pub length: usize,
    /// The effect of the fault.
    pub what: What,
}

/// A fault, with the number of times that it could have happened and the number of times that it did.
#[derive(Debug)]
struct Armed {
    fault: Fault,
    seen: u64,
    done: u64,
    random: SplitMix64,
}

impl Armed {
    /// Tells whether it happens to the request or block at `at`.
    fn strikes(&mut self, at: u64) -> bool {
        let when = &self.fault.when;
        if when.within.as_ref().is_some_and(|within| !within.contains(&at)) {
            return false;
        }
        self.seen += 1;
        let strikes = self.seen > when.after
            && when.most.is_none_or(|most| self.done < most)
            && (when.share >= 1.0 || self.random.unit() < when.share);
        self.done += u64::from(strikes);
        strikes
    }
}

/// A file in memory with faults.
#[derive(Debug)]
pub struct Store {
    bytes: Vec<u8>,
    armed: Vec<Armed>,
    requests: u64,
    written: u64,
    injected: Vec<Injected>,
}

impl Store {
    /// A file of `size` zero bytes.
    pub fn new(size: usize, faults: Vec<Fault>) -> Self {
        let mut store = Self {
            bytes: vec![0; size],
            armed: Vec::new(),
            requests: 0,
            written: 0,
            injected: Vec::new(),
        };
        store.arm(faults);
        store
    }

    /// Replaces the faults; the list of injected ones is kept.
    pub fn arm(&mut self, faults: Vec<Fault>) {
        let arm = |(number, fault)| {
            let random = Seed(number).derive("fault").generator();
            Armed { fault, seen: 0, done: 0, random }
        };
        self.armed = (0..).zip(faults).map(arm).collect();
    }

    /// Size of the file, bytes.
    pub fn size(&self) -> usize {
        self.bytes.len()
    }

    /// Returns what was injected so far, in order.
    pub fn injected(&self) -> &[Injected] {
        &self.injected
    }

    /// Returns the stored bytes, without any faults.
    pub fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    /// Returns the stored bytes, to be changed directly.
    pub fn bytes_mut(&mut self) -> &mut [u8] {
        &mut self.bytes
    }

    /// Reads into `out` from `offset` on; moves nothing beyond the end.
    pub fn read(&mut self, offset: u64, out: &mut [u8]) -> Answer {
        let mut answer = self.ask(On::Read, offset, out.len());
        if let Ok(moved) = &mut answer.result {
            *moved = (*moved).min(self.bytes.len().saturating_sub(offset as usize));
            out[..*moved].copy_from_slice(&self.bytes[offset as usize..][..*moved]);
        }
        answer
    }

    /// Writes `data` at `offset`; ENOSPC beyond the end.
    pub fn write(&mut self, offset: u64, data: &[u8]) -> Answer {
        let mut answer = self.ask(On::Write, offset, data.len());
        if let Ok(moved) = &mut answer.result {
            let room = self.bytes.len().saturating_sub(offset as usize);
            *moved = (*moved).min(room);
            if *moved == 0 && !data.is_empty() {
                return Answer { result: Err(ENOSPC), ..answer };
            }
            self.written += *moved as u64;
            self.put(offset as usize, &data[..*moved]);
        }
        answer
    }

    /// Fills `length` bytes from `offset` on with zeros, as a hole does.
    pub fn punch(&mut self, offset: u64, length: u64) -> Answer {
        let answer = self.ask(On::Discard, offset, length as usize);
        if answer.result.is_ok() {
            let end = self.bytes.len().min(offset.saturating_add(length) as usize);
            let start = end.min(offset as usize);
            self.bytes[start..end].fill(0);
        }
        answer
    }

    /// Answers a flush: memory has nothing to make durable, but faults may hit the request.
    pub fn flush(&mut self) -> Answer {
        self.ask(On::Flush, 0, 0)
    }

    /// Counts a request and returns its answer after the faults of requests. A request that stalls may fail too.
    fn ask(&mut self, on: On, at: u64, length: usize) -> Answer {
        let mut answer = Answer { result: Ok(length), stall: None };
        let (request, written) = (self.requests, self.written);
        self.requests += 1;
        for armed in &mut self.armed {
            if armed.fault.on != on || armed.fault.what.is_corruption() {
                continue;
            }
            let before = answer;
            let has_room =
                matches!(armed.fault.what, What::Full(limit) if written + length as u64 <= limit);
            if has_room || !armed.strikes(at) {
                continue;
            }
            match armed.fault.what {
                What::Full(limit) => {
                    let room = limit.saturating_sub(written) as usize / SECTOR * SECTOR;
                    answer.result = if room == 0 { Err(ENOSPC) } else { Ok(room) };
                }
                What::Errno(number) => answer.result = Err(number),
                What::Short(bytes) => {
                    answer.result = answer.result.map(|n| n.min(bytes as usize));
                }
                What::Stall(time) => answer.stall = Some(time),
                _ => {}
            }
            if answer != before {
                let what = armed.fault.what.clone();
                self.injected.push(Injected { request, at, length, what });
            }
        }
        answer
    }

    /// Stores `data`, corrupted where a fault says so. Blocks that `data` covers only in part are never corrupted.
    fn put(&mut self, offset: usize, data: &[u8]) {
        let mut at = offset;
        let end = offset + data.len();
        while at < end {
            let next = ((at / BLOCK + 1) * BLOCK).min(end);
            let piece = &data[at - offset..next - offset];
            let whole = piece.len() == BLOCK;
            match if whole { self.corruption(at as u64) } else { None } {
                Some(what) => self.spoil(at, piece, &what),
                None => self.bytes[at..next].copy_from_slice(piece),
            }
            at = next;
        }
    }

    /// Returns the first fault that strikes the block at `at`, and records it.
    fn corruption(&mut self, at: u64) -> Option<What> {
        let mut spoilers = self.armed.iter_mut().filter(|a| a.fault.what.is_corruption());
        let what = spoilers.find_map(|a| a.strikes(at).then(|| a.fault.what.clone()))?;
        let (request, length) = (self.requests - 1, BLOCK);
        self.injected.push(Injected { request, at, length, what: what.clone() });
        Some(what)
    }

    fn spoil(&mut self, at: usize, block: &[u8], what: &What) {
        match what {
            What::Torn(sectors) => {
                let head = (sectors * SECTOR).min(BLOCK);
                self.bytes[at..at + head].copy_from_slice(&block[..head]);
            }
            What::Misplaced(by) => {
                let blocks = self.bytes.len() / BLOCK;
                let to = (at / BLOCK + *by as usize / BLOCK) % blocks.max(1) * BLOCK;
                self.bytes[to..to + BLOCK].copy_from_slice(block);
            }
            What::Flipped(bits) => {
                self.bytes[at..at + BLOCK].copy_from_slice(block);
                for bit in bits {
                    self.bytes[at + bit / 8 % BLOCK] ^= 1 << (bit % 8);
                }
            }
            _ => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::When;

    fn store(what: What, when: When) -> Store {
        let on = On::Write;
        Store::new(16 * BLOCK, vec![Fault { on, when, what }])
    }

    #[test]
    fn errors_strike_where_and_as_often_as_they_are_told_to() {
        let when = When { within: Some(4096..16384), after: 1, share: 1.0, most: Some(2) };
        let mut store = store(What::Errno(5), when);
        let results: Vec<_> = [0, 4096, 8192, 12288, 4096, 8192]
            .map(|at| store.write(at, &[1; BLOCK]).result.is_ok())
            .to_vec();
        assert_eq!(results, [true, true, false, false, true, true]);
        assert_eq!(store.injected().len(), 2);
        let last = Injected { request: 3, at: 12288, length: BLOCK, what: What::Errno(5) };
        assert_eq!(store.injected()[1], last);
    }

    #[test]
    fn a_share_strikes_about_as_often_and_always_the_same() {
        let run = || {
            let mut store = store(What::Errno(5), When::share(0.1));
            (0..10_000).filter(|_| store.write(0, &[1; SECTOR]).result.is_err()).count()
        };
        assert!((900..1100).contains(&run()), "{}", run());
        assert_eq!(run(), run());
    }

    #[test]
    fn a_full_file_takes_what_fits_and_then_nothing() {
        let mut store = store(What::Full(6144), When::default());
        let mut write = || store.write(0, &[1; BLOCK]).result;
        assert_eq!([write(), write(), write()], [Ok(4096), Ok(2048), Err(ENOSPC)]);
    }

    #[test]
    fn blocks_are_torn_dropped_misplaced_and_flipped_as_told() {
        let whats =
            [What::Torn(3), What::Stale, What::Misplaced(10 * 4096), What::Flipped(vec![0, 8191])];
        let faults = whats.map(|what| Fault::new(On::Write, When::default().at_most(1), what));
        let mut store = Store::new(16 * BLOCK, faults.to_vec());
        let data: Vec<u8> = (1..6).flat_map(|n| [n; BLOCK]).collect();
        assert_eq!(store.write(4096, &data).result, Ok(5 * BLOCK));
        let all = store.bytes();
        assert!(all[4096..4096 + 1536].iter().all(|&b| b == 1));
        assert!(all[4096 + 1536..12288].iter().all(|&b| b == 0), "torn, and stale after it");
        assert!(all[3 * 4096..4 * 4096].iter().all(|&b| b == 0), "misplaced away");
        assert!(all[13 * 4096..14 * 4096].iter().all(|&b| b == 3), "misplaced to here");
        let mut flipped = vec![4u8; BLOCK];
        (flipped[0], flipped[1023]) = (5, 4 ^ 128);
        assert!(all[4 * 4096..5 * 4096] == flipped);
        assert!(all[5 * 4096..6 * 4096].iter().all(|&b| b == 5));
        assert_eq!(
            store.injected().iter().map(|i| i.at).collect::<Vec<_>>(),
            [4096, 8192, 12288, 16384]
        );
    }

    #[test]
    fn a_stall_is_told_with_the_result_and_nothing_lies_beyond_the_end() {
        let mut store = store(What::Stall(Duration::from_secs(9)), When::default());
        let answer = store.write(15 * 4096, &[7; 2 * BLOCK]);
        assert_eq!(answer, Answer { result: Ok(BLOCK), stall: Some(Duration::from_secs(9)) });
        let mut out = [0; 2 * BLOCK];
        assert_eq!(store.read(15 * 4096, &mut out).result, Ok(BLOCK));
        assert!(out[..BLOCK] == [7; BLOCK]);
    }
}
