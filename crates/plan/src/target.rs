//! Targets of the stages of a plan.

use layers::Offer;
use serde::{Deserialize, Serialize};
use units::{Bytes, Percent};
use workload::LoadSpec;

/// Target of a stage: the top of the stack, or another layer by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Name of the layer.
    pub name: String,
    /// Offer of the layer, placeholders allowed.
    pub offer: Offer,
}

/// One thing that a load drives, and its part of the I/Os.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Aim {
    /// The layer.
    pub target: Target,
    /// The files that the load works on, if the target is a directory.
    #[serde(default)]
    pub files: Option<Files>,
    /// Its part of the I/Os, in relation to the other aims'.
    pub share: Percent,
}

/// Files of one size in a folder of a directory, named by their numbers.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Files {
    /// The folder.
    pub folder: String,
    /// Number of the first.
    pub first: u64,
    /// Number of files.
    pub count: u64,
    /// Size of each.
    pub size: Bytes,
    /// Tells whether the stage makes them, instead of using files that are there already.
    pub make: bool,
}

impl Aim {
    /// Creates an aim that gets all I/Os.
    pub fn alone(target: Target) -> Self {
        Self { target, files: None, share: Percent(100.0) }
    }

    /// The size that all of these have, bytes; `None` where they differ, or there is none.
    pub fn common_size(aims: &[Self]) -> Option<u64> {
        let first = aims.first()?.bytes();
        aims.iter().all(|aim| aim.bytes() == first).then_some(first)
    }

    /// Paths of the device, or of the files, placeholders allowed; each with its part of the I/Os.
    pub fn paths(&self) -> Vec<(String, Percent)> {
        let path = self.target.offer.path();
        let Some(files) = &self.files else { return vec![(path.to_owned(), self.share)] };
        let share = Percent(self.share.0 / files.count.max(1) as f64);
        let numbers = files.first..files.first + files.count;
        numbers.map(|n| (format!("{path}/{}/{n}", files.folder), share)).collect()
    }

    /// Bytes of it that `load` can write: the load's range of the device, or of each file; without a load, all of it.
    pub fn room(&self, load: Option<&LoadSpec>) -> u64 {
        let range = load.and_then(|load| load.range_in(self.bytes()).1);
        let each = range.map_or(self.bytes(), |range| range.min(self.bytes()));
        each.saturating_mul(self.files.as_ref().map_or(1, |files| files.count))
    }

    /// Size of the device, or of each file, bytes.
    pub fn bytes(&self) -> u64 {
        self.files.as_ref().map_or(self.target.offer.bytes(), |files| files.size.0)
    }
}
