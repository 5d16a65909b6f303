//! Bytes per second of one core: each path of the generator, and plain stores of the widest kind, which are the limit.
//!
//! A repeat measures every contestant once, forwards or backwards in turn; only the fastest of many slices of some microseconds counts, which are too
//! short to be interrupted by another process. Ratios are taken within a repeat.

use std::hint::black_box;
use std::time::{Duration, Instant};

use content::{
    BLOCK, BlockLayout, Compress, ContentId, ContentSpec, Generator, Path, Source, Texture,
};
use serde::{Deserialize, Serialize};
use stats::Figure;
use sys::interrupt::{Interrupt, Level};
use units::{Percent, Seed};

use crate::BenchError;
use crate::repeats::{order, ratio};

/// Blocks in a slice, at least.
const SLICE: usize = 128;
/// Slices of a contestant in a repeat, at least and at most.
const SLICES: std::ops::RangeInclusive<usize> = 4..=64;
/// Time of a contestant in a repeat, after the least number of slices.
const TIME: Duration = Duration::from_millis(2);

/// The kind of content that is written.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum WrittenKind {
    /// Every block new and incompressible.
    Unique,
    /// Every block new; LZ4 halves each: random bytes, then zeros.
    HalfZero,
    /// Half of the blocks duplicates, LZ4 halves each: schedule and bytes.
    Reduced,
    /// Every block new; LZ4 halves each, with as much work as on real data.
    Natural,
}

impl WrittenKind {
    /// All kinds of content.
    const ALL: [Self; 4] = [Self::Unique, Self::HalfZero, Self::Reduced, Self::Natural];

    /// Returns the words that are printed.
    pub fn text(self) -> &'static str {
        match self {
            Self::Unique => "unique",
            Self::HalfZero => "half zero",
            Self::Reduced => "reduced",
            Self::Natural => "natural",
        }
    }

    /// Returns what a job is asked to write.
    fn spec(self) -> ContentSpec {
        let half = Percent(50.0);
        let compress = match self {
            Self::Unique => Compress::default(),
            Self::HalfZero | Self::Reduced | Self::Natural => Compress::Saving(half),
        };
        let dedupe = if self == Self::Reduced { half } else { Percent(0.0) };
        let texture = (self == Self::Natural).then_some(Texture::Natural);
        ContentSpec { dedupe, compress, texture, ..ContentSpec::default() }
    }
}

/// The buffers that are written to.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct Place {
    /// Number of buffers, filled in turn.
    pub buffers: usize,
    /// Bytes of each.
    pub bytes: usize,
}

impl Place {
    /// One block that stays in the nearest cache; the buffers of a deep queue; those of large I/Os.
    pub const ALL: [Self; 3] = [
        Self { buffers: 1, bytes: BLOCK },
        Self { buffers: 128, bytes: BLOCK },
        Self { buffers: 128, bytes: 32 * BLOCK },
    ];
}

impl std::fmt::Display for Place {
    fn fmt(&self, f: &mut std::fmt::Formatter) -> std::fmt::Result {
        write!(f, "{} x {} KiB", self.buffers, self.bytes / 1024)
    }
}

/// The maker of the bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Contestant {
    /// Stores one value into every byte, by the widest stores of the processor.
    Stores,
    /// A job fills blocks with its content, by a path.
    Fill(Path, WrittenKind),
    /// The generator compares blocks with the expected content, by a path.
    Check(Path),
}

/// One line of the answer.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Speed {
    /// `stores`, or the name of the path.
    pub path: String,
    /// `fill`, or `check` for comparing blocks with the expected content.
    pub what: String,
    /// The content that was written; `None` for stores.
    pub content: Option<WrittenKind>,
    /// The buffers that were written to.
    pub place: Place,
    /// Bytes per second of one core: median over repeats, with its interval.
    pub bytes_per_second: Figure,
    /// The most of any repeat.
    pub best_bytes_per_second: Option<f64>,
    /// Speed as a multiple of that of plain stores in the same repeat.
    pub of_stores: Figure,
}

/// Measures all contestants `repeats` times at every place. A wish to stop ends it.
pub fn measure(repeats: usize, interrupt: &Interrupt) -> Result<Vec<Speed>, BenchError> {
    let contestants = contestants();
    let mut answer = Vec::new();
    for place in Place::ALL {
        let mut speeds = vec![Vec::new(); contestants.len()];
        let mut space = Space::new(place);
        for repeat in 0..repeats {
            for at in order(contestants.len(), repeat) {
                if interrupt.level() != Level::None {
                    return Err(BenchError::Interrupted);
                }
                speeds[at].push(Some(space.speed(contestants[at])));
            }
        }
        for (contestant, contestant_speeds) in contestants.iter().zip(&speeds) {
            answer.push(line(*contestant, place, contestant_speeds, &speeds[0]));
        }
    }
    Ok(answer)
}

fn contestants() -> Vec<Contestant> {
    let mut all = vec![Contestant::Stores];
    for &path in Path::available().iter().rev() {
        let kinds = WrittenKind::ALL;
        all.extend(kinds.map(|kind| Contestant::Fill(path, kind)));
        all.push(Contestant::Check(path));
    }
    all
}

fn line(
    contestant: Contestant,
    place: Place,
    speeds: &[Option<f64>],
    stores: &[Option<f64>],
) -> Speed {
    let values: Vec<f64> = speeds.iter().copied().flatten().collect();
    let (path, what, content) = match contestant {
        Contestant::Stores => ("stores", "fill", None),
        Contestant::Fill(path, kind) => (path.name(), "fill", Some(kind)),
        Contestant::Check(path) => (path.name(), "check", Some(WrittenKind::Unique)),
    };
    Speed {
        path: path.to_owned(),
        what: what.to_owned(),
        content,
        place,
        bytes_per_second: stats::figure(&values),
        best_bytes_per_second: values.iter().copied().reduce(f64::max),
        of_stores: ratio(speeds, stores),
    }
}

/// Buffers on page boundaries, with the state that is needed to fill them.
struct Space {
    memory: Vec<u8>,
    start: usize,
    place: Place,
    /// Id of the next block, or the value of the next stores.
    next: u64,
}

impl Space {
    fn new(place: Place) -> Self {
        let memory = vec![1; place.buffers * place.bytes + BLOCK];
        let start = memory.as_ptr().align_offset(BLOCK);
        Self { memory, start, place, next: 1 }
    }

    fn blocks(&mut self) -> &mut [[u8; BLOCK]] {
        let bytes = self.place.buffers * self.place.bytes;
        self.memory[self.start..self.start + bytes].as_chunks_mut().0
    }

    /// Bytes per second of the fastest slice.
    fn speed(&mut self, contestant: Contestant) -> f64 {
        match contestant {
            Contestant::Stores => {
                let generator = Generator::best();
                self.fastest(|n, block| generator.store(n as u8, block))
            }
            Contestant::Fill(path, kind) => {
                let mut source = Source::with_path(&kind.spec(), Seed(self.next), 0, 1, path);
                self.fastest(move |_, block| source.fill_at(0, block, |_, _| {}))
            }
            Contestant::Check(path) => {
                let (generator, layout) = (Generator::with_path(path), BlockLayout::head(BLOCK));
                let start = self.next;
                let count = self.blocks().len() as u64;
                // Every slice looks at the same blocks, so that each finds what it expects.
                for (n, block) in self.blocks().iter_mut().enumerate() {
                    generator.fill(ContentId(start + n as u64), layout, block);
                }
                self.fastest(move |n, block| {
                    let id = ContentId(start + (n - start) % count);
                    black_box(generator.matches(id, layout, block).is_ok());
                })
            }
        }
    }

    fn fastest(&mut self, mut one: impl FnMut(u64, &mut [u8; BLOCK])) -> f64 {
        let mut next = self.next;
        let blocks = self.blocks();
        let sweeps = SLICE.div_ceil(blocks.len());
        let mut best = f64::INFINITY;
        let begin = Instant::now();
        for slice in 0..*SLICES.end() {
            if slice >= *SLICES.start() && begin.elapsed() > TIME {
                break;
            }
            let start = Instant::now();
            for _ in 0..sweeps {
                for block in black_box(&mut *blocks) {
                    one(next, block);
                    next += 1;
                }
            }
            best = best.min(start.elapsed().as_secs_f64());
        }
        let bytes = sweeps * blocks.len() * BLOCK;
        self.next = next;
        bytes as f64 / best
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_path_is_measured_at_every_place_beside_the_stores() {
        let speeds = measure(2, &Interrupt::new()).unwrap();
        let paths = Path::available().len();
        assert_eq!(speeds.len(), Place::ALL.len() * (1 + 5 * paths));
        assert!(speeds.iter().all(|speed| speed.bytes_per_second.median > Some(0.0)));
        for speed in speeds.iter().filter(|speed| speed.path == "stores") {
            assert_eq!(speed.of_stores.median, Some(1.0));
        }
    }

    #[test]
    fn what_a_check_looks_at_is_what_it_expects() {
        let mut space = Space::new(Place::ALL[1]);
        space.speed(Contestant::Check(Path::best()));
        let generator = Generator::best();
        for (n, block) in space.blocks().iter().enumerate() {
            let id = ContentId(1 + n as u64);
            assert_eq!(generator.matches(id, BlockLayout::head(BLOCK), block), Ok(()));
        }
    }
}
