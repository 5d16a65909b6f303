//! The kept readings give the figures that all readings give.

use super::*;
use crate::figures::{FigureFacts, STAGE_END, STAGE_START, Window};

const S: u64 = 1_000_000_000;
const DAY: u64 = 86_400;
static PAGES: Followed = Followed { what: "stats", field: "pages" };

fn row(second: u64, mark: Option<&str>, pages: f64) -> SampleRow {
    SampleRow {
        at_ns: second * S,
        source: "vdo.stats".into(),
        cost_ns: 0,
        cost_cpu_ns: 0,
        mark: mark.map(str::to_owned),
        fields: Fields::from([
            ("pages".to_owned(), Some(pages)),
            ("others".to_owned(), Some(second as f64)),
        ]),
        error: None,
    }
}

/// A stage as long as a day, read each second, in which a field goes on as `value` says.
fn day(value: impl Fn(u64) -> f64) -> Vec<SampleRow> {
    let inner = (1..DAY).map(|second| row(second, None, value(second)));
    let (start, end) = (row(0, Some(STAGE_START), value(0)), row(DAY, Some(STAGE_END), value(DAY)));
    std::iter::once(start).chain(inner).chain([end]).collect()
}

fn kept(rows: &[SampleRow]) -> Readings {
    let mut readings = Readings::following([("vdo", &PAGES)]);
    rows.iter().for_each(|row| readings.take(row.clone()));
    readings
}

/// Seconds until the field had these shares of its growth.
fn times(rows: &[SampleRow]) -> Vec<Option<f64>> {
    let window = Window::of_stage(rows, 0, DAY * S, u64::MAX);
    let facts = FigureFacts { layer: "vdo", window: &window, achieved: None, ios: None };
    [0.05, 0.5, 0.95, 1.0].map(|share| facts.seconds_until(&PAGES, share)).into()
}

#[test]
fn what_grew_in_few_steps_or_for_a_while_is_known_exactly_after_a_day() {
    let step = |second: u64| (second / 100) as f64;
    let early = |second: u64| second.min(2000) as f64;
    let never = |_| 7.0;
    let saw = |second: u64| ((second % 7200) + second / 7200) as f64 * 1e-3;
    let courses: [&dyn Fn(u64) -> f64; 4] = [&step, &early, &never, &saw];
    for course in courses {
        let all = day(course);
        let readings = kept(&all);
        assert!(readings.count() <= MAX_POINTS + 2, "{}", readings.count());
        assert_eq!(times(&readings.into_rows()), times(&all));
    }
}

#[test]
fn what_grows_all_day_is_known_to_a_thousandth_of_its_growth() {
    let courses: [&dyn Fn(u64) -> f64; 3] = [
        &|second| second as f64,
        &|second| 1e6 * (1.0 - (-(second as f64) / 10_000.0).exp()),
        &|second| (second as f64).powi(3),
    ];
    for course in courses {
        let all = day(course);
        let readings = kept(&all);
        assert!(readings.count() <= MAX_POINTS + 2, "{}", readings.count());
        let growth = course(DAY) - course(0);
        for (phrase, whole) in times(&readings.into_rows()).into_iter().zip(times(&all)) {
            let [phrase, whole] = [phrase, whole].map(|time| course(time.unwrap().round() as u64));
            assert!(
                (phrase - whole).abs() <= growth / PARTS as f64,
                "{phrase} {whole} of {growth}"
            );
        }
    }
}

#[test]
fn a_stage_that_follows_a_long_one_is_known_as_exactly_as_one_alone() {
    let mut all = day(|second| (second * 1000) as f64);
    let before = DAY as f64 * 1000.0;
    all.push(row(DAY + 1, Some(STAGE_START), before));
    all.extend((2..50).map(|second| row(DAY + second, None, before + second.min(30) as f64)));
    all.push(row(DAY + 50, Some(STAGE_END), before + 30.0));
    let time = |rows: &[SampleRow]| {
        let window = Window::of_stage(rows, (DAY + 1) * S, (DAY + 50) * S, u64::MAX);
        window.seconds_until("vdo.stats", "pages", 0.95)
    };
    assert!(time(&all).is_some());
    assert_eq!(time(&kept(&all).into_rows()), time(&all));
}

#[test]
fn readings_that_come_late_stand_where_they_belong() {
    let mut all = day(|second| (second / 100) as f64);
    let whole = times(&all);
    (500..80_000).step_by(977).for_each(|at| all.swap(at, at + 1));
    assert_eq!(times(&kept(&all).into_rows()), whole);
}

#[test]
fn of_the_rounds_of_a_fill_those_are_kept_that_figures_are_read_between() {
    let mut readings = Readings::following([("vdo", &PAGES)]);
    readings.take(row(1, Some(STAGE_START), 1.0));
    for (second, since) in (2..1000).zip(1u64..) {
        readings.take(row(second, Some(ROUND_END), second as f64));
        let mut failed = row(second, Some(ROUND_END), 0.0);
        failed.error = Some("gone".into());
        readings.take(failed);
        // A round began ten readings ago.
        let since_ns = since.saturating_sub(since % 10) * S;
        let grown = |rows: &[SampleRow]| {
            let window = Window::since_round(rows, since_ns);
            window.ends("vdo.stats").and_then(|ends| ends.growth("pages"))
        };
        let before = grown(readings.marked());
        readings.forget_rounds(since_ns);
        assert_eq!(grown(readings.marked()), before);
        assert!(readings.marked().len() <= 3, "{}", readings.marked().len());
    }
    let rounds = readings.marked().iter().map(|row| row.at_ns / S).collect::<Vec<_>>();
    assert_eq!(rounds, [1, 990, 999]);
}
