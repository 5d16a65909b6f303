//! Two equal variants, again and again, in guests of their own: what a machine can resolve, and whether the method finds differences where
//! there are none (Kalibera and Jones 2013: the levels at which a measurement varies, and how many repeats each needs).

use std::fmt::Write as _;

use results::ResultSet;
use results::model::{CellRecord, LoadSummary};
use serde::Serialize;
use stats::{Verdict, compare, deviation_interval, groups, holm, judge, mean_interval};
use units::{Better, Test};

/// The share that does not matter.
pub const THRESHOLD: f64 = 0.03;
/// Highest accepted share of replayed experiments that find a difference: each such claim is wrong.
const MOST_REPLAYED: f64 = 0.05;
/// Guests differ where this is less likely by chance.
const GUESTS_DIFFER: f64 = 0.01;
const OPERATION: &str = "randwrite";
const VARIANTS: [&str; 2] = ["one", "other"];

/// A metric that is looked at: its id, how repeats are compared, and its value in a load.
type Metric = (&'static str, Test, fn(&LoadSummary) -> Option<f64>);

const METRICS: [Metric; 4] = [
    ("iops", Test::Paired, |load| {
        let seconds = load.duration_ns as f64 / 1e9;
        Some(load.operations.get(OPERATION)?.ios as f64 / seconds)
    }),
    ("latency_mean_ns", Test::Paired, |load| {
        Some(load.operations.get(OPERATION)?.latency?.mean_ns)
    }),
    ("latency_p99_ns", Test::Ranked, |load| {
        Some(load.operations.get(OPERATION)?.latency?.p99_ns as f64)
    }),
    ("cpu_per_io_us", Test::Paired, |load| {
        let (cpu, ios) = (load.cpu?, load.operations.get(OPERATION)?.ios);
        (ios > 0).then(|| (cpu.user_s + cpu.system_s) * 1e6 / ios as f64)
    }),
];

/// The number and size of the runs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
pub struct Extent {
    /// Fresh guests.
    pub guests: usize,
    /// Repeats of both variants in each.
    pub repeats: u32,
    /// Data that each cell writes, MiB.
    pub written_mib: u32,
}

/// The full extent: 20 pairs, which have 16 degrees of freedom within four guests.
pub const FULL: Extent = Extent { guests: 4, repeats: 5, written_mib: 128 };
/// A short form of it, whose figures are rough.
pub const QUICK: Extent = Extent { guests: 2, repeats: 3, written_mib: 32 };

/// The experiment that runs in each guest: a VDO volume, and the same again.
pub fn experiment(extent: &Extent) -> String {
    let Extent { repeats, written_mib, .. } = extent;
    let mut text = format!(
        "name = \"equal-variants\"\nabout = \"The same VDO volume twice: what is found between the two is chance\"\nrepeat = {repeats}\n\
         [devices.data]\nsize = \"7G\"\n[[stack]]\nlayer = \"vdo\"\non = \"data\"\nlogical_size = \"1G\"\n"
    );
    for variant in VARIANTS {
        let _ = write!(text, "[[variant]]\nname = \"{variant}\"\n");
    }
    let _ = write!(
        text,
        "[[stage]]\ndo = \"allocate\"\n[[stage]]\ndo = \"load\"\nname = \"random-write\"\nmeasure = true\nops = {{ {OPERATION} = 100 }}\n\
         pattern = \"permutation\"\nblock_size = \"4k\"\ndepth = 32\nsize = \"{written_mib}M\"\npasses = 1\n\
         content = {{ dedupe = \"50%\", compress = \"2.5x\" }}\n\
         [[question]]\nmetric = \"iops\"\noperation = \"{OPERATION}\"\n"
    );
    text
}

/// The difference that the machine can resolve in one metric.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Resolved {
    /// Id of the metric.
    pub metric: &'static str,
    /// Pairs of equal cells.
    pub pairs: usize,
    /// Standard deviation of their log ratios within guests: the spread of a repeat's ratio.
    pub deviation: f64,
    /// Its 95 % interval.
    pub deviation_low: f64,
    /// See `deviation_low`.
    pub deviation_high: f64,
    /// The smallest number of repeats whose interval is not wider than the threshold; `None` above 1000.
    pub repeats_needed: Option<usize>,
    /// Half of the 95 % interval's width over all pairs, as a share.
    pub half_width: f64,
    /// Tells whether that is below the threshold: else this machine cannot resolve it.
    pub resolves: bool,
    /// Ratio of the second cell of a repeat to its first, with its 95 % interval.
    pub order: [f64; 3],
    /// Correlation of each cell with the one before it.
    pub neighbours: f64,
    /// Probability that chance alone sets the guests' means so far apart.
    pub guests_p: f64,
    /// The adjusted p-value of a difference between the two equal variants, over all metrics.
    pub difference_p: f64,
    /// Share of the replayed experiments at a ratio of 1 that find a difference that matters.
    pub replayed_equal: f64,
    /// The same at 1.03, the border.
    pub replayed_border: f64,
}

impl Resolved {
    /// Returns the faults that were found.
    pub fn faults(&self) -> Vec<&'static str> {
        let wrong = [
            (self.difference_p < 0.05, "the two equal variants differ"),
            (
                self.replayed_equal > MOST_REPLAYED || self.replayed_border > MOST_REPLAYED,
                "replayed experiments find differences too often",
            ),
            (self.guests_p < GUESTS_DIFFER, "guests differ by more than their repeats"),
        ];
        wrong.into_iter().filter(|(wrong, _)| *wrong).map(|(_, text)| text).collect()
    }
}

/// The log values of one repeat: of both variants, in the order in which they ran.
#[derive(Debug, Clone, Copy)]
struct Pair {
    one: f64,
    other: f64,
    /// Tells whether `one` ran first.
    in_order: bool,
}

impl Pair {
    fn difference(&self) -> f64 {
        self.other - self.one
    }

    fn second_less_first(&self) -> f64 {
        if self.in_order { self.difference() } else { -self.difference() }
    }
}

/// Returns the difference that can be resolved in each metric, from the results of the guests; metrics with fewer than two pairs in a guest are left
/// out.
pub fn resolved(guests: &[ResultSet]) -> Vec<Resolved> {
    let mut all: Vec<Resolved> =
        METRICS.iter().filter_map(|metric| of_metric(metric, guests)).collect();
    let adjusted = holm(&all.iter().map(|one| one.difference_p).collect::<Vec<_>>());
    for (one, p) in all.iter_mut().zip(adjusted) {
        one.difference_p = p;
    }
    all
}

fn of_metric((name, test, value): &Metric, guests: &[ResultSet]) -> Option<Resolved> {
    let pairs: Vec<Vec<Pair>> = guests.iter().map(|guest| pairs(guest, *value)).collect();
    let differences: Vec<Vec<f64>> = pairs
        .iter()
        .map(|guest_pairs| guest_pairs.iter().map(Pair::difference).collect())
        .collect();
    let all: Vec<f64> = differences.concat();
    let between = groups(&differences)?;
    let (low, high) = deviation_interval(between.freedom);
    let half = mean_interval(&all).map(|interval| (interval.high - interval.low) / 2.0)?;
    let order: Vec<f64> = pairs.concat().iter().map(Pair::second_less_first).collect();
    let turned = mean_interval(&order)?;
    let values: Vec<(f64, f64)> =
        pairs.concat().iter().map(|pair| (pair.one.exp(), pair.other.exp())).collect();
    Some(Resolved {
        metric: name,
        pairs: all.len(),
        deviation: between.deviation,
        deviation_low: between.deviation * low,
        deviation_high: between.deviation * high,
        repeats_needed: stats::repeats_for(between.deviation, THRESHOLD.ln_1p()),
        half_width: half.exp_m1(),
        resolves: half <= THRESHOLD.ln_1p(),
        order: [
            (order.iter().sum::<f64>() / order.len() as f64).exp(),
            turned.low.exp(),
            turned.high.exp(),
        ],
        neighbours: neighbours(&pairs),
        guests_p: between.p,
        difference_p: compare(&values, *test, None).p?,
        replayed_equal: replayed(&differences, 0.0),
        replayed_border: replayed(&differences, THRESHOLD.ln_1p()),
    })
}

/// The pairs of one guest.
fn pairs(guest: &ResultSet, value: fn(&LoadSummary) -> Option<f64>) -> Vec<Pair> {
    let of = |record: &CellRecord| {
        let load = record.stages.iter().filter(|stage| stage.measured);
        let value = load.filter_map(|stage| value(stage.load.as_ref()?)).next()?;
        (value > 0.0).then(|| value.ln())
    };
    let cell = |variant: &str, repeat: u32| {
        let cells = guest.cells.iter().enumerate();
        let mut done = cells.filter(|(_, c)| c.done() && c.entry.variant == variant);
        let (place, cell) = done.find(|(_, cell)| cell.entry.repeat == repeat)?;
        Some((place, of(cell.record.as_ref()?)?))
    };
    let pair = |repeat: u32| {
        let ((first, one), (second, other)) =
            (cell(VARIANTS[0], repeat)?, cell(VARIANTS[1], repeat)?);
        Some(Pair { one, other, in_order: first < second })
    };
    (1..=guest.manifest.plan.repeat).filter_map(pair).collect()
}

/// The correlation of each cell with the one that ran before it in the same guest, about the guest's mean.
fn neighbours(guests: &[Vec<Pair>]) -> f64 {
    let (mut products, mut squares) = (0.0, 0.0);
    for pairs in guests {
        let cells: Vec<f64> = (pairs.iter())
            .flat_map(|p| if p.in_order { [p.one, p.other] } else { [p.other, p.one] })
            .collect();
        let mean = cells.iter().sum::<f64>() / cells.len().max(1) as f64;
        products += cells.windows(2).map(|two| (two[0] - mean) * (two[1] - mean)).sum::<f64>();
        squares += cells.iter().map(|cell| (cell - mean).powi(2)).sum::<f64>();
    }
    if squares > 0.0 { products / squares } else { 0.0 }
}

/// Replays every guest's repeats with each combination of flipped signs, which are equally likely where the variants are equal, and with `shift`
/// added; returns the share that finds a difference that matters.
fn replayed(guests: &[Vec<f64>], shift: f64) -> f64 {
    let (mut wrong, mut all) = (0_u32, 0_u32);
    for differences in guests {
        for signs in 0..1_u32 << differences.len().min(16) {
            let turned = differences.iter().enumerate().map(|(place, d)| {
                let sign = if signs >> place & 1 == 1 { -1.0 } else { 1.0 };
                (1.0, (sign * d + shift).exp())
            });
            let turned: Vec<_> = turned.collect();
            let mut comparison = compare(&turned, Test::Paired, Some(THRESHOLD));
            judge(&mut [(&mut comparison, Better::Higher)]);
            let claims = matches!(
                comparison.verdict,
                Some(Verdict::Better | Verdict::Worse | Verdict::Differs)
            );
            wrong += u32::from(claims);
            all += 1;
        }
    }
    f64::from(wrong) / f64::from(all.max(1))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A guest whose two variants are the made-up ones, both as fast: what differs is the made-up noise.
    fn guest(seed: u32, spread: f64) -> ResultSet {
        let mut set = fixture::with(5, 20_000.0);
        for (place, cell) in set.cells.iter_mut().enumerate() {
            let name = if cell.entry.variant == "vdo" { "other" } else { "one" };
            cell.entry.variant = name.into();
            let mut noise = units::Seed(u64::from(seed) * 100 + place as u64).generator();
            let noise = (spread * (noise.unit() + noise.unit() - 1.0)).exp();
            let loads = cell.record.iter_mut().flat_map(|record| &mut record.stages);
            for load in loads.filter(|stage| stage.measured).filter_map(|s| s.load.as_mut()) {
                load.duration_ns = (load.duration_ns as f64 * noise) as u64;
            }
        }
        set
    }

    #[test]
    fn equal_variants_pass_and_what_can_be_resolved_is_told() {
        let guests: Vec<_> = (1..5).map(|seed| guest(seed, 0.03)).collect();
        let all = resolved(&guests);
        let iops = &all[0];
        assert_eq!((iops.metric, iops.pairs), ("iops", 20));
        // Two uniform numbers have a spread of 1/√6, and a pair has two of them; 4 % of the fixture's own on top.
        assert!(iops.deviation > 0.01 && iops.deviation < 0.035, "{iops:?}");
        assert!(iops.resolves && iops.repeats_needed.unwrap() < 12, "{iops:?}");
        assert!(iops.deviation_low < iops.deviation && iops.deviation < iops.deviation_high);
        assert!(iops.order[1] < iops.order[0] && iops.order[0] < iops.order[2], "{iops:?}");
        assert_eq!(iops.faults(), [""; 0], "{iops:?}");
    }

    #[test]
    fn a_machine_that_is_too_noisy_and_variants_that_differ_are_told() {
        let noisy: Vec<_> = (1..5).map(|seed| guest(seed, 0.8)).collect();
        assert!(!resolved(&noisy)[0].resolves);
        let mut apart: Vec<_> = (1..5).map(|seed| guest(seed, 0.01)).collect();
        for cell in apart.iter_mut().flat_map(|set| &mut set.cells) {
            if cell.entry.variant == "other" {
                let stages = cell.record.iter_mut().flat_map(|record| &mut record.stages);
                for load in stages.filter(|s| s.measured).filter_map(|s| s.load.as_mut()) {
                    load.duration_ns = load.duration_ns * 11 / 10;
                }
            }
        }
        assert_eq!(resolved(&apart)[0].faults().first(), Some(&"the two equal variants differ"));
    }

    #[test]
    fn the_experiment_has_the_same_stack_twice() {
        let text = experiment(&QUICK);
        assert!(text.contains("repeat = 3") && text.contains("size = \"32M\""));
        assert_eq!(text.matches("[[stack]]").count(), 1);
        assert_eq!(text.matches("[[variant]]").count(), 2);
    }
}
