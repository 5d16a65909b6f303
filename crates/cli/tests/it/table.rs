//! VDO made from a table on real dm-vdo: changed while it runs, brought up anew, grown, with its journal on another disk.

use results::model::CellState;

use crate::program::ready;
use crate::program::{expect, json, text};

const EXPERIMENT: &str = r#"
name = "table"
about = "A volume from a table, with the end of its pool elsewhere"
repeat = 1

[devices.data]
size = "3G"

[devices.fast]
size = "256M"

[[stack]]
layer = "vdo"
via = "table"
on = { data = "data", tail = "fast" }
slab_size = "32M"
logical_size = "512M"
block_map_cache = "16M"

[[stage]]
do = "state"
name = "new"
is = "fresh"

[[stage]]
do = "state"
name = "mapped"
is = "allocated"

[[stage]]
do = "load"
name = "written"
measure = true
ops = { randwrite = 100 }
pattern = "permutation"
size = "16M"
passes = 1
content = { dedupe = "50%", compress = "2.5x" }

[[stage]]
do = "set"
set."vdo.max_discard" = "1M"
set."vdo.compression" = false

[[stage]]
do = "layer"
name = "anew"
action = "restart"
cpu_threads = 3
block_map_cache = "32M"

[[stage]]
do = "layer"
name = "larger"
action = "grow"
logical_size = "1G"

[[stage]]
do = "load"
name = "beyond"
measure = true
ops = { randwrite = 100 }
pattern = "permutation"
offset = "768M"
size = "8M"
passes = 1
content = { compress = "2.5x" }

[[stage]]
do = "layer"
name = "recovery"
measure = true
action = "crash"

[[stage]]
do = "state"
name = "forgotten"
is = "index-lost"

[[stage]]
do = "state"
name = "emptied"
is = "discarded"
"#;

#[test]
fn a_volume_from_a_table_is_changed_brought_up_anew_and_grown_with_its_data_kept() {
    let Some(_turn) = ready("a_volume_from_a_table") else { return };
    let dir = tempfile::tempdir().unwrap();
    let (file, out) = (dir.path().join("table.toml"), dir.path().join("result"));
    std::fs::write(&file, EXPERIMENT).unwrap();
    expect(0, &["lab", "run", text(&file), "--out", text(&out)]);
    let set = results::open(&out).unwrap();
    let record = set.cells[0].record.as_ref().unwrap();
    assert_eq!(record.state, CellState::Done, "{record:#?}");
    let table = &record.facts["vdo.later.table"];
    for part in ["0 2097152 vdo V4", " 8192 16380 ", "compression off maxDiscard 256", " cpu 3 "] {
        assert!(table.contains(part), "{part} in {table}");
    }
    assert_eq!(record.facts["vdo.config.slabSize"], "8192");
    let shown = json(&["show", text(&out), "--json"]);
    let stages = &shown["variants"][0]["stages"];
    let figure = |stage: &str, layer: &str, id: &str| {
        let median = &stages[stage]["layers"][layer][id]["median"];
        median.as_f64().unwrap_or_else(|| panic!("{stage} {layer} {id}: {}", stages[stage]))
    };
    // Half are duplicates, and two of the others share a block.
    let saved = figure("written", "vdo", "saving_percent");
    assert!((saved - 75.0).abs() < 2.0, "{saved} %");
    assert!(figure("written", "fast", "device_writes") > 0.0, "the journal is on the other disk");
    // Switched off it stays off, and what was written before the volume came up anew is still counted.
    assert_eq!(figure("beyond", "vdo", "compressed_fragments"), 0.0);
    assert!(figure("beyond", "vdo", "logical_used_percent") > 2.0);
    // A crash loses nothing that was flushed, and takes its time.
    let held = figure("recovery", "vdo", "physical_used_percent");
    assert!((held / figure("beyond", "vdo", "physical_used_percent") - 1.0).abs() < 0.05, "{held}");
    let took = stages["recovery"]["command"]["elapsed_s"]["median"].as_f64();
    assert!(took.is_some_and(|seconds| seconds > 0.0), "{}", stages["recovery"]);
    // Every state was proven by the volume's own statistics.
    let states = shown["states"].as_array().unwrap();
    assert!(states.iter().all(|row| row["met"] == true), "{states:#?}");
    let brought = |state: &str| states.iter().any(|row| row["state"] == format!("vdo is {state}"));
    assert!(["fresh", "allocated", "index-lost", "discarded"].iter().all(|state| brought(state)));
}

#[test]
fn settings_that_contradict_each_other_are_refused_with_their_limit_and_what_to_write() {
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("table.toml");
    let lines = "slab_size = \"32M\"\nlogical_size = \"512M\"\nblock_map_cache = \"16M\"";
    for (wrong, message, remedy) in [
        ("slab_size = \"32M\"\nphysical_threads = 16", "16 is more than the 13 slab(s)", "= 13"),
        ("block_map_cache = \"8M\"", "8M is too small", "\"16M\""),
        ("block_map_cache = \"16M\"\nlogical_threads = 2", "2 logical threads need 16M", "\"32M\""),
        ("index_memory = \"1G\"", "holds not one slab", "a device of at least"),
        (
            "slab_size = \"32M\"\nindex_memory = \"4G\"",
            "index_memory 4G need 42.3 GiB",
            "or a smaller index_memory (from 256M)",
        ),
        (
            "slab_size = \"32M\"\nsparse_index = true",
            "256M, sparse, need 22.4 GiB",
            "or sparse_index = false",
        ),
        ("tail_size = \"128M\"", "128M: too small", "131328k"),
        ("tail_size = \"512M\"", "does not fit on a device of 256 MiB", "512M"),
        ("physical_size = \"4G\"", "room for 3355705344 bytes", "or take a larger device"),
        ("logical_threads = 0", "all zero or all non-zero", "= 1"),
        ("via = \"lvm\"", "a tail, which lvm cannot place", "via = \"table\""),
    ] {
        let whole = EXPERIMENT.replace(lines, wrong);
        let lvm = wrong.starts_with("via");
        let whole = if lvm { whole.replacen("via = \"table\"\n", "", 1) } else { whole };
        std::fs::write(&file, whole).unwrap();
        let refused = expect(2, &["explain", text(&file)]).err;
        assert!(refused.contains(message) && refused.contains("help:"), "{wrong}: {refused}");
        assert!(refused.contains(remedy) && refused.contains("table.toml:"), "{wrong}: {refused}");
    }
}
