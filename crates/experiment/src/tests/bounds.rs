//! Tests of how much a plan may hold.

use super::{choices, plan};
use crate::{PlanOptions, compose};

const TEXT: &str = "name = \"x\"\nabout = \"x\"\nrepeat = 1\n[devices.data]\nsize = \"7G\"\n[[stack]]\nlayer = \"linear\"\n\
                    on = \"data\"\n[[stage]]\ndo = \"load\"\nmeasure = true\nops = { write = 100 }\nduration = \"1s\"\n";

/// Returns the report on the text with `from` replaced by `to`.
fn refusal(from: &str, to: &str) -> String {
    assert!(TEXT.contains(from), "{from}");
    plan(&TEXT.replace(from, to)).expect_err(to).render(false)
}

#[test]
fn more_cells_than_can_be_are_refused_before_any_is_made() {
    let shown = refusal("repeat = 1", "repeat = 1000000000");
    assert!(shown.contains("test.toml:3") && shown.contains("at most 1,000"), "{shown}");
    assert!(shown.contains("repeat at most 1000 times"), "{shown}");
    assert!(refusal("repeat = 1", "repeat = 1001").contains("1,001 cells"));
    assert_eq!(plan(&TEXT.replace("repeat = 1", "repeat = 1000")).unwrap().cells.len(), 1000);
    // No line of the file is to blame for the caller's own number of repeats.
    let many = PlanOptions { repeat: Some(crate::Repeat::Fixed(u32::MAX)), ..choices() };
    let error = compose("test.toml", TEXT, &many).unwrap_err();
    assert!(error.mistakes[0].span.is_none(), "{:?}", error.mistakes);
    assert!(error.render(false).contains("4,294,967,295"), "{}", error.render(false));
    let variants: String = (0..10).map(|n| format!("[[variant]]\nname = \"{n}\"\n")).collect();
    let error = plan(
        &TEXT
            .replace("repeat = 1", "repeat = 101")
            .replace("[[stage]]", &format!("{variants}[[stage]]")),
    );
    let shown = error.unwrap_err().render(false);
    assert!(shown.contains("1,010 cells") && shown.contains("at most 100 times"), "{shown}");
}

#[test]
fn each_bound_is_named_with_the_value_that_passes_it() {
    let stages = "[[stage]]\ndo = \"allocate\"\n".repeat(101) + "[[stage]]";
    let variants: String = (0..101).map(|n| format!("[[variant]]\nname = \"{n}\"\n")).collect();
    let devices: String = (0..33).map(|n| format!("[devices.d{n}]\nsize = \"1G\"\n")).collect();
    let layers = "[[stack]]\nlayer = \"linear\"\n".repeat(33);
    let about = format!("about = \"{}\"", "x".repeat(1001));
    let huge = format!("about = \"{}\"", "x".repeat(1 << 20));
    for (from, to, value, bound) in [
        ("[[stage]]", stages.as_str(), "102 stages", "at most 100"),
        ("[[stage]]", &format!("{variants}[[stage]]"), "101 variants", "at most 100"),
        ("[[stack]]", &format!("{devices}[[stack]]"), "34 devices", "at most 32"),
        ("[[stage]]", &format!("{layers}[[stage]]"), "34 layers", "at most 32"),
        ("about = \"x\"", &about, "1001 characters", "at most 1000"),
        ("about = \"x\"", &huge, "The file", "longer than 1 MiB"),
        ("size = \"7G\"", "size = \"5P\"", "5 PiB", "at most 4P"),
        ("size = \"7G\"", "size = \"99999P\"", "99999P", "below 16384P"),
        ("\"1s\"", "\"9000h\"", "32400000s", "a year (8760h)"),
        ("\"1s\"", "\"999999999999y\"", "999999999999y", "up to a year"),
        ("\"1s\"", "\"999999999999h\"", "999999999999h", "584 years"),
        ("\"1s\"", "\"1s\"\nthink = \"9000h\"", "32400000s", "a year"),
        ("\"1s\"", "\"1s\"\ninterval = \"1ns\"", "1ns", "1ms to 1h"),
        ("\"1s\"", "\"1s\"\ninterval = \"2h\"", "7200s", "1ms to 1h"),
        ("\"1s\"", "\"1s\"\nsize = \"8000P\"", "PiB", "4096 PiB"),
        (
            "\"1s\"",
            "\"1s\"\nsteady = \"iops:5%:8000h\"\ninterval = \"1ms\"",
            "28800000s",
            "million",
        ),
        ("\"1s\"", "\"1s\"\nsteady = \"iops:5%:60s\"", "60s", "before one window is over"),
        ("\"1s\"", "\"1s\"\njobs = 100000", "100000", "1024"),
        ("\"1s\"", "\"1s\"\ndepth = 99999999999", "99999999999", "32768"),
    ] {
        let shown = refusal(from, to);
        assert!(shown.contains(value) && shown.contains(bound), "{value}, {bound}:\n{shown}");
    }
}
