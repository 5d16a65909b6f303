//! The cost of knowing the next I/O, nanoseconds. `cargo bench -p workload`; patterns take turns, and the least of all rounds is printed.

use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use units::Seed;
use workload::{Io, LoadSpec, Range, Stream};

const PATTERNS: [&str; 16] = [
    "sequential",
    "interleaved",
    "strided:812",
    "uniform",
    "permutation",
    "zipf:0.5 contiguous",
    "zipf:0.99 contiguous",
    "zipf:1 contiguous",
    "zipf:1.2 contiguous",
    "zipf:0.99",
    "zipf:1.2",
    "pareto:0.2",
    "pareto:0.2 contiguous",
    "normal:5%",
    "zones:90%/10%,10%/90%",
    "single",
];
/// I/Os in one turn: short enough to fit between two interrupts now and then.
const TURN: usize = 16_384;
const ROUNDS: usize = 200;

struct Row {
    name: String,
    stream: Stream,
    /// Least times of a turn by `next` and by `fill`, nanoseconds.
    least: [f64; 2],
}

fn row(ops: &str, pattern: &str, blocks: u64) -> Result<Row, Box<dyn std::error::Error>> {
    let (pattern_name, hot) =
        pattern.split_once(' ').map_or((pattern, None), |(p, h)| (p, Some(h)));
    let spec = LoadSpec {
        ops: ops.parse()?,
        pattern: Some(pattern_name.parse()?),
        hot: hot.map(str::parse).transpose()?,
        ..LoadSpec::default()
    };
    let range = Range { start: 0, bytes: blocks * 4096 };
    let stream = Stream::new(&spec, &range, Seed(1), 0, 1);
    Ok(Row {
        name: format!("{pattern:24} {blocks:>9} blocks  {ops}"),
        stream,
        least: [f64::INFINITY; 2],
    })
}

impl Row {
    fn turn(&mut self) {
        let start = Instant::now();
        for _ in 0..TURN {
            black_box(self.stream.next());
        }
        self.least[0] = self.least[0].min(start.elapsed().as_nanos() as f64);
        let mut ios: Vec<Io> = self.stream.by_ref().take(64).collect();
        let start = Instant::now();
        for _ in 0..TURN / 64 {
            black_box(self.stream.fill(&mut ios));
        }
        self.least[1] = self.least[1].min(start.elapsed().as_nanos() as f64);
    }
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let mut rows = Vec::new();
    for pattern in PATTERNS {
        rows.push(row("randread=100", pattern, 4_194_304)?);
    }
    for pattern in ["permutation", "zipf:1.2"] {
        rows.push(row("randread=100", pattern, 244_140)?);
        rows.push(row("randread=100", pattern, 4_194_305)?);
    }
    for pattern in ["uniform", "permutation", "zipf:1.2"] {
        rows.push(row("read=65,write=20,randread=10,randwrite=5", pattern, 4_194_304)?);
    }
    for _ in 0..ROUNDS {
        rows.iter_mut().for_each(Row::turn);
    }
    let mut out = std::io::stdout().lock();
    writeln!(out, "  next    fill  nanoseconds per I/O")?;
    for row in &rows {
        let [next, fill] = row.least.map(|ns| ns / TURN as f64);
        writeln!(out, "{next:6.2}  {fill:6.2}  {}", row.name)?;
    }
    Ok(())
}
