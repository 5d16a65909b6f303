use super::*;

fn row(at_ns: u64, mark: Option<&str>, value: f64) -> SampleRow {
    SampleRow {
        at_ns,
        source: "vdo.stats".into(),
        cost_ns: 0,
        cost_cpu_ns: 0,
        mark: mark.map(str::to_owned),
        fields: Fields::from([("n".to_owned(), Some(value)), ("gone".to_owned(), None)]),
        error: None,
    }
}

#[test]
fn growth_is_between_the_marks_and_not_between_the_ends() {
    let rows = [
        row(0, None, 1.0),
        row(1, Some(ALLOCATED), 10.0),
        row(2, None, 20.0),
        row(3, Some(SETTLED), 30.0),
        row(4, None, 99.0),
    ];
    let window = Window::of_cell(&rows);
    let ends = window.ends("vdo.stats").unwrap();
    assert_eq!(ends.growth("n"), Some(20.0));
    assert_eq!(ends.growth("gone"), None);
    assert_eq!(ends.growth("unheard of"), None);
}

#[test]
fn the_time_of_growth_is_read_between_two_samples_and_unknown_where_nothing_grew() {
    const S: u64 = 1_000_000_000;
    let mut rows = vec![
        row(0, None, 0.0),
        row(10 * S, Some(STAGE_START), 100.0),
        row(11 * S, None, 180.0),
        row(12 * S, None, 200.0),
        row(13 * S, None, 200.0),
        row(14 * S, Some(STAGE_END), 200.0),
    ];
    let until = |rows: &[SampleRow], share| {
        let window = Window::of_stage(rows, 9 * S, 15 * S, u64::MAX);
        window.seconds_until("vdo.stats", "n", share)
    };
    assert_eq!(until(&rows, 0.4), Some(0.5));
    assert_eq!(until(&rows, 0.95), Some(1.75));
    assert_eq!(until(&rows[..2], 0.95), None, "the stage has no end");
    for row in &mut rows {
        row.fields.insert("n".into(), Some(7.0));
    }
    assert_eq!(until(&rows, 0.95), None);
    assert_eq!(Window::default().seconds_until("vdo.stats", "n", 0.95), None);
}

#[test]
fn without_both_marks_there_is_no_figure() {
    let rows = [row(1, Some(ALLOCATED), 10.0)];
    assert!(Window::of_cell(&rows).ends("vdo.stats").is_none());
    let mut failed = row(3, Some(SETTLED), 0.0);
    failed.error = Some("gone".into());
    assert!(Window::of_cell(&[row(1, Some(ALLOCATED), 1.0), failed]).ends("vdo.stats").is_none());
    assert!(Window::of_cell(&rows).ends("other").is_none());
}

#[test]
fn the_window_of_a_round_is_of_the_stage_that_goes_on_or_since_allocation() {
    let early = [
        row(1, Some(STAGE_START), 1.0),
        row(2, Some(ROUND_END), 2.0),
        row(3, Some(STAGE_START), 4.0),
    ];
    assert!(Window::of_round(&early, false).ends("vdo.stats").is_none(), "no round of this one");
    let mut rows = early.to_vec();
    rows.push(row(4, Some(ROUND_END), 8.0));
    rows.push(row(5, Some(ROUND_END), 16.0));
    let growth = |rows: &[SampleRow], of_cell| {
        Window::of_round(rows, of_cell).ends("vdo.stats").unwrap().growth("n")
    };
    assert_eq!((growth(&rows, false), growth(&rows, true)), (Some(12.0), Some(12.0)));
    rows.insert(0, row(0, Some(ALLOCATED), 0.5));
    assert_eq!((growth(&rows, false), growth(&rows, true)), (Some(12.0), Some(15.5)));
}

#[test]
fn several_rounds_of_a_load_are_one_from_a_moment_on() {
    let rows = [
        row(1, Some(ROUND_END), 1.0),
        row(2, Some(STAGE_START), 2.0),
        row(3, Some(ROUND_END), 4.0),
        row(4, Some(ROUND_END), 8.0),
        row(5, Some(ROUND_END), 16.0),
    ];
    let growth = |since| {
        Window::since_round(&rows, since).ends("vdo.stats").and_then(|ends| ends.growth("n"))
    };
    assert_eq!((growth(4), growth(3), growth(5)), (Some(8.0), Some(12.0), Some(0.0)));
    assert_eq!(growth(2), None, "rounds of an earlier stage do not count");
}

#[test]
fn the_window_of_a_stage_ends_where_the_stack_had_settled_after_it() {
    let rows = [
        row(1, Some(ALLOCATED), 1.0),
        row(10, Some(STAGE_START), 2.0),
        row(20, Some(STAGE_END), 4.0),
        row(25, Some(STAGE_SETTLED), 8.0),
        row(30, Some(STAGE_START), 16.0),
        row(40, Some(STAGE_END), 32.0),
        row(50, Some(SETTLED), 64.0),
    ];
    let growth = |window: Window| window.ends("vdo.stats").unwrap().growth("n");
    assert_eq!(growth(Window::of_stage(&rows, 9, 21, 29)), Some(6.0));
    assert_eq!(growth(Window::of_stage(&rows, 29, 41, u64::MAX)), Some(16.0));
    assert_eq!(growth(Window::until_stage(&rows, 29, 41, u64::MAX)), Some(31.0));
    assert_eq!(growth(Window::of_cell(&rows)), Some(63.0));
}

#[test]
fn the_window_of_its_work_begins_with_the_ramp_and_ends_at_rest() {
    let marks = [STAGE_START, RAMP_START, LOAD_START, LOAD_END, STAGE_END, STAGE_SETTLED];
    let rows = marks.into_iter().zip(1..).zip([2.0, 3.0, 5.0, 8.0, 9.0, 16.0]);
    let rows = rows.map(|((mark, s), n)| row(s * 1_000_000_000, Some(mark), n));
    let mut rows: Vec<_> = rows.collect();
    let growth = |rows: &[SampleRow]| {
        let window = Window::of_work(rows, 900_000_000, 5_100_000_000, u64::MAX);
        window.ends("vdo.stats").unwrap().growth("n").unwrap()
    };
    assert_eq!(growth(&rows), 13.0);
    rows.remove(1);
    assert_eq!(growth(&rows), 11.0, "without a ramp");
    rows.remove(1);
    assert_eq!(growth(&rows), 14.0, "without a load the stage");
}

#[test]
fn the_window_of_a_load_leaves_out_what_was_prepared_and_the_wait_for_rest() {
    let marks = [STAGE_START, LOAD_START, LOAD_END, STAGE_END, STAGE_SETTLED];
    let rows = |at_ms: [u64; 5]| {
        let rows = marks.into_iter().zip(at_ms).zip([2.0, 3.0, 8.0, 9.0, 16.0]);
        rows.map(|((mark, ms), n)| row(ms * 1_000_000, Some(mark), n)).collect::<Vec<_>>()
    };
    let growth = |rows: &[SampleRow]| {
        let window = Window::of_load(rows, 900_000_000, 2_600_000_000);
        let grown = window.ends("vdo.stats").unwrap().growth("n").unwrap();
        (grown, (window.seconds("vdo.stats").unwrap() * 1e3).round())
    };
    let mut usual = rows([1000, 1500, 2000, 2500, 3000]);
    assert_eq!(growth(&usual), (5.0, 500.0));
    usual.remove(1);
    assert_eq!(growth(&usual), (7.0, 1500.0), "an earlier version has the stage alone");
    assert_eq!(growth(&rows([1000, 1999, 2000, 2500, 3000])), (7.0, 1500.0), "too short");
}
