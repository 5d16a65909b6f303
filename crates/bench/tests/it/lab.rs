//! Results of the lab with real dm-vdo: the asked and the estimated figures compared with those of what it stored.

use crate::corpora::corpora;
use crate::program::{fathom_in, fresh, ready, text};

/// Checks the shares and savings that real VDO reaches. Where duplicates and packing come together this also holds that duplicates keep off
/// blocks that VDO has under way (`docs/content.md`). The whole grid of thirty is `fathom-bench content --lab`.
#[test]
fn real_vdo_stores_the_share_of_duplicates_and_the_packers_saving_that_were_asked_for() {
    let Some(_turn) = ready("real_vdo_stores_the_share") else { return };
    let (_dir, out) = fresh();
    let args = ["content", "--lab", "--quick", "--json", "--out", text(&out)];
    let answer = fathom_in(&std::env::temp_dir(), &args);
    let grid: serde_json::Value = serde_json::from_str(&answer.out)
        .unwrap_or_else(|error| panic!("{error}: {}\n{}", answer.out, answer.err));
    let asks = grid["asks"].as_array().unwrap();
    assert_eq!(asks.len(), 9);
    for cell in asks {
        assert!(cell["error_points"].as_f64().unwrap() <= 0.5, "{cell:#}");
    }
}

/// Real data on real VDO. What was estimated is within a point of what VDO stored, of each corpus and each figure, and so is
/// what its profile makes of it.
#[test]
fn real_vdo_stores_what_was_estimated_of_real_data_and_what_profiles_make_of_it() {
    let Some(_turn) = ready("real_vdo_stores_what_was_estimated") else { return };
    let corpora = corpora();
    let duplicates = format!("{},forgotten={}", text(&corpora.duplicates), corpora.forgotten);
    let mut args = vec!["estimate", "--lab", "--json"];
    for corpus in [text(&corpora.source), text(&corpora.compressed), &duplicates] {
        args.extend(["--corpus", corpus]);
    }
    let answer = fathom_in(&std::env::temp_dir(), &args);
    let found: serde_json::Value = serde_json::from_str(&answer.out)
        .unwrap_or_else(|error| panic!("{error}: {}\n{}", answer.out, answer.err));
    let all = found["corpora"].as_array().unwrap();
    println!("{found:#}");
    let figure = |value: &serde_json::Value| value.as_f64().unwrap();
    let close = |a: &serde_json::Value, b: &serde_json::Value, most: [f64; 3], what: &str| {
        let of = ["saving_percent", "duplicate_percent", "fragment_percent"];
        for (of, most) in of.into_iter().zip(most) {
            let off = figure(&a[of]) - figure(&b[of]);
            assert!(off.abs() <= most, "{what}: {of} is off by {off:.3}");
        }
    };
    for corpus in all {
        let name = corpus["name"].as_str().unwrap();
        close(&corpus["estimated"], &corpus["stored"], [1.0; 3], name);
        assert!(figure(&corpus["error_points"]) <= 1.0, "{corpus:#}");
        // Which stretches of a profile come is drawn, each time anew: where few of many blocks can be packed, the share of these
        // varies by half a point or so from draw to draw.
        let (made, most) = (&corpus["reproduced"], [1.0, 1.0, 2.0]);
        close(&corpus["profiled"], &made["estimated"], most, &format!("{name}, made again"));
        let whole = corpus["forgotten_blocks"] == 0;
        let original = &corpus[if whole { "stored" } else { "profiled" }];
        close(original, &made["stored"], most, &format!("{name}, made again, on VDO"));
    }
    let stored = |n: usize, of: &str| figure(&all[n]["stored"][of]);
    assert!(stored(0, "fragment_percent") > 50.0, "{:#}", all[0]);
    assert!(stored(1, "saving_percent") < 25.0, "{:#}", all[1]);
    assert!(stored(2, "duplicate_percent") > 20.0, "{:#}", all[2]);
    assert!(figure(&all[2]["counters"]["concurrent_matches"]) > 100.0, "near ones met in flight");
}
