//! The cost of verification: nanoseconds for a block of 4 KiB that is right, compared with a crc32c of the same block. `cargo bench -p engine --bench
//! verify`; CPU time, interleaved repeats.
//!
//! First for blocks that are in the cache (the least of the repeats); then for blocks that a system call has just read from a file in memory, as a
//! load at depth 1 has them (the median over the repeats of the time beyond that of reading alone).

use std::fs::File;
use std::hint::black_box;
use std::io::{Error, Result, Write};
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use content::{BLOCK, BlockLayout, ContentId, Generator};
use engine::verify::{KnownContents, OneLayout, Promises, Verifier, Width, WorkerVerifier};
use units::Seed;

/// Blocks that are written and read again: in the cache, in the file.
const BLOCKS: usize = 128;
const FILE_BLOCKS: usize = 16 << 10;
const REPEATS: usize = 41;
/// Reads of one repeat.
const READS: usize = 4096;

type Block = [u8; BLOCK];

/// CRC-32C of a block by the instruction of the processor, eight bytes at a time, as fio computes it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn crc32c(block: &Block) -> u64 {
    let words = block.as_chunks::<8>().0.iter();
    words.fold(u64::MAX >> 32, |crc, word| {
        std::arch::x86_64::_mm_crc32_u64(crc, u64::from_le_bytes(*word))
    })
}

/// The same by a table, byte by byte.
fn crc32c_by_table(table: &[u32; 256], block: &Block) -> u32 {
    block.iter().fold(u32::MAX, |crc, &byte| crc >> 8 ^ table[usize::from(crc as u8 ^ byte)])
}

fn table() -> [u32; 256] {
    std::array::from_fn(|n| {
        (0..8).fold(n as u32, |crc, _| crc >> 1 ^ if crc & 1 == 1 { 0x82f6_3b78 } else { 0 })
    })
}

/// CPU time of this thread, nanoseconds: what other programs take does not count.
fn cpu_ns() -> f64 {
    let time = rustix::time::clock_gettime(rustix::time::ClockId::ThreadCPUTime);
    time.tv_sec as f64 * 1e9 + time.tv_nsec as f64
}

/// CPU nanoseconds of a call of `what`, on average over `places`.
fn once(places: &[usize], what: &mut dyn FnMut(usize)) -> f64 {
    let start = cpu_ns();
    places.iter().for_each(|&place| what(place));
    (cpu_ns() - start) / places.len() as f64
}

fn id(place: usize) -> ContentId {
    ContentId(place as u64 + 1)
}

/// The verifier of a worker that only reads what `blocks` blocks of `layout` hold.
fn worker_verifier(layout: BlockLayout, blocks: usize, width: Width) -> Result<WorkerVerifier> {
    let sizes = [((blocks * BLOCK) as u64, Promises::default())];
    let made = Verifier::new(&sizes, BLOCK, width, KnownContents::of(OneLayout(layout)));
    let mut worker_verifier = WorkerVerifier::new(Arc::new(made.map_err(Error::other)?), 1, BLOCK);
    for place in 0..blocks {
        worker_verifier.write(0, 0, (place * BLOCK) as u64, BLOCK as u64);
        worker_verifier.writes(0, 0, BLOCK, id(place));
        worker_verifier.begin(0);
        worker_verifier.ended(0, true, &[], 0);
    }
    Ok(worker_verifier.read_only())
}

/// Ways to look at a block that was read, by name.
struct Ways {
    layout: BlockLayout,
    four: WorkerVerifier,
    one: WorkerVerifier,
}

impl Ways {
    const NAMES: [&str; 5] = ["bare", "named", "table", "one byte", "crc32c"];

    fn new(layout: BlockLayout, blocks: usize) -> Result<Self> {
        let worker_verifier = |width| worker_verifier(layout, blocks, width);
        Ok(Self { layout, four: worker_verifier(Width::Four)?, one: worker_verifier(Width::One)? })
    }

    /// Before the block number `place` is read.
    #[inline]
    fn before(&mut self, way: usize, place: usize) {
        let (offset, length) = ((place * BLOCK) as u64, BLOCK as u64);
        match way {
            2 => self.four.read(0, 0, offset, length),
            3 => self.one.read(0, 0, offset, length),
            _ => {}
        }
    }

    #[inline]
    fn after(&mut self, way: usize, place: usize, block: &Block) {
        match way {
            0 => drop(black_box(Generator::best().holds(id(place), self.layout, block))),
            1 => drop(black_box(Generator::best().identify_whole(self.layout, block))),
            2 => self.four.ended(0, true, block, 0),
            3 => self.one.ended(0, true, block, 0),
            _ => by_instruction(block),
        }
    }
}

fn by_instruction(block: &Block) {
    #[cfg(target_arch = "x86_64")]
    if std::arch::is_x86_feature_detected!("sse4.2") {
        // SAFETY: just checked.
        black_box(unsafe { crc32c(block) });
    }
    black_box(block);
}

fn in_cache(ways: &mut Ways, out: &mut impl Write) -> Result<()> {
    let mut blocks = vec![[0u8; BLOCK]; BLOCKS];
    for (place, block) in blocks.iter_mut().enumerate() {
        Generator::best().fill(id(place), ways.layout, block);
    }
    let places: Vec<_> = (0..READS).map(|n| n % BLOCKS).collect();
    let mut least = [f64::INFINITY; Ways::NAMES.len()];
    for _ in 0..REPEATS {
        for (way, least) in least.iter_mut().enumerate() {
            *least = least.min(once(&places, &mut |place| {
                ways.before(way, place);
                ways.after(way, place, &blocks[place]);
            }));
        }
    }
    let table = table();
    let by_table = once(&places[..BLOCKS], &mut |place| {
        black_box(crc32c_by_table(&table, &blocks[place]));
    });
    write!(out, "  in the cache ")?;
    Ways::NAMES.iter().zip(least).try_for_each(|(name, ns)| write!(out, " {name} {ns:.1}"))?;
    writeln!(out, ", by table {by_table:.0}")
}

fn after_a_read(ways: &mut Ways, file: &File, out: &mut impl Write) -> Result<()> {
    let mut block = [0u8; BLOCK];
    for place in 0..FILE_BLOCKS {
        Generator::best().fill(id(place), ways.layout, &mut block);
        file.write_all_at(&block, (place * BLOCK) as u64)?;
    }
    let mut random = Seed(7).generator();
    let none = Ways::NAMES.len();
    let mut costs = vec![Vec::new(); none + 1];
    for _ in 0..REPEATS {
        let places: Vec<_> =
            (0..READS).map(|_| random.below(FILE_BLOCKS as u64) as usize).collect();
        // What was read before is nearer than what was not: the first round is not counted.
        for &place in &places {
            file.read_exact_at(&mut block, (place * BLOCK) as u64)?;
        }
        let mut took = vec![0.0; none + 1];
        for (way, took) in took.iter_mut().enumerate() {
            let mut failed = None;
            *took = once(&places, &mut |place| {
                ways.before(way, place);
                failed =
                    file.read_exact_at(&mut block, (place * BLOCK) as u64).err().or(failed.take());
                if way < none {
                    ways.after(way, place, &block);
                }
            });
            failed.map_or(Ok(()), Err)?;
        }
        costs.iter_mut().zip(&took).for_each(|(costs, ns)| costs.push(ns - took[none]));
        costs[none].pop();
        costs[none].push(took[none]);
    }
    let median = |costs: &mut Vec<f64>| {
        costs.sort_by(f64::total_cmp);
        costs[costs.len() / 2]
    };
    write!(out, "  after a read ")?;
    for (name, costs) in Ways::NAMES.iter().zip(&mut costs) {
        write!(out, " {name} {:.1}", median(costs))?;
    }
    writeln!(out, "; the read {:.0}", median(&mut costs[none]))
}

fn main() -> Result<()> {
    let mut out = std::io::stdout().lock();
    let memory = rustix::fs::memfd_create("blocks", rustix::fs::MemfdFlags::CLOEXEC)?;
    let file = File::from(memory);
    writeln!(
        out,
        "nanoseconds a block of {BLOCK} bytes; bare: what it must hold is known; named: it names its content;"
    )?;
    writeln!(
        out,
        "table, one byte: the whole of verification in a load that only reads, by bytes of state"
    )?;
    for (name, random) in [("incompressible", BLOCK), ("2.5x", 1612), ("50x", 60)] {
        let layout = BlockLayout::head(random);
        writeln!(out, "{name}")?;
        in_cache(&mut Ways::new(layout, BLOCKS)?, &mut out)?;
        let mut ways = Ways::new(layout, FILE_BLOCKS)?;
        after_a_read(&mut ways, &file, &mut out)?;
        let (four, one) = (ways.four.figures(), ways.one.figures());
        let (checked, right) = (four.checked + one.checked, four.correct + one.correct);
        writeln!(out, "  {checked} blocks verified, {right} right")?;
    }
    Ok(())
}
