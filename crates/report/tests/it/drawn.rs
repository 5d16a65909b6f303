//! The drawing of charts: what tells their lines apart, which are left out, what is on their axes.

use std::collections::BTreeSet;

use report::view::{Scale, View};
use results::model::{AskedMetric, CommandFigures, Show};

use crate::given;

fn of<'a>(view: &'a View, id: &str) -> &'a report::view::Chart {
    view.charts.iter().find(|chart| chart.id == id).unwrap()
}

#[test]
fn no_two_variants_share_a_colour() {
    let page = report::html::page(&[given::view(&given::variants(12))]);
    let dots: BTreeSet<&str> = page
        .split("<i class=\"dot\" style=\"--c:")
        .skip(1)
        .map(|text| text.split('"').next().unwrap())
        .collect();
    assert_eq!(dots.len(), 12, "{dots:?}");
}

#[test]
fn a_line_on_the_axis_beside_a_high_one_has_a_logarithmic_axis() {
    let mut set = fixture::result();
    let curve = |set: &results::ResultSet| given::view(set).charts;
    let over_time = |charts: &[report::view::Chart]| {
        charts.iter().find(|chart| chart.id.starts_with("throughput-")).unwrap().y.scale
    };
    assert_eq!(over_time(&curve(&set)), Scale::Linear);
    for cell in set.cells.iter_mut().filter(|cell| cell.entry.variant == "vdo") {
        for row in &mut cell.rows {
            if let results::model::Row::Interval(row) = row {
                row.bytes = (row.bytes / 200).max(1);
            }
        }
    }
    assert_eq!(over_time(&curve(&set)), Scale::Log);
    // Boxes get a logarithmic axis, too, and all of them are drawn.
    let view = given::view(&set);
    let boxes = view.charts.iter().find(|chart| chart.id.starts_with("boxes-")).unwrap();
    assert_eq!((boxes.y.scale, boxes.series.len()), (Scale::Log, 2));
    let page = given::page(&set);
    let drawing = page.split_once("interval by interval</figcaption>").unwrap().1;
    assert_eq!(drawing.split_once("</svg>").unwrap().0.matches("class=\"box\"").count(), 2);
}

#[test]
fn boxes_of_long_names_have_numbers_that_the_legend_explains() {
    let boxes = |set: &results::ResultSet| {
        let page = given::page(set);
        let drawing = page.split_once("interval by interval</figcaption>").unwrap().1;
        drawing.split_once("</figure>").unwrap().0.to_owned()
    };
    let few = boxes(&fixture::result());
    assert!(few.contains(">vdo</span>") && !few.contains("by its number"), "{few}");
    let many = boxes(&given::variants(12));
    assert!(many.contains("> 12 vdo 11</li>") || many.contains(">12 vdo 11</li>"), "{many}");
    assert!(many.contains(">12</span>") && many.contains("by its number"), "{many}");
}

#[test]
fn more_lines_than_can_be_told_apart_are_folded() {
    let fold = "variants over each other";
    assert!(!given::page(&given::variants(9)).contains(fold));
    let page = given::page(&given::variants(12));
    let folded = page.split_once("All 12 variants over each other").unwrap().1;
    assert!(folded.contains("99th percentile of latency of randwrite</figcaption>"));
}

#[test]
fn the_first_picture_of_commands_is_what_is_asked_of_them() {
    let mut set = fixture::with(1, 7_600.0);
    for record in set.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
        for stage in record.stages.iter_mut().filter(|stage| stage.measured) {
            stage.load = None;
            stage.command =
                Some(CommandFigures { elapsed_s: Some(3.0), ..CommandFigures::default() });
        }
    }
    set.manifest.plan.questions = vec![AskedMetric {
        metric: "elapsed_s".into(),
        stage: None,
        operation: None,
        layer: None,
        threshold: 0.03,
    }];
    let view = given::view(&set);
    assert_eq!(view.answers, ["bars-elapsed_s-all"]);
    assert!(of(&view, "bars-elapsed_s-all").series.iter().all(|series| series.y == [Some(3.0)]));
}

#[test]
fn bars_are_named_by_what_tells_them_apart() {
    let mut set = given::swept();
    let mut picture = given::picture(Show::Comparison);
    picture.metric = Some("iops".into());
    set.manifest.plan.pictures = vec![picture];
    let view = given::view(&set);
    let bars = of(&view, "bars-iops-all");
    assert_eq!(bars.names, ["depth=32", "depth=1"]);
    assert!(bars.title.ends_with("stage by stage, random-write"), "{}", bars.title);
}

#[test]
fn blocks_have_their_bytes_beside_them() {
    let view = given::view(&fixture::result());
    let row = view.figures.iter().find(|row| row.metric == "data_blocks_used").unwrap();
    let bytes = units::Unit::Bytes.show(row.values[1].unwrap().median * 4096.0);
    for document in
        [report::html::page(std::slice::from_ref(&view)), report::terminal::text(&view, 120, false)]
    {
        assert!(document.contains(&format!(" ({bytes})")), "{bytes}");
    }
}
