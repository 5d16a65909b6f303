//! Tests of `do = "layer"` and of settings that change while layers stand, on a VDO volume.

use super::plan;

/// A volume of 1 GiB on a pool of 6 GiB, and stages before the measured one.
fn staged(settings: &str, stages: &str) -> Result<plan::Plan, String> {
    let text = format!(
        "name = \"x\"\nabout = \"\"\nrepeat = 1\n[devices.data]\nsize = \"20G\"\n\
         [[stack]]\nlayer = \"vdo\"\nvia = \"table\"\non = \"data\"\nphysical_size = \"6G\"\n\
         logical_size = \"1G\"\n{settings}\n{stages}\n\
         [[stage]]\ndo = \"load\"\nmeasure = true\nops = {{ randwrite = 100 }}\nduration = \"5s\"\n"
    );
    plan(&text).map_err(|error| error.render(false))
}

/// Stages by words: an action, `KEY = VALUE` of a change, a size of the pool, a state or a fill.
fn stages(words: &[&str]) -> String {
    let stage = |(place, word): (usize, &&str)| {
        let head = |kind: &str| format!("[[stage]]\ndo = \"{kind}\"\nname = \"{place} {word}\"\n");
        match *word {
            "fill" => head("fill") + "to = \"5%\"\nof = \"physical\"\n",
            "index-lost" => head("state") + "is = \"index-lost\"\n",
            size if size.ends_with('G') => {
                format!("{}action = \"grow\"\nphysical_size = \"{size}\"\n", head("layer"))
            }
            key if key.starts_with("no ") => {
                format!("{}set.\"vdo.{}\" = false\n", head("set"), &key[3..])
            }
            action => format!("{}action = \"{action}\"\n", head("layer")),
        }
    };
    words.iter().enumerate().map(stage).collect()
}

#[test]
fn the_index_is_closed_and_opened_in_an_order_that_the_kernel_answers_to() {
    for fine in [
        &["index-close", "index-enable", "index-create", "index-lost"][..],
        &["index-disable", "fill", "index-enable", "no compression", "10G"],
        &["index-close", "restart", "index-close", "crash", "index-create"],
    ] {
        staged("", &stages(fine)).unwrap_or_else(|error| panic!("{fine:?}: {error}"));
    }
    let taken = "the index of 'vdo' is not there: stage '0 index-close' took it away";
    for (words, phrase, remedy) in [
        (&["index-enable"][..], "the index of 'vdo' is there", "index-close"),
        (&["index-close", "index-create"], taken, "index-enable"),
        (&["index-close", "index-lost"], taken, "index-enable"),
        (&["index-close", "index-disable"], taken, "index-enable"),
        (&["index-close", "10G"], taken, "index-enable"),
        (
            &["index-close", "no compression"],
            "'vdo.compression' cannot change here",
            "index-enable",
        ),
        (&["no dedupe", "index-create"], "dedupe = false keeps it closed", "dedupe = true"),
        (&["no dedupe", "index-lost"], "'index-create' needs an open index", "dedupe = true"),
    ] {
        let error = staged("", &stages(words)).expect_err("an order that cannot be");
        assert!(error.contains(phrase) && error.contains(remedy), "{words:?}: {error}");
    }
    assert!(staged("dedupe = false", &stages(&["index-disable"])).is_err());
}

#[test]
fn a_pool_grows_from_what_it_has_by_then() {
    staged("", &stages(&["9G", "12G"])).unwrap_or_else(|error| panic!("{error}"));
    let error = staged("", &stages(&["12G", "9G"])).expect_err("smaller than before");
    assert!(
        error.contains("physical_size 9G of layer 'vdo' is less than the 12G it has"),
        "{error}"
    );
    assert!(error.contains("physical_size = \"9G\""), "{error}");
}
