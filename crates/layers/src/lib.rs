//! What a storage layer is, as data and pure functions: settings and their validity, the steps that raise
//! it and take it down, what to read and how to parse it, its figures, charts and needs, its simulated
//! twin. One folder per layer; adding a layer means adding a folder and one line of the registry. Nothing
//! here touches the machine.
#![forbid(unsafe_code)]

mod figures;
mod kind;
mod layer;
mod linear;
mod loads;
mod lvm;
pub mod machine;
mod parse;
pub mod probe;
mod registry;
mod settings;
pub mod step;
mod twin;
mod vdo;

pub use figures::{ALLOCATED, FigureFacts, Marks, SETTLED, STAGE_END, STAGE_SETTLED, STAGE_START};
pub use kind::{Chart, Key, Kind, Needs, RuleFacts, Series};
pub use layer::{Allocate, Layer, Place, Raised, fresh};
pub use parse::{ParseError, Parsed, parse};
pub use registry::{kind, kinds, metric, metrics};
pub use settings::SettingError;
pub use twin::{Twin, TwinAnswer, Writes};
