//! The promises: the values that each address may have.

use std::collections::{BTreeMap, VecDeque};

use crate::block::Lbn;
use crate::core::Policy;
use crate::harness::content::{ERROR, is_strange};

#[derive(Debug, Clone, Copy)]
struct Version {
    number: u64,
    value: u64,
    acked: bool,
    loose: bool,
}

/// Values that each address may have, the one that is durable for sure first.
#[derive(Default)]
pub(super) struct Oracle {
    versions: BTreeMap<Lbn, VecDeque<Version>>,
    number: u64,
}

/// Numbers of addresses that did not have the last acknowledged value after a cut, by what they had.
#[derive(Debug, Default, Clone, Copy)]
pub(super) struct Seen {
    /// An older value, where the newer one was not promised to be durable.
    pub old: u64,
    /// Bytes that no value makes, or a read error.
    pub garbage: u64,
    /// A value that was never written there.
    pub foreign: u64,
}

impl Oracle {
    fn versions_of(&mut self, lbn: Lbn) -> &mut VecDeque<Version> {
        let first = Version { number: 0, value: 0, acked: true, loose: false };
        self.versions.entry(lbn).or_insert_with(|| VecDeque::from([first]))
    }

    /// Every address that was ever asked for.
    pub fn addresses(&self) -> Vec<Lbn> {
        self.versions.keys().copied().collect()
    }

    /// Notes a write; returns its number.
    pub fn write(&mut self, lbn: Lbn, value: u64, policy: Policy) -> u64 {
        self.number += 1;
        let loose = policy == Policy::AsyncUnsafe;
        let version = Version { number: self.number, value, acked: false, loose };
        self.versions_of(lbn).push_back(version);
        self.number
    }

    pub fn acked(&mut self, lbn: Lbn, number: u64, durable: bool) {
        let versions = self.versions_of(lbn);
        versions.iter_mut().filter(|v| v.number == number).for_each(|v| v.acked = true);
        if durable {
            forget(versions, number);
        }
    }

    pub fn failed(&mut self, lbn: Lbn, number: u64) {
        self.versions_of(lbn).retain(|version| version.number != number);
    }

    /// The last acknowledged write of every address, when a flush begins.
    pub fn snapshot(&self) -> Vec<(Lbn, u64)> {
        let last = |versions: &VecDeque<Version>| {
            versions.iter().rev().find(|v| v.acked).map_or(0, |v| v.number)
        };
        self.versions.iter().map(|(lbn, versions)| (*lbn, last(versions))).collect()
    }

    pub fn flushed(&mut self, snapshot: &[(Lbn, u64)]) {
        snapshot.iter().for_each(|(lbn, number)| forget(self.versions_of(*lbn), *number));
    }

    pub fn last_acked(&mut self, lbn: Lbn) -> u64 {
        self.versions_of(lbn).iter().rev().find(|v| v.acked).map_or(0, |v| v.number)
    }

    /// Checks that a read gave the value of a write with number `least` or higher.
    pub fn read(&mut self, lbn: Lbn, least: u64, value: u64) -> Result<(), String> {
        let versions = self.versions_of(lbn);
        match versions.iter().any(|v| v.value == value && v.number >= least) {
            true => Ok(()),
            false => {
                Err(format!("block {lbn} reads {value}, not one of {versions:?} from {least}"))
            }
        }
    }

    /// Checks the value of an address after a cut against what was promised. From then on it is the only value the address may have.
    pub fn found(&mut self, lbn: Lbn, value: u64, seen: &mut Seen) -> Result<(), String> {
        let versions = self.versions_of(lbn);
        let expected = versions.iter().rev().find(|v| v.acked).map_or(0, |v| v.value);
        let known = versions.iter().any(|v| v.value == value);
        let loose = versions.iter().skip(1).any(|v| v.loose);
        seen.old += u64::from(known && value != expected);
        if !known && !loose {
            return Err(format!("block {lbn} is {value} after a cut, not one of {versions:?}"));
        }
        if !known {
            let garbage = is_strange(value) || value == ERROR;
            seen.garbage += u64::from(garbage);
            seen.foreign += u64::from(!garbage);
        }
        *versions = VecDeque::from([Version { number: 0, value, acked: true, loose: false }]);
        Ok(())
    }
}

fn forget(versions: &mut VecDeque<Version>, number: u64) {
    while versions.len() > 1 && versions[0].number < number {
        versions.pop_front();
    }
}
