//! The experiment file, its variants and stages, and the Plan they become. Reading and checking a file
//! touches nothing; the Plan that comes out holds every step, probe and estimate as data, so that `explain`
//! prints exactly what a run would do.
#![forbid(unsafe_code)]

mod checked;
mod kinds;
mod planned;
mod stages;
mod written;

pub use checked::bounds::FILE as LONGEST_FILE;
pub use checked::every::compose;
pub use kinds::register;
pub use planned::compose::{PlanOptions, compose_trial};
pub use planned::explain::{Explained, ExplainedFigure, ExplainedVariant, explain};
pub use planned::kernels::with_kernels;
pub use stages::{Around, KindFacts, Planner, StageHead, StageKind, StageTask, WorksOn};
pub use written::diagnostic::{Diagnostic, nearest};
pub use written::document::Table;
pub use written::repeat::Repeat;
pub use written::scale::Scale;
pub use written::shipped::{SHIPPED, Shipped, shipped};
pub use written::trial::Trial;

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
