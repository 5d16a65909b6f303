//! What recording one I/O costs: a measurement, run by hand (`cargo test --release -p engine -- --ignored cost --nocapture`).

use std::hint::black_box;

use crate::banks;
use crate::record::{Completion, Recorder};
use crate::tally::Shape;

const IOS: u64 = 4_000_000;

/// CPU time of `work` per I/O, nanoseconds: the least of several runs, each on a thread of its own.
fn cost(work: impl Fn() + Sync) -> f64 {
    let once = || {
        std::thread::scope(|scope| {
            let timed = scope.spawn(|| {
                work();
                sys::usage::thread()
            });
            let (user, system) = timed.join().unwrap();
            (user + system).as_secs_f64() * 1e9 / IOS as f64
        })
    };
    (0..9).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// Latencies around 60 µs, as a device has them.
fn latency(n: u64) -> u64 {
    40_000 + (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48)
}

#[test]
#[ignore = "a measurement"]
fn cost_of_recording_one_io() {
    let shape = Shape { operations: 2, targets: 1, split: false, open: false, worst: 10 };
    let record = |shape: Shape| {
        let (writer, _reader) = banks::pair(shape);
        let mut recorder = Recorder::new(writer, shape, 0, None);
        for n in 0..IOS {
            let io = Completion {
                operation: (n & 1) as usize,
                length: 4096,
                reaped_ns: latency(n),
                ..Completion::default()
            };
            recorder.record(black_box(&io));
        }
    };
    let nothing = cost(|| {
        for n in 0..IOS {
            black_box(&Completion { length: 4096, reaped_ns: latency(n), ..Completion::default() });
        }
    });
    let ours = cost(|| record(shape));
    let split = cost(|| record(Shape { split: true, ..shape }));
    let crates = cost(|| {
        let make =
            || hdrhistogram::Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3).unwrap();
        let mut histograms = [make(), make()];
        for n in 0..IOS {
            histograms[(n & 1) as usize].saturating_record(black_box(latency(n)));
        }
    });
    let stamps = sys::stamps::Stamps::of(&sys::clock::Clock::real());
    let tsc = cost(|| {
        for _ in 0..IOS {
            black_box(stamps.now_ns());
        }
    });
    let clock = sys::clock::Clock::real();
    let vdso = cost(|| {
        for _ in 0..IOS {
            black_box(clock.now());
        }
    });
    println!("the loop alone {nothing:.2} ns, recorder {ours:.2}, with split latency {split:.2}");
    println!("crate's histogram alone {crates:.2}; one stamp: {tsc:.2}, vDSO {vdso:.2}");
}
