//! Ladders of made-up latencies.

use super::*;

/// A histogram of so many I/Os that take the first time; every 50th takes the second one. Times in microseconds.
fn of(ios: u64, us: (u64, u64)) -> Histogram<u64> {
    histogram::of_counts([(us.0 * 1000, ios - ios / 50), (us.1 * 1000, ios / 50)]).unwrap()
}

fn device(name: &str, on: &[&str], all: &Histogram<u64>) -> DeviceLatency {
    DeviceLatency {
        name: name.into(),
        on: on.iter().map(|name| (*name).to_owned()).collect(),
        by: Some(LatencySource::DmStats),
        reads: all.len(),
        histograms: [("both".to_owned(), histogram::encode(all).unwrap())].into(),
        ..DeviceLatency::default()
    }
}

/// Names, each with its tail in microseconds, from the top to the disk.
fn chain(tails_us: &[(&str, u64)]) -> Vec<DeviceLatency> {
    let below = |at: usize| tails_us.get(at + 1).map(|(name, _)| *name);
    let each = tails_us
        .iter()
        .enumerate()
        .map(|(at, (name, us))| device(name, below(at).as_slice(), &of(5000, (us / 2, *us))));
    each.collect()
}

fn named(made: &Ladder) -> &str {
    &made.made.as_ref().unwrap().name
}

#[test]
fn two_milliseconds_at_any_layer_are_found_there() {
    let names = ["vdo", "vdo-pool", "crypt", "linear", "data"];
    for slow in 0..names.len() {
        let tail = |at: usize| 100 * (names.len() - at) as u64 + if at <= slow { 2000 } else { 0 };
        let tails: Vec<_> = names.iter().enumerate().map(|(at, name)| (*name, tail(at))).collect();
        let load = of(5000, (1000, 2650));
        let found = ladder(Some(&load), &chain(&tails));
        assert_eq!(named(&found), names[slow], "{found:?}");
        let maker = found.made.unwrap();
        assert!((maker.adds_ns / 2.1e6 - 1.0).abs() < 0.02 && maker.of_ns > 2.6e6, "{maker:?}");
    }
    let found = ladder(Some(&of(5000, (10, 9000))), &chain(&[("linear", 120), ("data", 100)]));
    assert_eq!(named(&found), LOAD);
}

#[test]
fn what_a_device_adds_is_its_distance_to_the_slowest_under_it() {
    let slow = device("origin", &[], &of(2000, (500, 4000)));
    let fast = device("cache", &[], &of(9000, (50, 100)));
    // Fewer than one in a hundred of the I/Os above made no 99th percentile there.
    let rare = device("meta", &[], &of(90, (50, 90_000)));
    let top = device("cached", &["origin", "cache", "meta"], &of(10_000, (60, 4200)));
    let found = ladder(None, &[top, slow, fast, rare]);
    assert_eq!(named(&found), "origin");
    assert!((found.rungs[0].adds_ns.unwrap() / 2e5 - 1.0).abs() < 0.05, "{found:?}");
    assert_eq!(found.rungs[3].all.p99_ns, None);
}

#[test]
fn nothing_is_named_where_too_little_is_known_and_that_is_said() {
    let why = |devices: &[DeviceLatency]| ladder(None, devices).made.unwrap_err();
    let mut two = chain(&[("top", 2000), ("data", 100)]);
    assert_eq!(named(&ladder(None, &two)), "top");
    two[1].lost = 3;
    assert!(why(&two).contains("3 events of data were lost"), "{}", why(&two));
    two[1] = DeviceLatency { absent: Some("it is gone".into()), ..two[1].clone() };
    assert!(why(&two).contains("data is not known: it is gone"));
    let few = [device("top", &[], &of(999, (10, 20)))];
    assert!(why(&few).contains("had 999 I/Os"));
    assert!(why(&[]).contains("no single device"));
    assert!(why(&chain(&[("a", 200), ("b", 100)])).contains("about as much"));
}

#[test]
fn a_device_that_answers_before_what_is_under_it_is_not_named_for_it() {
    let early = chain(&[("vdo", 300), ("data", 5000)]);
    let why = ladder(None, &early).made.unwrap_err();
    assert!(why.contains("vdo answers before data"), "{why}");
    assert!(ladder(None, &early).rungs[0].adds_ns.unwrap() < 0.0);
    // What stands above it and is slower by far is named all the same.
    let above = chain(&[("slow", 5000), ("vdo", 300), ("data", 6000)]);
    assert_eq!(named(&ladder(None, &above)), "slow");
    // A difference of one step of the histogram does not count.
    assert_eq!(named(&ladder(None, &chain(&[("linear", 1000), ("data", 1090)]))), "data");
}

#[test]
fn repeats_name_what_most_of_them_name() {
    let one = ladder(None, &chain(&[("top", 2000), ("data", 100)]));
    let other = ladder(None, &chain(&[("top", 2000), ("data", 1900)]));
    let both = join_repeats(&[one.clone(), other.clone(), one.clone()]).unwrap();
    assert_eq!(named(&both), "top");
    assert_eq!((both.rungs[0].all.ios, both.rungs.len()), (15_000, 2));
    assert!((both.rungs[1].all.p99_ns.unwrap() / 1e5 - 1.0).abs() < 0.01, "the median");
    let split = join_repeats(&[one, other]).unwrap().made.unwrap_err();
    assert_eq!(split, "repeats do not agree: data in 1, top in 1");
    assert_eq!(join_repeats(&[]), None);
}
