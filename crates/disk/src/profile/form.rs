//! The parts of a profile: parameters and their values, published figures, and loads that show its speed.

use super::parameter::Parameter;

/// The kind of model that a profile is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, serde::Serialize)]
#[serde(rename_all = "lowercase")]
pub enum ModelKind {
    /// Turning platters.
    Hdd,
    /// Dies behind a link.
    Flash,
    /// None: as fast as the front end.
    Memory,
}

/// One kind of disk with its parameters.
#[derive(Debug, Clone, PartialEq)]
pub struct Profile {
    /// Its name.
    pub name: &'static str,
    /// A description of one line.
    pub about: &'static str,
    kind: ModelKind,
    parameters: &'static [Parameter],
    /// Values in the order of the parameters: nanoseconds, bytes, bytes per second, shares of 1, counts, 0 or 1.
    values: Vec<f64>,
    /// Figures from data sheets.
    pub published: &'static [Published],
    /// Loads, with their depths, that show the speed it reaches.
    pub reaches: &'static [Reach],
}

/// A figure from a data sheet or from a test by others.
#[derive(Debug, Clone, Copy, PartialEq, serde::Serialize)]
pub struct Published {
    /// The name of the figure.
    pub what: &'static str,
    /// The figure as the source writes it.
    pub value: &'static str,
    /// The source.
    pub source: &'static str,
}

/// The load of a row that shows the speed of a profile.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Reach {
    /// The row's name.
    pub name: &'static str,
    /// The operation of all requests.
    pub op: crate::Op,
    /// The places they go to.
    pub shape: Shape,
    /// Bytes of each request.
    pub block: u64,
    /// Depths.
    pub depths: &'static [u32],
}

/// The places that requests go to.
#[derive(Debug, Clone, Copy, PartialEq)]
pub enum Shape {
    /// Anywhere in the first part of the disk, given as a share: 1 is all of it.
    Random(f64),
    /// One after another, from this part of the disk on.
    Sequential(f64),
}

impl Profile {
    pub(super) fn new(
        (name, about, kind): (&'static str, &'static str, ModelKind),
        parameters: &'static [Parameter],
        values: &[f64],
        published: &'static [Published],
        reaches: &'static [Reach],
    ) -> Self {
        debug_assert_eq!(parameters.len(), values.len());
        Self { name, about, kind, parameters, values: values.to_vec(), published, reaches }
    }

    /// Returns the kind of model that it is for.
    pub fn kind(&self) -> ModelKind {
        self.kind
    }

    /// Its parameters, with the value of each.
    pub fn values(&self) -> impl Iterator<Item = (&'static Parameter, f64)> {
        self.parameters.iter().zip(self.values.iter().copied())
    }

    /// Tells whether data may be lost in a power cut after the reply to their write.
    pub fn is_volatile(&self) -> bool {
        match self.kind {
            ModelKind::Hdd => self.get("write_cache") != 0.0,
            ModelKind::Flash => self.get("power_loss_protection") == 0.0,
            ModelKind::Memory => false,
        }
    }

    /// The value of a parameter, which is one of the profile's.
    pub(crate) fn get(&self, name: &str) -> f64 {
        self.values().find(|(p, _)| p.name == name).map_or(f64::NAN, |(_, value)| value)
    }

    /// Replaces the value of a parameter.
    pub(crate) fn set(&mut self, name: &str, value: f64) {
        let place = self.parameters.iter().position(|p| p.name == name);
        if let Some(slot) = place.and_then(|place| self.values.get_mut(place)) {
            *slot = value;
        }
    }
}
