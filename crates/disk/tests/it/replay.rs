//! A trace that is replayed: against the same disk it says what was, against others what would have been.

use disk::replay::{recorded, replay};
use disk::trace::{Header, Record, Trace, Writer};
use disk::{Disk, Event, Fault, Like, Op, Request};
use units::{Percent, Seed};

const SIZE: u64 = 16 << 30;

/// The trace of random reads and writes that come every 8 ms on average.
fn trace(like: &str) -> Trace {
    let like: Like = like.parse().unwrap();
    let mut disk = Disk::new(&like.profile().unwrap(), SIZE);
    let mut random = Seed(9).generator();
    let header = Header {
        role: "data".into(),
        size: SIZE,
        like,
        faults: Vec::new(),
        attributes: Default::default(),
    };
    let mut writer = Writer::begin(Vec::new(), &header, 10_000).unwrap();
    let mut requests = Vec::new();
    let mut events = Vec::new();
    let mut now = 0;
    for id in 0..2000 {
        now += random.below(16_000_000);
        disk.advance(now, &mut events);
        let op = match id % 50 {
            49 => Op::Flush,
            n if n % 4 == 0 => Op::Write,
            _ => Op::Read,
        };
        let length = if op == Op::Flush { 0 } else { 4096 };
        let offset = random.below(SIZE / 4096) * 4096;
        let request = Request { id, arrival: now, op, offset, length, fua: false };
        requests.push(request);
        disk.submit(request, &mut events);
    }
    while let Some(next) = disk.next() {
        disk.advance(next, &mut events);
    }
    for event in events {
        let Event::Done { id, at, failed } = event else { continue };
        let Request { arrival, op, offset, length, fua, .. } = requests[id as usize];
        let (latency_ns, length) = (at - arrival, length as u32);
        let failed = failed.is_some();
        let record =
            Record { arrival_ns: arrival, op, fua, failed, offset, length, latency_ns, late_ns: 5 };
        writer.add(&record).unwrap();
    }
    Trace::read(writer.finish().unwrap().as_slice()).unwrap()
}

fn like(text: &str) -> disk::Profile {
    text.parse::<Like>().unwrap().profile().unwrap()
}

#[test]
fn against_its_own_disk_a_trace_says_what_it_recorded() {
    for name in ["hdd", "ssd"] {
        let trace = trace(name);
        let again = replay(&trace, &like(name), &[]).unwrap();
        assert_eq!(again, recorded(&trace), "{name}");
        assert_eq!(again.latencies.iter().map(|l| l.requests).sum::<u64>(), 2000);
    }
}

#[test]
fn a_closed_loop_that_is_replayed_does_again_what_it_did() {
    use disk::bench::{Load, run_on};
    let shape = disk::Shape::Random(1.0);
    let ops = vec![(Op::Read, shape, 50.0), (Op::Write, shape, 45.0), (Op::Flush, shape, 5.0)];
    let duration = 20_000_000_000;
    let load = Load { ops, duration, depth: 4, ..Load::of(Op::Read, shape, 4096, 4) };
    let header = Header {
        role: "x".into(),
        size: SIZE,
        like: "hdd".parse().unwrap(),
        faults: Vec::new(),
        attributes: Default::default(),
    };
    let mut writer = Writer::begin(Vec::new(), &header, 1 << 20).unwrap();
    run_on(Disk::new(&like("hdd"), SIZE), SIZE, &load, &mut |record| writer.add(record).unwrap());
    let trace = Trace::read(writer.finish().unwrap().as_slice()).unwrap();
    assert_eq!(replay(&trace, &like("hdd"), &[]).unwrap(), recorded(&trace));
}

#[test]
fn against_others_it_says_what_would_have_been() {
    let trace = trace("hdd");
    let p50 = |text: &str, op: Op| {
        let outcome = replay(&trace, &like(text), &[]).unwrap();
        outcome.latencies.iter().find(|l| l.op == op).unwrap().p50_ns
    };
    let reads = ["nvme", "ssd", "hdd", "hdd,rpm=5400"].map(|text| p50(text, Op::Read));
    assert!(reads.is_sorted(), "{reads:?}");
    assert!(p50("hdd,write_cache=false", Op::Write) > 20 * p50("hdd", Op::Write));
    let rate = Some(Percent(50.0));
    let fault = Fault::Error { on: disk::On::Read, from: None, to: None, rate, after: 0 };
    let outcome = replay(&trace, &like("hdd"), &[fault]).unwrap();
    let reads = outcome.latencies[0];
    let share = reads.failed as f64 / reads.requests as f64;
    assert!((0.4..0.6).contains(&share), "{share}");
}
