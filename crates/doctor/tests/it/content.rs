//! Content that is not what was asked, or that nobody measured.

use results::model::Severity;
use results::read::ResultSet;

use crate::rules::{after, loads, only};

#[test]
fn duplicates_are_off_only_beyond_what_sampling_explains() {
    let duplicates = |achieved: f64, error: f64| {
        move |r: &mut ResultSet| {
            for load in loads(r, "vdo") {
                let content = load.achieved.as_mut().unwrap();
                content.duplicate_percent = Some(achieved);
                content.duplicate_error_points = Some(error);
            }
        }
    };
    let finding = only("achieved_off_asked", duplicates(47.0, 0.3));
    assert_eq!((finding.severity, finding.subject.as_deref()), (Severity::Error, Some("vdo")));
    assert!(finding.evidence.starts_with("Asked 50 %, achieved 47 % (median of 5 runs)"));
    assert_eq!(after(duplicates(47.0, 0.8)), [], "a small sample may be off by that");
    assert_eq!(after(duplicates(49.1, 0.0)), []);
    only("achieved_off_asked", duplicates(51.1, 0.0));
}

#[test]
fn a_few_blocks_are_off_by_what_a_block_of_each_job_is() {
    let few = |blocks: u64, jobs: u32, achieved: f64| {
        move |r: &mut ResultSet| {
            for load in loads(r, "vdo") {
                load.engine.jobs = jobs;
                let content = load.achieved.as_mut().unwrap();
                content.blocks = Some(blocks);
                content.duplicate_percent = Some(achieved);
                content.duplicate_error_points = Some(0.0);
            }
        }
    };
    assert_eq!(after(few(32, 1, 46.875)), [], "15 of 32 are one short of half");
    assert_eq!(after(few(32, 4, 37.5)), []);
    only("achieved_off_asked", few(32, 1, 43.75));
    only("achieved_off_asked", few(32_000, 4, 46.875));
}

#[test]
fn compressed_sizes_are_off_beyond_three_bytes() {
    let size = |bytes: f64| {
        move |r: &mut ResultSet| {
            for load in loads(r, "plain") {
                load.achieved.as_mut().unwrap().lz4_size_mean_bytes = Some(bytes);
            }
        }
    };
    let finding = only("achieved_off_asked", size(1644.0));
    assert!(finding.message.contains("mean LZ4 size of a block that plain wrote"));
    assert_eq!(after(size(1640.5)), []);
}

#[test]
fn content_that_nobody_measured_is_told() {
    only("content_not_measured", |r| loads(r, "vdo").for_each(|load| load.achieved = None));
    let nothing_asked = after(|r| {
        for load in loads(r, "vdo") {
            (load.achieved, load.asked) = (None, None);
        }
    });
    assert_eq!(nothing_asked, []);
}

#[test]
fn content_of_two_measured_loads_is_not_taken_from_one_of_them() {
    let finding = only("content_of_several_loads", |r| {
        let ours = |cell: &&mut results::CellData| cell.entry.variant == "vdo";
        for cell in r.cells.iter_mut().filter(ours) {
            let record = cell.record.as_mut().unwrap();
            let mut second = record.stages[1].clone();
            // What it achieved would be off what was asked.
            let load = second.load.as_mut().unwrap();
            load.achieved.as_mut().unwrap().duplicate_percent = Some(5.0);
            load.operations.clear();
            record.stages.push(second);
        }
    });
    assert_eq!((finding.severity, finding.subject.as_deref()), (Severity::Note, Some("vdo")));
    assert!(finding.evidence.starts_with("2 measured loads wrote"), "{finding:?}");
}
