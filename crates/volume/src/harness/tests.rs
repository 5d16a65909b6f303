//! The harness at work.

use std::panic::{AssertUnwindSafe, catch_unwind};

use units::Seed;

use crate::core::{Order, Policy, Rule, Rules, Settings};
use crate::harness::device::Disk;
use crate::harness::life::{Life, Load};
use crate::harness::oracle::Oracle;
use crate::harness::run::{
    LIVES, Outcome, Policies, addresses, geometry, lives, medium, one_of, rules_without,
};
use crate::start::{create, start};

/// Power cuts of each policy: 1,000, in a slow build fewer. `FATHOM_CUTS` says another number.
fn cuts() -> u64 {
    let usual = if cfg!(debug_assertions) { 240 } else { 1008 };
    std::env::var("FATHOM_CUTS").ok().and_then(|cuts| cuts.parse().ok()).unwrap_or(usual)
}

fn survive(policies: Policies) -> Outcome {
    let mut all = Outcome::default();
    let mut seed = 0;
    while all.cuts < cuts() {
        let outcome = lives(seed, policies, Rules::default());
        all.add(&outcome.unwrap_or_else(|error| panic!("{policies:?}: {error}")));
        seed += 1;
    }
    println!("{policies:?}: {all:?}");
    assert!(all.cuts_in_recovery > 0 && all.journal_blocks > 0 && all.grown > 0, "{all:?}");
    // A slow build sees twenty devices, which may all have room enough.
    let many = all.cuts >= 1000;
    assert!(!many || (all.no_space > 0 && all.cuts_in_growth > 0), "{all:?}");
    all
}

#[test]
fn sync_loses_nothing_that_was_acknowledged() {
    let seen = survive(Policies::One(Policy::Sync)).seen;
    assert_eq!((seen.garbage, seen.foreign), (0, 0));
}

#[test]
fn async_loses_nothing_that_was_flushed_and_shows_nothing_foreign() {
    let seen = survive(Policies::One(Policy::Async)).seen;
    assert_eq!((seen.garbage, seen.foreign), (0, 0));
    assert!(seen.old > 0, "a harness that never loses anything shows nothing");
}

#[test]
fn async_unsafe_is_wrong_only_where_something_was_written_since_the_last_flush() {
    let seen = survive(Policies::One(Policy::AsyncUnsafe)).seen;
    assert!(seen.garbage + seen.foreign > 0, "it was never seen to be wrong: {seen:?}");
}

#[test]
fn policies_may_change_between_lives_and_while_the_volume_runs() {
    survive(Policies::Mixed);
}

/// A rule that is left out must be seen within so many devices.
fn found(rule: Rule, policy: Policy) {
    let most = 1500;
    for seed in 0..most {
        let run = || lives(seed, Policies::One(policy), rules_without(rule));
        match catch_unwind(AssertUnwindSafe(run)) {
            Ok(Ok(_)) => {}
            Ok(Err(error)) => return println!("{rule:?}: {} cuts: {error}", seed * LIVES),
            Err(_) => return println!("{rule:?}: {} cuts: panic", seed * LIVES),
        }
    }
    panic!("{rule:?} left out under {policy:?} was not seen in {} cuts", most * LIVES);
}

macro_rules! mutants {
    ($($name:ident: $rule:ident, $policy:ident;)*) => {
        $(#[test] fn $name() { found(Rule::$rule, Policy::$policy); })*
    };
}

mod mutant {
    use super::*;

    mutants! {
        without_a_flush_before_the_journal: DataBeforeJournal, Async;
        without_durable_data_under_sync: DataDurable, Sync;
        without_durable_empty_pages_async: PageBeforeLink, AsyncUnsafe;
        without_durable_empty_pages_sync: PageBeforeLink, Sync;
        freed_before_the_commit_sync: FreeAtCommit, Sync;
        freed_before_the_commit_async: FreeAtCommit, Async;
        advice_of_a_block_without_a_reference: AdviceCounted, Async;
        compared_without_a_pin: PinnedWhileCompared, Async;
        fragments_that_share_one_pin: FragmentPinned, Async;
        parked_while_somebody_waits: NotParkedWhileWaited, Async;
        shared_without_a_comparison: Compared, Async;
        without_a_new_epoch: NewEpoch, Async;
        pages_not_flushed_before_the_tail_sync: PagesBeforeTail, Sync;
        pages_not_flushed_before_the_tail_unsafe: PagesBeforeTail, AsyncUnsafe;
        pages_before_their_entries: EntriesBeforePages, AsyncUnsafe;
        a_ring_slot_used_again_too_early: TailBeforeReuse, Async;
        a_durable_write_without_its_own_flush: FlushBeforeAck, AsyncUnsafe;
        a_flush_that_waits_for_nothing: FlushWaits, Async;
        entries_counted_twice: CountedOnce, Async;
        a_new_epoch_before_the_recovered_is_durable: RecoveredBeforeEpoch, Async;
        replay_across_a_gap: StopAtGap, Async;
        new_slabs_before_their_counts: CountsBeforeGrowth, Async;
        grown_before_the_superblock_is_durable_sync: GrownBeforeUse, Sync;
        grown_before_the_superblock_is_durable_async: GrownBeforeUse, Async;
    }
}

#[test]
fn nothing_hangs_at_any_depth_without_flushes_on_hot_addresses() {
    let seeds = if cfg!(debug_assertions) { 120 } else { 1000 };
    for seed in 0..seeds {
        let random = &mut Seed(seed).generator();
        let geometry = geometry(random);
        let mut disk = Disk::new(medium(geometry.sizes.device, random));
        create(&mut disk, geometry, [1; 16]).unwrap();
        let policy = one_of(random, &[Policy::Sync, Policy::Async, Policy::AsyncUnsafe]);
        let settings = Settings {
            policy,
            cache_pages: 2,
            index_records: 256,
            journal_entries: one_of(random, &[1, 3, 217]),
            order: one_of(random, &[Order::InTurn, Order::Drawn(seed)]),
            ..Settings::default()
        };
        let (mut volume, _) = start(&mut disk, &settings).unwrap();
        let load = Load {
            addresses: addresses(random),
            depth: 1 + seed as usize % 64,
            requests: 500,
            flushes: 0,
            shared: 10,
            changes: false,
            to_the_end: true,
            grow: None,
        };
        let mut oracle = Oracle::default();
        let mut life = Life::new(&mut volume, &mut disk, &mut oracle, random, policy);
        life.run(&load).unwrap_or_else(|error| panic!("seed {seed}, {policy:?}: {error}"));
    }
}
