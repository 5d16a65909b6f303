//! The figures of a thin pool and its volume from their samples.

use results::model::LayerFigures;

use crate::figures::{FigureFacts, ratio};

/// Every figure of the catalogue; `None` where a marked sample is missing.
pub(super) fn figures(facts: &FigureFacts) -> LayerFigures {
    let (pool, volume) = (facts.ends("pool"), facts.ends("volume"));
    let end = |field: &str| pool.and_then(|ends| ends.end(field));
    let of_volume = |field: &str| volume.and_then(|ends| ends.end(field));
    let chunk = facts.ends("table").and_then(|ends| ends.end("chunk_bytes"));
    let percent = |share: Option<f64>| share.map(|share| 100.0 * share);
    let bytes = |chunks: Option<f64>| Some(chunks? * chunk?);
    [
        ("pool_used_bytes", bytes(end("used_chunks"))),
        ("pool_used_percent", percent(ratio(end("used_chunks"), end("chunks")))),
        (
            "pool_metadata_percent",
            percent(ratio(end("used_metadata_blocks"), end("metadata_blocks"))),
        ),
        ("mapped_bytes", of_volume("mapped_sectors").map(|sectors| sectors * 512.0)),
        ("mapped_percent", percent(ratio(of_volume("mapped_sectors"), of_volume("sectors")))),
        ("chunks_taken", pool.and_then(|ends| ends.growth("used_chunks"))),
        ("transactions", end("transactions")),
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
    fn space_is_counted_in_chunks_of_the_pool_and_sectors_of_the_volume() {
        let pool = |at, mark, used| {
            let fields = [
                ("used_chunks", used),
                ("chunks", 200.0),
                ("used_metadata_blocks", 64.0),
                ("metadata_blocks", 256.0),
                ("transactions", 1.0),
            ];
            sample(at, "t.pool", mark, &fields)
        };
        let volume = |at, mark| {
            sample(at, "t.volume", mark, &[("sectors", 1024.0), ("mapped_sectors", 256.0)])
        };
        let table = |at, mark| sample(at, "t.table", mark, &[("chunk_bytes", 65_536.0)]);
        let rows = [
            pool(1, STAGE_START, 10.0),
            volume(1, STAGE_START),
            table(1, STAGE_START),
            pool(9, STAGE_END, 50.0),
            volume(9, STAGE_END),
            table(9, STAGE_END),
        ];
        let window = Window::of_stage(&rows, 0, 10, 11);
        let found =
            figures(&FigureFacts { layer: "t", window: &window, achieved: None, ios: None });
        assert_eq!(found["pool_used_bytes"], Some(50.0 * 65_536.0));
        assert_eq!(found["pool_used_percent"], Some(25.0));
        assert_eq!(found["pool_metadata_percent"], Some(25.0));
        assert_eq!(found["chunks_taken"], Some(40.0));
        assert_eq!(found["mapped_bytes"], Some(131_072.0));
        assert_eq!(found["mapped_percent"], Some(25.0));
    }
}
