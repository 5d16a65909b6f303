//! What verification costs: nanoseconds for a block of 4 KiB that is right, beside a crc32c of the same block.
//! `cargo bench -p engine --bench verify`; CPU time, the least of 25 interleaved repeats is printed.

use std::hint::black_box;
use std::io::Write;
use std::sync::Arc;

use content::{BLOCK, ContentId, Generator, Layout};
use engine::verify::{Hand, Makers, Plain, Promises, Verifier, Width};

/// Blocks that are written and read again.
const BLOCKS: usize = 128;
const ROUNDS: usize = 300;

/// CRC-32C of a block by the instruction of the processor, eight bytes at a time, as fio computes it.
#[cfg(target_arch = "x86_64")]
#[target_feature(enable = "sse4.2")]
fn crc32c(block: &[u8; BLOCK]) -> u64 {
    let words = block.as_chunks::<8>().0.iter();
    words.fold(u64::MAX >> 32, |crc, word| {
        std::arch::x86_64::_mm_crc32_u64(crc, u64::from_le_bytes(*word))
    })
}

/// The same by a table, byte by byte.
fn crc32c_by_table(table: &[u32; 256], block: &[u8; BLOCK]) -> u32 {
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

/// CPU nanoseconds for one call of `what`, over `rounds` rounds of all blocks.
fn once(rounds: usize, what: &mut dyn FnMut(usize)) -> f64 {
    let start = cpu_ns();
    for _ in 0..rounds {
        (0..BLOCKS).for_each(&mut *what);
    }
    (cpu_ns() - start) / (rounds * BLOCKS) as f64
}

fn main() -> std::io::Result<()> {
    let mut out = std::io::stdout().lock();
    for (name, random) in [("incompressible", BLOCK), ("2.5x", 1612), ("50x", 60)] {
        for width in [Width::Four, Width::One] {
            let layout = Layout::head(random);
            let sizes = [((BLOCKS * BLOCK) as u64, Promises::default())];
            let made = Verifier::new(&sizes, BLOCK, width, Makers::of(Plain(layout)));
            let verifier = Arc::new(made.map_err(std::io::Error::other)?);
            let mut hand = Hand::new(Arc::clone(&verifier), 1, BLOCK);
            let mut blocks = vec![[0u8; BLOCK]; BLOCKS];
            for (n, block) in blocks.iter_mut().enumerate() {
                let id = ContentId(n as u64 + 1);
                Generator::best().fill(id, layout, block);
                hand.write(0, 0, (n * BLOCK) as u64, BLOCK as u64);
                hand.writes(0, 0, BLOCK, id);
                hand.begin(0);
                hand.ended(0, true, &[], 0);
            }
            let table = table();
            let mut verify = |n: usize| {
                hand.read(0, 0, (n * BLOCK) as u64, BLOCK as u64);
                hand.ended(0, true, &blocks[n], 0);
            };
            let mut by_table = |n: usize| {
                black_box(crc32c_by_table(&table, &blocks[n]));
            };

            #[cfg(target_arch = "x86_64")]
            let mut by_instruction = |n: usize| {
                if std::arch::is_x86_feature_detected!("sse4.2") {
                    // SAFETY: just checked.
                    black_box(unsafe { crc32c(&blocks[n]) });
                }
            };
            let mut least = [f64::INFINITY; 3];
            for repeat in 0..25 {
                least[0] = least[0].min(once(ROUNDS, &mut verify));
                #[cfg(target_arch = "x86_64")]
                {
                    least[1] = least[1].min(once(ROUNDS, &mut by_instruction));
                }
                if repeat == 0 {
                    least[2] = once(10, &mut by_table);
                }
            }
            let figures = verifier.figures(std::iter::once(hand.figures()));
            writeln!(
                out,
                "verify {name:14} {width:?}: {:6.1} ns a block; crc32c {:6.1} ns by instruction, {:7.1} by table; {} checked, {} right",
                least[0], least[1], least[2], figures.checked, figures.correct
            )?;
        }
    }
    Ok(())
}
