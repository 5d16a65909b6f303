//! Figures of small traces whose figures are known.

use super::*;

const SECOND: u64 = 1_000_000_000;

fn figures(accesses: &[Access]) -> Figures {
    let times = accesses.iter().map(|access| access.at_ns);
    let times = (times.clone().min().unwrap(), times.max().unwrap());
    let end = accesses.iter().map(Access::end).max().unwrap();
    let mut all = Figures::new(true, times, Extent::new(times, &(0..end))).unwrap();
    accesses.iter().for_each(|access| all.take(access));
    all
}

/// Ten seconds: 1 MiB is read in order, then half of it again, with a write far away, a discard and a flush.
fn known() -> Figures {
    let io = |at_ns, op, offset, bytes| Access { at_ns, op, offset, bytes };
    let read = |step: u64| io(step * SECOND / 64, Op::Read, step % 256 * 4096, 4096);
    let mut all: Vec<_> = (0..384).map(read).collect();
    all.push(io(7 * SECOND, Op::Write, 1 << 30, 65536));
    all.push(io(8 * SECOND, Op::Discard, 0, 1 << 30));
    all.push(io(10 * SECOND, Op::Flush, 0, 0));
    figures(&all)
}

#[test]
fn each_operation_has_its_own_figures() {
    let known = known();
    let ops = known.ops();
    let names: Vec<_> = ops.iter().map(|op| (op.op, op.counts.ios)).collect();
    assert_eq!(names, [("read", 384), ("write", 1), ("flush", 1), ("discard", 1)]);
    assert!((ops[0].per_second.unwrap() - 38.4).abs() < 0.01, "{ops:?}");
    // 64 in each second while they came.
    assert!((ops[0].most_per_second.unwrap() - 64.0).abs() < 20.0, "{ops:?}");
    assert_eq!(ops[0].sizes, [SizeCount { bytes: Some(4096), ios: 384 }]);
    assert_eq!(ops[2].runs, None);
    let runs = ops[0].runs.as_ref().unwrap();
    // The second time it begins at 0 again: a run of its own.
    assert_eq!((runs.runs, runs.runs), (2, ops[0].counts.ios - ops[0].counts.sequential));
    assert_eq!(known.ios_over_time(Op::Read).iter().sum::<u64>(), 384);
}

#[test]
fn seeks_are_between_reads_and_writes_only() {
    let known = known();
    // Back to the start, and to the write.
    assert_eq!(known.seeks().unwrap().seeks, 2);
    assert_eq!(known.seeks_over_time().iter().sum::<u64>(), 2);
    assert_eq!(
        figures(&[Access { at_ns: 0, op: Op::Discard, offset: 0, bytes: 512 }]).seeks(),
        None
    );
}

#[test]
fn what_is_touched_grows_by_what_is_new_and_discards_touch_nothing() {
    let growth = known().growth();
    assert!(growth.windows(2).all(|two| two[0].1 <= two[1].1 && two[0].0 < two[1].0));
    let at = |second: u64| growth.iter().find(|(end, _)| *end >= second * SECOND).unwrap().1;
    assert_eq!((at(5), at(10)), ((1 << 20) as f64, (1 << 20) as f64 + 65536.0));
    assert!(at(2) > 0.0 && at(2) < at(4));
    let discards = figures(&[Access { at_ns: 0, op: Op::Discard, offset: 0, bytes: 1 << 20 }]);
    assert!(discards.growth().is_empty() && discards.reuse().is_empty());
    assert!(discards.grid(Op::Discard).is_some() && discards.grid(Op::Read).is_none());
}

#[test]
fn what_comes_again_comes_after_as_much_as_was_read_meanwhile() {
    let reuse = known().reuse();
    assert_eq!((reuse.len(), reuse[0].op, reuse[1].op), (2, "read", "write"));
    assert!((reuse[0].again_percent - 100.0 / 3.0).abs() < 1e-9, "{reuse:?}");
    let p50 = reuse[0].p50_bytes.unwrap();
    assert!((p50 / (1 << 20) as f64 - 1.0).abs() < 0.01, "{p50}");
    let at = |bytes: f64| reuse[0].curve.iter().find(|point| point.bytes == bytes).unwrap().percent;
    assert!(at(524_288.0) == 0.0 && at(2_097_152.0) > 33.0);
    assert_eq!((reuse[1].again_percent, reuse[1].p50_bytes), (0.0, None));
}

#[test]
fn a_picture_of_each_operation_holds_all_its_bytes() {
    let known = known();
    for (op, bytes) in [(Op::Read, 384 * 4096), (Op::Write, 65536), (Op::Discard, 1 << 30)] {
        let grid = known.grid(op).unwrap();
        let sum: u64 = (0..ROWS).map(|row| grid.row(row).iter().sum::<u64>()).sum();
        assert_eq!(sum, bytes, "{op:?}");
    }
    assert!(known.grid(Op::Flush).is_none());
}
