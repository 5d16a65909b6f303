//! Verification of one load from its start to the pass after it.

use std::path::PathBuf;
use std::sync::Arc;

use results::model::LoadSummary;
use units::Bytes;
use workload::{LoadSpec, OpName, Ops, Range, Verify};

use super::header::Header;
use super::known::Known;
use super::layer::{self, Layer};
use super::makers::{Maker, Makers};
use super::mark;
use super::replay::{Lane, Replay};
use super::state::{self, Kept};
use super::table::Promises;
use super::verifier::Verifier;
use super::words::Width;
use crate::error::EngineError;
use crate::load::Load;
use crate::outline::Outline;

/// The largest read of the pass after a load, bytes.
const READ: u64 = 128 << 10;

/// How a load is verified, beyond what its spec says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Options {
    /// A file that keeps what is known of the targets' contents: read at the start if it is there, replaced at the end.
    pub state: Option<PathBuf>,
    /// Memory for each block.
    pub width: Width,
}

/// A target as verification sees it.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Ground {
    pub size: Bytes,
    pub promises: Promises,
}

/// What goes from a load to the pass after it, and to the state file.
#[derive(Default)]
pub(crate) struct Session {
    verifier: Option<Arc<Verifier>>,
    header: Header,
    /// What this load does on each target, to be made again.
    lanes: Vec<Lane>,
    notices: Vec<String>,
}

/// Whether reads of `load` are checked as they come.
pub(crate) fn checks(spec: &LoadSpec) -> bool {
    matches!(spec.verify, Verify::Read | Verify::Both)
}

fn changes(spec: &LoadSpec) -> bool {
    spec.ops.names().any(|op| op.changes())
}

fn checks_after(spec: &LoadSpec) -> bool {
    matches!(spec.verify, Verify::After | Verify::Both)
}

/// Whether `load` has anything to do with verification.
pub(crate) fn wanted(load: &Load) -> bool {
    load.spec.verify != Verify::Off || load.verification.state.is_some()
}

impl Session {
    /// The verifier of `load`, made when there is none yet; `None` when the load is not to be verified.
    pub(crate) fn verifier(
        &mut self,
        load: &Load,
        grounds: &[Ground],
        outline: &Outline,
    ) -> Result<Option<Arc<Verifier>>, EngineError> {
        if !wanted(load) || grounds.is_empty() {
            return Ok(None);
        }
        if let Some(verifier) = &self.verifier {
            return Ok(Some(Arc::clone(verifier)));
        }
        let (ranges, contents) = (&outline.ranges, &outline.contents);
        let unit = unit(&load.spec, ranges);
        if unit.is_none() {
            let text = "Blocks that I/Os cover in part are not verified: use block sizes, offset and alignment that are multiples of the content's block";
            self.notices.push(text.into());
        }
        let unit = unit.unwrap_or_else(|| load.spec.content.unit());
        self.header = Header::of(load, unit, grounds, ranges);
        self.lanes = outline.lanes(load);
        let kept = match &load.verification.state {
            Some(path) => Kept::open(path, &self.header)?,
            None => None,
        };
        let own = contents.iter().map(|c| Arc::new(c.clone()) as Arc<dyn Maker>);
        let earlier = kept.iter().flat_map(|kept| kept.makers.iter().cloned());
        let makers = Makers::new(own.chain(earlier).collect());
        let width = load.verification.width;
        let known = self.known(load, grounds, unit, kept.as_ref());
        let verifier = Arc::new(match known {
            Some(known) => Verifier::known(known, unit, width, makers),
            None => {
                let targets: Vec<_> = grounds.iter().map(|g| (g.size.0, g.promises)).collect();
                let make = if changes(&load.spec) { Verifier::new } else { Verifier::still };
                make(&targets, unit, width, makers)?
            }
        });
        if let Some(kept) = kept {
            self.notices.extend(kept.notice());
            self.header.take_earlier(&kept.header);
            if let Some(path) = &load.verification.state {
                kept.restore(&verifier, path)?;
            }
        }
        if let Some(path) = load.verification.state.as_ref().filter(|_| changes(&load.spec)) {
            // Before the first write: a load that is killed must not leave a state that is no longer true.
            mark::mark(path, &self.header, ranges)?;
        }
        verifier.take_made();
        self.verifier = Some(Arc::clone(&verifier));
        Ok(Some(verifier))
    }

    /// For each target what is known of it, where that needs no memory for each block: all that was ever written can be asked
    /// backwards, and this load changes nothing, or every block once at most.
    fn known(
        &self,
        load: &Load,
        grounds: &[Ground],
        unit: usize,
        kept: Option<&Kept>,
    ) -> Option<Vec<(Promises, Known)>> {
        if changes(&load.spec) {
            let once = |lane: &Lane| layer::follows(&lane.spec, unit) && Layer::is_one_pass(lane);
            let again = Replay::of(load.seed, self.lanes.clone()).is_some();
            if !again || !self.lanes.iter().all(once) {
                return None;
            }
        } else if kept.is_none() {
            return None;
        }
        let layers = match kept {
            Some(kept) => kept.layers()?,
            None => grounds.iter().map(|_| Default::default()).collect(),
        };
        let known = |(ground, (earlier, others)): (&Ground, _)| {
            let blocks = ground.size.0 / unit as u64;
            (ground.promises, Known::new((blocks, unit), earlier, others))
        };
        Some(grounds.iter().zip(layers).map(known).collect())
    }

    /// The load itself has ended; what comes now is the pass after it.
    pub(crate) fn ended(&mut self, load: &Load) {
        let Some(verifier) = &self.verifier else { return };
        let made = verifier.take_made();
        for (lane, made) in self.lanes.iter_mut().zip(made) {
            lane.made = made;
        }
        if !changes(&load.spec) {
            return;
        }
        let replay = Replay::of(load.seed, std::mem::take(&mut self.lanes));
        if let Some(replay) = &replay {
            for (target, (area, lane)) in verifier.targets.iter().zip(replay.lanes()).enumerate() {
                if let Some(known) = area.table.cells.as_known()
                    && let Some(layer) = Layer::of(replay, target, lane)
                {
                    known.ended(layer);
                }
            }
        }
        self.header.did(replay);
    }

    /// The pass after `load` that reads all of its range once; `None` when none is asked for.
    pub(crate) fn pass_after(&self, load: &Load) -> Option<Load> {
        let unit = self.verifier.as_ref()?.unit() as u64;
        if !checks_after(&load.spec) {
            return None;
        }
        let range = load.spec.size.map_or(unit, |size| size.0);
        let block =
            if range.is_multiple_of(READ) && READ.is_multiple_of(unit) { READ } else { unit };
        let spec = LoadSpec {
            ops: Ops::only(OpName::Read),
            block_size: Bytes(block).into(),
            jobs: load.spec.jobs,
            depth: load.spec.depth.min(32),
            offset: load.spec.offset,
            size: load.spec.size,
            passes: Some(1),
            content: load.spec.content.clone(),
            direct: load.spec.direct,
            backend: load.spec.backend,
            verify: Verify::Read,
            ..LoadSpec::default()
        };
        Some(Load {
            spec,
            may_create: None,
            recording: crate::Recording::default(),
            ..load.clone()
        })
    }

    /// Puts what was found into `summary`, and what is known now into the state file. Where that cannot be written the summary
    /// says so: what was measured stands.
    pub(crate) fn finish(self, load: &Load, summary: &mut LoadSummary) {
        summary.notices.extend(self.notices);
        let Some(verifier) = self.verifier else { return };
        if load.spec.verify != Verify::Off {
            verifier.refine(self.header.replays.as_deref().unwrap_or_default());
            summary.verify = Some(verifier.total());
        }
        let Some(path) = &load.verification.state else { return };
        if let Err(error) = state::save(path, &self.header, &verifier) {
            let stays = if changes(&load.spec) {
                "the file there says that this load did not end, so that what it wrote is not verified later"
            } else {
                "what stood there before stays"
            };
            summary.lacks(format!("{}; {stays}; {}", error.chain(), error.help()));
        }
    }
}

/// Bytes that are verified together; `None` when I/Os do not keep to the content's block.
fn unit(spec: &LoadSpec, ranges: &[Range]) -> Option<usize> {
    let unit = spec.content.unit() as u64;
    let mut sizes: Vec<u64> = spec
        .ops
        .names()
        .flat_map(|op| spec.block_size_of(op).sizes().map(|size| size.0).collect::<Vec<_>>())
        .collect();
    sizes.sort_unstable();
    sizes.dedup();
    let starts = |unit: u64| ranges.iter().all(|range| range.start.is_multiple_of(unit));
    if sizes.iter().all(|size| size.is_multiple_of(unit)) && starts(unit) {
        return Some(unit as usize);
    }
    match *sizes {
        [size] if unit.is_multiple_of(size) && starts(size) => Some(size as usize),
        _ => None,
    }
}
