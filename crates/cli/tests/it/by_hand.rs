//! Additions that users make to a command: values that are set in addition to a file, and a page of one load.

use std::fs;

use crate::program::{expect, fresh, text};

/// Begins the rest of the title of a chart of jobs.
const PER_JOB: &str = "per second of each job";

#[test]
fn what_is_set_beside_a_file_counts_and_is_kept_with_the_result() {
    let (_dir, result) = fresh();
    let set = ["--set", "vdo.block_map_cache=256M", "--set", "random-write.depth=7"];
    let run = ["run", "vdo-vs-plain", "--simulate", "--repeat", "1", "--out", text(&result)];
    expect(0, &[&run[..], &set].concat());
    let kept = fs::read_to_string(result.join("experiment.toml")).unwrap();
    let end = "\n[given]\n\"random-write.depth\" = 7\n\"vdo.block_map_cache\" = \"256M\"\n";
    assert!(kept.ends_with(end), "{kept}");
    let plan = expect(0, &[&["explain", "vdo-vs-plain"][..], &set].concat()).out;
    assert!(plan.contains("vdo.block_map_cache = \"256M\"") && plan.contains("depth 7"), "{plan}");
    for (wrong, message) in [("vdo.dedupe", "KEY=VALUE"), ("vdo.no_such=1", "no_such")] {
        let answer = expect(2, &["explain", "vdo-vs-plain", "--set", wrong]);
        assert!(answer.err.contains(message), "{wrong}: {}", answer.err);
    }
}

#[test]
fn a_load_has_a_page_with_its_figures() {
    let (_dir, page) = fresh();
    let load = "load null --size 1G --duration 600ms --interval 100ms --page";
    let load: Vec<&str> = load.split(' ').collect();
    expect(0, &[&load[..], &[text(&page)]].concat());
    let page = fs::read_to_string(&page).unwrap();
    for part in ["<html", "randread", "p99", "a load"] {
        assert!(page.contains(part), "{part} is not on the page");
    }
    assert!(!page.contains(PER_JOB), "nobody asked for rows of jobs");
    assert!(page.contains("disturbed cells"), "what others took was looked at");
    assert!(!page.contains("not looked at") && !page.contains("cells that ended"), "{page}");
}

#[test]
fn a_page_of_a_load_has_the_rows_of_its_jobs_where_they_were_asked_for() {
    let (_dir, page) = fresh();
    let load = "load null --size 1G --duration 600ms --interval 100ms --jobs 2 --per-job --page";
    let load: Vec<&str> = load.split(' ').collect();
    expect(0, &[&load[..], &[text(&page)]].concat());
    assert!(fs::read_to_string(&page).unwrap().contains(PER_JOB));
}
