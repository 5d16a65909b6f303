//! Kinds of stages, and the keys that every stage has, whatever it does.

use results::model::{StageData, StageTraits};
use toml::Value;
use units::Nanos;

use crate::kinds::targets::WrittenTarget;
use crate::written::document::{Named, Places};

/// Facts of a kind of stage.
#[derive(Debug, Clone, Copy)]
pub struct KindFacts {
    /// The word in `do = "..."`.
    pub name: &'static str,
    /// Name of a stage of this kind in mistakes: `A load`.
    pub what: &'static str,
    /// Targets that it works on.
    pub works_on: WorksOn,
    /// Its traits: what others must know of what it does.
    pub traits: StageTraits,
    /// Name of the stage to measure instead, for a kind that has no figures.
    pub instead: Option<&'static str>,
    /// Work that a target cannot take while something stands on it.
    pub cannot: &'static str,
    /// Help where it needs a block device, and its target is a directory.
    pub wants_device: &'static str,
}

/// Targets that a kind of stage works on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum WorksOn {
    /// No layer: it has no target.
    Nothing,
    /// One layer.
    One,
    /// A load: one layer, several with shares, or files; and hot places.
    Load,
    /// The same as `Load`, without separate hot places.
    Rounds,
}

impl KindFacts {
    /// Returns the facts of a kind that brings `data`, and that has figures if it is measured.
    pub const fn new(
        name: &'static str,
        what: &'static str,
        works_on: WorksOn,
        data: StageData,
    ) -> Self {
        let on_layer = !matches!(works_on, WorksOn::Nothing);
        let wants_device = match works_on {
            WorksOn::Load | WorksOn::Rounds => {
                "lay files out in it (do = \"layout\") and name them: files = \"...\"; or name a layer that is a device: target = \"...\""
            }
            WorksOn::Nothing | WorksOn::One => "name a layer that is one: target = \"...\"",
        };
        Self {
            name,
            what,
            works_on,
            traits: StageTraits { on_layer, ..StageTraits::of(data) },
            instead: None,
            cannot: "be written to",
            wants_device,
        }
    }

    /// Returns the same kind with its elapsed time as a figure.
    pub const fn timed(mut self) -> Self {
        self.traits.timed = true;
        self
    }

    /// Returns the same kind with the trait that it takes layers down.
    pub const fn down(mut self) -> Self {
        self.traits.down = true;
        self
    }
}

/// Keys that every `[[stage]]` has, as written, whatever it does.
#[derive(Debug, Clone)]
pub struct StageHead {
    pub(crate) kind: KindFacts,
    /// Its name.
    pub name: String,
    /// Tells whether its figures are the measured ones.
    pub measured: bool,
    /// Tells whether the stack is brought to rest, and read, before the next stage.
    pub(crate) settle: bool,
    /// The variants that it is for; empty for all.
    pub(crate) only: Vec<String>,
    /// Its target, as written.
    pub(crate) target: WrittenTarget,
    /// The time after which the cell fails if the stage has not ended.
    pub(crate) deadline: Option<Nanos>,
    /// Settings of running layers that change before it, by `layer.key`.
    pub(crate) set: Vec<Named<Value>>,
    /// Tells whether a load draws its own hot places instead of using those of the other stages.
    pub(crate) fresh_places: bool,
    pub(crate) places: Places,
}
