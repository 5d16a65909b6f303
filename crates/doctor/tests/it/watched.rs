//! Every rule about what was watched fires when it should, and is silent when one number is different.

use std::collections::BTreeSet;

use doctor::{When, examine_standing, rules};
use layers::standing::{Node, StandingMachine, StandingStack};
use layers::watched::{IoGrowth, ThreadUse, Watched};

/// A number by its name: a counter that grew, `@busy` seconds of ten, `@full` percent of a thread's time.
type Number = (&'static str, f64);

/// The findings about a node that was watched for 10 s, its counters since it came up being `before`.
fn found(kind: &str, before: &[Number], numbers: &[Number]) -> Vec<results::model::Finding> {
    let fields = |numbers: &[Number]| {
        let counters = numbers.iter().filter(|(name, _)| !name.starts_with('@'));
        counters.map(|(name, value)| ((*name).to_owned(), Some(*value))).collect()
    };
    let number = |wanted: &str| numbers.iter().find(|(name, _)| *name == wanted).map(|n| n.1);
    let io = number("@busy").map(|seconds| ("busy_ms".to_owned(), Some(1000.0 * seconds)));
    let io = IoGrowth { from_s: 0.0, to_s: 10.0, grown: io.into_iter().collect() };
    let thread = number("@full").map(|full_percent| ThreadUse {
        name: "worker".to_owned(),
        full_percent,
        ..ThreadUse::default()
    });
    let watched = Watched {
        seconds: 10.0,
        io,
        grown: fields(numbers),
        threads: thread.into_iter().collect(),
        ..Watched::default()
    };
    let node = Node {
        id: "node".to_owned(),
        name: "node".to_owned(),
        kind: kind.to_owned(),
        counters: fields(before),
        watched: Some(watched),
        ..Node::default()
    };
    let machine = StandingMachine { log: Some(Vec::new()), ..StandingMachine::default() };
    let stack = StandingStack { nodes: vec![node], machine, ..StandingStack::default() };
    examine_standing(&stack, "a test")
}

fn fired(kind: &str, numbers: &[Number]) -> BTreeSet<String> {
    let all = found(kind, &[], numbers);
    all.into_iter().filter(|f| f.subject.is_some()).map(|finding| finding.rule).collect()
}

/// A rule, the kind of node, what makes it fire, and the one number that silences it.
type RuleCase = (&'static str, &'static str, &'static [Number], Number);

const CASES: &[RuleCase] = &[
    ("thread_full", "vdo", &[("@full", 30.0)], ("@full", 20.0)),
    ("disk_busy", "disk", &[("@busy", 9.5)], ("@busy", 8.9)),
    (
        "cache_low_hits",
        "lvmcache",
        &[("read_hits", 400.0), ("read_misses", 700.0), ("write_hits", 0.0), ("write_misses", 0.0)],
        ("read_misses", 300.0),
    ),
    (
        "bcache_low_hits",
        "bcache",
        &[("cache_hits", 400.0), ("cache_misses", 700.0)],
        ("cache_misses", 500.0),
    ),
    (
        "bcache_bypassed",
        "bcache",
        &[
            ("cache_bypass_hits", 400.0),
            ("cache_bypass_misses", 400.0),
            ("cache_hits", 300.0),
            ("cache_misses", 0.0),
        ],
        ("cache_hits", 900.0),
    ),
    (
        "write_cache_overrun",
        "writecache",
        &[("writes_around", 30.0), ("writes_blocked", 0.0), ("writes", 500.0)],
        ("writes_around", 1.0),
    ),
    (
        "vdo_many_flushes",
        "vdo",
        &[("biosIn.write", 2000.0), ("biosIn.flush", 150.0), ("biosIn.fua", 0.0)],
        ("biosIn.flush", 50.0),
    ),
    (
        "vdo_partial_writes",
        "vdo",
        &[("biosIn.write", 100.0), ("biosInPartial.write", 10.0)],
        ("biosInPartial.write", 1.0),
    ),
    (
        "vdo_map_misses",
        "vdo",
        &[("biosIn.read", 900.0), ("biosIn.write", 200.0), ("blockMap.pagesLoaded", 300.0)],
        ("blockMap.pagesLoaded", 11.0),
    ),
];

#[test]
fn every_rule_about_a_watch_fires_and_is_silent_after_one_change() {
    assert!(fired("vdo", &[]).is_empty());
    for (rule, kind, numbers, (name, silent)) in CASES {
        assert!(fired(kind, numbers).contains(*rule), "{rule}: {:?}", fired(kind, numbers));
        let mut quiet = numbers.to_vec();
        quiet.iter_mut().filter(|number| number.0 == *name).for_each(|n| n.1 = *silent);
        assert!(!fired(kind, &quiet).contains(*rule), "{rule} goes on with {name} {silent}");
    }
    let cases: BTreeSet<&str> = CASES.iter().map(|(rule, ..)| *rule).collect();
    let all = rules();
    let watched = all.iter().filter(|rule| rule.when == When::Watched).map(|rule| rule.id);
    let layers = layers::kinds().iter().flat_map(|kind| kind.watch_rules).map(|rule| rule.id);
    assert_eq!(cases, watched.chain(layers).collect(), "a rule without a case, or the reverse");
}

#[test]
fn what_is_so_now_takes_the_place_of_what_was_so_since_the_device_came_up() {
    let since = [
        ("read_hits", 10_000.0),
        ("read_misses", 90_000.0),
        ("write_hits", 0.0),
        ("write_misses", 0.0),
    ];
    let low_hits = |now: &[Number]| {
        let all = found("lvmcache", &since, now);
        let matching = all.into_iter().filter(|finding| finding.rule == "cache_low_hits");
        matching.map(|finding| (finding.place, finding.figures[0].value)).collect::<Vec<_>>()
    };
    // Too little I/O was watched: the figure since the device came up is shown.
    assert_eq!(low_hits(&[]), [(None, 10.0)]);
    let mut now = since;
    now.iter_mut().for_each(|number| number.1 /= 10.0);
    now[0].1 = 3000.0;
    let place = Some("in the 10 s that were watched".to_owned());
    assert_eq!(low_hits(&now), [(place, 25.0)]);
}
