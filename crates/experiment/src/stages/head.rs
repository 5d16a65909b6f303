//! Keys that every stage has, whatever it does.

use results::model::StageTraits;
use toml::Value;
use units::Nanos;

use crate::document::{Named, Places};
use crate::targets::WrittenTarget;

/// Keys that every `[[stage]]` has, as written, whatever it does.
#[derive(Clone)]
pub(crate) struct StageHead {
    pub kind: String,
    /// What it does, as others must know it.
    pub traits: StageTraits,
    pub name: String,
    pub measured: bool,
    /// Tells whether the stack is brought to rest, and read, before the next stage.
    pub settle: bool,
    /// The variants that it is for; empty for all.
    pub only: Vec<String>,
    /// Its target, as written.
    pub target: WrittenTarget,
    /// When the cell fails because it has not ended.
    pub deadline: Option<Nanos>,
    /// Settings of running layers that change before it, by `layer.key`.
    pub set: Vec<Named<Value>>,
    /// Tells whether a load draws hot places of its own.
    pub fresh_places: bool,
    pub places: Places,
}
