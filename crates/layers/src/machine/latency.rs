//! Latency of every block device of a stack: I/Os counted in steps of latency, `NAME read STEP:N ...`, and the histograms made from the counts.

use std::collections::BTreeMap;

use results::histogram;
use results::model::{DeviceLatency, Fields, LatencySource};

use super::ids::LATENCY;
use crate::probe::{PlacedDevice, Probe, Reading, Source};
use crate::step::{Action, Step};
use crate::{ABSENT, ParseError, Parsed};

/// Number of steps for each doubling of latency; a step is 9 %.
const PER_OCTAVE: u32 = 8;
/// End of the first step, nanoseconds; shorter latencies are counted in it, too.
const FIRST_NS: f64 = 1000.0;
/// Number of step ends; the last one is at 16.8 s, and longer latencies are counted in a step beyond it.
const BOUNDS: usize = 24 * PER_OCTAVE as usize + 1;
/// Interval between readings without a mark, milliseconds; it is long because a reading has some hundred numbers.
const EVERY_MS: u64 = 60_000;
/// The reason why nothing is known between two readings that belong to different measurements.
const ANEW: &str = "its measurement began anew in between, as after a restart";
/// The directions for which I/Os are counted.
const DIRECTIONS: [&str; 3] = ["read", "write", "both"];

/// The reason why the latency of a device is not known.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Unmeasured {
    /// Tracefs is not there.
    NoTracefs,
    /// The kernel has no events of the block layer.
    NoEvents,
    /// The kernel refused to record.
    Refused,
    /// It is not a block device.
    NoDevice,
    /// The kernel reports the ends of its I/Os under another device.
    NoEnds,
}

impl Unmeasured {
    const ALL: [Self; 5] =
        [Self::NoTracefs, Self::NoEvents, Self::Refused, Self::NoDevice, Self::NoEnds];

    /// Returns the word for it in a reading.
    pub fn word(self) -> &'static str {
        match self {
            Self::NoTracefs => "no-tracefs",
            Self::NoEvents => "no-events",
            Self::Refused => "refused",
            Self::NoDevice => "no-device",
            Self::NoEnds => "no-ends",
        }
    }

    /// Returns it as the end of a sentence.
    fn why(self) -> &'static str {
        match self {
            Self::NoTracefs => "tracefs is not mounted, or access to it is denied",
            Self::NoEvents => "this kernel has no events of the block layer",
            Self::Refused => "the kernel refused to record its I/Os",
            Self::NoDevice => "it was not a block device when the measurement began",
            Self::NoEnds => {
                "the kernel reports when its I/Os begin, but not under its name when they end"
            }
        }
    }
}

/// Returns the end of a step of latency, nanoseconds; `None` beyond the last one.
pub fn bound_ns(step: usize) -> Option<u64> {
    let octaves = step as f64 / f64::from(PER_OCTAVE);
    (step < BOUNDS).then(|| (FIRST_NS * octaves.exp2()).round() as u64)
}

/// Returns the step that a latency is counted in: the first that ends above it, or the one beyond all.
pub fn step_of(latency_ns: u64) -> usize {
    let octaves = (latency_ns as f64 / FIRST_NS).max(1.0).log2();
    // Ends are rounded to whole nanoseconds, so that a neighbouring step may be the right one.
    let near = ((octaves * f64::from(PER_OCTAVE)) as usize).min(BOUNDS);
    let mut steps = near.saturating_sub(1)..BOUNDS;
    steps.find(|&step| bound_ns(step).is_some_and(|end| latency_ns < end)).unwrap_or(BOUNDS)
}

/// Returns the latency that stands for all of a step, nanoseconds: the geometric middle of the step.
fn middle_ns(step: usize) -> u64 {
    (FIRST_NS * ((step as f64 - 0.5) / f64::from(PER_OCTAVE)).exp2()).round() as u64
}

/// Returns the step and the probe that measure the latency of these devices in the run with this tag; the undo of the step ends the measurement.
pub fn measure_latency(devices: Vec<PlacedDevice>, run_tag: &str) -> (Step, Probe) {
    let instance = format!("fathom_{run_tag}_latency");
    let end = Action::Untrace { instance: instance.clone() };
    let step = Step {
        about: "prepare to measure latency by layer".into(),
        action: end.clone(),
        undo: vec![end],
        deadline_s: 10,
    };
    let probe = Probe {
        id: LATENCY.into(),
        source: Source::Latency { instance, devices },
        parser: LATENCY.into(),
        every_ms: EVERY_MS,
        reading: Reading::Edge,
    };
    (step, probe)
}

/// Reads numbers by `NAME.KEY` and `NAME.DIRECTION.STEP`; the source of a device's counts, or the reason for their absence, gets the number 1.
pub(crate) fn parse_latency(text: &str) -> Result<Parsed, ParseError> {
    let mut parsed = Parsed::default();
    if let Some(why) = text.trim().strip_prefix("absent: ") {
        parsed.texts.insert(ABSENT.to_owned(), why.to_owned());
        return Ok(parsed);
    }
    for line in text.lines() {
        let wrong = |what| ParseError::form(LATENCY, what, line);
        let mut words = line.split(' ');
        let (Some(name), Some(key)) = (words.next(), words.next()) else {
            return Err(wrong("not 'NAME KEY ...'"));
        };
        let mut add = |field: String, number: f64| {
            parsed.numbers.insert(format!("{name}.{field}"), Some(number));
        };
        let number = |word: &str| word.parse::<u64>().map_err(|_| wrong("no number"));
        match key {
            "by" | "none" => {
                add(format!("{key}.{}", words.next().ok_or_else(|| wrong("no word"))?), 1.0);
            }
            "lost" | "reads" | "writes" | "since" => {
                add(key.to_owned(), number(words.next().unwrap_or_default())? as f64);
            }
            _ if DIRECTIONS.contains(&key) => {
                for word in words {
                    let (step, count) =
                        word.split_once(':').ok_or_else(|| wrong("not 'STEP:N'"))?;
                    let step = number(step)?;
                    if step > BOUNDS as u64 {
                        return Err(wrong("no such step"));
                    }
                    add(format!("{key}.{step}"), number(count)? as f64);
                }
            }
            _ => return Err(wrong("unknown key")),
        }
    }
    Ok(parsed)
}

/// Returns the latency of each device between two readings.
pub fn device_latencies(
    before: &Fields,
    after: &Fields,
    devices: &[PlacedDevice],
) -> Vec<DeviceLatency> {
    devices.iter().map(|device| device_latency(before, after, device)).collect()
}

fn device_latency(before: &Fields, after: &Fields, device: &PlacedDevice) -> DeviceLatency {
    let value_of = |fields: &Fields, key: &str| {
        fields.get(&format!("{}.{key}", device.name)).copied().flatten()
    };
    let begins = format!("{}.", device.name);
    let mut latency =
        DeviceLatency { name: device.name.clone(), on: device.on.clone(), ..Default::default() };
    let reason = Unmeasured::ALL
        .into_iter()
        .find(|reason| value_of(after, &format!("none.{}", reason.word())).is_some());
    latency.by = LatencySource::ALL
        .into_iter()
        .find(|source| value_of(after, &format!("by.{}", source.word())).is_some());
    latency.absent = reason.map(|reason| reason.why().to_owned());
    if value_of(before, "since") != value_of(after, "since") {
        latency.absent = Some(ANEW.to_owned());
    }
    if latency.absent.is_some() || latency.by.is_none() {
        latency.absent.get_or_insert_with(|| "there is no reading of it".to_owned());
        latency.by = None;
        return latency;
    }
    let mut shrank = value_of(before, "lost") > value_of(after, "lost");
    let mut counts: BTreeMap<&str, Vec<(u64, u64)>> = BTreeMap::new();
    for (field, value) in after {
        let Some((direction, step)) =
            field.strip_prefix(&begins).and_then(|rest| rest.rsplit_once('.'))
        else {
            continue;
        };
        let (Some(&direction), Ok(step)) =
            (DIRECTIONS.iter().find(|known| **known == direction), step.parse::<usize>())
        else {
            continue;
        };
        let grew = value.unwrap_or(0.0) - before.get(field).copied().flatten().unwrap_or(0.0);
        shrank |= grew < 0.0;
        if grew > 0.0 {
            counts.entry(direction).or_default().push((middle_ns(step), grew as u64));
        }
    }
    if shrank {
        latency.absent = Some(ANEW.to_owned());
        latency.by = None;
        return latency;
    }
    let grew =
        |key: &str| Some((value_of(after, key)? - value_of(before, key).unwrap_or(0.0)) as u64);
    let sum = |direction| counts.get(direction).map_or(0, |c| c.iter().map(|(_, n)| n).sum());
    latency.reads = grew("reads").unwrap_or_else(|| sum("read"));
    latency.writes = grew("writes").unwrap_or_else(|| sum("write"));
    latency.lost = grew("lost").unwrap_or(0);
    for (direction, counts) in counts {
        let text = histogram::of_counts(counts).and_then(|all| histogram::encode(&all));
        match text {
            Ok(text) => drop(latency.histograms.insert(direction.to_owned(), text)),
            Err(error) => latency.absent = Some(error.to_string()),
        }
    }
    latency
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(text: &str) -> Fields {
        parse_latency(text).unwrap().numbers
    }

    fn placed(name: &str) -> PlacedDevice {
        PlacedDevice { name: name.into(), path: String::new(), on: Vec::new() }
    }

    #[test]
    fn a_latency_is_counted_in_the_step_that_ends_above_it_and_stands_within_5_percent_of_itself() {
        assert_eq!(
            (bound_ns(0), bound_ns(8), bound_ns(192)),
            (Some(1000), Some(2000), Some(1000 << 24))
        );
        assert_eq!(bound_ns(BOUNDS), None);
        for step in 0..BOUNDS {
            let end = bound_ns(step).unwrap();
            assert_eq!((step_of(end - 1), step_of(end)), (step, step + 1));
        }
        assert_eq!((step_of(0), step_of(u64::MAX)), (0, BOUNDS));
        for ns in [1_000_u64, 12_345, 2_000_000, 2_099_999, 9_999_999_999] {
            let off = middle_ns(step_of(ns)) as f64 / ns as f64 - 1.0;
            assert!(off.abs() < 0.05, "{ns}: {off}");
        }
    }

    #[test]
    fn what_grew_between_two_readings_is_the_latency_of_each_device() {
        let before = fields(
            "d by requests\nd lost 0\nd read 10:5\nv by dm-stats\nv lost 0\nv reads 1\nv writes 2\nv both 88:3\n",
        );
        let after = fields(
            "d by requests\nd lost 0\nd read 10:15 20:1\nd write 30:2\nv by dm-stats\nv lost 0\nv reads 1\nv writes 202\nv both 88:203\n",
        );
        let found = device_latencies(&before, &after, &[placed("v"), placed("d")]);
        let (v, d) = (&found[0], &found[1]);
        assert_eq!((v.by, v.reads, v.writes), (Some(LatencySource::DmStats), 0, 200));
        let both = histogram::decode(&v.histograms["both"]).unwrap();
        assert_eq!(both.len(), 200);
        assert!((both.value_at_quantile(0.99) as f64 / 1.96e6 - 1.0).abs() < 0.01, "{both:?}");
        assert_eq!((d.reads, d.writes, d.lost, &d.absent), (11, 2, 0, &None));
        assert_eq!(d.histograms.keys().collect::<Vec<_>>(), ["read", "write"]);
    }

    #[test]
    fn lost_events_are_told_and_what_cannot_be_known_says_why() {
        let before = fields("d by bios\nd lost 3\nd read 10:5");
        let after =
            fields("d by bios\nd lost 10\nd read 10:5\np none no-ends\nr by requests\nr read 1:1");
        let devices = ["d", "p", "q"].map(placed);
        let found = device_latencies(&before, &after, &devices);
        assert_eq!((found[0].lost, found[0].reads), (7, 0));
        assert!(found[1].absent.as_ref().unwrap().contains("when they end"));
        assert_eq!(found[2].absent.as_deref(), Some("there is no reading of it"));
        // A name that begins as another one is another one.
        assert!(found.iter().all(|device| device.histograms.is_empty()));
        let anew =
            device_latencies(&fields("d by bios\nd lost 0\nd read 10:9"), &before, &[placed("d")]);
        assert!(anew[0].absent.as_ref().unwrap().contains("anew"), "{anew:?}");
        let [first, second] = [1, 2].map(|since| {
            fields(&format!("d since {since}\nd by dm-stats\nd lost 0\nd both 88:{since}\n"))
        });
        let other = device_latencies(&first, &second, &[placed("d")]);
        assert_eq!((other[0].by, other[0].absent.as_deref()), (None, Some(ANEW)));
    }

    #[test]
    fn what_is_no_reading_is_refused() {
        for text in
            ["d", "d read 1", "d read x:1", "d read 1:x", "d read 999:1", "d lost", "d odd 1"]
        {
            assert!(parse_latency(text).is_err(), "{text}");
        }
    }
}
