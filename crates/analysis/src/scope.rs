//! Scopes of figures: an operation, a layer, the command, the content or the whole load of one stage.

use std::collections::BTreeMap;

/// Scope of a figure: the stage, and the part of it that the figure describes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Scope {
    /// Name of the measured stage; `None` where the experiment measures only one.
    pub stage: Option<String>,
    /// The part of that stage.
    pub of: Of,
}

/// The part of a stage that a figure describes.
#[derive(Debug, Clone, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Of {
    /// An operation, by its name as given.
    Operation(String),
    /// The load as a whole: its CPU time.
    Load,
    /// The command of the stage.
    Command,
    /// A layer or a device under it, by its name in the experiment.
    Layer(String),
    /// The content that was written, as measured.
    Content,
}

impl Scope {
    /// An operation of the only measured stage.
    pub fn operation(name: &str) -> Self {
        Of::Operation(name.to_owned()).in_only_stage()
    }

    /// A layer in the only measured stage.
    pub fn layer(name: &str) -> Self {
        Of::Layer(name.to_owned()).in_only_stage()
    }

    /// Returns its name for people: `randread`, `randread in cold`, `cache in warm`.
    pub fn name(&self) -> String {
        let name = match &self.of {
            Of::Operation(name) | Of::Layer(name) => name,
            Of::Load => "load",
            Of::Command => "command",
            Of::Content => "content",
        };
        match &self.stage {
            None => name.to_owned(),
            Some(stage) => format!("{name} in {stage}"),
        }
    }

    /// Translates this scope into the names of one variant. `devices` maps shared device names to the variant's own. `None` if the shared name is not in it
    /// and the variant uses that name for another device.
    pub fn as_named_by(&self, devices: &BTreeMap<String, String>) -> Option<Self> {
        let Some(name) = self.as_layer() else { return Some(self.clone()) };
        match devices.get(name) {
            Some(own_name) => Some(Self { of: Of::Layer(own_name.clone()), ..self.clone() }),
            None if devices.values().any(|own_name| own_name == name) => None,
            None => Some(self.clone()),
        }
    }

    /// Name of the operation, if the scope is one.
    pub fn as_operation(&self) -> Option<&str> {
        if let Of::Operation(name) = &self.of { Some(name) } else { None }
    }

    /// Name of the layer, if the scope is one.
    pub fn as_layer(&self) -> Option<&str> {
        if let Of::Layer(name) = &self.of { Some(name) } else { None }
    }
}

impl Of {
    /// Returns this part as a scope of the only measured stage.
    pub fn in_only_stage(self) -> Scope {
        Scope { stage: None, of: self }
    }
}
