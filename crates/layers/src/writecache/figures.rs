//! The figures of a volume with a write cache from its samples.

use results::model::LayerFigures;

use crate::counter::grew;
use crate::figures::{FigureFacts, ratio};

/// Every figure of the catalogue; all `None` when one of the two marked samples is missing.
pub(super) fn figures(facts: &FigureFacts) -> LayerFigures {
    let ends = facts.ends("writecache");
    let grown = |field: &str| grew(&ends?, field);
    let end = |field: &str| ends.and_then(|ends| ends.end(field));
    let percent = |share: Option<f64>| share.map(|share| 100.0 * share);
    let block = facts.ends("table").and_then(|ends| ends.end("block_bytes"));
    let used = || Some(end("blocks")? - end("free_blocks")?);
    let (reads, hits) = (grown("reads"), grown("read_hits"));
    let (writes, around) = (grown("writes"), grown("writes_around"));
    let answered = || Some(hits? + writes? - around?);
    let all = || Some(reads? + writes?);
    [
        ("hit_percent", percent(ratio(answered(), all()))),
        ("read_hit_percent", percent(ratio(hits, reads))),
        ("used_percent", percent(ratio(used(), end("blocks")))),
        ("dirty_bytes", used().zip(block).map(|(used, block)| used * block)),
        ("writes_around", around),
        ("blocked_on_freelist", grown("writes_blocked")),
        ("flushes_taken", grown("flushes")),
    ]
    .map(|(id, value)| (id.to_owned(), value))
    .into()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::figures::given::sample;
    use crate::figures::{STAGE_END, STAGE_START, Window};

    #[test]
    fn what_the_cache_took_is_a_hit_and_what_went_past_it_is_none() {
        let status = |at, mark, reads, hits, writes, around| {
            let fields = [
                ("blocks", 200.0),
                ("free_blocks", 150.0),
                ("reads", reads),
                ("read_hits", hits),
                ("writes", writes),
                ("writes_around", around),
                ("writes_blocked", 7.0),
                ("flushes", 1.0),
            ];
            sample(at, "wc.writecache", mark, &fields)
        };
        let table = |at, mark| sample(at, "wc.table", mark, &[("block_bytes", 4096.0)]);
        let mut rows = [
            status(1, STAGE_START, 10.0, 10.0, 100.0, 0.0),
            table(2, STAGE_START),
            status(8, STAGE_END, 20.0, 10.0, 190.0, 30.0),
            table(9, STAGE_END),
        ];
        let of = |rows: &[_]| {
            let window = Window::of_stage(rows, 0, 10, 11);
            figures(&FigureFacts { layer: "wc", window: &window, achieved: None, ios: None })
        };
        let found = of(&rows);
        assert_eq!(found["hit_percent"], Some(60.0), "60 of 90 writes, none of 10 reads");
        assert_eq!(found["read_hit_percent"], Some(0.0));
        assert_eq!(found["used_percent"], Some(25.0));
        assert_eq!(found["dirty_bytes"], Some(50.0 * 4096.0));
        assert_eq!((found["writes_around"], found["blocked_on_freelist"]), (Some(30.0), Some(0.0)));
        rows[2] = status(8, STAGE_END, 0.0, 0.0, 0.0, 0.0);
        assert_eq!(of(&rows)["hit_percent"], None, "the counters began anew");
    }
}
