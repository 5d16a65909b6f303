//! Traits of a stage: what others must know of what it does, whatever its kind is called.

use serde::{Deserialize, Serialize};

/// Traits of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageTraits {
    /// Data that it brings.
    pub data: StageData,
    /// Tells whether it works on a layer.
    pub on_layer: bool,
    /// Tells whether the time that it takes is a figure, though it is neither a load nor a command.
    #[serde(default)]
    pub timed: bool,
    /// Tells whether it takes layers down, so that they cannot be read meanwhile.
    #[serde(default)]
    pub down: bool,
}

/// Data that a stage brings to what it works on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageData {
    /// None.
    Nothing,
    /// Zeros, one block in many, which make layers allocate.
    Allocation,
    /// As much as its load writes.
    Load,
    /// Rounds of its load; nobody knows beforehand how many.
    Rounds,
    /// Rounds of its load until a layer is in a state.
    State,
    /// Data of its own, which nobody looks at.
    Foreign,
    /// Perhaps some: nobody knows.
    #[default]
    Unknown,
}

impl StageTraits {
    /// Returns the traits of a stage that works on a layer and brings `data`.
    pub const fn of(data: StageData) -> Self {
        Self { data, on_layer: true, timed: false, down: false }
    }

    /// Returns the traits of stages of this kind in results from before they were recorded. No other place knows a kind by its name.
    pub(super) fn before_recorded(kind: &str) -> Self {
        let timed = Self { timed: true, ..Self::of(StageData::Nothing) };
        match kind {
            "allocate" => Self::of(StageData::Allocation),
            "layout" | "load" => Self::of(StageData::Load),
            "fill" => Self::of(StageData::Rounds),
            "state" => Self::of(StageData::State),
            "copy" => Self::of(StageData::Foreign),
            "layer" => Self { down: true, ..timed },
            "remount" | "trim" => timed,
            "drop_caches" | "wait" | "read" | "set" => {
                Self { on_layer: false, ..Self::of(StageData::Nothing) }
            }
            _ => Self::of(StageData::Unknown),
        }
    }
}
