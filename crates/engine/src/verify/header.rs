//! Headers of state files, and their comparison with the targets of a load.

use content::ContentSpec;
use serde::{Deserialize, Serialize};
use sys::identity::Identity;
use units::{Bytes, Seed};
use workload::Range;

use super::expected_blocks::Width;
use super::replay::Replay;
use super::target_facts::TargetFacts;
use super::written_load::{self, KEPT};
use crate::load::Load;

/// A content that was written: what is needed to generate its bytes again.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub(crate) struct Recipe {
    pub(super) spec: ContentSpec,
    pub(super) seed: Seed,
    pub(super) generator: u16,
    pub(super) jobs: u32,
    pub(super) blocks: u64,
}

/// The header of a state file: its targets, and the loads that wrote them.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub(crate) struct Header {
    /// Bytes in a block.
    pub(super) unit: u64,
    /// Bytes of state per block.
    pub(super) width: u8,
    /// Sizes of the targets, bytes.
    pub(super) targets: Vec<u64>,
    /// Identities of the targets, independent of their names; empty in states from before 25 November 2026.
    #[serde(default)]
    pub(super) identities: Vec<Identity>,
    pub(super) recipes: Vec<Recipe>,
    /// Everything that was ever written to the targets; `None` where that is not known.
    pub(crate) replays: Option<Vec<Replay>>,
    /// Tells whether the file lists only the blocks whose content a replay gets wrong; otherwise it lists all blocks.
    pub(super) replayed: bool,
    /// Ranges written by loads that did not come to their end: for each such load, the range on each target.
    #[serde(default)]
    pub(super) unfinished: Vec<Vec<Range>>,
    /// The same for loads that ended, but some of whose writes may not have been in stable storage then.
    #[serde(default)]
    pub(super) unflushed: Vec<Vec<Range>>,
}

impl Header {
    /// Adds the replay of a load that has ended. `None`, for a load that cannot be replayed, discards the whole history.
    pub(crate) fn add_replay(&mut self, replay: Option<Replay>) {
        self.replays = self.replays.take().zip(replay).map(|(mut all, replay)| {
            all.push(replay);
            all
        });
        self.prune();
    }

    /// Drops loads that a later one overwrote completely, except the last few: after a lost write their data may still be there.
    fn prune(&mut self) {
        let Some(replays) = &mut self.replays else { return };
        let covers = |replay: &Replay| {
            let mut target_loads = replay.target_loads().iter().zip(&self.targets);
            target_loads.all(|(load, &size)| written_load::covers_all(load, size, self.unit))
        };
        let Some(last) = replays.iter().rposition(covers) else { return };
        replays.drain(..last.saturating_sub(KEPT));
        let seeds: Vec<_> = replays.iter().map(Replay::seed).collect();
        self.recipes.retain(|recipe| seeds.contains(&recipe.seed));
    }

    pub(crate) fn of(load: &Load, unit: usize, facts: &[TargetFacts], ranges: &[Range]) -> Self {
        let recipe = |(generator, range): (u16, &Range)| Recipe {
            spec: load.spec.content.clone(),
            seed: load.seed,
            generator,
            jobs: load.spec.jobs,
            blocks: range.bytes / load.spec.content.unit() as u64,
        };
        let writes = load.spec.has_content();
        let at_risk = load.spec.writes() && !load.spec.is_each_write_durable();
        Self {
            unit: unit as u64,
            width: match load.verification.width {
                Width::Four => 4,
                Width::One => 1,
            },
            targets: facts.iter().map(|target| target.size.0).collect(),
            identities: facts.iter().map(|target| target.identity.clone()).collect(),
            recipes: (0..).zip(ranges).filter(|_| writes).map(recipe).collect(),
            replays: Some(Vec::new()),
            replayed: false,
            unfinished: Vec::new(),
            unflushed: if at_risk { vec![ranges.to_vec()] } else { Vec::new() },
        }
    }

    /// Tells whether the targets of `now` may be those of this state, by their number and sizes; a target that has grown still holds what it held.
    pub(super) fn may_match(&self, now: &Self) -> bool {
        let grown = |(before, now): (&u64, &u64)| before <= now;
        self.targets.len() == now.targets.len() && self.targets.iter().zip(&now.targets).all(grown)
    }

    /// Describes how the targets of `now` differ from those of this state in number or sizes, as the predicate of a sentence.
    pub(super) fn describe_size_difference(&self, now: &Self) -> String {
        let (before, targets) = (self.targets.len(), now.targets.len());
        if before != targets {
            return format!("is of {before} targets, and this load has {targets}");
        }
        let sizes = self.targets.iter().zip(&now.targets).filter(|(before, now)| before != now);
        let sizes: Vec<_> = sizes
            .map(|(&before, &now)| format!("of {}, which has {} now", Bytes(before), Bytes(now)))
            .collect();
        format!("is of a target {}", sizes.join(", and of one "))
    }

    /// Returns the reason why a state with this header does not belong to the targets of `wanted`, as a sentence without its end; `None` if it does.
    pub(super) fn other_target(&self, wanted: &Self) -> Option<String> {
        if self.identities.len() != wanted.identities.len() {
            return Some("does not name its target".to_owned());
        }
        let now_alone = wanted.identities.len() == 1;
        let mut each = self.identities.iter().zip(&wanted.identities).enumerate();
        each.find_map(|(target, (before, now))| {
            let why = before.difference(now)?;
            let number = if now_alone {
                String::new()
            } else {
                format!(" than number {target} of this load")
            };
            Some(format!("is of another target{number}: {why}"))
        })
    }

    /// Continues an earlier state, whose contents are still on the targets.
    pub(crate) fn take_earlier(&mut self, earlier: &Self) {
        let new = earlier.recipes.iter().filter(|recipe| !self.recipes.contains(recipe));
        let new: Vec<_> = new.cloned().collect();
        self.recipes.extend(new);
        self.replays = earlier.replays.clone();
        let new = earlier.unflushed.iter().filter(|ranges| !self.unflushed.contains(ranges));
        let new: Vec<_> = new.cloned().collect();
        self.unflushed.extend(new);
    }
}
