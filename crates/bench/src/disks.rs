//! Modelled disks in a guest beside their models: random reads at several depths.

use disk::bench::{Load, run};
use disk::{Like, Op, Shape};
use results::ResultSet;
use results::model::CellState;
use serde::Serialize;
use stats::figure;

use crate::goal::Summary;

/// Depths that are compared.
pub const DEPTHS: [u32; 4] = [1, 2, 8, 32];
/// How far a guest's median may be from the model, percent.
pub const MOST_PERCENT: f64 = 5.0;
/// The disks' size: large enough that what was read ahead is of no use.
const SIZE: u64 = 256 << 30;
const BLOCK: u64 = 4096;
/// From a reply to the next request: about what a guest takes for it.
const THINK_NS: u64 = 200_000;
/// Requests of the model, at each depth.
const REQUESTS: u64 = 20_000;

/// A disk at a depth, in the guest and in model time.
#[derive(Debug, Clone, Serialize)]
pub struct Compared {
    /// The disk.
    pub like: String,
    /// Requests in flight.
    pub depth: u32,
    /// I/Os a second of the model.
    pub model_iops: f64,
    /// What the guest measured, over repeats.
    pub guest_iops: Summary,
    /// How far the guest's median is from the model, percent of it; `None` where nothing was measured.
    pub off_percent: Option<f64>,
}

impl Compared {
    /// Whether the guest is as near to the model as it is to be.
    pub fn met(&self) -> bool {
        self.off_percent.is_some_and(|off| off.abs() <= MOST_PERCENT)
    }
}

/// How late replies to a disk were.
#[derive(Debug, Clone, Serialize)]
pub struct Late {
    /// The disk.
    pub like: String,
    /// What its server said at its end.
    pub served: disk::front::Served,
}

/// I/Os a second of the model.
pub fn model_iops(like: &Like, depth: u32) -> disk::Result<f64> {
    let load = Load::of(Op::Read, Shape::Random(1.0), BLOCK, depth);
    let load = Load { think: THINK_NS, most: REQUESTS, duration: u64::MAX / 2, ..load };
    Ok(run(&like.profile()?, SIZE, &load).iops)
}

/// The experiment: a variant for each disk, the depths swept.
pub fn experiment(likes: &[Like], repeat: u32, seconds: u64) -> String {
    let mut text = format!(
        "name = \"modelled-disks\"\n\
         about = \"Random reads of modelled disks in a guest, to be held against the models\"\n\
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

/// A value as TOML writes it. On the command line all are text, which every parameter but a size reads.
fn written(value: &disk::Scalar) -> String {
    match value {
        disk::Scalar::Text(text) => format!("{text:?}"),
        other => other.to_string(),
    }
}

/// Compares the result of [`experiment`] with the models.
///
/// # Errors
/// A disk that there is no model of.
pub fn compared(result: &ResultSet, likes: &[Like]) -> disk::Result<Vec<Compared>> {
    let mut rows = Vec::new();
    for (n, like) in likes.iter().enumerate() {
        for depth in DEPTHS {
            let found = figure(&guest_iops(result, n, depth));
            let model_iops = model_iops(like, depth)?;
            let off_percent = found.median.map(|median| 100.0 * (median / model_iops - 1.0));
            let guest_iops = Summary::from(found);
            rows.push(Compared {
                like: like.to_string(),
                depth,
                model_iops,
                guest_iops,
                off_percent,
            });
        }
    }
    Ok(rows)
}

/// What each repeat measured.
fn guest_iops(result: &ResultSet, n: usize, depth: u32) -> Vec<f64> {
    let (variant, stage) = (variant(n), format!("read depth={depth}"));
    let cells = result.cells_of(&variant).filter_map(|cell| cell.record.as_ref());
    let stages = cells.filter(|cell| cell.state == CellState::Done).flat_map(|cell| &cell.stages);
    let loads = stages.filter(|s| s.name == stage).filter_map(|stage| stage.load.as_ref());
    loads.filter_map(|load| load.operations.get("randread")?.iops).collect()
}

/// How late the replies of each disk were, in the last guest.
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
            let found = model_iops(&hdd, depth).unwrap();
            assert!((found / iops - 1.0).abs() < 0.05, "depth {depth}: {found} for {iops}");
        }
        assert!(model_iops(&"floppy".parse().unwrap(), 1).is_err());
    }

    #[test]
    fn a_guest_that_is_more_than_a_twentieth_off_misses_the_goal() {
        let row = |off: Option<f64>| Compared {
            like: "hdd".into(),
            depth: 1,
            model_iops: 83.4,
            guest_iops: Summary::default(),
            off_percent: off,
        };
        assert!(row(Some(-4.9)).met() && row(Some(5.0)).met());
        assert!(!row(Some(-5.1)).met() && !row(None).met());
    }
}
