//! Traits of a stage: what other parts of the program need to know about it, without knowing its kind by name.

use serde::{Deserialize, Serialize};

/// Traits of a stage.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct StageTraits {
    /// The data that it writes to the layer it works on.
    pub data: StageData,
    /// Tells whether it works on a layer.
    pub on_layer: bool,
    /// Tells whether the time that it takes is a figure, though it is neither a load nor a command.
    #[serde(default)]
    pub timed: bool,
    /// Tells whether it takes layers down, so that they cannot be read while it lasts.
    #[serde(default)]
    pub down: bool,
}

/// The data that a stage writes to what it works on.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StageData {
    /// None.
    Nothing,
    /// Zeros, one block in many, which make layers allocate.
    Allocation,
    /// The data of its load.
    Load,
    /// The data of several rounds of its load; their number is not known beforehand.
    Rounds,
    /// The data of rounds of its load until a layer is in a state.
    State,
    /// Data of its own, which is not measured.
    Foreign,
    /// Not known: perhaps some data.
    #[default]
    Unknown,
}

impl StageTraits {
    /// Returns the traits of a stage that works on a layer and writes `data`.
    pub const fn of(data: StageData) -> Self {
        Self { data, on_layer: true, timed: false, down: false }
    }

    /// Returns the traits of stages of this kind in results from before they were recorded. This is the only place that knows kinds by name.
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
