//! Latency histograms as text, as rows and summaries contain them: reading, merging and summarising.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hdrhistogram::Histogram;
use hdrhistogram::serialization::{Deserializer, Serializer, V2DeflateSerializer};

use crate::model::{LatencySummary, OperationSummary};

/// Significant digits that every histogram keeps.
pub const DIGITS: u8 = 3;

/// A histogram that cannot be read, written or merged.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("Histogram cannot be {doing}: {why}; the figures that need it are left out")]
pub struct HistogramError {
    /// The operation that failed (`read`).
    doing: &'static str,
    /// The codec's error.
    why: String,
}

fn error(doing: &'static str, why: impl std::fmt::Debug) -> HistogramError {
    HistogramError { doing, why: format!("{why:?}") }
}

/// An empty histogram of nanoseconds, three digits, growing as needed.
pub fn empty() -> Result<Histogram<u64>, HistogramError> {
    Histogram::new(DIGITS).map_err(|e| error("made", e))
}

/// Returns the histogram of values that occurred so many times each.
pub fn of_counts(
    counts: impl IntoIterator<Item = (u64, u64)>,
) -> Result<Histogram<u64>, HistogramError> {
    let mut all = empty()?;
    for (value, count) in counts {
        all.record_n(value, count).map_err(|e| error("made", e))?;
    }
    Ok(all)
}

/// Decodes a histogram from base64 V2, with or without deflate.
pub fn decode(text: &str) -> Result<Histogram<u64>, HistogramError> {
    let bytes = STANDARD.decode(text).map_err(|e| error("read", e))?;
    Deserializer::new().deserialize(&mut bytes.as_slice()).map_err(|e| error("read", e))
}

/// Encodes a histogram as base64 V2 with deflate.
pub fn encode(histogram: &Histogram<u64>) -> Result<String, HistogramError> {
    let mut bytes = Vec::new();
    V2DeflateSerializer::new().serialize(histogram, &mut bytes).map_err(|e| error("written", e))?;
    Ok(STANDARD.encode(bytes))
}

/// Merges all histograms of `texts` into one; `None` when there are none.
pub fn merge<'a>(
    texts: impl IntoIterator<Item = &'a str>,
) -> Result<Option<Histogram<u64>>, HistogramError> {
    let mut sum: Option<Histogram<u64>> = None;
    for text in texts {
        let next = decode(text)?;
        match &mut sum {
            None => {
                let mut all = empty()?;
                all.add(&next).map_err(|e| error("merged", e))?;
                sum = Some(all);
            }
            Some(all) => all.add(&next).map_err(|e| error("merged", e))?,
        }
    }
    Ok(sum)
}

/// The summary of a histogram of nanoseconds; `None` when it is empty.
pub fn summary(histogram: &Histogram<u64>) -> Option<LatencySummary> {
    (!histogram.is_empty()).then(|| LatencySummary {
        mean_ns: histogram.mean(),
        min_ns: histogram.min(),
        p50_ns: histogram.value_at_quantile(0.5),
        p99_ns: histogram.value_at_quantile(0.99),
        p999_ns: histogram.value_at_quantile(0.999),
        max_ns: histogram.max(),
    })
}

/// Returns the bandwidth (length over latency) of each I/O in bytes per second; `None` where it is not known. If all I/Os have the same length it
/// is computed from the histogram of latencies.
pub fn bandwidths(operation: &OperationSummary) -> Option<Histogram<u64>> {
    if let Some(text) = &operation.bandwidths {
        return decode(text).ok();
    }
    let bytes = operation.io_bytes?;
    let latencies = decode(operation.histogram.as_deref()?).ok()?;
    let mut all = empty().ok()?;
    for step in latencies.iter_recorded() {
        let latency = latencies.median_equivalent(step.value_iterated_to());
        all.record_n(bandwidth(bytes, latency), step.count_at_value()).ok()?;
    }
    Some(all)
}

/// Returns the bandwidth of an I/O of `bytes` that took `latency_ns`, bytes per second.
pub fn bandwidth(bytes: u64, latency_ns: u64) -> u64 {
    let rate = u128::from(bytes) * 1_000_000_000 / u128::from(latency_ns.max(1));
    u64::try_from(rate).unwrap_or(u64::MAX).max(1)
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn of(values: &[u64]) -> Histogram<u64> {
        let mut h = empty().unwrap();
        values.iter().for_each(|&v| h.record(v).unwrap());
        h
    }

    #[test]
    fn the_bandwidth_of_ios_of_one_length_is_their_latency_turned_over() {
        let histogram = encode(&of(&[1_000_000, 2_000_000, 2_000_000, 4_000_000])).ok();
        let fixed = OperationSummary { io_bytes: Some(4096), histogram, ..Default::default() };
        let found = bandwidths(&fixed).unwrap();
        let near = |found: u64, wanted: f64| (found as f64 / wanted - 1.0).abs() < 0.002;
        assert_eq!(found.len(), 4);
        assert!(near(found.min(), 1_024_000.0) && near(found.max(), 4_096_000.0), "{found:?}");
        assert!(near(found.value_at_quantile(0.5), 2_048_000.0), "{found:?}");
        let mixed = OperationSummary { bandwidths: encode(&of(&[7])).ok(), ..fixed.clone() };
        assert_eq!(bandwidths(&mixed).unwrap().max(), 7);
        assert!(bandwidths(&OperationSummary { io_bytes: None, ..fixed }).is_none());
        assert_eq!((bandwidth(4096, 0), bandwidth(1, u64::MAX)), (4_096_000_000_000, 1));
    }

    #[test]
    fn merged_histograms_are_the_histogram_of_all_values() {
        let parts = [of(&[1_000, 2_000, 3_000_000]), of(&[5, 90_000_000_000])];
        let texts: Vec<_> = parts.iter().map(|h| encode(h).unwrap()).collect();
        let all = merge(texts.iter().map(String::as_str)).unwrap().unwrap();
        assert_eq!(all, of(&[1_000, 2_000, 3_000_000, 5, 90_000_000_000]));
        assert_eq!(summary(&all).unwrap().min_ns, 5);
        assert!(summary(&all).unwrap().max_ns >= 90_000_000_000);
        assert_eq!(summary(&all).unwrap().p50_ns, all.value_at_quantile(0.5));
    }

    /// Values of every magnitude alike, up to an hour.
    fn latencies() -> impl Strategy<Value = Vec<u64>> {
        let value = (1u64..3_600_000_000_000, 0u32..42).prop_map(|(v, s)| (v >> s).max(1));
        prop::collection::vec(value, 0..120)
    }

    proptest! {
        /// Jobs within hosts within repeats: in whatever order and grouping, and through the text each time.
        #[test]
        fn merging_over_jobs_hosts_and_repeats_gives_the_histogram_of_all_ios(
            repeats in prop::collection::vec(
                prop::collection::vec(prop::collection::vec(latencies(), 1..4), 1..3), 1..4),
            turn in any::<usize>(),
        ) {
            let merged = |mut texts: Vec<String>| {
                let count = texts.len();
                texts.rotate_left(turn % count);
                encode(&merge(texts.iter().map(String::as_str)).unwrap().unwrap()).unwrap()
            };
            let all: Vec<u64> = repeats.iter().flatten().flatten().flatten().copied().collect();
            let of_host = |host: &Vec<Vec<u64>>| {
                merged(host.iter().map(|job| encode(&of(job)).unwrap()).collect())
            };
            let of_repeat =
                |repeat: &Vec<Vec<Vec<u64>>>| merged(repeat.iter().map(of_host).collect());
            let nested = decode(&merged(repeats.iter().map(of_repeat).collect())).unwrap();
            let jobs = repeats.iter().flatten().flatten();
            let flat = decode(&merged(jobs.map(|job| encode(&of(job)).unwrap()).collect())).unwrap();
            prop_assert_eq!(&nested, &of(&all));
            prop_assert_eq!(&flat, &of(&all));
            prop_assert_eq!(summary(&nested), summary(&of(&all)));
        }
    }

    /// The texts that the Java implementation (org.hdrhistogram:HdrHistogram 2.2.2, the format's first) makes of the values below, in V2 without
    /// and with deflate: `new Histogram(1, 3600000000000L, 3)`, `encodeInto(Compressed)ByteBuffer`, base64.
    const JAVA: [&str; 2] = [
        "HISTEwAAABcAAAAAAAAAAwAAAAAAAAABAAADRjC4oAA/8AAAAAAAAAACyw8EqxACArFI2ATbFQLDXAK9rwIC",
        "HISTFAAAADh4nJNpmSzMwMAgzgABzFCaEch0M9ixgMH+A1SE6TQ/y2oBJqaNHjdYbosyHY5h2rueiQkAAzcLWQ==",
    ];

    #[test]
    fn the_text_is_that_of_the_java_implementation() {
        let mut ours = of(&[1, 1000, 1000, 2047, 2048, 123_456, 7_000_000, 3_600_000_000_000]);
        ours.record_n(50_000, 300).unwrap();
        for java in JAVA {
            assert_eq!(decode(java).unwrap(), ours);
        }
        // The counts are the same bytes; the 40 bytes before them hold the range, which in ours grows as needed.
        let mut bytes = Vec::new();
        hdrhistogram::serialization::V2Serializer::new().serialize(&ours, &mut bytes).unwrap();
        assert_eq!(bytes[40..], STANDARD.decode(JAVA[0]).unwrap()[40..]);
    }

    #[test]
    fn nothing_gives_no_summary_and_junk_an_error() {
        assert_eq!(merge([]).unwrap(), None);
        assert_eq!(summary(&of(&[])), None);
        for junk in ["", "!", "AAAA", "HISTFAAAAB"] {
            assert!(decode(junk).unwrap_err().to_string().contains("cannot be read"));
        }
    }
}
