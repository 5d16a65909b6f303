//! Figures and states that mean the same in every kind of cache: defined once, so that layers of one name compare across variants.

use results::model::{Criterion, Requirement};
use units::{Basis, Better, Metric, Test, Unit};

use crate::kind::{State, StateMethod};
use crate::layer::{Place, Proof, Round};

/// Share of I/Os that the cache answered.
pub(crate) const HIT: Metric = Metric {
    id: "hit_percent",
    name: "hits",
    unit: Unit::Percent,
    better: Better::Higher,
    basis: Basis::Counter,
    test: Test::Paired,
    help: "I/Os that the cache answered, of all that reached it, reads and writes.",
};

/// Share of reads that the cache answered.
pub(crate) const READ_HIT: Metric = Metric {
    id: "read_hit_percent",
    name: "read hits",
    help: "Reads that the cache answered, of all reads. Merged I/Os count once, and a promotion on a miss is still a miss.",
    ..HIT
};

/// Share of the cache that holds blocks, percent.
pub(crate) const USED: Metric = Metric {
    id: "used_percent",
    name: "cache used",
    unit: Unit::Percent,
    better: Better::Neither,
    basis: Basis::Level,
    test: Test::Paired,
    help: "Share of the cache that holds blocks. A cache full of blocks that nobody needs is slower than an empty one.",
};

/// Share of the cache that was empty before and holds blocks now, percent.
pub(crate) const NEW: Metric = Metric {
    id: "new_percent",
    name: "new in the cache",
    unit: Unit::Percent,
    better: Better::Neither,
    basis: Basis::Counter,
    test: Test::Paired,
    help: "Share of the cache that was empty at the start and holds blocks at the end. At least this share holds data that was read or written between the two, and nothing older.",
};

/// Data that only the cache holds, bytes.
pub(crate) const DIRTY: Metric = Metric {
    id: "dirty_bytes",
    name: "dirty data",
    unit: Unit::Bytes,
    better: Better::Neither,
    basis: Basis::Level,
    test: Test::Paired,
    help: "Data that is in the cache and not yet on the slow device.",
};

/// The most that an empty cache may hold, percent: the machine itself reads a device that has come up.
const EMPTY: f64 = 5.0;
/// Percent of a cache that counts as full.
const FULL: f64 = 99.0;
/// Percent of a cache full of junk that must have come in with the junk: [`FULL`] less what an empty cache may hold, and a little less still.
const JUNK: f64 = 90.0;
/// The largest change of a warm cache's share of read hits from one round to the next, percent of that share.
const STILL: f64 = 2.0;

/// Returns the states of a cache that its speed depends on; `empty` is the way to its empty state, which differs between kinds.
pub(crate) const fn states(empty: StateMethod) -> [State; 3] {
    [
        State {
            name: "empty",
            about: "The cache holds nothing but what the machine itself read from the device.",
            by: empty,
        },
        State {
            name: "warmed",
            about: "The cache holds as much of what a load reads as it ever will: the share of read hits no longer changes. Give the load that is measured later (by).",
            by: StateMethod::Load {
                metric: READ_HIT.id,
                at_least: 1.0,
                load: "ops = { randread = 100 }\npattern = \"zipf:1.2\"\ndepth = 16",
            },
        },
        State {
            name: "junk",
            about: "The cache is full of other data: what was read from the second half of the volume, unless another load is given (by). It has to be empty before; what is measured later should read elsewhere.",
            by: StateMethod::Load {
                metric: USED.id,
                at_least: FULL,
                load: "ops = { randread = 100 }\npattern = \"permutation\"\nblock_size = \"64k\"\ndepth = 8\noffset = \"50%\"\nsize = \"50%\"",
            },
        },
    ]
}

/// Returns the proof of a state of the cache at `at`. A round of warming lasts `period_s` seconds, longer than any pause that the cache makes by
/// itself.
pub(crate) fn proof(at: &Place, state: &str, period_s: u64) -> Proof {
    let criterion = |metric: Metric, must| Criterion {
        layer: at.name.to_owned(),
        metric: metric.id.to_owned(),
        must,
    };
    match state {
        "empty" => {
            Proof { criteria: vec![criterion(USED, Requirement::BeAtMost(EMPTY))], round: None }
        }
        "warmed" => Proof {
            criteria: vec![criterion(READ_HIT, Requirement::StayWithin(STILL))],
            round: Some(Round::Time { seconds: period_s }),
        },
        // A cache that was empty before holds what this load read; the counters could not tell older blocks that were left in it.
        "junk" => Proof {
            criteria: vec![
                criterion(USED, Requirement::BeAtLeast(FULL)),
                criterion(NEW, Requirement::BeAtLeast(JUNK)),
            ],
            round: None,
        },
        _ => Proof::default(),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    /// Every kind that is a cache with states, with a layer of it at a place.
    fn proofs(state: &str) -> Vec<(&'static crate::Kind, Proof)> {
        let inputs = BTreeMap::new();
        let at = Place { name: "c", run_tag: "0badcafe", inputs: &inputs };
        let caches = crate::kinds().iter().filter(|kind| kind.cache.is_some());
        caches
            .map(|kind| (kind, (kind.parse)(&toml::Table::new()).unwrap().proof(&at, state)))
            .collect()
    }

    #[test]
    fn every_state_of_a_cache_is_proven_by_figures_that_its_kind_has() {
        for (kind, _) in proofs("empty") {
            let has = |id: &str| kind.metrics.iter().any(|metric| metric.id == id);
            let course = kind.cache.unwrap();
            assert!([course.hits, course.used].iter().chain(course.moves).all(|id| has(id)));
            assert_eq!(kind.states.len(), 3, "{}", kind.name);
            for state in kind.states {
                for (other, proof) in proofs(state.name) {
                    assert!(!proof.criteria.is_empty(), "{} of {}", state.name, other.name);
                    for criterion in proof.criteria {
                        assert!(criterion.layer == "c" && has(&criterion.metric), "{criterion:?}");
                    }
                }
            }
        }
        assert!(proofs("tired").iter().all(|(_, proof)| *proof == Proof::default()));
    }

    #[test]
    fn a_cache_that_was_full_before_is_not_proven_to_hold_what_a_load_read() {
        for (kind, proof) in proofs("junk") {
            let met = |used: f64, new: f64| {
                proof.criteria.iter().all(|criterion| {
                    let value = if criterion.metric == USED.id { used } else { new };
                    criterion.must.is_met(None, Some(value))
                })
            };
            assert!(met(99.0, 95.0), "{}", kind.name);
            assert!(!met(100.0, 0.0) && !met(80.0, 80.0), "{}", kind.name);
        }
    }

    #[test]
    fn a_cache_is_warm_when_it_stands_still_for_longer_than_smq_waits() {
        let rounds: BTreeMap<&str, Option<Round>> =
            proofs("warmed").into_iter().map(|(kind, proof)| (kind.name, proof.round)).collect();
        assert_eq!(rounds["lvmcache"], Some(Round::Time { seconds: 70 }));
        assert_eq!(rounds["bcache"], Some(Round::Time { seconds: 10 }));
    }
}
