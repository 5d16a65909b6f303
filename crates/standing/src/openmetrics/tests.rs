use super::*;

fn node(name: &str, kind: &str, counters: &[(&str, Option<f64>)]) -> Node {
    let counters = counters.iter().map(|(name, value)| ((*name).to_owned(), *value)).collect();
    let (id, name, kind) = (name.to_owned(), name.to_owned(), kind.to_owned());
    Node { id, name, kind, counters, ..Node::default() }
}

#[test]
fn names_end_with_units_types_follow_what_is_counted_and_labels_are_escaped() {
    let nodes = vec![
        node("a\"b\\c\nd", "vdo", &[("biosIn.write", Some(5.0)), ("dataBlocksUsed", Some(7.0))]),
        node("bcache0", "bcache", &[("cache_hits", Some(2.0)), ("io_errors", Some(0.0))]),
        node("/srv", "xfs", &[("free_bytes", Some(4096.0)), ("size_bytes", None)]),
        node("cached", "lvmcache", &[("read_hits", None)]),
    ];
    let stack = StandingStack { nodes, ..StandingStack::default() };
    let text = exposition(&families(&Recorded::default(), &stack, Duration::from_secs(5)));
    for line in [
        "# TYPE fathom_vdo_bios_in_write counter",
        "fathom_vdo_bios_in_write_total{device=\"a\\\"b\\\\c\\nd\",layer=\"vdo\"} 5",
        "# TYPE fathom_vdo_data_blocks_used_blocks gauge",
        "# UNIT fathom_vdo_data_blocks_used_blocks blocks",
        "fathom_bcache_cache_hits_total{device=\"bcache0\",layer=\"bcache\"} 2",
        "# TYPE fathom_bcache_io_errors unknown",
        "fathom_filesystem_free_bytes{device=\"/srv\",layer=\"xfs\"} 4096",
    ] {
        assert!(text.lines().any(|printed| printed == line), "{line}\n{text}");
    }
    assert!(text.ends_with("\n# EOF\n"), "{text}");
    assert!(!text.contains("read_hits") && !text.contains("size_bytes"), "no data is no sample");
}

#[test]
fn milliseconds_are_seconds_and_names_are_made_of_few_characters() {
    assert_eq!(scaled(1234.0, 1e-3), 1.234);
    assert_eq!(snake("hashLock.dedupeAdviceValid"), "hash_lock_dedupe_advice_valid");
    assert_eq!(snake("currentVIOsInProgress"), "current_vios_in_progress");
    assert_eq!(snake("thin-pool (x)"), "thin_pool_x");
}
