//! Counters of layers: asked about, drawn, and as the layers' own tools tell them.

use crate::program::{expect, fresh, json, text};

#[test]
fn a_counter_that_is_asked_about_is_compared_drawn_and_in_json_and_all_are_told_as_they_were_read()
{
    let (dir, out) = fresh();
    let path = dir.path().join("counted.toml");
    let shipped = experiment::shipped("vdo-vs-plain").unwrap().text;
    let question = "\n[[question]]\nmetric = \"stats.blockMap.dirtyPages\"\nlayer = \"vdo\"\n\
                 [[picture]]\nshow = \"series\"\nlayer = \"vdo\"\nseries = [\"stats.dataBlocksUsed\"]\n";
    std::fs::write(&path, format!("{shipped}{question}")).unwrap();
    expect(0, &["run", text(&path), "--simulate", "--repeat", "2", "--out", text(&out)]);

    let shown = json(&["show", text(&out), "--json"]);
    let vdo = &shown["variants"][1]["layers"]["vdo"];
    assert!(vdo.get("stats.blockMap.dirtyPages").is_some(), "{vdo:#}");
    assert!(vdo.get("stats.blockMap.cleanPages").is_none(), "nobody asks: {vdo:#}");

    let output = expect(0, &["show", text(&out), "--layer-counters"]).out;
    for part in [
        "1K-blocks",
        "used, count: (dataBlocksUsed + overheadBlocksUsed) x 4",
        "start of",
        "end of",
    ] {
        assert!(output.contains(part), "{part}: {output}");
    }
    let whole = expect(0, &["show", text(&out), "--layer-counters", "--all"]).out;
    assert!(whole.contains("journal.entries.committed"), "{whole}");

    let counters = json(&["show", text(&out), "--layer-counters", "--json"]);
    let end = counters["readings"]
        .as_array()
        .unwrap()
        .iter()
        .rev()
        .find(|r| r["edge"] == "at rest at the end");
    let figures = &end.unwrap()["counters"];
    assert!(figures["dataBlocksUsed"].as_f64().unwrap() > 60_000.0, "{figures:#}");
    assert_eq!(counters["layers"]["vdo"]["counters"]["blockMap.dirtyPages"]["unit"], "blocks");

    let page = dir.path().join("page.html");
    expect(0, &["report", text(&out), "-o", text(&page)]);
    let page = std::fs::read_to_string(page).unwrap();
    assert!(page.contains("vdo: dataBlocksUsed over time"));
    expect(2, &["show", text(&out), "--layer-counters", "--csv"]);
}

#[test]
fn the_manual_of_a_layer_lists_its_counters_with_their_units() {
    let page = expect(0, &["layers", "vdo"]).out;
    assert!(page.contains("stats.blockMap.dirtyPages (level, blocks of 4 KiB)"), "{page}");
    assert!(page.contains("stats.journal.entries.committed (growth, count)"), "{page}");
    let cache = json(&["layers", "lvmcache", "--json"]);
    let ids: Vec<_> =
        cache["counters"].as_array().unwrap().iter().map(|c| c["id"].clone()).collect();
    assert!(ids.contains(&"status.read_hits".into()), "{ids:?}");
}
