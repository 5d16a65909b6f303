//! The cost of recording one I/O, compared with hdrhistogram's own and with a reading of the clock: nanoseconds of CPU time, the least of nine runs.
//! `cargo bench -p engine --bench record`.

use std::hint::black_box;
use std::io::Write;

use engine::Rehearsal;
use hdrhistogram::Histogram;
use sys::clock::Clock;
use sys::stamps::Stamps;

const IOS: u64 = 4_000_000;

/// CPU time of `work` per I/O, nanoseconds, on a separate thread.
fn cost(work: impl Fn() + Sync) -> f64 {
    let once = || {
        std::thread::scope(|scope| {
            let timed = scope.spawn(|| {
                work();
                sys::usage::thread()
            });
            let (user, system) = timed.join().unwrap_or_default();
            (user + system).as_secs_f64() * 1e9 / IOS as f64
        })
    };
    (0..9).map(|_| once()).fold(f64::INFINITY, f64::min)
}

/// Latencies around 60 µs, as a device has them.
fn latency(n: u64) -> u64 {
    40_000 + (n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48)
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let record = |split| {
        let mut rehearsal = Rehearsal::new(split);
        (0..IOS).for_each(|n| rehearsal.record((n & 1) as usize, black_box(latency(n))));
    };
    let nothing = cost(|| {
        (0..IOS).for_each(|n| {
            black_box(latency(n));
        });
    });
    let (whole, split) = (cost(|| record(false)), cost(|| record(true)));
    let make = || Histogram::<u64>::new_with_bounds(1, 3_600_000_000_000, 3);
    let pair = [make()?, make()?];
    let crates = cost(|| {
        let mut histograms = pair.clone();
        for n in 0..IOS {
            histograms[(n & 1) as usize].saturating_record(black_box(latency(n)));
        }
    });
    let (stamps, clock) = (Stamps::of(&Clock::real()), Clock::real());
    let stamp = cost(|| {
        (0..IOS).for_each(|_| {
            black_box(stamps.now_ns());
        });
    });
    let vdso = cost(|| {
        (0..IOS).for_each(|_| {
            black_box(clock.now());
        });
    });
    let mut out = std::io::stdout().lock();
    writeln!(
        out,
        "the loop alone {nothing:.2} ns, recorder {whole:.2}, with split latency {split:.2}"
    )?;
    writeln!(out, "hdrhistogram alone {crates:.2}; one stamp {stamp:.2}, vDSO {vdso:.2}")?;
    Ok(())
}
