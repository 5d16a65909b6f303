//! Modelled disks in a guest, compared with their models: random reads at several depths.

use disk::bench::{Load, run};
use disk::trace::Trace;
use disk::{Like, Op, Shape};
use results::ResultSet;
use results::model::CellState;
use serde::Serialize;
use stats::figure;

use crate::goal::Summary;

/// Depths that are compared.
pub const DEPTHS: [u32; 4] = [1, 2, 8, 32];
/// Largest distance of a guest's median from the model that is accepted, percent.
pub const MOST_PERCENT: f64 = 5.0;
/// The disks' size: large enough that reading ahead is of no use.
const SIZE: u64 = 256 << 30;
const BLOCK: u64 = 4096;
/// Time from a reply to the next request where no guest was measured: about what a guest takes, nanoseconds.
const USUAL_THINK_NS: u64 = 200_000;
/// Shortest gap between two requests that separates loads, nanoseconds.
const PAUSE_NS: u64 = 100_000_000;
/// Number of consecutive requests without overlap by which a load of depth 1 is recognised.
const LONE: usize = 300;
/// Requests of the model, at each depth.
const REQUESTS: u64 = 20_000;

/// A disk at a depth, in the guest and in model time.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// The disk.
    pub like: String,
    /// Requests in flight.
    pub depth: u32,
    /// Time from the end that the model computed to the guest's next request, nanoseconds: the reply's lateness, interrupt, wake-up and submission,
    /// as the trace of depth 1 shows them.
    pub think_ns: u64,
    /// I/Os a second of the model with that time between two requests.
    pub model_iops: f64,
    /// I/Os a second that the guest measured, over repeats.
    pub guest_iops: Summary,
    /// Distance of the guest's median from the model, percent of the model; `None` where nothing was measured.
    pub off_percent: Option<f64>,
}

impl Compared {
    /// Tells whether the guest is as close to the model as required.
    pub fn met(&self) -> bool {
        self.off_percent.is_some_and(|off| off.abs() <= MOST_PERCENT)
    }
}

/// Lateness of the replies that a disk gave.
#[derive(Debug, Clone, Serialize)]
pub struct Late {
    /// The disk.
    pub like: String,
    /// The statistics that its server gave at its end.
    pub served: disk::front::ServingStats,
}

/// Returns the I/Os a second of the model; each submitter asks again `think` nanoseconds after its reply, by default about what a guest takes.
pub fn model_iops(like: &Like, depth: u32, think: Option<u64>) -> disk::Result<f64> {
    let load = Load::of(Op::Read, Shape::Random(1.0), BLOCK, depth);
    let think = think.unwrap_or(USUAL_THINK_NS);
    let load = Load { think, most: REQUESTS, duration: u64::MAX / 2, ..load };
    Ok(run(&like.profile()?, SIZE, &load).iops)
}

/// The guest's own time between two requests of a load at depth 1: the mean from the end that the model computed to the next
/// arrival, nanoseconds. `None` where no such load is in the trace.
fn think_ns(trace: &Trace) -> Option<u64> {
    let mut requests: Vec<_> = trace.records.iter().map(|r| (r.arrival_ns, r.latency_ns)).collect();
    requests.sort_unstable();
    let (mut gaps, mut lone, mut end) = (Vec::new(), Vec::new(), None::<u64>);
    let mut keep = |lone: &mut Vec<u64>| {
        if lone.len() >= LONE {
            gaps.append(lone);
        }
        lone.clear();
    };
    for (arrival, latency) in requests {
        let gap = end.and_then(|end| arrival.checked_sub(end));
        match gap.filter(|gap| *gap < PAUSE_NS) {
            Some(gap) => lone.push(gap),
            None => keep(&mut lone),
        }
        end = end.max(Some(arrival + latency));
    }
    keep(&mut lone);
    let count = gaps.len() as u64;
    gaps.iter().sum::<u64>().checked_div(count)
}

/// The trace of a disk in the result, if there is one.
fn trace(result: &ResultSet, n: usize) -> Option<Trace> {
    Trace::open(&result.path.join("lab").join(format!("disk{n}.trace"))).ok()
}

/// The experiment: a variant for each disk, the depths swept.
pub fn experiment(likes: &[Like], repeat: u32, seconds: u64) -> String {
    let mut text = format!(
        "name = \"modelled-disks\"\n\
         about = \"Random reads of modelled disks in a guest, to compare with the models\"\n\
         repeat = {repeat}\n\
         [[stage]]\ndo = \"load\"\nname = \"read\"\nmeasure = true\nops = {{ randread = 100 }}\n\
         ramp = \"2s\"\nduration = \"{seconds}s\"\nsweep = {{ depth = {DEPTHS:?} }}\n"
    );
    for (n, like) in likes.iter().enumerate() {
        let with = like.with.iter().map(|(key, value)| format!(", {key} = {}", written(value)));
        text.push_str(&format!(
            "[devices.disk{n}]\nsize = \"{SIZE}\"\nlike = {{ base = \"{}\"{} }}\n\
             [[variant]]\nname = \"{}\"\n[[variant.stack]]\nlayer = \"linear\"\non = \"disk{n}\"\n",
            like.base,
            with.collect::<String>(),
            variant(n),
        ));
    }
    text
}

fn variant(n: usize) -> String {
    format!("v{n}")
}

/// Returns a value as TOML writes it. Values from the command line are all text, which every parameter can read.
fn written(value: &disk::Scalar) -> String {
    match value {
        disk::Scalar::Text(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

/// Compares the result of [`experiment()`] with the models.
///
/// # Errors
/// If there is no model of a disk.
pub fn compared(result: &ResultSet, likes: &[Like]) -> disk::Result<Vec<Compared>> {
    let mut rows = Vec::new();
    for (n, like) in likes.iter().enumerate() {
        let think = trace(result, n).as_ref().and_then(think_ns);
        for depth in DEPTHS {
            let found = figure(&guest_iops(result, n, depth));
            let model_iops = model_iops(like, depth, think)?;
            let off_percent = found.median.map(|median| 100.0 * (median / model_iops - 1.0));
            let guest_iops = Summary::from(found);
            rows.push(Compared {
                like: like.to_string(),
                depth,
                think_ns: think.unwrap_or(USUAL_THINK_NS),
                model_iops,
                guest_iops,
                off_percent,
            });
        }
    }
    Ok(rows)
}

/// Returns the figure that each repeat measured.
fn guest_iops(result: &ResultSet, n: usize, depth: u32) -> Vec<f64> {
    let (variant, stage) = (variant(n), format!("read depth={depth}"));
    let cells = result.cells_of(&variant).filter_map(|cell| cell.record.as_ref());
    let stages = cells.filter(|cell| cell.state == CellState::Done).flat_map(|cell| &cell.stages);
    let loads = stages.filter(|s| s.name == stage).filter_map(|stage| stage.load.as_ref());
    loads.filter_map(|load| load.operations.get("randread")?.iops).collect()
}

/// Returns how late the replies of each disk were, in the last guest.
pub fn late(result: &ResultSet, likes: &[Like]) -> Vec<Late> {
    let disks = result.manifest.lab.as_ref().and_then(|lab| lab["disks"].as_array());
    let disks = disks.map_or(&[][..], Vec::as_slice);
    let of = |n: usize| {
        let disk = disks.iter().find(|disk| disk["role"] == format!("disk{n}"))?;
        serde_json::from_value(disk["model"]["served"].clone()).ok()
    };
    let all = likes.iter().enumerate();
    all.filter_map(|(n, like)| Some(Late { like: like.to_string(), served: of(n)? })).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_model_of_the_hard_disk_gives_the_figures_that_guests_are_held_against() {
        let hdd = "hdd".parse().unwrap();
        for (depth, iops) in DEPTHS.into_iter().zip([83.4, 85.1, 141.0, 194.0]) {
            let found = model_iops(&hdd, depth, None).unwrap();
            assert!((found / iops - 1.0).abs() < 0.05, "depth {depth}: {found} for {iops}");
        }
        assert!(model_iops(&"floppy".parse().unwrap(), 1, None).is_err());
    }

    #[test]
    fn what_the_guest_takes_between_requests_slows_a_single_one_and_hardly_many() {
        let hdd = "hdd".parse().unwrap();
        let ratio = |depth| {
            let iops = |think| model_iops(&hdd, depth, Some(think)).unwrap();
            iops(1_600_000) / iops(0)
        };
        assert!((0.84..0.92).contains(&ratio(1)), "{}", ratio(1));
        assert!((0.97..1.03).contains(&ratio(32)), "{}", ratio(32));
    }

    #[test]
    fn the_guests_own_time_is_read_from_where_one_request_follows_another() {
        let header = disk::trace::Header {
            role: "disk0".into(),
            size: SIZE,
            like: "hdd".parse().unwrap(),
            faults: Vec::new(),
            attributes: disk::Attributes::default(),
        };
        let record = |arrival_ns, latency_ns| disk::trace::Record {
            arrival_ns,
            op: Op::Read,
            fua: false,
            failed: false,
            offset: 0,
            length: 4096,
            latency_ns,
            late_ns: 0,
        };
        // 400 one after another, of 12 ms, 1.5 ms apart; then, after a pause, 400 that overlap, so that two are always in flight.
        let lone = (0..400).map(|n| record(n * 13_500_000, 12_000_000));
        let pairs = (0..400).map(|n| record(10_000_000_000 + n * 6_000_000, 11_000_000));
        let mut trace = Trace { header, records: lone.chain(pairs).collect(), dropped: Some(0) };
        assert_eq!(think_ns(&trace), Some(1_500_000));
        trace.records.truncate(100);
        assert_eq!(think_ns(&trace), None, "too few to tell");
    }

    #[test]
    fn a_guest_that_is_more_than_a_twentieth_off_misses_the_goal() {
        let row = |off: Option<f64>| Compared {
            like: "hdd".into(),
            depth: 1,
            think_ns: USUAL_THINK_NS,
            model_iops: 83.4,
            guest_iops: Summary::default(),
            off_percent: off,
        };
        assert!(row(Some(-4.9)).met() && row(Some(5.0)).met());
        assert!(!row(Some(-5.1)).met() && !row(None).met());
    }
}
