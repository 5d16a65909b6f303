//! The figures of a cached volume from its samples.

use results::model::LayerFigures;

use crate::figures::{Endpoints, FigureFacts, ratio};

/// Counters of dm-cache are 32 bits wide and wrap (`atomic_t` in dm-cache-target.c).
const WRAP: f64 = 4_294_967_296.0;
/// A quarter of a counter's range. A counter that fell is taken to have wrapped if it went from the last quarter to the first.
const QUARTER: f64 = WRAP / 4.0;

/// Every figure of the catalogue; all `None` when one of the two marked samples is missing.
pub(super) fn figures(facts: &FigureFacts) -> LayerFigures {
    let ends = facts.ends("status");
    let grew = |field: &str| counted(&ends?, field);
    let end = |field: &str| ends.and_then(|ends| ends.end(field));
    let sum = |a: Option<f64>, b: Option<f64>| Some(a? + b?);
    let percent = |share: Option<f64>| share.map(|share| 100.0 * share);
    let [read_hits, read_misses, write_hits, write_misses] =
        ["read_hits", "read_misses", "write_hits", "write_misses"].map(grew);
    let (reads, writes) = (sum(read_hits, read_misses), sum(write_hits, write_misses));
    let (hits, all) = (sum(read_hits, write_hits), sum(reads, writes));
    let chunk_bytes = end("chunk_sectors").map(|sectors| sectors * 512.0);
    let filled = ends.and_then(|ends| ends.growth("used_chunks"));
    let bytes = |chunks: Option<f64>| Some(chunks? * chunk_bytes?);
    [
        ("hit_percent", percent(ratio(hits, all))),
        ("read_hit_percent", percent(ratio(read_hits, reads))),
        ("write_hit_percent", percent(ratio(write_hits, writes))),
        ("used_percent", percent(ratio(end("used_chunks"), end("chunks")))),
        ("new_percent", percent(ratio(filled.map(|chunks| chunks.max(0.0)), end("chunks")))),
        ("dirty_bytes", bytes(end("dirty_chunks"))),
        ("promotions", grew("promotions")),
        ("demotions", grew("demotions")),
    ]
    .map(|(id, value)| (id.to_owned(), value))
    .into()
}

/// Returns the growth of a counter, including one that wrapped to 0; `None` where the cache was restarted and its count is lost.
pub(super) fn counted(ends: &Endpoints, field: &str) -> Option<f64> {
    let (growth, end) = (ends.growth(field)?, ends.end(field)?);
    if growth >= 0.0 {
        return Some(growth);
    }
    let is_wrapped = end - growth > 3.0 * QUARTER && end < QUARTER;
    is_wrapped.then_some(growth + WRAP)
}

#[cfg(test)]
mod tests {
    use results::model::{Fields, SampleRow};

    use super::*;
    use crate::figures::{STAGE_END, STAGE_START, Window};

    fn status(at_ns: u64, mark: &str, hits: f64, misses: f64) -> SampleRow {
        let fields = [
            ("read_hits", hits),
            ("read_misses", misses),
            ("write_hits", 0.0),
            ("write_misses", 0.0),
            ("promotions", 3.0),
            ("demotions", 0.0),
            ("used_chunks", 5.0),
            ("chunks", 10.0),
            ("dirty_chunks", 2.0),
            ("chunk_sectors", 128.0),
        ];
        SampleRow {
            at_ns,
            source: "cache.status".into(),
            cost_ns: 0,
            cost_cpu_ns: 0,
            mark: Some(mark.into()),
            fields: fields.iter().map(|(k, v)| ((*k).to_owned(), Some(*v))).collect::<Fields>(),
            error: None,
        }
    }

    #[test]
    fn hits_are_counted_over_the_window_and_levels_at_its_end() {
        let rows = [status(1, STAGE_START, 1000.0, 64.0), status(9, STAGE_END, 1090.0, 74.0)];
        let window = Window::of_stage(&rows, 0, 10, 11);
        let facts = FigureFacts { layer: "cache", window: &window, achieved: None, ios: None };
        let figures = figures(&facts);
        assert_eq!(figures["hit_percent"], Some(90.0));
        assert_eq!(figures["read_hit_percent"], Some(90.0));
        assert_eq!(figures["write_hit_percent"], None, "nothing was written");
        assert_eq!(figures["used_percent"], Some(50.0));
        assert_eq!(figures["dirty_bytes"], Some(131_072.0));
        assert_eq!(figures["promotions"], Some(0.0));
    }

    #[test]
    fn new_in_the_cache_is_what_was_empty_before() {
        let mut rows = [status(1, STAGE_START, 0.0, 0.0), status(9, STAGE_END, 0.0, 0.0)];
        let new = |rows: &[SampleRow]| {
            let window = Window::of_stage(rows, 0, 10, 11);
            let facts = FigureFacts { layer: "cache", window: &window, achieved: None, ios: None };
            figures(&facts)["new_percent"]
        };
        assert_eq!(new(&rows), Some(0.0));
        rows[1].fields.insert("used_chunks".into(), Some(9.0));
        assert_eq!(new(&rows), Some(40.0));
        rows[1].fields.insert("used_chunks".into(), Some(2.0));
        assert_eq!(new(&rows), Some(0.0), "another cache came");
    }

    #[test]
    fn a_counter_that_wrapped_went_on() {
        let rows = [status(1, STAGE_START, WRAP - 10.0, 0.0), status(9, STAGE_END, 80.0, 10.0)];
        let window = Window::of_stage(&rows, 0, 10, 11);
        let facts = FigureFacts { layer: "cache", window: &window, achieved: None, ios: None };
        assert_eq!(figures(&facts)["hit_percent"], Some(90.0));
    }

    #[test]
    fn a_counter_that_began_anew_with_its_cache_is_unknown() {
        let mut rows = [status(1, STAGE_START, 5.0, 5.0), status(9, STAGE_END, 90.0, 10.0)];
        rows[0].fields.insert("promotions".into(), Some(768.0));
        let window = Window::of_stage(&rows, 0, 10, 11);
        let facts = FigureFacts { layer: "cache", window: &window, achieved: None, ios: None };
        assert_eq!(figures(&facts)["promotions"], None);
    }
}
