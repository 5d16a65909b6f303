//! Checks that reported figures are figures that are measured.

use super::Reported;
use crate::diagnostic::Diagnostic;
use crate::stacks::VariantStack;
use crate::stages::Stage;

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
