//! The rule of `auto`: chooses a driver from the rates and costs of two bursts of reads each, or without reads.

use results::model::ProbeFigure;

use crate::choice::{Choice, Driver};

/// Two figures are regarded as equal if the lower one is at least this share of the higher.
const NOISE: f64 = 0.8;
/// A driver that reads slower than this share of the fastest is not considered, however cheap it is.
const SLOW: f64 = 0.5;
/// Factor by which plain calls must be faster than a queue to be chosen at depth on a target that does not block.
const MIN_SPEEDUP: f64 = 1.5;

/// A driver, and what its bursts of reads showed.
pub(super) struct Way {
    pub driver: Driver,
    /// The higher rate and the lower cost of its two bursts.
    pub figure: ProbeFigure,
    /// The rate of the slower burst, I/Os per second.
    slower: Option<f64>,
}

impl Way {
    /// The result of its first burst.
    pub fn of(driver: Driver, first: ProbeFigure) -> Self {
        Self { driver, slower: first.iops, figure: first }
    }

    /// Adds the result of the second burst.
    pub fn again(&mut self, second: ProbeFigure) {
        let first = std::mem::take(&mut self.figure);
        self.slower = first.iops.zip(second.iops).map(|(a, b)| a.min(b));
        let cpu_per_io_us = match (first.cpu_per_io_us, second.cpu_per_io_us) {
            (Some(a), Some(b)) => Some(a.min(b)),
            (a, b) => a.or(b),
        };
        let faster = if second.iops > first.iops { second } else { first };
        self.figure = ProbeFigure { cpu_per_io_us, ..faster };
    }
}

/// Applies the rule to what each driver did at `depth`; the first of `ways` is a queue, the second may be plain calls.
pub(super) fn choose(mut ways: Vec<Way>, blocks: bool, depth: u32) -> Choice {
    let note = if blocks { "RWF_NOWAIT is refused" } else { "RWF_NOWAIT is taken" };
    ways[0].figure.note = note.into();
    let queue = &ways[0];
    let calls = ways.iter().find(|way| way.driver == Driver::Sync);
    // Without their figures, plain calls are never chosen.
    let unless_calls = |win: fn(&Way, &Way) -> bool| match calls {
        Some(calls) if win(calls, queue) => Driver::Sync,
        _ => queue.driver,
    };
    let (driver, rule) = match depth {
        1 => (
            unless_calls(not_slower_throughout),
            "plain calls, if a queue is not faster throughout",
        ),
        _ if blocks => (cheapest(&ways), "the fastest of the cheap drivers"),
        _ => (
            unless_calls(far_faster_and_as_cheap),
            "a queue, if plain calls are not far faster at the same cost",
        ),
    };
    let figures: Vec<_> = ways.into_iter().map(|way| way.figure).collect();
    let figure_text: Vec<_> = figures.iter().map(figure_text).collect();
    let (what, figure_text) = (nature(blocks), figure_text.join(", "));
    let reason = format!("auto: the target {what}, depth {depth}: {rule}; {figure_text}");
    Choice { driver, reason, figures }
}

/// The facts about targets and kernel that are known without a read.
pub(super) struct UnprobedFacts {
    /// Tells whether the target cannot be used without blocking, or a target that is driven alike cannot.
    pub blocks: bool,
    /// Tells whether that is known of one of the loads that are driven alike, whatever this target says.
    pub known: bool,
    /// Tells whether the page cache is bypassed.
    pub direct: bool,
    /// I/Os in flight in the deepest load.
    pub depth: u32,
    /// Tells whether the choice is for loads with different depths.
    pub several: bool,
    /// Tells whether a thread for each I/O in flight would not be too many.
    pub threads: bool,
    /// Tells whether the kernel offers io_uring and it may be used.
    pub ring: bool,
    /// Tells whether the kernel offers libaio.
    pub aio: bool,
}

/// Chooses the driver where reads would show nothing, for the reason `why`.
///
/// It is io_uring, unless that is known to cost more: at depth 1, since a plain call is one system call and a queue needs two; and on a target that
/// blocks, since io_uring hands each I/O there to a worker thread of the kernel, for reads and writes alike, with holes or without.
pub(super) fn unprobed(why: &str, facts: &UnprobedFacts) -> Choice {
    let queue = if facts.ring || !facts.aio { Driver::IoUring } else { Driver::Libaio };
    let (driver, rule) = match facts.depth {
        1 => (Driver::Sync, "one I/O at a time needs no queue"),
        _ if facts.blocks && facts.direct && facts.aio => {
            (Driver::Libaio, "libaio submits without a worker thread of the kernel")
        }
        _ if facts.blocks && facts.threads => {
            (Driver::Sync, "plain calls need no worker thread of the kernel")
        }
        _ => (queue, "a queue keeps the depth with one thread"),
    };
    let (name, what, depth) = (driver.name(), nature(facts.blocks), facts.depth);
    let which =
        if facts.known { "a target of the loads that are driven alike" } else { "the target" };
    let whose = if facts.several { ", for loads of depths up to this" } else { "" };
    let reason =
        format!("auto: {name}, not probed, as {why}; {which} {what}, depth {depth}{whose}: {rule}");
    Choice { driver, reason, figures: Vec::new() }
}

/// Describes in words whether the target blocks.
fn nature(blocks: bool) -> &'static str {
    if blocks { "blocks (RWF_NOWAIT is refused)" } else { "does not block" }
}

/// Tells whether some burst of `calls` was as fast as some burst of `queue`, apart from noise.
fn not_slower_throughout(calls: &Way, queue: &Way) -> bool {
    calls.figure.iops.zip(queue.slower).is_some_and(|(calls, queue)| calls >= NOISE * queue)
}

/// Tells whether both bursts of `calls` were far faster than those of `queue`, for no more CPU time.
fn far_faster_and_as_cheap(calls: &Way, queue: &Way) -> bool {
    let cost = |way: &Way| way.figure.cpu_per_io_us;
    let far = calls.slower.zip(queue.figure.iops).is_some_and(|(a, b)| a > MIN_SPEEDUP * b);
    far && cost(calls).zip(cost(queue)).is_some_and(|(a, b)| a <= b)
}

/// Returns the cheapest of the drivers that do not cost much more than the cheapest of all and are about as fast as the fastest of these. Rates alone
/// do not decide: on a busy machine many workers of the kernel only look faster because they take CPU time from other programs.
fn cheapest(ways: &[Way]) -> Driver {
    let iops = |way: &Way| way.figure.iops.unwrap_or(0.0);
    let cost = |way: &Way| way.figure.cpu_per_io_us.unwrap_or(f64::INFINITY);
    let mut rest: Vec<_> = ways.iter().collect();
    let most = rest.iter().map(|way| iops(way)).fold(0.0, f64::max);
    rest.retain(|way| iops(way) >= SLOW * most);
    let least = rest.iter().map(|way| cost(way)).fold(f64::INFINITY, f64::min);
    rest.retain(|way| cost(way) <= least / NOISE);
    let most = rest.iter().map(|way| iops(way)).fold(0.0, f64::max);
    rest.retain(|way| iops(way) >= NOISE * most);
    rest.into_iter()
        .min_by(|a, b| cost(a).total_cmp(&cost(b)))
        .map_or(ways[0].driver, |way| way.driver)
}

/// A figure in words.
fn figure_text(figure: &ProbeFigure) -> String {
    let number = |n: Option<f64>, places: usize| {
        n.map_or_else(|| "no".to_owned(), |n| format!("{n:.places$}"))
    };
    let (iops, cost) = (number(figure.iops, 0), number(figure.cpu_per_io_us, 2));
    format!("{} {iops} IOPS at {cost} us", figure.backend)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn figure(driver: Driver, iops: f64, cpu: f64) -> ProbeFigure {
        let backend = driver.name().into();
        let (iops, cpu_per_io_us) = (Some(iops), Some(cpu));
        ProbeFigure { backend, iops, cpu_per_io_us, ..ProbeFigure::default() }
    }

    /// A driver whose bursts reached these rates, at this CPU time per read.
    fn way(driver: Driver, iops: [f64; 2], cpu: f64) -> Way {
        let mut way = Way::of(driver, figure(driver, iops[0], cpu));
        way.again(figure(driver, iops[1], cpu));
        way
    }

    /// Tells whether plain calls are chosen if they read `speed` times as fast as io_uring, at `cost` of its CPU time.
    fn plain(depth: u32, blocks: bool, speed: f64, cost: f64) -> bool {
        let queue = way(Driver::IoUring, [1000.0; 2], 1.0);
        let calls = way(Driver::Sync, [1000.0 * speed; 2], cost);
        let choice = choose(vec![queue, calls], blocks, depth);
        assert_eq!(choice.figures.len(), 2);
        let figure_text = format!("sync {:.0} IOPS at {cost:.2} us", 1000.0 * speed);
        assert!(choice.reason.ends_with(&figure_text), "{choice:?}");
        choice.driver == Driver::Sync
    }

    #[test]
    fn without_a_probe_io_uring_drives_unless_it_is_known_to_be_in_the_way() {
        let all = UnprobedFacts {
            blocks: false,
            known: false,
            direct: true,
            depth: 32,
            several: false,
            threads: true,
            ring: true,
            aio: true,
        };
        let blocks = || UnprobedFacts { blocks: true, ..all };
        for (facts, driver) in [
            (UnprobedFacts { ..all }, Driver::IoUring),
            (UnprobedFacts { direct: false, ..all }, Driver::IoUring),
            (UnprobedFacts { ring: false, ..all }, Driver::Libaio),
            (UnprobedFacts { depth: 1, ..all }, Driver::Sync),
            (blocks(), Driver::Libaio),
            (UnprobedFacts { aio: false, ..blocks() }, Driver::Sync),
            (UnprobedFacts { direct: false, ..blocks() }, Driver::Sync),
            (UnprobedFacts { direct: false, threads: false, ..blocks() }, Driver::IoUring),
            (UnprobedFacts { depth: 1, ..blocks() }, Driver::Sync),
            (UnprobedFacts { known: true, several: true, ..blocks() }, Driver::Libaio),
        ] {
            let choice = unprobed("the load writes", &facts);
            assert_eq!(choice.driver, driver, "{}", choice.reason);
            let message = format!("auto: {}, not probed, as the load writes; ", driver.name());
            assert!(choice.reason.starts_with(&message) && choice.figures.is_empty(), "{choice:?}");
        }
    }

    #[test]
    fn where_the_target_blocks_plain_calls_win_that_cost_no_more_and_are_about_as_fast() {
        assert!(plain(32, true, 0.81, 0.9) && plain(32, true, 1.2, 0.99));
        assert!(!plain(32, true, 0.79, 0.9) && !plain(32, true, 1.2, 1.01));
        assert!(plain(32, true, 1.3, 1.1), "a slower queue is not worth it");
    }

    #[test]
    fn where_the_target_blocks_a_queue_whose_workers_win_cpu_time_from_others_is_not_taken() {
        assert!(plain(32, true, 0.62, 0.7), "seen on tmpfs, on a machine with a load of 25");
        assert!(!plain(32, true, 0.49, 0.7), "too slow to be a way");
        assert!(!plain(32, true, 1.9, 1.3), "32 threads may win it as well");
    }

    #[test]
    fn where_the_target_blocks_the_older_queue_may_win_as_well() {
        let ways = |libaio: f64, cost: f64| {
            vec![
                way(Driver::IoUring, [10.0; 2], 30.0),
                way(Driver::Sync, [100.0; 2], 2.0),
                way(Driver::Libaio, [libaio; 2], cost),
            ]
        };
        assert_eq!(choose(ways(90.0, 1.8), true, 32).driver, Driver::Libaio);
        assert_eq!(choose(ways(70.0, 1.8), true, 32).driver, Driver::Sync);
        assert_eq!(choose(ways(90.0, 2.1), true, 32).driver, Driver::Sync);
    }

    #[test]
    fn at_depth_more_threads_that_look_faster_and_cost_more_do_not_win() {
        assert!(!plain(32, false, 3.0, 2.03) && !plain(32, false, 1.49, 0.5));
        assert!(plain(32, false, 1.51, 0.9));
    }

    #[test]
    fn at_depth_threads_that_were_far_faster_only_once_do_not_win() {
        let chosen = |slower| {
            let calls = way(Driver::Sync, [slower, 4000.0], 1.0);
            choose(vec![way(Driver::IoUring, [1000.0; 2], 1.0), calls], false, 32).driver
        };
        assert_eq!((chosen(400.0), chosen(1600.0)), (Driver::IoUring, Driver::Sync));
    }

    #[test]
    fn at_depth_1_plain_calls_win_unless_a_queue_was_faster_throughout() {
        let chosen = |queue, calls| {
            let ways = || vec![way(Driver::IoUring, queue, 1.0), way(Driver::Sync, calls, 1.1)];
            let chosen = [false, true].map(|blocks| choose(ways(), blocks, 1).driver);
            assert_eq!(chosen[0], chosen[1]);
            chosen[0]
        };
        assert_eq!(chosen([100.0, 100.0], [100.0, 100.0]), Driver::Sync);
        assert_eq!(chosen([60.0, 20.0], [20.0, 20.0]), Driver::Sync, "luck, once");
        assert_eq!(chosen([60.0, 60.0], [20.0, 50.0]), Driver::Sync);
        assert_eq!(chosen([60.0, 60.0], [40.0, 45.0]), Driver::IoUring);
    }

    #[test]
    fn of_two_bursts_each_figure_is_the_better_one_and_none_are_no_reason_for_calls() {
        let mut best = Way::of(Driver::Sync, figure(Driver::Sync, 100.0, 2.0));
        best.again(figure(Driver::Sync, 90.0, 1.0));
        assert_eq!((best.figure.iops, best.figure.cpu_per_io_us), (Some(100.0), Some(1.0)));
        assert_eq!(best.slower, Some(90.0));
        let nothing = || {
            let none = |driver| Way::of(driver, ProbeFigure::default());
            vec![none(Driver::IoUring), none(Driver::Sync)]
        };
        for (blocks, depth) in [(true, 1), (true, 32), (false, 1), (false, 32)] {
            assert_eq!(choose(nothing(), blocks, depth).driver, Driver::IoUring);
        }
    }
}
