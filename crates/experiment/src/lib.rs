//! The experiment file, its variants and stages, and the Plan they become. Reading and checking a file
//! touches nothing; the Plan that comes out holds every step, probe and estimate as data, so that `explain`
//! prints exactly what a run would do.
#![forbid(unsafe_code)]

mod action;
mod ageing;
mod alike;
mod allocation;
mod attributes;
mod bounds;
mod cache_bounds;
mod change;
mod command;
mod compose;
mod copy;
mod corpora;
mod crash;
mod devices;
mod diagnostic;
mod document;
mod drive;
mod environment;
mod estimate;
mod every;
mod expectations;
mod explain;
mod factors;
mod file;
mod fill;
mod given;
mod graph;
mod kernels;
mod keys;
mod layout;
mod load;
mod machine;
mod names;
mod only;
mod order;
mod pictures;
mod plan;
mod questions;
mod reboot;
mod repeat;
mod reported;
mod restart;
mod scale;
mod shipped;
mod stacks;
mod stages;
mod state;
mod steps;
mod subject;
mod sweep;
mod targets;
mod texture;
mod tree_load;
mod trial;
mod unused;
mod variant_figure;
mod variants;
mod whole;

pub use bounds::FILE as LONGEST_FILE;
pub use command::figure::FigurePicker;
pub use compose::{PlanOptions, compose_trial};
pub use diagnostic::{Diagnostic, nearest};
pub use document::Table;
pub use every::compose;
pub use explain::{Explained, ExplainedFigure, ExplainedVariant, explain};
pub use kernels::with_kernels;
pub use plan::{
    AgeingPlan, Aim, CellPlan, CommandPlan, CopyPlan, Corpus, DevicePlan, FigurePlan, Files,
    FillPlan, Machine, Needs, Otherwise, Output, PlacedLayer, Plan, Rounds, StagePlan, StatePlan,
    Target, Task, TreePlan,
};
pub use repeat::Repeat;
pub use scale::Scale;
pub use shipped::{SHIPPED, Shipped, shipped};
pub use stages::{Around, KindFacts, Planner, StageHead, StageKind, StageTask, WorksOn, register};
pub use trial::Trial;

/// An experiment file that cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{file} is not a valid experiment: {}", .mistakes.first().map_or("", |m| m.message.as_str()))]
pub struct ExperimentError {
    /// Name of the file, or of the shipped experiment.
    pub file: String,
    /// Its text.
    pub text: String,
    /// Mistakes in it; never empty.
    pub mistakes: Vec<Diagnostic>,
}

impl ExperimentError {
    /// Every mistake with the line it is on.
    pub fn render(&self, colour: bool) -> String {
        let shown: Vec<_> =
            self.mistakes.iter().map(|m| m.render(&self.file, &self.text, colour)).collect();
        shown.join("\n\n")
    }
}

#[cfg(test)]
mod tests;
