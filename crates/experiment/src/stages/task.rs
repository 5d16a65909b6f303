//! Tasks of stages, as written: what every kind of stage answers.

use std::collections::BTreeSet;

use workload::LoadSpec;

use super::head::{KindFacts, StageHead};
use super::planner::Planner;
use crate::written::diagnostic::Diagnostic;
use crate::written::document::{Places, Table};
use crate::written::load::operations;
use crate::written::sweep::Point;
use plan::{Needs, StagePlan};

/// A kind of stage, and the reader of its own keys.
#[derive(Clone, Copy)]
pub struct StageKind {
    /// Its facts.
    pub facts: KindFacts,
    /// Reads the keys that are left.
    pub read: ReadTask,
}

/// Reads the keys of a stage that only its kind has.
pub type ReadTask = fn(Table, &Around) -> Result<Box<dyn StageTask>, Diagnostic>;

/// Facts of a stage that are known when its own keys are read.
pub struct Around<'a> {
    /// Its name.
    pub name: &'a str,
    /// Tells whether its figures are the measured ones.
    pub measured: bool,
    /// Tells whether it changes settings of running layers.
    pub sets: bool,
    /// Places of its keys.
    pub places: &'a Places,
    /// The experiment's file.
    pub file: &'a str,
}

/// Task of a stage, as written. A kind overrides the methods whose usual answer does not fit it.
pub trait StageTask: CopyTask {
    /// Makes it ready for a stack: the stages that it becomes there.
    fn plan(&self, stage: &StageHead, on: &mut Planner) -> Result<Vec<StagePlan>, Diagnostic>;

    /// Returns the load that it measures; for a sweep the load of its first point.
    fn load(&self) -> Option<&LoadSpec> {
        None
    }

    /// Returns the operations of the load that it measures, by name.
    fn operations(&self) -> Vec<String> {
        self.load().map(operations).unwrap_or_default()
    }

    /// Tells whether its load works on a tree of files.
    fn is_of_tree(&self) -> bool {
        false
    }

    /// Tells whether it ages a file system.
    fn is_ageing(&self) -> bool {
        false
    }

    /// Returns every load that it drives.
    fn loads_mut(&mut self) -> Vec<&mut LoadSpec> {
        Vec::new()
    }

    /// Returns the points of its sweep.
    fn points(&self) -> &[Point] {
        &[]
    }

    /// Returns the names of figures that are picked from what its command prints; `None` if it is not a command.
    fn picked(&self) -> Option<Vec<&str>> {
        None
    }

    /// Returns the names of the corpora that it reads.
    fn corpora(&self) -> BTreeSet<&str> {
        BTreeSet::new()
    }

    /// Returns the role of the device that it copies from.
    fn copies_from(&self) -> Option<&str> {
        None
    }

    /// Returns what it needs of a machine, except for its corpora.
    fn needs(&self) -> Needs {
        Needs::default()
    }
}

/// A task that can be copied as a trait object; every task that is `Clone` can.
pub trait CopyTask {
    /// Returns a copy of the task.
    fn copied(&self) -> Box<dyn StageTask>;
}

impl<T: StageTask + Clone + 'static> CopyTask for T {
    fn copied(&self) -> Box<dyn StageTask> {
        Box::new(self.clone())
    }
}

impl Clone for Box<dyn StageTask> {
    fn clone(&self) -> Self {
        (**self).copied()
    }
}
