//! Whether an expectation is of what is measured.

use super::Expectation;
use crate::diagnostic::Diagnostic;
use crate::stacks::VariantStack;
use crate::stages::Stage;

impl Expectation {
    /// Both figures must be of what is measured, and all evidence.
    pub(crate) fn check(
        &self,
        stages: &[Stage],
        stacks: &[VariantStack],
        variants: &[&str],
    ) -> Vec<Diagnostic> {
        let figures = [Some(&self.figure), self.of.as_ref()].into_iter().flatten();
        let evidence = self.evidence.iter().filter_map(|subject| subject.check(stages, stacks));
        figures
            .filter_map(|figure| figure.check(stages, stacks, variants))
            .chain(evidence)
            .collect()
    }
}
