//! Every rule that needs no run fires when it should, and is silent when one thing is different.

use std::collections::BTreeSet;

use doctor::{When, examine_standing, rules};
use layers::standing::{Node, StandingMachine, StandingStack};

/// A change of a stack: a node, a field, a value.
type Change = (&'static str, &'static str, &'static str);

/// A node of a kind on others.
fn node(id: &str, kind: &str, target: &str, on: &[(&str, &str)]) -> Node {
    Node {
        id: id.to_owned(),
        name: id.to_owned(),
        kind: kind.to_owned(),
        target: target.to_owned(),
        reduces: kind == "vdo",
        bytes: Some(1 << 30),
        on: on.iter().map(|(input, id)| ((*input).to_owned(), (*id).to_owned())).collect(),
        ..Node::default()
    }
}

/// One machine with stacks of all kinds, without any settings or counters.
fn machine() -> StandingStack {
    let nodes = vec![
        node("/vdo", "xfs", "", &[("data", "vdo")]),
        node("vdo", "vdo", "vdo", &[("data", "sda")]),
        node("/thin", "ext4", "", &[("data", "crypt")]),
        node("crypt", "crypt", "crypt", &[("data", "thin")]),
        node("thin", "thin", "thin", &[("pool", "pool")]),
        node("pool", "thin", "thin-pool", &[("metadata", "sdb"), ("data", "sdb")]),
        node("luks", "crypt", "crypt", &[("data", "sdd")]),
        node(
            "cached",
            "lvmcache",
            "cache",
            &[("metadata", "sdc"), ("cache", "sdc"), ("origin", "sdd")],
        ),
        node("wc", "writecache", "writecache", &[("origin", "sdd"), ("cache", "md0")]),
        node("bcache0", "bcache", "", &[("origin", "sdd"), ("cache", "sdc")]),
        node("part", "partition", "", &[("data", "sda")]),
        node("md0", "raid", "", &[("data", "sdb"), ("data", "sdc")]),
        node("sda", "disk", "", &[]),
        node("sdb", "disk", "", &[]),
        node("sdc", "disk", "", &[]),
        node("sdd", "disk", "", &[]),
    ];
    let machine = StandingMachine { log: Some(Vec::new()), ..StandingMachine::default() };
    StandingStack { nodes, machine, ..StandingStack::default() }
}

/// The rules that fire, with the nodes, after changes: `#field` is a counter, `@limit` of the queue, `!` a new place to stand on, else a setting.
fn fired(changes: &[Change]) -> BTreeSet<(String, String)> {
    let mut stack = machine();
    for (id, field, value) in changes {
        match (*id, *field) {
            ("machine", "cpus") => stack.machine.cpus = value.parse().ok(),
            ("machine", "memory") => stack.machine.memory_bytes = value.parse().ok(),
            ("machine", _) => stack.machine.log = Some(vec![(*value).to_owned()]),
            _ => {
                let node = stack.nodes.iter_mut().find(|node| node.id == *id).unwrap();
                if *field == "bytes" {
                    node.bytes = value.parse().ok();
                } else if let Some(counter) = field.strip_prefix('#') {
                    node.counters.insert(counter.to_owned(), Some(value.parse().unwrap()));
                } else if let Some(limit) = field.strip_prefix('@') {
                    node.queue.insert(limit.to_owned(), (*value).to_owned());
                } else if let Some(input) = field.strip_prefix('!') {
                    let on = node.on.iter_mut().filter(|(name, _)| name == input);
                    on.for_each(|(_, id)| *id = (*value).to_owned());
                } else {
                    node.settings.insert((*field).to_owned(), (*value).to_owned());
                }
            }
        }
    }
    let found = examine_standing(&stack, "a test");
    found.into_iter().filter_map(|finding| Some((finding.rule, finding.subject?))).collect()
}

/// A rule, the node that it is about, what makes it fire, and the one change that silences it.
type RuleCase = (&'static str, &'static str, &'static [Change], Change);

const CASES: &[RuleCase] = &[
    ("vdo_not_normal", "vdo", &[("vdo", "mode", "read-only")], ("vdo", "mode", "normal")),
    (
        "vdo_space_low",
        "vdo",
        &[
            ("vdo", "#physicalBlocks", "110"),
            ("vdo", "#overheadBlocksUsed", "10"),
            ("vdo", "#dataBlocksUsed", "76"),
        ],
        ("vdo", "#dataBlocksUsed", "75"),
    ),
    ("vdo_space_low", "vdo", &[("vdo", "#use_percent", "94")], ("vdo", "#use_percent", "74")),
    (
        "vdo_no_space",
        "vdo",
        &[("vdo", "#errors.noSpaceErrorCount", "1")],
        ("vdo", "#errors.noSpaceErrorCount", "0"),
    ),
    (
        "vdo_saves_little",
        "vdo",
        &[("vdo", "#logicalBlocksUsed", "300000"), ("vdo", "#dataBlocksUsed", "290000")],
        ("vdo", "#dataBlocksUsed", "200000"),
    ),
    (
        "vdo_promises",
        "vdo",
        &[
            ("vdo", "logical_size", "400G"),
            ("vdo", "physical_size", "100G"),
            ("vdo", "#logicalBlocksUsed", "300000"),
            ("vdo", "#dataBlocksUsed", "150000"),
        ],
        ("vdo", "logical_size", "200G"),
    ),
    (
        "vdo_few_slabs",
        "vdo",
        &[("vdo", "#allocator.slabCount", "3")],
        ("vdo", "#allocator.slabCount", "4"),
    ),
    (
        "vdo_one_thread",
        "vdo",
        &[("vdo", "logical_size", "1G"), ("machine", "cpus", "8")],
        ("machine", "cpus", "4"),
    ),
    (
        "vdo_many_threads",
        "vdo",
        &[("vdo", "logical_size", "1G"), ("vdo", "bio_threads", "40"), ("machine", "cpus", "4")],
        ("vdo", "bio_threads", "4"),
    ),
    (
        "vdo_threads_beyond_slabs",
        "vdo",
        &[
            ("vdo", "logical_size", "1G"),
            ("vdo", "physical_threads", "5"),
            ("vdo", "#allocator.slabCount", "4"),
        ],
        ("vdo", "physical_threads", "4"),
    ),
    (
        "vdo_small_cache",
        "vdo",
        &[("vdo", "logical_size", "1T"), ("vdo", "block_map_cache", "128M")],
        ("vdo", "block_map_cache", "1G"),
    ),
    (
        "vdo_much_memory",
        "vdo",
        &[("vdo", "#memoryUsage.bytesUsed", "4000"), ("machine", "memory", "10000")],
        ("machine", "memory", "20000"),
    ),
    (
        "vdo_small_index",
        "vdo",
        &[
            ("vdo", "index.memorySize", "0.25"),
            ("vdo", "index.isSparse", "0"),
            ("vdo", "#dataBlocksUsed", "70000000"),
        ],
        ("vdo", "index.isSparse", "1"),
    ),
    (
        "vdo_small_discards",
        "vdo",
        &[("vdo", "logical_size", "1T"), ("vdo", "max_discard", "4K")],
        ("vdo", "max_discard", "1M"),
    ),
    ("vdo_online_discard", "vdo", &[("/vdo", "discard", "on")], ("/vdo", "!data", "thin")),
    ("vdo_journal_on_disk", "vdo", &[("sda", "@rotational", "1")], ("sda", "@rotational", "0")),
    (
        "vdo_many_flushes",
        "vdo",
        &[
            ("vdo", "#biosIn.write", "20000"),
            ("vdo", "#biosIn.flush", "2000"),
            ("vdo", "#biosIn.fua", "0"),
        ],
        ("vdo", "#biosIn.flush", "900"),
    ),
    (
        "vdo_partial_writes",
        "vdo",
        &[("vdo", "#biosIn.write", "1000"), ("vdo", "#biosInPartial.write", "20")],
        ("vdo", "#biosInPartial.write", "0"),
    ),
    (
        "thin_data_low",
        "pool",
        &[("pool", "#used_chunks", "81"), ("pool", "#chunks", "100")],
        ("pool", "#used_chunks", "80"),
    ),
    (
        "thin_metadata_low",
        "pool",
        &[("pool", "#used_metadata_blocks", "76"), ("pool", "#metadata_blocks", "100")],
        ("pool", "#used_metadata_blocks", "75"),
    ),
    ("thin_stopped", "pool", &[("pool", "#out_of_space", "1")], ("pool", "#out_of_space", "0")),
    (
        "thin_promises",
        "pool",
        &[("pool", "#chunks", "100"), ("pool", "#chunk_bytes", "65536")],
        ("thin", "bytes", "6000000"),
    ),
    (
        "thin_zeroes_chunks",
        "pool",
        &[("pool", "zero", "on"), ("pool", "#chunk_bytes", "1048576")],
        ("pool", "zero", "off"),
    ),
    ("encrypted_above", "luks", &[("luks", "!data", "vdo")], ("luks", "!data", "sdd")),
    (
        "encrypted_small_sectors",
        "luks",
        &[("luks", "sector_size", "512"), ("sdd", "@physical_block_size", "4096")],
        ("luks", "sector_size", "4096"),
    ),
    (
        "cache_low_hits",
        "cached",
        &[
            ("cached", "#read_hits", "1000"),
            ("cached", "#write_hits", "1000"),
            ("cached", "#read_misses", "9000"),
            ("cached", "#write_misses", "0"),
        ],
        ("cached", "#write_hits", "9000"),
    ),
    (
        "cache_dirty",
        "cached",
        &[("cached", "#dirty_chunks", "51"), ("cached", "#chunks", "100")],
        ("cached", "#dirty_chunks", "50"),
    ),
    (
        "cache_large_chunks",
        "cached",
        &[("cached", "#chunk_sectors", "2048")],
        ("cached", "#chunk_sectors", "128"),
    ),
    (
        "cache_metadata_low",
        "cached",
        &[("cached", "#used_metadata_blocks", "91"), ("cached", "#metadata_blocks", "100")],
        ("cached", "#used_metadata_blocks", "90"),
    ),
    (
        "write_cache_overrun",
        "wc",
        &[
            ("wc", "#writes", "10000"),
            ("wc", "#writes_around", "200"),
            ("wc", "#writes_blocked", "0"),
        ],
        ("wc", "#writes_around", "10"),
    ),
    ("write_cache_error", "wc", &[("wc", "#error", "5")], ("wc", "#error", "0")),
    ("bcache_state", "bcache0", &[("bcache0", "state", "no cache")], ("bcache0", "state", "clean")),
    (
        "bcache_low_hits",
        "bcache0",
        &[("bcache0", "#cache_hits", "4000"), ("bcache0", "#cache_misses", "9000")],
        ("bcache0", "#cache_hits", "9000"),
    ),
    (
        "bcache_bypassed",
        "bcache0",
        &[
            ("bcache0", "#cache_hits", "4000"),
            ("bcache0", "#cache_misses", "1000"),
            ("bcache0", "#cache_bypass_hits", "0"),
            ("bcache0", "#cache_bypass_misses", "9000"),
        ],
        ("bcache0", "#cache_bypass_misses", "10"),
    ),
    (
        "cache_unmirrored",
        "cached",
        &[("cached", "mode", "writeback")],
        ("cached", "mode", "writethrough"),
    ),
    (
        "cache_unmirrored",
        "bcache0",
        &[("bcache0", "cache_mode", "writeback")],
        ("bcache0", "!cache", "md0"),
    ),
    ("cache_unmirrored", "wc", &[("wc", "!cache", "sdc")], ("wc", "!cache", "md0")),
    ("cache_on_origin", "cached", &[("cached", "!cache", "sdd")], ("cached", "!cache", "sdb")),
    (
        "cache_not_faster",
        "cached",
        &[("sdc", "@rotational", "1"), ("sdd", "@rotational", "1")],
        ("sdc", "@rotational", "0"),
    ),
    ("misaligned", "part", &[("part", "@start", "63")], ("part", "@start", "2048")),
    (
        "misaligned",
        "sdb",
        &[("sdb", "@alignment_offset", "512")],
        ("sdb", "@alignment_offset", "0"),
    ),
    (
        "discards_stop",
        "crypt",
        &[("crypt", "@discard_max_bytes", "0"), ("thin", "@discard_max_bytes", "65536")],
        ("crypt", "@discard_max_bytes", "65536"),
    ),
    ("no_barriers", "/thin", &[("/thin", "barrier", "0")], ("/thin", "barrier", "1")),
    (
        "files_full",
        "/vdo",
        &[("/vdo", "#size_bytes", "1000"), ("/vdo", "#free_bytes", "50")],
        ("/vdo", "#free_bytes", "500"),
    ),
    (
        "kernel_told",
        "/vdo",
        &[("machine", "log", "I/O error, dev sda, sector 5 op 0x0:(READ)")],
        ("machine", "log", "sda: sda1"),
    ),
];

#[test]
fn every_rule_that_needs_no_run_fires_and_is_silent_after_one_change() {
    let quiet = fired(&[]);
    // A write cache keeps writes whatever its settings are; here its device is mirrored.
    assert_eq!(quiet, BTreeSet::new());
    for (rule, node, fires, silences) in CASES {
        let finding = ((*rule).to_owned(), (*node).to_owned());
        let found = fired(fires);
        assert!(found.contains(&finding), "{rule} says nothing of {node}: {found:?}");
        let changes: Vec<Change> = fires.iter().copied().chain([*silences]).collect();
        assert!(
            !fired(&changes).contains(&finding),
            "{rule} goes on about {node} after {silences:?}"
        );
    }
    let cases: BTreeSet<&str> = CASES.iter().map(|(rule, ..)| *rule).collect();
    let all = rules();
    let all: BTreeSet<&str> =
        all.iter().filter(|rule| rule.when == When::Standing).map(|rule| rule.id).collect();
    assert_eq!(cases, all, "a rule without a case, or a case without a rule");
}

#[test]
fn nothing_found_says_what_was_looked_at_and_what_could_not_be_read() {
    let mut stack = machine();
    stack.missing.push("table of vdo: Permission denied: this takes root".to_owned());
    let found = examine_standing(&stack, "this machine");
    let ids: Vec<&str> = found.iter().map(|finding| finding.rule.as_str()).collect();
    assert_eq!(ids, ["looked_at", "not_read"]);
    assert!(found[0].message.contains("16 nodes of this machine"), "{}", found[0].message);
    assert!(found[1].evidence.contains("table of vdo") && found[1].remedy.contains("root"));
}
