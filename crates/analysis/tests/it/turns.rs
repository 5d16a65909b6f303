//! The place at which throughput turns, as a figure that an experiment asks about or expects.

use analysis::{Expectation, ExpectationOutcome, Scope, analyse};
use results::model::{Bound, ExpectedFigure, FigureName, Row};
use results::read::ResultSet;

/// Blocks that the load of the fixture writes in all, each once.
const BLOCKS: f64 = 262_144.0;

fn figure(metric: &str) -> FigureName {
    let of_layer = metric == "turn_fill_percent";
    FigureName {
        metric: metric.into(),
        stage: None,
        operation: (!of_layer).then(|| "randwrite".to_owned()),
        layer: of_layer.then(|| "vdo".to_owned()),
        variant: "vdo".into(),
    }
}

fn held(mut result: ResultSet, metric: &str, bound: Bound) -> Expectation {
    result.manifest.plan.expectations = vec![ExpectedFigure::new(figure(metric), bound)];
    analyse(&result).expectations.remove(0)
}

/// Gives the volume room for exactly what the load writes; the fixture stores a quarter of that.
fn with_room(mut result: ResultSet) -> ResultSet {
    let rows = result.cells.iter_mut().flat_map(|cell| &mut cell.rows);
    for row in rows {
        if let Row::Sample(sample) = row
            && sample.source == "vdo.stats"
        {
            let room = Some(700_000.0 + BLOCKS / 4.0);
            sample.fields.insert("physicalBlocks".into(), room);
        }
    }
    result
}

#[test]
fn the_time_the_bytes_and_the_fill_at_which_throughput_turns_are_expected_like_other_figures() {
    let near = |value: f64, by: f64| Bound::Near { value, by };
    let stepped = || with_room(fixture::with_a_step(5));
    let time = held(stepped(), "turn_s", near(30.5, 1.5));
    assert_eq!((time.outcome, time.n), (ExpectationOutcome::Met, 5), "{time:?}");
    assert_eq!(held(stepped(), "turn_s", Bound::Above(40.0)).outcome, ExpectationOutcome::Missed);
    let bytes = held(stepped(), "turn_bytes", near(30.0 * 4000.0 * 4096.0, 4e7));
    assert_eq!(bytes.outcome, ExpectationOutcome::Met, "{bytes:?}");
    // What was written until then is the share that is full.
    let percent = 100.0 * bytes.found.unwrap() / 4096.0 / BLOCKS;
    let fill = held(stepped(), "turn_fill_percent", near(percent, 1.5));
    assert_eq!((fill.outcome, fill.n), (ExpectationOutcome::Met, 5), "{fill:?}, {percent}");
    assert!((fill.found.unwrap() - percent).abs() < 0.1, "{fill:?}, {percent}");
}

#[test]
fn what_was_to_turn_and_keeps_its_level_is_missed_and_of_a_short_run_nobody_knows() {
    for metric in ["turn_s", "turn_bytes", "turn_fill_percent"] {
        let level = held(with_room(fixture::with(5, 4_000.0)), metric, Bound::Above(0.0));
        assert_eq!((level.outcome, level.found), (ExpectationOutcome::Missed, None), "{metric}");
        assert_eq!(level.n, 5, "the runs that were looked at");
        let short = held(with_room(fixture::result()), metric, Bound::Above(0.0));
        assert_eq!((short.outcome, short.found), (ExpectationOutcome::Unknown, None), "{metric}");
    }
    // A figure of something else that is not there is not missed.
    let other = held(fixture::with(5, 4_000.0), "errors_of_nobody", Bound::Above(0.0));
    assert_eq!(other.outcome, ExpectationOutcome::Unknown);
}

#[test]
fn a_fill_between_two_readings_goes_by_the_time_between_them_and_one_that_was_not_read_is_unknown()
{
    let mut sparse = with_room(fixture::with_a_step(1));
    for cell in &mut sparse.cells {
        cell.rows.retain(|row| match row {
            Row::Sample(sample) => sample.mark.is_some(),
            _ => true,
        });
    }
    let at_ends = held(sparse.clone(), "turn_fill_percent", Bound::Near { value: 50.0, by: 20.0 });
    assert_eq!(at_ends.outcome, ExpectationOutcome::Met, "{at_ends:?}");
    for cell in &mut sparse.cells {
        cell.rows.retain(|row| !matches!(row, Row::Sample(_)));
    }
    let unread = held(sparse, "turn_fill_percent", Bound::Above(0.0));
    assert_eq!(unread.outcome, ExpectationOutcome::Unknown);
}

#[test]
fn a_place_that_nobody_asks_about_is_no_figure() {
    let analysis = analyse(&fixture::with_a_step(5));
    let vdo = &analysis.variants[1];
    assert_eq!(vdo.figure(&Scope::operation("randwrite"), "turn_s"), None);
    assert_eq!(vdo.courses[&Scope::operation("randwrite")].turns.len(), 5);
}
