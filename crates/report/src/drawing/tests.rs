use super::*;
use crate::view::{Axis, Part};
use units::Unit;

fn axis(scale: Scale, unit: Unit) -> Axis {
    Axis { label: String::new(), scale, unit }
}

fn series(x: &[f64], y: &[Option<f64>]) -> Series {
    Series { name: "a".into(), variant: Some(0), hue: 0, repeat: None, x: x.into(), y: y.into() }
}

fn chart(shape: Shape, y: Scale, series: Vec<Series>) -> Chart {
    Chart {
        id: "c".into(),
        title: "c".into(),
        part: Part::Load,
        reading: String::new(),
        shape,
        names: Vec::new(),
        x: axis(Scale::Linear, Unit::Seconds),
        y: axis(y, Unit::PerSecond),
        series,
    }
}

fn texts(ticks: &[Tick]) -> Vec<&str> {
    ticks.iter().map(|tick| tick.text.as_str()).collect()
}

#[test]
fn a_line_is_broken_where_nothing_was_measured_and_a_point_alone_is_a_dot() {
    let y = [Some(0.0), Some(53.0), None, Some(100.0), None];
    let one = chart(Shape::Lines, Scale::Linear, vec![series(&[0.0, 1.0, 2.0, 3.0, 4.0], &y)]);
    let drawing = Drawing::of(&one, &[]).unwrap();
    let Ink::Line { line, dots } = &drawing.lines[0].ink else { panic!("no line") };
    // The axis goes to 106 and to 4.04 seconds.
    assert_eq!((line.as_str(), dots.as_str()), ("M0 1000 495 500", "M1485 57h0"));
    assert_eq!(texts(&drawing.y), ["0", "25/s", "50/s", "75/s", "100/s"]);
    assert_eq!(texts(&drawing.x), ["0", "1 s", "2 s", "3 s", "4 s"]);
}

#[test]
fn a_stall_of_one_interval_among_ten_thousand_is_drawn() {
    let x: Vec<f64> = (0..10_000).map(f64::from).collect();
    let mut y = vec![Some(100.0); 10_000];
    y[4321] = Some(0.0);
    let one = chart(Shape::Lines, Scale::Linear, vec![series(&x, &y)]);
    let drawing = Drawing::of(&one, &[]).unwrap();
    let Ink::Line { line, .. } = &drawing.lines[0].ink else { panic!("no line") };
    assert!(line.contains(" 1000 "), "the stall is at the bottom");
    assert!(line.len() < 40_000, "{} B", line.len());
}

#[test]
fn what_is_nothing_has_no_place_on_an_axis_of_logarithms() {
    let y = [Some(0.0), Some(10.0), Some(100_000.0)];
    let one = chart(Shape::Lines, Scale::Log, vec![series(&[0.0, 1.0, 2.0], &y)]);
    let drawing = Drawing::of(&one, &[]).unwrap();
    let Ink::Line { line, .. } = &drawing.lines[0].ink else { panic!("no line") };
    assert!(line.starts_with("M990 "), "{line}");
    assert_eq!(texts(&drawing.y), ["10/s", "100/s", "1k/s", "10k/s", "100k/s"]);
}

#[test]
fn areas_stand_on_each_other_and_bars_on_the_ground() {
    let two = || {
        vec![series(&[0.0, 1.0], &[Some(1.0), Some(1.0)]), series(&[0.0, 1.0], &[Some(1.0), None])]
    };
    let stacked = chart(Shape::Stacked, Scale::Linear, two());
    let drawing = Drawing::of(&stacked, &[]).unwrap();
    let Ink::Area(area) = &drawing.lines[1].ink else { panic!("no area") };
    assert_eq!(area, "M0 57 1980 528L1980 528 0 528Z");
    let mut bars = chart(Shape::Bars, Scale::Linear, two());
    bars.names = vec!["p50".into(), "p99".into()];
    let drawing = Drawing::of(&bars, &[]).unwrap();
    let Ink::Bars(path) = &drawing.lines[0].ink else { panic!("no bars") };
    assert_eq!(path.matches('M').count(), 2);
    assert!(path.starts_with("M100 1000V57h376V1000Z"), "{path}");
    assert_eq!(drawing.x.iter().map(|tick| tick.at).collect::<Vec<_>>(), [0.25, 0.75]);
}

#[test]
fn ticks_are_round_of_bytes_by_powers_of_two_and_of_shares_by_their_nines() {
    let top = |scale, unit, most: f64| {
        let mut one =
            chart(Shape::Lines, scale, vec![series(&[0.0, 1.0], &[Some(1.0), Some(most)])]);
        one.y.unit = unit;
        let drawing = Drawing::of(&one, &[]).unwrap();
        drawing.y.into_iter().map(|tick| tick.text).collect::<Vec<_>>()
    };
    assert_eq!(
        top(Scale::Linear, Unit::Bytes, 3e9),
        ["0", "512 MiB", "1 GiB", "1.5 GiB", "2 GiB", "2.5 GiB"]
    );
    assert_eq!(top(Scale::Log, Unit::BytesPerSecond, 3e9)[0], "1 B/s");
    assert_eq!(top(Scale::Log, Unit::Percent, 3.0), ["1 %", "1.5 %", "2 %", "2.5 %", "3 %"]);
    let mut nines =
        chart(Shape::Lines, Scale::Linear, vec![series(&[0.3, 3.2], &[Some(1.0), Some(2.0)])]);
    nines.x.scale = Scale::Nines;
    let drawing = Drawing::of(&nines, &[]).unwrap();
    assert_eq!(texts(&drawing.x), ["0 %", "50 %", "90 %", "99 %", "99.9 %"]);
}

#[test]
fn no_two_ticks_bear_one_number() {
    for (unit, least, most) in [
        (Unit::Ratio, 1.064, 1.081),
        (Unit::PerSecond, 23_042.0, 23_049.0),
        (Unit::Nanos, 1.2001e6, 1.2009e6),
        (Unit::Percent, 99.991, 99.993),
    ] {
        let mut one = chart(
            Shape::Lines,
            Scale::Linear,
            vec![series(&[0.0, 1.0], &[Some(least), Some(most)])],
        );
        one.y.unit = unit;
        let drawing = Drawing::of(&one, &[]).unwrap();
        let texts = texts(&drawing.y);
        assert!(texts.windows(2).all(|pair| pair[0] != pair[1]), "{texts:?}");
    }
}

#[test]
fn a_chart_of_one_point_and_one_of_zeros_alone_have_a_scale() {
    for (y, scale) in
        [(5.0, Scale::Linear), (0.0, Scale::Linear), (5.0, Scale::Log), (0.0, Scale::Log)]
    {
        let one = chart(Shape::Lines, scale, vec![series(&[0.0], &[Some(y)])]);
        let drawing = Drawing::of(&one, &[]).unwrap();
        assert!(drawing.y.len() > 1, "{y} {scale:?}: {:?}", drawing.y);
    }
    assert!(
        Drawing::of(&chart(Shape::Lines, Scale::Linear, vec![series(&[], &[])]), &[]).is_none()
    );
}

#[test]
fn an_axis_of_time_leaves_a_long_begin_without_points_out_and_a_short_one_stands() {
    let of = |from: f64| {
        let x = [from, from + 1.0, from + 2.0];
        let one = chart(Shape::Lines, Scale::Linear, vec![series(&x, &[Some(1.0); 3])]);
        let Ink::Line { line, .. } = Drawing::of(&one, &[]).unwrap().lines.remove(0).ink else {
            panic!("no line")
        };
        let first: f64 = line[1..].split(' ').next().unwrap().parse().unwrap();
        first
    };
    // Of two minutes the load took the last two seconds. The drawing is 2000 wide.
    assert!(of(118.0) < 100.0, "{}", of(118.0));
    assert!(of(1.0) > 600.0, "{}: zero is on it", of(1.0));
}

#[test]
fn neighbours_of_an_even_grid_are_one_line_as_thick_as_their_row() {
    let raster = Raster { width: 1.0, height: 10.0, right: 10.0, low: 100.0, top: 200.0 };
    let low = [100.0, 100.0, 100.0, 190.0].map(Some);
    let cells = series(&[2.0, 3.0, 5.0, 3.0], &low);
    let chart = chart(Shape::Density(raster), Scale::Linear, vec![cells]);
    let drawing = Drawing::of(&chart, &[]).unwrap();
    let Ink::Rows { path, thick } = &drawing.lines[0].ink else { panic!("{drawing:?}") };
    let (lines, cell) = (path.matches('M').count(), WIDTH / 10.1);
    assert_eq!((lines, *thick), (3, 100.0));
    assert!(path.starts_with(&format!("M{:.0} 950h{:.0}", cell * 2.0, cell * 2.0)), "{path}");
    assert!(path.ends_with(&format!(" 50h{cell:.0}")), "{path}");
    // The axis is that of the grid, also where its cells are empty.
    assert!(drawing.ends.1 > 10.0 && drawing.y.iter().all(|tick| (0.0..=1.0).contains(&tick.at)));
}
