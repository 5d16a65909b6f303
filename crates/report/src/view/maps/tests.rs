use super::*;
use analysis::{Of, SplitPoint};
use units::Better;

use crate::drawing::CellMap;
use crate::view::Figure;

/// A point of a sweep of reads: depth, size and figure, for one variant.
fn row(value: Option<f64>) -> FigureRow {
    let figure = |median| Figure { median, low: None, high: None, n: 1 };
    FigureRow {
        scope: Scope { stage: None, of: Of::Operation("randread".into()) },
        metric: THROUGHPUT.into(),
        label: "throughput".into(),
        unit: Unit::BytesPerSecond,
        better: Better::Higher,
        asked: true,
        purpose: false,
        part: false,
        values: vec![value.map(figure)],
        comparisons: vec![None],
    }
}

fn sweep(outstanding: &str, depth: &str) -> SweepFacts {
    let pairs = [("outstanding", outstanding), ("depth", depth)];
    let point = pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into();
    SweepFacts { stage: "read".into(), point }
}

fn split(outstanding: u64, answer: SplitAnswer) -> Split {
    let point = |depth| SplitPoint { depth, median: Some(1.0) };
    Split {
        variant: "flash".into(),
        stage: "read".into(),
        operation: "randread".into(),
        outstanding,
        whole: point(1),
        best: point(8),
        ratio: Some(1.6),
        low: Some(1.5),
        high: Some(1.7),
        n: 5,
        few_ios: None,
        answer,
    }
}

/// The triangle of three amounts at three depths; of 32 KiB as 64 nothing was measured, and 128 KiB as one is spoiled.
fn drawn() -> (SweepMap, Panel) {
    let values = [
        ("32k", "1", Some(1e6)),
        ("32k", "8", Some(2e6)),
        ("32k", "64", None),
        ("128k", "1", Some(9e6)),
        ("128k", "8", Some(3e6)),
        ("128k", "64", Some(4e6)),
        ("512k", "1", Some(5e6)),
        ("512k", "8", Some(60e6)),
        ("512k", "64", Some(70e6)),
    ];
    let rows: Vec<FigureRow> = values.iter().map(|(.., value)| row(*value)).collect();
    let places = values.map(|(amount, depth, _)| placed(&sweep(amount, depth)).unwrap());
    assert!(places.iter().all(|(keys, _, in_flight)| *in_flight && keys[1] == "block size"));
    let points: Vec<Point> =
        rows.iter().zip(places).map(|(row, (_, numbers, _))| (row, numbers)).collect();
    let levels = [0, 1].map(|axis| distinct(&points, axis));
    let splits = [split(32 << 10, SplitAnswer::Open), split(512 << 10, SplitAnswer::Split)];
    let spoiled = |row: &FigureRow| row.values[0].is_some_and(|figure| figure.median == 9e6);
    let panel =
        panel((0, "flash"), &points, &levels, true, &splits.iter().collect::<Vec<_>>(), &spoiled);
    let groups = groups([(panel, vec!["disk"])].into_iter());
    let panel = groups[0].panels[0].clone();
    let map = SweepMap {
        title: "Throughput".into(),
        unit: Unit::BytesPerSecond,
        keys: ["depth".into(), "block size".into()],
        levels: levels.map(|levels| places_of(&levels)),
        in_flight: true,
        groups,
    };
    (map, panel)
}

fn places_of(levels: &[(f64, String)]) -> Vec<MapLevel> {
    places(levels, true)
}

#[test]
fn cells_are_what_was_measured_and_a_diagonal_names_its_fastest_where_that_is_decided() {
    let (map, panel) = drawn();
    let names = |axis: usize| map.levels[axis].iter().map(|l| &*l.name).collect::<Vec<_>>();
    assert_eq!(names(0), ["1", "8", "64"]);
    assert_eq!(names(1)[..3], ["512 B", "2 KiB", "4 KiB"]);
    assert_eq!(panel.cells.len(), 8);
    // Depths lie eight times apart, sizes two times: both are one cell.
    assert_eq!(map.levels[0].iter().map(|l| l.place).collect::<Vec<_>>(), [0.0, 1.0, 2.0]);
    assert!((map.levels[1].last().unwrap().place - 10.0).abs() < 1e-9);
    let of = |at: usize| {
        let line = &panel.diagonals[at];
        let depth = line.best.map(|best| map.levels[0][best[0]].name.as_str());
        (line.bytes, depth, line.sure)
    };
    // An open answer names the highest; a spoiled figure is not it; and the sure one is it, though another one is higher.
    assert_eq!(of(0), (32_768.0, Some("8"), false));
    assert_eq!(of(1), (131_072.0, Some("64"), false));
    assert_eq!(of(2), (524_288.0, Some("8"), true));
    assert_eq!(panel.diagonals[2].ratio, "8 of 64 KiB: 1.6 times [1.5, 1.7] the speed of one");
    assert_eq!(panel.answer, "Split 512 KiB; not decided at 32 KiB");
    let class = |value: f64| panel.cells.iter().find(|c| c.value == value).unwrap().class;
    assert_eq!((class(1e6), class(70e6)), (0, CLASSES - 1));
}

#[test]
fn a_map_is_drawn_without_cells_that_are_not_there_and_spoiled_ones_are_hollow() {
    let (map, panel) = drawn();
    let drawing = CellMap::of(&map, &panel);
    assert_eq!(drawing.cells.len(), 8);
    let spoiled: Vec<&str> =
        drawing.cells.iter().filter(|cell| cell.spoiled).map(|cell| &*cell.value).collect();
    assert_eq!(spoiled, ["8.6M"]);
    let paths = drawing.cells.iter().map(|cell| &cell.path);
    for path in paths.chain([&drawing.lines, &drawing.sure, &drawing.open]) {
        assert!(!path.is_empty() && !path.contains("NaN") && !path.contains("inf"), "{path}");
    }
    let labels: Vec<&str> = drawing.right.iter().map(|tick| &*tick.text).collect();
    assert_eq!(labels, ["128k", "512k"]);
    assert_eq!(drawing.below[0].text, "32k", "its last point was not measured");
    assert_eq!(drawing.sure.matches('Z').count(), 1);
    assert!(drawing.cells.iter().any(|cell| cell.title.contains("[1.5, 1.7]")));
}

#[test]
fn two_other_numbers_have_a_map_without_diagonals_and_names_have_none() {
    let point = |pairs: [(&str, &str); 2]| SweepFacts {
        stage: "read".into(),
        point: pairs.map(|(key, value)| (key.to_owned(), value.to_owned())).into(),
    };
    let (keys, numbers, in_flight) =
        placed(&point([("jobs", "4"), ("read_share", "25 %")])).unwrap();
    assert_eq!((keys, in_flight), (["jobs".into(), "read share".into()], false));
    assert_eq!(numbers[1], (25.0, "25 %".to_owned()));
    assert_eq!(placed(&point([("jobs", "4"), ("pattern", "random")])), None);
    let levels = [(0.0, "0".to_owned()), (1.0, "1".to_owned()), (100.0, "100".to_owned())];
    assert_eq!(places(&levels, false)[2].place, 2.0);
}
