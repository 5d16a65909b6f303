//! The first screen: one figure for a question, and no figure that says other than the headline.

use results::read::ResultSet;

use crate::given;

/// The made-up result with a cache in place of the volume, which says both shares of hits.
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
        if let Some(own) = record.layers.get_mut("vdo") {
            *own = figures().into();
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
    let own = view.figures.iter().filter(|row| row.headline());
    own.filter(|row| row.metric.ends_with("hit_percent")).map(|row| row.metric.clone()).collect()
}

#[test]
fn a_cache_has_one_figure_of_hits_on_the_first_screen() {
    let mut set = cached();
    assert_eq!(hits(&set), ["hit_percent"], "what this kind is there for");
    let mut asked = set.manifest.plan.questions[0].clone();
    (asked.metric, asked.layer, asked.operation) =
        ("read_hit_percent".into(), Some("vdo".into()), None);
    set.manifest.plan.questions.push(asked);
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
