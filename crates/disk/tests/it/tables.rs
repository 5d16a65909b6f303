//! The speed that the models reach, compared with the speed that their prototypes were measured to reach (`reference` below), and with the figures
//! that drives of today promise (the published figures of the profiles).

use disk::bench::{Load, LoadResult, run};
use disk::{Disk, Event, Like, Op, Profile, Request, Shape};

const TIB: u64 = 1 << 40;
const SECOND: u64 = 1_000_000_000;
const THINK: u64 = 200_000;

fn like(text: &str) -> Profile {
    text.parse::<Like>().unwrap().profile().unwrap()
}

/// A figure and its reference: name, value, reference, allowed part.
#[derive(Debug)]
struct Row(String, f64, f64, f64);

impl Row {
    fn holds(&self) -> bool {
        (self.1 / self.2 - 1.0).abs() <= self.3
    }
}

#[track_caller]
fn check(rows: &[Row]) {
    for Row(name, value, reference, _) in rows {
        let percent = (value / reference - 1.0) * 100.0;
        println!("{name:<44} {value:>10.1} {reference:>10.1} {percent:>+6.1} %");
    }
    let off: Vec<_> = rows.iter().filter(|row| !row.holds()).collect();
    assert!(off.is_empty(), "{off:#?}");
}

/// Rows of one load over depths: I/Os per second.
fn iops(name: &str, profile: &Profile, load: &Load, reference: &[(u32, f64)]) -> Vec<Row> {
    let row = |&(depth, expected): &(u32, f64)| {
        let LoadResult { iops, .. } = run(profile, 4 * TIB, &Load { depth, ..load.clone() });
        Row(format!("{name}, depth {depth}"), iops, expected, 0.05)
    };
    reference.iter().map(row).collect()
}

/// Rows of one load over depths: 10^6 bytes per second.
fn rate(name: &str, profile: &Profile, load: &Load, reference: &[(u32, f64)]) -> Vec<Row> {
    let per_second = |row: Row| Row(row.0, row.1 * load.block as f64 / 1e6, row.2, row.3);
    iops(name, profile, load, reference).into_iter().map(per_second).collect()
}

fn random(op: Op, part: f64) -> Load {
    let duration = 300 * SECOND;
    Load { think: THINK, duration, ..Load::of(op, Shape::Random(part), 4096, 1) }
}

fn sequential(op: Op, from: f64, block: u64) -> Load {
    let (ramp, duration) = (2 * SECOND, 10 * SECOND);
    Load { think: 100_000, ramp, duration, ..Load::of(op, Shape::Sequential(from), block, 1) }
}

const PART_OF_4_MIB: f64 = (4 << 20) as f64 / (4 * TIB) as f64;

#[test]
fn random_reads_of_a_hard_disk_are_as_measured() {
    let hdd = like("hdd");
    let bare = like("hdd,read_ahead=0");
    let whole = [(1, 83.4), (2, 85.1), (8, 141.0), (16, 171.0), (32, 194.0)];
    let mut rows = iops("randread", &hdd, &random(Op::Read, 1.0), &whole);
    let near = [(1, 171.0), (2, 178.0), (8, 404.0), (32, 536.0)];
    rows.extend(iops("randread 1 %", &hdd, &random(Op::Read, 0.01), &near));
    let nearest = [(1, 206.0), (2, 218.0), (8, 873.0), (32, 2017.0)];
    rows.extend(iops("randread 4 MiB", &bare, &random(Op::Read, PART_OF_4_MIB), &nearest));
    let cached = Load { ramp: 5 * SECOND, ..random(Op::Read, PART_OF_4_MIB) };
    rows.extend(iops("randread 4 MiB, track cache", &hdd, &cached, &[(1, 3652.0)]));
    check(&rows);
}

#[test]
fn latencies_of_random_reads_are_as_measured() {
    let mut rows = Vec::new();
    for (depth, p50, p99) in
        [(1, 11.7, 20.7), (2, 23.1, 37.0), (8, 48.0, 170.0), (32, 163.0, 357.0)]
    {
        let reached = run(&like("hdd"), 4 * TIB, &Load { depth, ..random(Op::Read, 1.0) });
        rows.push(Row(
            format!("p50, depth {depth}"),
            reached.latency_p50_ns as f64 / 1e6,
            p50,
            0.05,
        ));
        rows.push(Row(
            format!("p99, depth {depth}"),
            reached.latency_p99_ns as f64 / 1e6,
            p99,
            0.1,
        ));
    }
    check(&rows);
}

#[test]
fn random_writes_of_a_hard_disk_are_as_measured() {
    let through = like("hdd,write_cache=false");
    let bare = [(1, 78.0), (2, 80.0), (8, 127.0), (32, 165.0)];
    let mut rows = iops("randwrite, no cache", &through, &random(Op::Write, 1.0), &bare);
    let steady = Load { ramp: 60 * SECOND, ..random(Op::Write, 1.0) };
    rows.extend(iops("randwrite, cached", &like("hdd"), &steady, &[(1, 336.0), (16, 335.0)]));
    rows.extend(iops("256 extents", &like("hdd,cache_extents=256"), &steady, &[(16, 272.0)]));
    // Over 100 s, the filling of the cache included.
    let filling = Load { duration: 100 * SECOND, ..random(Op::Write, 1.0) };
    rows.extend(iops("4096 extents", &like("hdd,cache_extents=4096"), &filling, &[(16, 430.0)]));
    check(&rows);
}

#[test]
fn sequences_of_a_hard_disk_are_as_measured() {
    let (hdd, through) = (like("hdd"), like("hdd,write_cache=false"));
    let mib = 1 << 20;
    let mut rows =
        rate("read 1M", &hdd, &sequential(Op::Read, 0.0, mib), &[(1, 225.0), (2, 225.0)]);
    rows.extend(rate("read 1M at 25 %", &hdd, &sequential(Op::Read, 0.25, mib), &[(1, 205.0)]));
    rows.extend(rate("read 1M inside", &hdd, &sequential(Op::Read, 0.945, mib), &[(1, 120.0)]));
    let writes = sequential(Op::Write, 0.0, mib);
    rows.extend(rate("write 1M, cached", &hdd, &writes, &[(1, 225.0), (2, 225.0)]));
    rows.extend(rate("write 1M, no cache", &through, &writes, &[(1, 81.0), (2, 225.0)]));
    let small = sequential(Op::Read, 0.0, 4096);
    rows.extend(rate("read 4k", &hdd, &small, &[(1, 25.0), (2, 50.0)]));
    let small = sequential(Op::Write, 0.0, 4096);
    rows.extend(rate("write 4k, cached", &hdd, &small, &[(1, 25.0), (2, 50.0)]));
    rows.extend(rate("write 4k, no cache", &through, &small, &[(1, 0.49), (2, 0.98)]));
    check(&rows);
}

#[test]
fn what_moves_a_hard_disk_at_depth_16_moves_it_as_measured() {
    let mut rows = Vec::new();
    for (change, reference) in [
        ("ageing=0", 177.0),
        ("ageing=0.01", 175.0),
        ("ageing=0.03", 166.0),
        ("missed=0ms", 180.0),
        ("missed=1ms", 150.0),
        ("queue=1", 85.0),
        ("rpm=7200", 171.0),
    ] {
        let profile = like(&format!("hdd,{change}"));
        rows.extend(iops(change, &profile, &random(Op::Read, 1.0), &[(16, reference)]));
    }
    check(&rows);
}

/// Measures the seconds that a flush takes after a load of writes.
fn flush_after(profile: &Profile, load: &Load) -> f64 {
    let disk = Disk::new(profile, 4 * TIB);
    let (_, mut disk, at) = disk::bench::run_on(disk, 4 * TIB, load, &mut |_| {});
    let (id, mut events) = (u64::MAX, Vec::new());
    let flush = Request { id, arrival: at, op: Op::Flush, offset: 0, length: 0, fua: false };
    disk.submit(flush, &mut events);
    loop {
        let end = events.drain(..).find_map(|event| match event {
            Event::Done { id, at, .. } if id == u64::MAX => Some(at),
            _ => None,
        });
        if let Some(end) = end {
            return (end - at) as f64 / 1e9;
        }
        disk.advance(disk.next().unwrap(), &mut events);
    }
}

#[test]
fn the_flush_of_a_full_cache_takes_seconds() {
    let load = Load { depth: 16, duration: 30 * SECOND, ..random(Op::Write, 1.0) };
    let flush = |extents: u32| flush_after(&like(&format!("hdd,cache_extents={extents}")), &load);
    // In a guest it took 3.6 to 4.2 s.
    check(&[Row("flush of 1024 extents, s".into(), flush(1024), 3.9, 0.1)]);
    // More than extents by steady IOPS: the fewer are left, the further apart they lie.
    for (extents, iops) in [(256, 272.0), (4096, 430.0)] {
        let times = flush(extents) / (f64::from(extents) / iops);
        assert!((1.0..1.45).contains(&times), "{extents}: {times}");
    }
}

#[test]
fn flash_is_as_measured() {
    let (ssd, nvme) = (like("ssd"), like("nvme"));
    let reads = Load { duration: SECOND, ..Load::of(Op::Read, Shape::Random(1.0), 4096, 1) };
    let sata = [(1, 10.1e3), (4, 38.8e3), (16, 89.6e3), (32, 91.3e3), (128, 91.3e3)];
    let mut rows = iops("ssd randread", &ssd, &reads, &sata);
    let pcie = [(1, 12.1e3), (4, 47.9e3), (16, 161e3), (32, 254e3), (128, 415e3)];
    rows.extend(iops("nvme randread", &nvme, &reads, &pcie));
    let writes = Load { ops: vec![(Op::Write, Shape::Random(1.0), 1.0)], ..reads };
    rows.extend(iops("ssd randwrite", &ssd, &writes, &[(1, 21.8e3), (32, 91e3)]));
    rows.extend(iops("nvme randwrite", &nvme, &writes, &[(1, 80.6e3), (32, 416e3)]));
    let whole = |op| Load { duration: SECOND, ..Load::of(op, Shape::Sequential(0.0), 1 << 20, 2) };
    rows.extend(rate("ssd read 1M", &ssd, &whole(Op::Read), &[(2, 549.0)]));
    rows.extend(rate("ssd write 1M", &ssd, &whole(Op::Write), &[(2, 549.0)]));
    rows.extend(rate("nvme read 1M", &nvme, &whole(Op::Read), &[(2, 3386.0)]));
    rows.extend(rate("nvme write 1M", &nvme, &whole(Op::Write), &[(2, 3092.0)]));
    let burst = Load { depth: 32, duration: SECOND / 10, ..writes };
    rows.push(Row("ssd flush, ms".into(), flush_after(&ssd, &burst) * 1e3, 3.5, 0.15));
    rows.push(Row("nvme flush, ms".into(), flush_after(&nvme, &burst) * 1e3, 2.0, 0.15));
    check(&rows);
}
