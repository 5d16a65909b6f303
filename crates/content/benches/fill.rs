//! Cost of content: nanoseconds for a block of 4 KiB, into one hot block and over 128 blocks.
//! `cargo bench -p content`; the least of 9 repeats is printed.

use std::hint::black_box;
use std::io::Write;
use std::time::Instant;

use content::{BLOCK, ContentSpec, Path, Source};
use units::{Permutation, Seed};

/// Least nanoseconds of one call of `what`, over repeats of `calls` calls.
fn least(calls: u64, mut what: impl FnMut(u64)) -> f64 {
    let once = |what: &mut dyn FnMut(u64)| {
        let start = Instant::now();
        (0..calls).for_each(&mut *what);
        start.elapsed().as_nanos() as f64 / calls as f64
    };
    (0..9).map(|_| once(&mut what)).fold(f64::INFINITY, f64::min)
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    let mut blocks = vec![[0u8; BLOCK]; 128];
    for compress in ["none", "2.5x"] {
        let spec =
            ContentSpec { compress: compress.parse().unwrap_or_default(), ..Default::default() };
        for &path in Path::available() {
            let mut source = Source::with_path(&spec, Seed(1), 0, 1, path);
            for (name, mask) in [("hot 4 KiB", 0), ("128 x 4 KiB", 127)] {
                let ns = least(200_000, |i| {
                    source.fill_at(0, &mut blocks[(i & mask) as usize], |_, _| {});
                    black_box(&blocks);
                });
                let speed = BLOCK as f64 / ns;
                writeln!(out, "fill {compress:5} {path:?} {name:12} {ns:8.1} ns {speed:6.1} GB/s")?;
            }
        }
    }
    let plain = least(200_000, |i| {
        content::Generator::best().store(i as u8, &mut blocks[0]);
        black_box(&blocks);
    });
    writeln!(out, "plain stores, hot 4 KiB {plain:8.1} ns {:6.1} GB/s", BLOCK as f64 / plain)?;
    let duplicates = ContentSpec { dedupe: units::Percent(50.0), ..Default::default() };
    for (name, spec) in [("unique", ContentSpec::default()), ("50 % duplicates", duplicates)] {
        let mut source = Source::new(&spec, Seed(1), 0, 1);
        let ns = least(1_000_000, |_| {
            black_box(source.next_id(0));
        });
        writeln!(out, "next id, {name}: {ns:.1} ns")?;
    }
    let order = Permutation::new(244_140, Seed(1));
    let ns = least(244_140, |i| {
        black_box(order.at(i));
    });
    writeln!(out, "permutation of 244140: {ns:.1} ns")
}
