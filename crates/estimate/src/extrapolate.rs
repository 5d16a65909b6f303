//! Makes the answer from the counts of a scan: extrapolates sampled counts to all blocks, with their errors.

use std::time::Duration;

use content::{Profile, ProfileSequences};
use reduce::index::{Geometry, IndexMemory};
use reduce::{BLOCK, Figures};
use units::Bytes;

use crate::answer::{
    Answer, Blocks, Count, Directory, IndexAnswer, PackerAnswer, SCHEMA, Sampled, Spread, VdoAnswer,
};
use crate::calibrate::Correction;
use crate::ordered_model::Whole;
use crate::profile;
use crate::sizing::{self, SizingRequest};
use crate::{Comparison, Error, Request, Sources};

/// Half the width of an interval of 95 %, in standard errors.
const SURE: f64 = 1.96;
/// Sizes in one bar of the histogram, bytes.
const BAR: usize = 128;
/// Missed duplicates that are worth a larger index, share of all blocks.
const WORTH: f64 = 0.005;

/// The counts of a scan, from which the answer is made.
pub struct Parts {
    pub whole: Whole,
    pub names: Vec<String>,
    pub sources: Sources,
    pub comparison: Comparison,
    pub sequences: Vec<ProfileSequences>,
    pub complete: bool,
    pub elapsed: Duration,
}

fn percent_of(part: f64, whole: f64) -> Option<f64> {
    (whole > 0.0).then(|| 100.0 * part / whole)
}

/// All counts of sampled things, in proportion to what is known exactly.
struct Scale {
    figures: Figures,
    correction: Correction,
    /// Data blocks for each block that the sample counted.
    factor: f64,
}

impl Scale {
    fn of(figures: Figures, correction: Correction) -> Self {
        let counted = (figures.unique + figures.duplicates) as f64;
        let factor = if counted > 0.0 { figures.data as f64 / counted } else { 1.0 };
        Self { figures, correction, factor }
    }

    fn blocks(&self, count: u64) -> f64 {
        count as f64 * self.factor
    }

    fn rounded(&self, count: u64) -> u64 {
        self.blocks(count).round() as u64
    }

    /// Physical blocks for each stored one; `None` when no size was taken.
    fn physical_share(&self) -> Option<f64> {
        let share = self.figures.physical_share()?;
        Some((share + self.correction.share).clamp(1.0 / reduce::SLOTS as f64, 1.0))
    }

    /// Returns the saving of packing on the stored blocks whose packing no duplicate cancelled, percent: data made from a profile
    /// has near duplicates of its own.
    fn saving_undisturbed(&self) -> Option<f64> {
        let cancelled = self.figures.cancelled as f64;
        let stored = self.figures.stored as f64;
        let physical = self.physical_share()? * stored - cancelled;
        let left = stored - cancelled;
        (left > 0.0).then(|| 100.0 * (1.0 - (physical / left).clamp(0.0, 1.0)))
    }

    /// Physical blocks: stored blocks times the physical block that each takes on average after packing.
    fn physical(&self) -> f64 {
        self.blocks(self.figures.stored) * self.physical_share().unwrap_or(1.0)
    }

    /// Physical blocks that are shared: all except those that hold a single stored block.
    fn shared(&self) -> f64 {
        let alone = self.blocks(self.figures.stored - self.figures.fragments);
        if self.figures.fragments == 0 { 0.0 } else { (self.physical() - alone).max(1.0) }
    }
}

/// The result of an estimate: its answer, and the profile of the data.
#[derive(Debug, Clone, PartialEq)]
pub struct Estimate {
    /// The answer.
    pub answer: Answer,
    /// The data's profile; `None` when there were no blocks.
    pub profile: Option<Profile>,
}

impl Estimate {
    /// Makes the answer from what was found.
    pub fn of(request: &Request, parts: Parts) -> Result<Self, Error> {
        let directories = directories(&parts);
        let scale = Scale::of(parts.whole.figures, parts.whole.correction);
        let neighbours = parts.whole.neighbours;
        let figures = &scale.figures;
        let total = figures.data + figures.zeros;
        let physical = scale.physical();
        let unique = scale.rounded(figures.unique).min(figures.data);
        let blocks =
            Blocks { total, zero: figures.zeros, duplicate: figures.data - unique, unique };
        let mean = figures.lz4_size_mean_bytes();
        let index = request.policy.index;
        let physical_bytes = physical.round() as u64 * BLOCK as u64;
        let volume = VdoAnswer {
            saving_percent: percent_of(total as f64 - physical, total as f64),
            saving_without_zeros_percent: percent_of(
                figures.data as f64 - physical,
                figures.data as f64,
            ),
            physical_bytes,
            index: IndexAnswer {
                memory_bytes: index.memory.bytes(),
                sparse: index.sparse,
                window_bytes: index.window_bytes(),
                duplicates_missed: scale.rounded(figures.missed),
            },
            references_capped: scale.rounded(figures.capped),
            packer: PackerAnswer {
                fragments: scale.rounded(figures.fragments),
                compressed_blocks: scale.shared().round() as u64,
                saving_percent: scale.physical_share().map(|share| 100.0 * (1.0 - share)),
                cancelled: scale.rounded(figures.cancelled),
            },
        };
        let to_size = SizingRequest {
            data: Bytes(total * BLOCK as u64),
            stored: Bytes(physical_bytes),
            files: (parts.sources.files > 0).then_some(parts.sources.files),
            index: Some(better_index(&scale, index)),
            options: request.sizing.clone(),
        };
        let sizing = if total > 0 { Some(sizing::size(&to_size)?) } else { None };
        let profile = profile::profile(
            figures,
            &blocks,
            neighbours,
            scale.saving_undisturbed(),
            parts.sequences,
        );
        let answer = Answer {
            schema: SCHEMA,
            complete: parts.complete,
            exact: request.exact,
            paths: request.paths.iter().map(|path| path.display().to_string()).collect(),
            bytes: parts.whole.bytes,
            elapsed_ns: u64::try_from(parts.elapsed.as_nanos()).unwrap_or(u64::MAX),
            sources: parts.sources,
            blocks,
            sampled: sampled(&scale, parts.whole.shift, total),
            lz4_saving_percent: mean.map(|mean| 100.0 * (1.0 - mean / BLOCK as f64)),
            vdo: volume,
            comparison: parts.comparison,
            sizing,
            spread: spread(&scale),
            directories,
            off_blocks: None,
        };
        Ok(Self { answer, profile })
    }
}

fn sampled(scale: &Scale, shift: u32, total: u64) -> Sampled {
    let figures = &scale.figures;
    let data = figures.data as f64 / total.max(1) as f64;
    let share = scale.physical_share().unwrap_or(1.0);
    let stored = scale.blocks(figures.stored) / total.max(1) as f64;
    // Three draws are nearly independent: of the contents that are followed, of those of them whose sizes are taken, and of the stretches
    // in which the packer was seen with all sizes.
    let from_duplicates = data * figures.duplicate_error * share;
    let drawn = figures.physical_share_error().max(scale.correction.drawn);
    let from_sizes = stored * drawn.hypot(scale.correction.error);
    Sampled {
        contents_one_in: 1 << shift,
        sizes: figures.sized,
        duplicate_error_points: 100.0 * SURE * data * figures.duplicate_error,
        saving_error_points: 100.0 * SURE * from_duplicates.hypot(from_sizes),
    }
}

/// Returns the smallest index that misses few duplicates, or the modelled one where none does, as when it is sparse: then the ages of
/// duplicates do not show what another index would have found.
fn better_index(scale: &Scale, modelled: Geometry) -> Geometry {
    let worth = WORTH * (scale.figures.data + scale.figures.zeros) as f64;
    let mut memory = Some(IndexMemory::SMALLEST);
    while let Some(size) = memory {
        for sparse in [false, true] {
            let geometry = Geometry { memory: size, sparse };
            if scale.blocks(scale.figures.missed_with(geometry)) <= worth {
                return geometry;
            }
        }
        memory = size.next();
    }
    modelled
}

fn spread(scale: &Scale) -> Spread {
    let figures = &scale.figures;
    let sized: f64 = figures.sizes.iter().sum();
    let each = if sized > 0.0 { scale.blocks(figures.unique) / sized } else { 0.0 };
    let bars = figures.sizes.chunks(BAR).enumerate();
    let lz4_bytes = bars
        .map(|(bar, sizes)| Count {
            from: (bar * BAR) as u64,
            count: (sizes.iter().sum::<f64>() * each).round() as u64,
        })
        .collect();
    let powers = |counts: &[f64]| {
        let last = counts.iter().rposition(|&n| n > 0.0).map_or(0, |at| at + 1);
        let counts = counts[..last].iter().enumerate();
        counts.map(|(at, n)| Count { from: 1 << at, count: n.round() as u64 }).collect()
    };
    let distances: Vec<f64> = figures.distances.iter().map(|&n| scale.blocks(n)).collect();
    Spread {
        lz4_bytes,
        distance_blocks: powers(&distances),
        references: powers(&figures.references),
    }
}

/// The breakdown by directory; unique and duplicate blocks of sampled contents are scaled to the exact number of data blocks.
fn directories(parts: &Parts) -> Vec<Directory> {
    let held = parts.whole.held.iter().zip(&parts.names).filter(|(held, _)| held.total > 0);
    held.map(|(held, name)| {
        let data = held.total - held.zero;
        let counted = held.unique + held.duplicate;
        let share = if counted > 0.0 { held.unique / counted } else { 1.0 };
        let unique = ((data as f64 * share).round() as u64).min(data);
        Directory {
            path: name.clone(),
            total: held.total,
            zero: held.zero,
            duplicate: data - unique,
            unique,
            lz4_saving_percent: (held.sized.0 > 0.0)
                .then(|| 100.0 * (1.0 - held.sized.1 / held.sized.0 / BLOCK as f64)),
        }
    })
    .collect()
}
