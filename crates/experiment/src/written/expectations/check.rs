//! Checks that an expectation is about figures that are measured.

use super::Expectation;
use crate::stages::Stage;
use crate::written::diagnostic::Diagnostic;
use crate::written::stacks::VariantStack;

impl Expectation {
    /// Checks that both figures and all evidence are measured.
    pub(crate) fn check(
        &self,
        stages: &[Stage],
        stacks: &[VariantStack],
        variants: &[&str],
    ) -> Vec<Diagnostic> {
        let figures = [Some(&self.figure), self.of.as_ref()].into_iter().flatten();
        let evidence = self.evidence.iter().flat_map(|subject| subject.check(stages, stacks));
        let itself = self.over_itself(variants.last().copied().unwrap_or_default());
        figures
            .flat_map(|figure| figure.check(stages, stacks, variants))
            .chain(evidence)
            .chain(itself)
            .collect()
    }

    /// Refuses a figure divided by itself, which is always 1; its variant is `otherwise` unless one is named.
    fn over_itself(&self, otherwise: &str) -> Option<Diagnostic> {
        let of = self.of.as_ref()?;
        let same = of.subject.key() == self.figure.subject.key()
            && of.variant(otherwise) == self.figure.variant(otherwise);
        let message = "A figure is divided by itself, which is always 1";
        let help = "name what is another: of = { variant = \"...\" }";
        same.then(|| Diagnostic::at(of.subject.places.table(), message, help).if_rest_is_right())
    }
}
