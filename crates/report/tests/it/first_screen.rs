//! The first screen: one figure for a question, and no figure that says other than the headline.

use results::model::{Row, Show};
use results::read::ResultSet;

use crate::given;

/// The made-up result with a cache instead of the volume; it reports both shares of hits.
fn cached() -> ResultSet {
    let mut set = fixture::result();
    for layer in set.manifest.plan.variants.iter_mut().flat_map(|variant| &mut variant.stack) {
        if layer.layer == "vdo" {
            layer.layer = "lvmcache".into();
        }
    }
    let hits = [("hit_percent", 80.0), ("read_hit_percent", 90.0)];
    let figures = || hits.map(|(id, percent)| (id.to_owned(), Some(percent)));
    for record in set.cells.iter_mut().filter_map(|cell| cell.record.as_mut()) {
        if let Some(figures_of_vdo) = record.layers.get_mut("vdo") {
            *figures_of_vdo = figures().into();
        }
        for stage in record.stages.iter_mut().filter(|stage| stage.layers.contains_key("vdo")) {
            stage.layers.insert("vdo".into(), figures().into());
        }
    }
    set
}

/// The figures of hits on the first screen.
fn hits(set: &ResultSet) -> Vec<String> {
    let view = given::view(set);
    let headline_rows = view.figures.iter().filter(|row| row.headline());
    headline_rows
        .filter(|row| row.metric.ends_with("hit_percent"))
        .map(|row| row.metric.clone())
        .collect()
}

#[test]
fn a_cache_has_one_figure_of_hits_on_the_first_screen() {
    let mut set = cached();
    assert_eq!(hits(&set), ["hit_percent"], "what this kind is there for");
    let mut question = set.manifest.plan.questions[0].clone();
    (question.metric, question.layer, question.operation) =
        ("read_hit_percent".into(), Some("vdo".into()), None);
    set.manifest.plan.questions.push(question);
    assert_eq!(hits(&set), ["read_hit_percent"], "what is asked");
}

#[test]
fn a_figure_of_a_first_look_is_as_open_as_its_headline() {
    for runs in [1, 3] {
        let view = given::view(&fixture::with(runs, 7_600.0));
        let headline = view.headline.clone().unwrap();
        assert!(headline.contains("is open; "), "{headline}");
        let why = headline.rsplit("; ").next().unwrap().to_owned();
        let page = report::html::page(&[view]);
        let tiles = page.split_once("class=\"tiles\"").unwrap().1.split("class=\"tile\"");
        let tile = tiles.skip(1).find(|tile| tile.contains("IOPS")).unwrap();
        assert!(tile.contains("big open") && tile.contains(&format!("Open: {why}")), "{tile}");
    }
    let decided = given::page(&fixture::result());
    assert!(!decided.contains("\"big open\""), "what is decided is not pale");
}

/// Makes the measured loads of a result ones that did nothing, which they say.
fn idle(set: &mut ResultSet) {
    for cell in &mut set.cells {
        let records = cell.record.iter_mut().flat_map(|record| &mut record.stages);
        for load in records.filter(|stage| stage.measured).filter_map(|s| s.load.as_mut()) {
            load.notices.push("Nothing was measured: no I/O was due".into());
            for operation in load.operations.values_mut() {
                (operation.ios, operation.bytes, operation.latency) = (0, 0, None);
                (operation.histogram, operation.errors) = (None, Default::default());
            }
        }
        for row in &mut cell.rows {
            if let Row::Interval(row) = row {
                (row.ios, row.bytes, row.latency) = (0, 0, None);
            }
        }
    }
}

#[test]
fn what_is_asked_and_nobody_measured_is_listed_with_its_reason_and_in_no_picture() {
    let mut set = fixture::result();
    let whole = given::view(&set);
    assert!(whole.unmeasured.is_empty() && whole.answers[0].starts_with("throughput-"));
    assert!(!report::html::page(&[whole]).contains("Asked, and not measured"));
    idle(&mut set);
    let not_measured = "IOPS of randwrite: no I/O was due";
    let of = |set: &ResultSet| {
        let view = given::view(set);
        let text = report::terminal::text(&view, 80, false);
        assert!(text.contains(&format!("Not measured: {not_measured}.")), "{text}");
        assert_eq!(view.unmeasured[0], not_measured);
        let answers = view.answers.clone();
        let page = report::html::page(&[view]);
        let first = page.split_once("<nav").unwrap().0;
        assert!(
            first.contains("Asked, and not measured") && first.contains(not_measured),
            "{first}"
        );
        answers
    };
    assert_eq!(of(&set), [""; 0], "nothing that is asked was measured");
    // What was measured is seen first, also where something else is asked first, or wanted as a picture.
    let mut question = set.manifest.plan.questions[0].clone();
    (question.metric, question.layer, question.operation) =
        ("saving_percent".into(), Some("vdo".into()), None);
    set.manifest.plan.questions.push(question);
    set.manifest.plan.pictures.push(given::picture(Show::IopsOverTime));
    let loads = ["throughput-", "iops-", "p99-"];
    let answers = of(&set);
    let of_load = |id: &String| loads.iter().any(|start| id.starts_with(start));
    assert!(!answers.is_empty() && !answers.iter().any(of_load), "{answers:?}");
}
