//! fio checked against its known proportions: a comparison on a machine where fio itself behaves oddly must say so.
//!
//! The expected proportions were measured with fio 3.33 on a quiet machine of two CPUs (kernel 6.18). Other machines
//! may differ for good reasons; a disagreement is shown with the measured ratio and never hidden.

use crate::case::{Access, Mix};
use crate::contest::{ContestantKind, Sample};
use crate::fio::{Candidate, Engine};
use crate::outcome::{CaseOutcome, Proportion};

/// A factor that two machines may differ by and still agree.
const AGREES: f64 = 1.6;

/// One figure of fio: target, access, depth, engine, and batch.
#[derive(Clone, Copy)]
struct Point(&'static str, Access, u32, Engine, u32);

type Get = fn(&Sample) -> f64;

const IOPS: (&str, Get) = ("IOPS", |sample| sample.reported.iops);
const CPU: (&str, Get) = ("CPU per I/O", |sample| sample.cpu_per_io_us);

/// A known proportion, and what it depends on besides fio.
struct Known {
    top: Point,
    bottom: Point,
    figure: (&'static str, Get),
    ratio: f64,
    hangs_on: &'static str,
}

const MAP: &str = "how much of fio's map of blocks the caches hold";
const WORKERS: &str =
    "how fast an idle CPU wakes: the target blocks, so io_uring hands each I/O to a kernel thread";
const CALLS: &str = "what a system call costs compared with a copy of 4 KiB";
const PLACES: &str = "the CPUs on which the scheduler keeps fio and the loop device's thread";
const DISK: &str = "the latency of the disk below, and how many I/Os it does in parallel";
const INTERRUPTS: &str = "how many completions come with one interrupt of the disk";

#[rustfmt::skip]
const KNOWN: [Known; 10] = {
    use Access::{Permutation, Uniform};
    use Engine::{IoUring, IoUringFixed, Libaio, Null, Psync};
    const fn known(top: Point, bottom: Point, figure: (&'static str, Get), ratio: f64, hangs_on: &'static str) -> Known {
        Known { top, bottom, figure, ratio, hangs_on }
    }
    [
        known(Point("null", Permutation, 32, Null, 1), Point("null", Permutation, 1, Null, 1), CPU, 1.38, MAP),
        known(Point("null", Uniform, 1, Null, 1), Point("null", Permutation, 1, Null, 1), CPU, 0.83, MAP),
        known(Point("zram", Uniform, 1, Psync, 1), Point("zram", Uniform, 1, IoUring, 1), IOPS, 31.5, WORKERS),
        known(Point("tmpfs", Uniform, 1, Psync, 1), Point("tmpfs", Uniform, 1, IoUring, 1), IOPS, 44.6, WORKERS),
        known(Point("zram", Uniform, 32, Libaio, 1), Point("zram", Uniform, 32, Psync, 1), IOPS, 0.58, CALLS),
        known(Point("loop", Uniform, 32, IoUringFixed, 1), Point("loop", Uniform, 32, IoUring, 1), IOPS, 1.19, PLACES),
        known(Point("loop", Uniform, 128, IoUringFixed, 16), Point("loop", Uniform, 128, IoUring, 1), IOPS, 1.87, PLACES),
        known(Point("loop", Uniform, 128, Libaio, 16), Point("loop", Uniform, 128, Libaio, 1), CPU, 0.52, PLACES),
        known(Point("ext4", Uniform, 32, IoUring, 1), Point("ext4", Uniform, 1, IoUring, 1), IOPS, 4.7, DISK),
        known(Point("ext4", Uniform, 128, IoUringFixed, 16), Point("ext4", Uniform, 128, IoUring, 1), CPU, 0.57, INTERRUPTS),
    ]
};

/// Every known proportion whose two figures were measured.
pub fn proportions(cases: &[CaseOutcome]) -> Vec<Proportion> {
    let known = KNOWN.iter();
    let found = known.filter_map(|&Known { top, bottom, figure, ratio, hangs_on }| {
        let (what, get) = figure;
        let measured = get(find(cases, top)?) / get(find(cases, bottom)?);
        let about = format!("{what}: {} / {}", top.name(), bottom.name());
        let agrees = (measured / ratio).max(ratio / measured) <= AGREES;
        let hangs_on = hangs_on.to_owned();
        Some(Proportion { about, expected: ratio, measured, agrees, hangs_on })
    });
    found.collect()
}

impl Point {
    fn name(self) -> String {
        let Self(target, access, depth, engine, batch) = self;
        let how = Candidate { engine, batch, whole: false }.name();
        let map = if access == Access::Permutation { " with map" } else { "" };
        format!("{target} depth {depth} {how}{map}")
    }
}

fn find(
    cases: &[CaseOutcome],
    Point(target, access, depth, engine, batch): Point,
) -> Option<&Sample> {
    let case = cases.iter().map(|outcome| (&outcome.case, outcome)).find(|(case, _)| {
        case.target == target
            && case.access == access
            && case.depth == depth
            && case.mix == Mix::Reads
    });
    let who = ContestantKind::Fio(Candidate { engine, batch, whole: false });
    case?.1.tried.iter().find(|tried| tried.who == who)?.sample.as_ref()
}
