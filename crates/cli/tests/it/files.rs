//! Files on a real file system on real VDO in the lab: laid out, driven together with a device, filled; the volume grows under them.

use results::model::CellState;

use crate::program::ready;
use crate::program::{expect, json, text};

const EXPERIMENT: &str = r#"
name = "files"
about = "Files on XFS on VDO, and a plain volume beside them"
repeat = 1

[devices.data]
size = "5G"

[devices.other]
size = "128M"

[[stack]]
layer = "linear"
name = "plain"
on = "other"

[[stack]]
layer = "vdo"
on = "data"
slab_size = "128M"
logical_size = "512M"

[[stack]]
layer = "xfs"
name = "fs"
on = "vdo"

[[stage]]
do = "layout"
name = "two files"
files = 2
size = "16M"
measure = true
content = { dedupe = "50%" }

[[stage]]
do = "load"
name = "both"
measure = true
target = { plain = 25, "two files" = 75 }
ops = { randread = 50, randwrite = 50 }
ios = 800
deadline = "5m"

[[stage]]
do = "layer"
name = "lost"
target = "vdo"
action = "index-create"

[[stage]]
do = "layer"
name = "vdo grows"
target = "vdo"
action = "grow"
logical_size = "768M"

[[stage]]
do = "layer"
name = "fs grows"
action = "grow"

[[stage]]
do = "fill"
to = "30%"
of = "file system"

[[stage]]
do = "read"
name = "end"
measure = true
"#;

#[test]
fn files_in_a_real_file_system_are_laid_out_driven_and_filled_while_the_volume_grows() {
    let Some(_turn) = ready("files_in_a_real_file_system") else { return };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("files.toml");
    std::fs::write(&file, EXPERIMENT).unwrap();
    let out = dir.path().join("result");
    expect(0, &["lab", "run", text(&file), "--out", text(&out)]);
    let result = results::open(&out).unwrap();
    assert!(result.complete(), "{:?}", result.incomplete);
    let record = result.cells[0].record.as_ref().unwrap();
    assert_eq!(record.state, CellState::Done, "{:?}", record.reason);
    assert_eq!(record.leftovers, Some(Vec::new()));
    let stage = |name: &str| record.stages.iter().find(|stage| stage.name == name).unwrap();
    let ios = |name: &str| -> u64 {
        stage(name).load.as_ref().unwrap().operations.values().map(|op| op.ios).sum()
    };
    assert_eq!((ios("two files"), ios("both")), (32, 800));
    let fill = stage("fill").fill.as_ref().unwrap();
    assert!(fill.reached && fill.value >= Some(30.0) && fill.rounds > 1, "{fill:?}");
    let shown = json(&["show", text(&out), "--json"]);
    let stages = &shown["variants"][0]["stages"];
    let level = |stage: &str, layer: &str, metric: &str| {
        stages[stage]["layers"][layer][metric]["median"].as_f64().unwrap()
    };
    let saved = level("two files", "vdo", "saving_percent");
    assert!((45.0..=55.0).contains(&saved), "half of what the files hold is duplicate: {saved}");
    let (before, after) = (
        level("two files", "vdo", "logical_used_percent"),
        level("end", "vdo", "logical_used_percent"),
    );
    assert!(after > before, "{before} and {after}");
    assert!(level("end", "fs", "filesystem_used_percent") >= 30.0);
    let driven = &stages["both"]["layers"]["other"]["device_written_bytes"]["median"];
    assert!(driven.as_f64().unwrap() > 0.0, "a quarter goes to the plain volume");
}
