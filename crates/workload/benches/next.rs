//! What it costs to know the next I/O, nanoseconds. `cargo bench -p workload`; the least of 9 repeats is printed.

use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use units::Seed;
use workload::{LoadSpec, Range, Stream};

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut out = std::io::stdout().lock();
    let range = Range { start: 0, bytes: 244_140 * 4096 };
    for ops in ["randread=100", "read=65,write=20,randread=10,randwrite=5"] {
        for pattern in ["uniform", "permutation", "sequential", "strided:812"] {
            let spec = LoadSpec {
                ops: ops.parse()?,
                pattern: Some(pattern.parse()?),
                ..LoadSpec::default()
            };
            let mut stream = Stream::new(&spec, &range, Seed(1), 0, 1);
            let once = |stream: &mut Stream| {
                let start = Instant::now();
                for _ in 0..1_000_000 {
                    black_box(stream.next());
                }
                start.elapsed().as_nanos() as f64 / 1e6
            };
            let least = (0..9).map(|_| once(&mut stream)).fold(f64::INFINITY, f64::min);
            writeln!(out, "{pattern:12} {least:5.1} ns  {ops}")?;
        }
    }
    Ok(())
}
