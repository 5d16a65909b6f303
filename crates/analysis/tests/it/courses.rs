//! Where throughput changes within the runs.

use analysis::{Scope, analyse};
use results::model::Row;
use results::read::ResultSet;

fn course(result: &ResultSet) -> analysis::RunCourse {
    analyse(result).variants[1].courses[&Scope::operation("randwrite")].clone()
}

#[test]
fn a_step_of_all_runs_is_found_where_it_is_and_what_was_moved_until_then() {
    let course = course(&fixture::with_a_step(5));
    assert_eq!(course.runs, 5);
    let change = course.change.unwrap();
    assert!(change.step && change.runs == 5, "{change:?}");
    let at = change.at_s.unwrap();
    assert!((29.0..31.5).contains(&at), "{change:?}");
    assert!(change.low_s.unwrap() <= at && at <= change.high_s.unwrap());
    assert!((change.after / change.before / 0.6 - 1.0).abs() < 0.03, "{change:?}");
    let bytes = change.at_bytes.unwrap();
    assert!((bytes / at / change.before - 1.0).abs() < 0.05, "{change:?}");
    assert_eq!(course.warm_up_s, None);
    let growth = course.growth.unwrap();
    assert!(growth.between_s.0 >= at && growth.between_s.1 > 60.0, "{growth:?}");
}

#[test]
fn a_step_of_three_runs_of_five_is_none() {
    let mut result = fixture::with(5, 4_000.0);
    let stepped = fixture::with_a_step(5);
    for place in [1, 2, 5] {
        result.cells[place] = stepped.cells[place].clone();
    }
    let changed = |set: &ResultSet| {
        let all = set.cells.iter().filter(|cell| cell.entry.variant == "vdo").cloned();
        ResultSet { cells: all.collect(), ..set.clone() }
    };
    // Which of these are of vdo is drawn by the fixture: at most three.
    assert_eq!(course(&changed(&result)).change, None);
    assert_eq!(course(&fixture::with(5, 4_000.0)).change, None);
}

#[test]
fn what_trickles_in_at_the_end_is_no_change_and_short_runs_say_nothing() {
    let mut result = fixture::with(1, 4_000.0);
    let rows = result.cells.iter_mut().flat_map(|cell| &mut cell.rows);
    let mut last: Vec<_> = rows
        .filter_map(|row| match row {
            Row::Interval(row) if row.stage == 1 => Some(row),
            _ => None,
        })
        .collect();
    let n = last.len();
    last[n - 3..].iter_mut().for_each(|row| row.bytes /= 50);
    let course = course(&result);
    assert!(course.change.is_none() && course.warm_up_s == Some(0.0), "{course:?}");
    assert!(analyse(&fixture::result()).variants[1].courses.is_empty());
}
