//! Checks that reported figures are figures that are measured.

use super::Reported;
use crate::stages::Stage;
use crate::written::diagnostic::Diagnostic;
use crate::written::stacks::VariantStack;

impl Reported {
    /// Each value must be of a figure that is measured.
    pub(crate) fn check(
        &self,
        stages: &[Stage],
        stacks: &[VariantStack],
        variants: &[&str],
    ) -> Vec<Diagnostic> {
        let figures = self.values.iter();
        figures.flat_map(|one| one.figure.check(stages, stacks, variants)).collect()
    }
}
