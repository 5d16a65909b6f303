//! The content of several loads together.

use results::model::{AchievedContent, AskedContent, CellRecord, LoadSummary, StageRecord};

fn content(blocks: u64, zero_percent: f64) -> AchievedContent {
    AchievedContent {
        duplicate_percent: Some(50.0),
        zero_percent: Some(zero_percent),
        blocks: Some(blocks),
        ..AchievedContent::default()
    }
}

/// A cell with these loads, each measured or not.
fn cell(loads: &[(bool, Option<AchievedContent>)]) -> CellRecord {
    let mut record = fixture::result().cells.remove(1).record.unwrap();
    let stage = record.stages[1].clone();
    record.stages.truncate(1);
    for (measured, achieved) in loads {
        let mut stage = StageRecord { measured: *measured, ..stage.clone() };
        let load = stage.load.as_mut().unwrap();
        let requested = AskedContent { duplicate_percent: Some(50.0), ..AskedContent::default() };
        (load.asked, load.achieved) = (Some(requested), achieved.clone());
        record.stages.push(stage);
    }
    record
}

#[test]
fn one_load_s_content_is_the_content() {
    let cell = cell(&[(true, Some(content(100, 10.0)))]);
    assert_eq!(cell.measured_content().achieved, Some(content(100, 10.0)));
    assert_eq!(cell.content_of_growth(), cell.measured_content());
}

#[test]
fn of_two_loads_what_adds_up_is_known_and_duplicates_are_not() {
    let cell = cell(&[(true, Some(content(300, 10.0))), (true, Some(content(100, 50.0)))]);
    let written = cell.measured_content();
    assert_eq!((written.loads, written.asked.unwrap().duplicate_percent), (2, Some(50.0)));
    let achieved = written.achieved.unwrap();
    assert_eq!((achieved.zero_percent, achieved.blocks), (Some(20.0), Some(400)));
    assert_eq!((achieved.duplicate_percent, achieved.lz4_saving_percent), (None, None));
}

#[test]
fn growth_is_of_all_that_was_written_since_the_first_measured_stage() {
    let parts = [(false, 9, 0.0), (true, 100, 0.0), (false, 100, 100.0)];
    let parts = parts.map(|(measured, blocks, zero)| (measured, Some(content(blocks, zero))));
    let cell = cell(&parts);
    assert_eq!(cell.measured_content().achieved.unwrap().zero_percent, Some(0.0));
    assert_eq!(cell.content_of_growth().achieved.unwrap().zero_percent, Some(50.0));
}

#[test]
fn with_a_load_that_nobody_measured_nothing_is_known() {
    let known = (true, Some(content(100, 10.0)));
    assert_eq!(cell(&[known.clone(), (true, None)]).measured_content().achieved, None);
    let mut copied = cell(&[known.clone(), known]);
    copied.stages[2].kind = "copy".into();
    copied.stages[2].load = Some(LoadSummary::empty(units::Seed(0)));
    assert_eq!(copied.content_of_growth().achieved, None);
}
