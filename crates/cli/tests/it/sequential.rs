//! `--repeat auto`: as many repeats as are needed, on simulated twins.

use results::model::CellState;

use crate::program::{expect, fathom_in, fresh, json, text};

const AUTO: [&str; 7] = ["run", "vdo-vs-plain", "--simulate", "--repeat", "auto", "--seed", "7"];

fn states(out: &std::path::Path) -> (usize, usize) {
    let set = results::open(out).unwrap();
    let count = |state| set.cells.iter().filter(|cell| cell.state() == state).count();
    (count(CellState::Done), count(CellState::Skipped))
}

#[test]
fn a_run_stops_when_all_that_is_asked_is_decided_and_says_so_everywhere() {
    let (dir, out) = fresh();
    let answer = expect(0, &[&AUTO[..], &["--out", text(&out)]].concat());
    assert!(answer.err.contains("5 to 27 repeats = 10 to 54 cells"), "{}", answer.err);
    assert!(answer.err.contains("look: after 5 repeats"), "{}", answer.err);
    assert!(answer.err.contains("look: the run stops after"), "{}", answer.err);
    let (done, skipped) = states(&out);
    assert_eq!(done + skipped, 54);
    assert!(skipped > 0, "{done}");
    let shown = json(&["show", text(&out), "--json"]);
    assert_eq!(shown["complete"], true);
    assert_eq!(shown["sequential"]["stopped_after"].as_u64(), Some(done as u64 / 2));
    assert_eq!(shown["sequential"]["why"], "decided");
    assert_eq!(shown["sequential"]["planned_looks"], serde_json::json!([5, 8, 12, 18, 27]));
    let comparisons = shown["comparisons"].as_array().unwrap().iter();
    let judged: Vec<_> = comparisons.filter(|c| !c["verdict"].is_null()).collect();
    assert!(!judged.is_empty());
    for comparison in judged {
        assert!(comparison["decided_after"].as_u64().is_some(), "{comparison:#}");
        assert!(comparison["p_adjusted"].as_f64().unwrap() < 0.05, "{comparison:#}");
        assert!(comparison["method"].as_str().unwrap().contains("sequential"), "{comparison:#}");
    }
    let phrase = format!("stopped after {} of at most 27 repeats", done / 2);
    let terminal = expect(0, &["show", text(&out)]).out;
    let terminal = terminal.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(terminal.contains(&phrase), "{terminal}");
    let page = dir.path().join("page.html");
    expect(0, &["report", text(&out), "-o", text(&page)]);
    let page = std::fs::read_to_string(&page).unwrap();
    assert!(page.contains(&phrase) && page.contains("decided after 5 repeats"));
    // Nothing is left to do.
    let resume = ["run", "vdo-vs-plain", "--simulate", "--repeat", "auto", "--resume", text(&out)];
    let again = expect(0, &resume);
    assert!(again.err.contains("0 run"), "{}", again.err);
    assert_eq!(states(&out), (done, skipped));
}

#[test]
fn a_failed_cell_drops_its_repeat_and_a_run_that_goes_on_makes_up_for_it() {
    let (_dir, out) = fresh();
    let args = [&AUTO[..], &["--inject", "fail@1:3", "--out", text(&out)]].concat();
    expect(5, &args);
    let (done, skipped) = states(&out);
    assert_eq!(done + skipped, 53);
    // Four repeats have both sides after five: nothing is decided before the second look.
    assert!(done >= 15, "{done}");
    let resume = ["run", "vdo-vs-plain", "--simulate", "--repeat", "auto", "--resume", text(&out)];
    expect(0, &resume);
    assert_eq!(json(&["show", text(&out), "--json"])["sequential"]["why"], "decided");
    let other = ["run", "vdo-vs-plain", "--simulate", "--repeat", "5", "--resume", text(&out)];
    let refused = fathom_in(&std::env::temp_dir(), &other);
    assert_eq!(refused.code, Some(2));
    assert!(refused.err.contains("the number of repeats was auto, at most 27"), "{}", refused.err);
}

#[test]
fn a_run_stops_when_its_time_is_over() {
    let (_dir, out) = fresh();
    let args = ["run", "vdo-vs-plain", "--simulate", "--repeat", "auto:1s", "--out", text(&out)];
    expect(0, &args);
    assert_eq!(states(&out), (2, 52));
    let shown = json(&["show", text(&out), "--json"]);
    assert_eq!(shown["sequential"]["why"], "time");
    assert_eq!(shown["comparisons"][0]["verdict"], "unclear");
}

#[test]
fn a_run_whose_time_is_over_goes_on_with_the_time_of_the_next_command() {
    let (_dir, out) = fresh();
    let args = ["run", "vdo-vs-plain", "--simulate", "--repeat", "auto:1s", "--out", text(&out)];
    let begun = expect(0, &args);
    assert!(begun.err.contains("5 repeats take about"), "{}", begun.err);
    let resume = |repeat: &str| {
        let args = ["run", "vdo-vs-plain", "--simulate", "--repeat", repeat];
        expect(0, &[&args[..], &["--resume", text(&out)]].concat())
    };
    let again = resume("auto:1s");
    assert!(again.err.contains("2 of 54 cells ended well and are kept; 52 run"), "{}", again.err);
    assert_eq!(states(&out), (4, 50));
    resume("auto:1000h");
    let shown = json(&["show", text(&out), "--json"]);
    assert_eq!(shown["sequential"]["why"], "decided");
    assert!(states(&out).0 >= 10);
}

#[test]
fn what_auto_cannot_decide_is_refused_with_a_remedy() {
    for (more, message) in [
        (&["--repeat", "auto:4"][..], "fewer repeats than the 5 of the first look"),
        (&["--repeat", "auto:100"], "more repeats than there are looks for"),
        (&["--repeat", "auto", "--only", "vdo"], "needs two variants"),
        (&["--repeat", "0"], "repeats 0 times"),
    ] {
        for command in [&["explain", "vdo-vs-plain"][..], &["run", "vdo-vs-plain", "--simulate"]] {
            let answer = fathom_in(&std::env::temp_dir(), &[command, more].concat());
            assert_eq!(answer.code, Some(2), "{}", answer.err);
            assert!(answer.err.contains(message) && answer.err.contains("help:"), "{}", answer.err);
        }
    }
    let answer = fathom_in(&std::env::temp_dir(), &["explain", "dedupe-cost", "--repeat", "auto"]);
    assert_eq!(answer.code, Some(2), "{}", answer.err);
    assert!(answer.err.contains("does not go with factors"), "{}", answer.err);
    let typed = fathom_in(&std::env::temp_dir(), &["explain", "x", "--repeat", "often"]);
    assert_eq!(typed.code, Some(2));
    assert!(typed.err.contains("auto:30m"), "{}", typed.err);
}

#[test]
fn explain_says_how_long_it_may_take_and_what_time_is_too_short_for_a_verdict() {
    let short = expect(0, &["explain", "vdo-vs-plain", "--repeat", "auto:1s"]).out;
    assert!(short.contains("fewer give no verdict"), "{short}");
    let text = expect(0, &["explain", "vdo-vs-plain", "--repeat", "auto:12"]).out;
    for part in ["at most 24 cells", "at least and", "it ends after 5, 8, 12 of each variant"] {
        assert!(text.contains(part), "{part}\n{text}");
    }
    let explained = json(&["explain", "vdo-vs-plain", "--repeat", "auto", "--json"]);
    let (least, most) = (explained["least_ns"].as_u64(), explained["about_ns"].as_u64());
    assert_eq!(least.unwrap() * 27, most.unwrap() * 5);
}
