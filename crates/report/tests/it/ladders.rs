//! Latency by layer on the terminal, on the page and in JSON.

use results::histogram::{encode, of_counts};
use results::model::{DeviceLatency, LatencySource};
use results::read::ResultSet;

use crate::given;

fn device(name: &str, on: &[&str], by: LatencySource, p99_us: u64) -> DeviceLatency {
    let counts = [(p99_us * 500, 4_900), (p99_us * 1000, 100)];
    let text = encode(&of_counts(counts).unwrap()).unwrap();
    let of = if by == LatencySource::DmStats { "both" } else { "write" };
    DeviceLatency {
        name: name.into(),
        on: on.iter().map(|name| (*name).to_owned()).collect(),
        by: Some(by),
        writes: 5_000,
        histograms: [(of.to_owned(), text)].into(),
        ..DeviceLatency::default()
    }
}

/// The made-up result, in which the pool of one variant takes 2 ms longer than the disk.
pub fn measured(lost: u64) -> ResultSet {
    let mut set = fixture::result();
    let records = set.cells.iter_mut().filter_map(|cell| cell.record.as_mut());
    for record in records.filter(|record| record.variant == "vdo") {
        for stage in record.stages.iter_mut().filter(|stage| stage.measured) {
            let load = of_counts([(1_200_000, 4_900), (2_600_000, 100)]).unwrap();
            let load = encode(&load).ok();
            let operations = stage.load.iter_mut().flat_map(|load| load.operations.values_mut());
            operations.for_each(|operation| operation.histogram.clone_from(&load));
            stage.latency = vec![
                device("vdo", &["vdo-pool"], LatencySource::DmStats, 2_500),
                device("vdo-pool", &["data"], LatencySource::DmStats, 2_450),
                DeviceLatency { lost, ..device("data", &[], LatencySource::Requests, 400) },
            ];
        }
    }
    set
}

#[test]
fn the_layer_that_made_the_tail_is_named_with_every_rung_under_the_load() {
    let view = given::view(&measured(0));
    assert_eq!(view.ladders.len(), 1, "one variant was measured");
    let sentence = "vdo-pool made the p99 latency: it adds 2.05 ms of 2.6 ms.";
    assert!(view.ladders[0].text.ends_with(sentence), "{}", view.ladders[0].text);
    let terminal = report::terminal::text(&view, 200, false);
    assert!(terminal.contains(sentence) && terminal.contains("\n        data  "), "{terminal}");
    let page = report::html::page(std::slice::from_ref(&view));
    assert!(page.contains("Latency by layer") && page.contains(sentence), "on the page");
    assert!(page.contains("dm-stats") && page.contains("<b>vdo-pool</b>"), "on the page");
    let json = &report::json::json(&view)["ladders"][0];
    assert_eq!(json["made"]["name"], "vdo-pool");
    assert_eq!(json["rungs"].as_array().unwrap().len(), 4);
    assert_eq!(
        (&json["rungs"][0]["is_load"], &json["rungs"][3]["by"]),
        (&true.into(), &"requests".into())
    );
}

#[test]
fn no_layer_is_named_where_events_were_lost() {
    let view = given::view(&measured(2));
    assert!(view.ladders[0].text.contains("is not known: "), "{}", view.ladders[0].text);
    assert!(view.ladders[0].text.contains("events of data were lost"));
    assert_eq!(report::json::json(&view)["ladders"][0]["made"], serde_json::Value::Null);
    let plain = given::view(&fixture::result());
    assert!(plain.ladders.is_empty());
    assert!(!report::html::page(&[plain]).contains("Latency by layer"));
}
