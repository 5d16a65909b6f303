//! Latency by layer: a ladder from the load down to the disks, what each device adds to the 99th percentile, and which one adds most.

use std::collections::BTreeMap;

use hdrhistogram::Histogram;
use results::histogram;
use results::model::{DeviceLatency, LatencySource};
use units::show;

/// The name of the uppermost rung: no device or layer has a space in its name.
pub const LOAD: &str = "the load";
/// Fewest I/Os for a 99th percentile: ten of them lie beyond it.
const MIN_IOS: u64 = 1000;
/// Smallest share of a device's I/Os that a device below must receive to count: with fewer it cannot determine the 99th percentile of the device above.
const MIN_SHARE: f64 = 0.01;
/// Share by which a device below may seem slower than the one above it: equal latencies lie at most two histogram steps of 9 % apart.
const HISTOGRAM_TOLERANCE: f64 = 0.2;
/// Two additions count as equal if the smaller is at least about this share of the larger.
const TIE_SHARE: f64 = 0.8;

/// Latency of a set of I/Os.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RungLatency {
    /// Number of I/Os.
    pub ios: u64,
    /// Their median, nanoseconds; `None` where there were none.
    pub p50_ns: Option<f64>,
    /// Their 99th percentile, nanoseconds; `None` where there are fewer than 1,000 I/Os.
    pub p99_ns: Option<f64>,
}

/// The load, or a device.
#[derive(Debug, Clone, PartialEq)]
pub struct Rung {
    /// Its name; `the load` for the load.
    pub name: String,
    /// Names of the rungs directly below it.
    pub on: Vec<String>,
    /// The source of its figures; `None` for the load, and where there are none.
    pub by: Option<LatencySource>,
    /// All of its I/Os.
    pub all: RungLatency,
    /// Its reads, where reads and writes are known separately.
    pub read: Option<RungLatency>,
    /// Its writes, where reads and writes are known separately.
    pub write: Option<RungLatency>,
    /// Its 99th percentile minus that of the slowest device below it, nanoseconds; negative if it replies before that device does.
    pub adds_ns: Option<f64>,
    /// Number of trace events that were lost.
    pub lost: u64,
    /// The reason why it has no figures.
    pub absent: Option<String>,
}

/// The rung that adds most to the 99th percentile.
#[derive(Debug, Clone, PartialEq)]
pub struct MadeBy {
    /// Its name.
    pub name: String,
    /// Nanoseconds that it adds.
    pub adds_ns: f64,
    /// The 99th percentile of the uppermost rung, nanoseconds.
    pub of_ns: f64,
}

/// Rungs from the load to the disks.
#[derive(Debug, Clone, PartialEq)]
pub struct Ladder {
    /// The load, where there is one, then the devices, each before those under it.
    pub rungs: Vec<Rung>,
    /// The rung that made the 99th percentile, or why none is named.
    pub made: Result<MadeBy, String>,
}

impl Ladder {
    /// Returns which rung made the 99th percentile, or why none is named, as a clause without a full stop.
    pub fn says(&self) -> String {
        match &self.made {
            Ok(MadeBy { name, adds_ns, of_ns }) => {
                let above = self.rungs.first().filter(|top| name == LOAD && top.name == LOAD);
                let who = match above.map(|top| top.on.join(" and ")) {
                    Some(top) => format!("what stands over {top} (engine, kernel, file systems)"),
                    None => name.clone(),
                };
                let (adds, of) = (show::nanos(*adds_ns), show::nanos(*of_ns));
                format!("{who} made the p99 latency: it adds {adds} of {of}")
            }
            Err(why) => format!("which layer made the p99 latency is not known: {why}"),
        }
    }
}

/// Builds the ladder over `devices`, with the load on top if there is one.
pub fn ladder(load: Option<&Histogram<u64>>, devices: &[DeviceLatency]) -> Ladder {
    let roots =
        devices.iter().filter(|device| !devices.iter().any(|d| d.on.contains(&device.name)));
    let roots: Vec<String> = roots.map(|device| device.name.clone()).collect();
    let top = load.map(|load| Rung {
        name: LOAD.to_owned(),
        on: roots.clone(),
        by: None,
        all: latency(load),
        read: None,
        write: None,
        adds_ns: None,
        lost: 0,
        absent: None,
    });
    let mut rungs: Vec<Rung> = top.into_iter().chain(devices.iter().map(rung)).collect();
    let adds: Vec<_> = rungs.iter().map(|rung| adds(rung, &rungs)).collect();
    rungs.iter_mut().zip(adds).for_each(|(rung, adds)| rung.adds_ns = adds);
    let first = match (load, &roots[..]) {
        (Some(_), _) => Ok(LOAD.to_owned()),
        (None, [one]) => Ok(one.clone()),
        (None, _) => Err("no single device is above all others".to_owned()),
    };
    let made = first.and_then(|first| find_largest_addition(&first, &rungs));
    Ladder { rungs, made }
}

fn latency(all: &Histogram<u64>) -> RungLatency {
    let ios = all.len();
    let quantile = |share, least| (ios >= least).then(|| all.value_at_quantile(share) as f64);
    RungLatency { ios, p50_ns: quantile(0.5, 1), p99_ns: quantile(0.99, MIN_IOS) }
}

fn rung(device: &DeviceLatency) -> Rung {
    let one = |direction: &str| histogram::decode(device.histograms.get(direction)?).ok();
    let whole = histogram::merge(device.histograms.values().map(String::as_str));
    let whole = whole.ok().flatten().or_else(|| histogram::empty().ok());
    let none = RungLatency { ios: 0, p50_ns: None, p99_ns: None };
    Rung {
        name: device.name.clone(),
        on: device.on.clone(),
        by: device.by,
        all: whole.as_ref().map_or(none, latency),
        read: one("read").as_ref().map(latency),
        write: one("write").as_ref().map(latency),
        adds_ns: None,
        lost: device.lost,
        absent: device.absent.clone(),
    }
}

/// Returns the rungs directly below one that took enough of its I/Os to have made its 99th percentile.
fn below<'a>(rung: &Rung, all: &'a [Rung]) -> Vec<&'a Rung> {
    let touched = |candidate: &&Rung| {
        rung.on.contains(&candidate.name)
            && (candidate.absent.is_some()
                || candidate.all.ios as f64 >= MIN_SHARE * rung.all.ios as f64)
    };
    all.iter().filter(touched).collect()
}

/// Returns the slowest rung directly below one; the error names one whose latency is not known.
fn slowest<'a>(rung: &Rung, all: &'a [Rung]) -> Result<Option<(&'a Rung, f64)>, String> {
    let mut slowest: Option<(&Rung, f64)> = None;
    for candidate in below(rung, all) {
        let p99 = p99_of(candidate)?;
        if slowest.is_none_or(|(_, most)| p99 > most) {
            slowest = Some((candidate, p99));
        }
    }
    Ok(slowest)
}

/// The 99th percentile of a rung; the error says why it is not known.
fn p99_of(rung: &Rung) -> Result<f64, String> {
    let name = &rung.name;
    match (&rung.absent, rung.lost, rung.all.p99_ns) {
        (Some(why), ..) => Err(format!("the latency of {name} is not known: {why}")),
        (None, 1.., _) => {
            Err(format!("{} events of {name} were lost: the kernel's buffer was full", rung.lost))
        }
        (None, 0, None) => {
            Err(format!("{name} had {} I/Os, and a 99th percentile needs {MIN_IOS}", rung.all.ios))
        }
        (None, 0, Some(p99)) => Ok(p99),
    }
}

fn adds(rung: &Rung, all: &[Rung]) -> Option<f64> {
    let p99 = rung.all.p99_ns?;
    let below = slowest(rung, all).ok()?;
    Some(p99 - below.map_or(0.0, |(_, below)| below))
}

/// Follows the slowest devices down, and names the rung that adds most.
fn find_largest_addition(first: &str, all: &[Rung]) -> Result<MadeBy, String> {
    let rung_named = |name: &str| all.iter().find(|rung| rung.name == name);
    let Some(top) = rung_named(first) else { return Err("nothing was measured".to_owned()) };
    let of_ns = p99_of(top)?;
    let mut added: Vec<(String, f64)> = Vec::new();
    let (mut at, mut p99) = (top, of_ns);
    // A stack of devices has no cycles; the bound ends the walk through a wrong one.
    for _ in 0..=all.len() {
        let Some((below, most)) = slowest(at, all)? else {
            added.push((at.name.clone(), p99));
            break;
        };
        if most > p99 * (1.0 + HISTOGRAM_TOLERANCE) {
            let together = format!("{} and what is under it", at.name);
            added.push((together, p99));
            let most_above =
                added.iter().take(added.len() - 1).map(|(_, ns)| *ns).fold(0.0, f64::max);
            if most_above * TIE_SHARE <= p99 {
                return Err(format!(
                    "{} answers before {}, which is slower, so that it is not known which of them made it",
                    at.name, below.name
                ));
            }
            break;
        }
        added.push((at.name.clone(), (p99 - most).max(0.0)));
        (at, p99) = (below, most);
    }
    added.sort_by(|a, b| b.1.total_cmp(&a.1));
    match &added[..] {
        [(one, most), (other, next), ..] if next > &(most * TIE_SHARE) => {
            Err(format!("{one} and {other} add about as much as each other"))
        }
        [(name, adds_ns), ..] => Ok(MadeBy { name: name.clone(), adds_ns: *adds_ns, of_ns }),
        [] => Err("nothing was measured".to_owned()),
    }
}

/// Joins the ladders of all repeats of a load on a stack: the median of each figure, and the rung that more than half of the repeats name.
pub fn join_repeats(ladders: &[Ladder]) -> Option<Ladder> {
    let first = ladders.first()?;
    let rungs = first.rungs.iter().map(|rung| {
        let same_rung = ladders.iter().flat_map(|ladder| &ladder.rungs);
        let same_rung: Vec<&Rung> = same_rung.filter(|other| other.name == rung.name).collect();
        let part = |of: &dyn Fn(&Rung) -> Option<RungLatency>| {
            let all: Vec<_> = same_rung.iter().filter_map(|rung| of(rung)).collect();
            (!all.is_empty()).then(|| RungLatency {
                ios: all.iter().map(|one| one.ios).sum(),
                p50_ns: median(all.iter().filter_map(|one| one.p50_ns)),
                p99_ns: median(all.iter().filter_map(|one| one.p99_ns)),
            })
        };
        Rung {
            all: part(&|rung| Some(rung.all)).unwrap_or(rung.all),
            read: part(&|rung| rung.read),
            write: part(&|rung| rung.write),
            adds_ns: median(same_rung.iter().filter_map(|rung| rung.adds_ns)),
            lost: same_rung.iter().map(|rung| rung.lost).sum(),
            absent: same_rung.iter().find_map(|rung| rung.absent.clone()),
            ..rung.clone()
        }
    });
    Some(Ladder { rungs: rungs.collect(), made: agree_on_largest(ladders) })
}

fn agree_on_largest(ladders: &[Ladder]) -> Result<MadeBy, String> {
    let mut named: BTreeMap<&str, Vec<&MadeBy>> = BTreeMap::new();
    for maker in ladders.iter().filter_map(|ladder| ladder.made.as_ref().ok()) {
        named.entry(&maker.name).or_default().push(maker);
    }
    let most = named.values().max_by_key(|makers| makers.len());
    if let Some(makers) = most.filter(|makers| 2 * makers.len() > ladders.len()) {
        let of = |figure: fn(&MadeBy) -> f64| median(makers.iter().map(|maker| figure(maker)));
        let (adds_ns, of_ns) = (of(|maker| maker.adds_ns), of(|maker| maker.of_ns));
        return Ok(MadeBy {
            name: makers[0].name.clone(),
            adds_ns: adds_ns.unwrap_or_default(),
            of_ns: of_ns.unwrap_or_default(),
        });
    }
    match ladders.iter().find_map(|ladder| ladder.made.as_ref().err()) {
        Some(why) => Err(why.clone()),
        None => {
            let counts = named.iter().map(|(name, makers)| format!("{name} in {}", makers.len()));
            let counts = counts.collect::<Vec<_>>().join(", ");
            Err(format!("repeats do not agree: {counts}"))
        }
    }
}

fn median(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.collect::<stats::Sorted>().median()
}

#[cfg(test)]
mod tests;
