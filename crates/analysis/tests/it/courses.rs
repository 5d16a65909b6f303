//! Places at which throughput changes within the runs.

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
    // The fixture draws which of these cells belong to vdo: at most three do.
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

#[test]
fn a_step_within_the_last_values_is_no_growth_and_a_steady_fall_is() {
    let grown = |change: &dyn Fn(f64) -> f64| {
        let mut result = fixture::with_a_step(5);
        for cell in &mut result.cells {
            let rows = cell.rows.iter_mut().filter_map(|row| match row {
                Row::Interval(row) if row.stage == 1 => Some(row),
                _ => None,
            });
            let rows: Vec<_> = rows.collect();
            let n = rows.len() as f64;
            for (place, row) in rows.into_iter().enumerate() {
                let noise = 1.0 + 0.01 * ((place * 7919 % 13) as f64 / 13.0 - 0.5);
                let length = (row.end_ns - row.start_ns) as f64 / 1e9;
                row.bytes = (1e8 * length * noise * change(place as f64 / n)) as u64;
            }
        }
        course(&result).growth
    };
    let step = grown(&|at| if at > 0.95 { 0.8 } else { 1.0 });
    assert!(step.is_none_or(|growth| !growth.counts()), "{step:?}");
    let fall = grown(&|at| 1.0 - 0.2 * at).unwrap();
    assert!(fall.counts() && fall.high < 0.0, "{fall:?}");
}

/// The rows of intervals of the measured stage of a cell.
fn intervals(cell: &mut results::read::CellData) -> Vec<&mut results::model::IntervalRow> {
    let rows = cell.rows.iter_mut().filter_map(|row| match row {
        Row::Interval(row) if row.stage == 1 => Some(row),
        _ => None,
    });
    rows.collect()
}

#[test]
fn a_trickle_that_rises_and_falls_again_is_cut_off_where_it_begins() {
    let mut result = fixture::with(1, 4_000.0);
    for cell in &mut result.cells {
        let mut rows = intervals(cell);
        let n = rows.len();
        // Six low intervals; none of them is below half of the one before it, except the first.
        for (row, part) in rows[n - 6..].iter_mut().zip([60, 80, 70, 75, 60, 65]) {
            row.bytes /= part;
        }
    }
    assert_eq!(course(&result).change, None);
}

#[test]
fn what_only_the_slowest_of_five_runs_is_long_enough_to_show_is_not_said_of_all() {
    let mut result = fixture::with_a_step(5);
    let mut kept = false;
    for cell in result.cells.iter_mut().filter(|cell| cell.entry.variant == "vdo") {
        if !std::mem::replace(&mut kept, true) {
            continue;
        }
        let mut place = 0;
        cell.rows.retain(|row| match row {
            Row::Interval(row) if row.stage == 1 => {
                place += 1;
                place <= 20
            }
            _ => true,
        });
    }
    let course = course(&result);
    assert_eq!((course.runs, course.change, course.warm_up_s), (5, None, None));
    assert!(course.growth.is_none(), "{:?}", course.growth);
}
