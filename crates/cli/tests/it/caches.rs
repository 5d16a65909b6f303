//! A cache in front of a device, for real: dm-cache through lvm2 in the lab, two stages on the same hot places.

use results::model::CellState;

use crate::program::ready;
use crate::program::{expect, json, text};

#[test]
fn a_real_cache_serves_more_from_the_same_hot_places_the_second_time() {
    let Some(_turn) = ready("a_real_cache_serves_more_the_second_time") else { return };
    let dir = tempfile::tempdir().unwrap();
    let file = dir.path().join("cache-first-look.toml");
    let shipped = experiment::shipped("cache-first-look").unwrap().text;
    std::fs::write(&file, shipped.replace("duration = \"20s\"", "duration = \"12s\"")).unwrap();
    let out = dir.path().join("result");
    expect(0, &["lab", "run", text(&file), "--repeat", "1", "--out", text(&out)]);
    let result = results::open(&out).unwrap();
    assert!(result.complete(), "{:?}", result.incomplete);
    for cell in &result.cells {
        let record = cell.record.as_ref().unwrap();
        assert_eq!(record.state, CellState::Done, "{:?}", record.reason);
        assert_eq!(record.leftovers, Some(Vec::new()));
    }
    let shown = json(&["show", text(&out), "--json"]);
    assert!(shown["variants"][1]["operations"].is_null(), "there are two measured stages");
    let stages = &shown["variants"][1]["stages"];
    let figure = |stage: &str, of: &str, name: &str, metric: &str| {
        stages[stage][of][name][metric]["median"].as_f64().unwrap()
    };
    let hits = |stage: &str| figure(stage, "layers", "cache", "hit_percent");
    assert!(hits("warm") > hits("cold") + 1.0, "{} and {}", hits("cold"), hits("warm"));
    // A share of what was read: how much is read at all in so many seconds is the machine's matter.
    let read = |stage: &str, disk: &str| figure(stage, "layers", disk, "device_read_bytes");
    let fast = |stage: &str| read(stage, "fast") / (read(stage, "fast") + read(stage, "slow"));
    assert!(fast("warm") > fast("cold"), "{} and {}", fast("cold"), fast("warm"));
    assert!(figure("warm", "operations", "randread", "iops") > 0.0);
}
