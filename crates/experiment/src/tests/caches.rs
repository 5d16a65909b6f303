//! The most that caches can hit, in a plan.

use super::plan;
use crate::explain;

const FILE: &str = r#"
name = "bound"
about = "a cache of chunks before a disk"
[devices.slow]
size = "1G"
like = "hdd"
[devices.fast]
size = "128M"
[[stack]]
layer = "lvmcache"
name = "cache"
on = { origin = "slow", cache = "fast" }
cache_size = "40M"
[[stage]]
do = "load"
name = "reads"
measure = true
ops = { randread = 100 }
pattern = "zipf:1.2"
depth = 8
size = "256M"
duration = "10s"
"#;

#[test]
fn the_most_that_a_cache_hits_and_the_least_time_for_it_are_told_before_the_run() {
    let planned = plan(FILE).unwrap();
    let [bound] = &planned.facts.variants[0].stages[0].caches[..] else { panic!("no bound") };
    assert!((80.0..99.0).contains(&bound.percent) && bound.chunks <= 512, "{bound:?}");
    let (finest, percent) = bound.finest.unwrap();
    assert!(finest == 32 << 10 && percent > bound.percent, "{bound:?}");
    // A disk reads between 50 and 500 chunks of 64 KiB a second, of places near each other.
    let seconds = bound.warm_up_ns.unwrap() as f64 / 1e9;
    let rate = bound.chunks as f64 / seconds;
    assert!((50.0..500.0).contains(&rate), "{bound:?}");
    let message = explain(&planned).variants[0].bounds.join("\n");
    assert!(
        message.contains("reads: of the reads at most ") && message.contains("64 KiB"),
        "{message}"
    );
}

#[test]
fn a_disk_of_which_nothing_is_known_gives_no_time_and_what_is_not_measured_no_bound() {
    let bounds = |text: &str| plan(text).unwrap().facts.variants[0].stages[0].caches.clone();
    let unknown = bounds(&FILE.replace("like = \"hdd\"\n", ""));
    assert!(unknown.len() == 1 && unknown[0].warm_up_ns.is_none(), "{unknown:?}");
    let even = bounds(&FILE.replace("zipf:1.2", "sequential"));
    assert!(even.is_empty(), "{even:?}");
}
