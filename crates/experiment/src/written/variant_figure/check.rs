//! Checks that the figure of a variant is measured, and is a single one.

use toml::Spanned;

use super::VariantFigure;
use crate::stages::Stage;
use crate::written::diagnostic::Diagnostic;
use crate::written::stacks::VariantStack;

impl VariantFigure {
    /// Checks that its variant exists, and measures the figure in one stage.
    pub(crate) fn check(
        &self,
        stages: &[Stage],
        stacks: &[VariantStack],
        variants: &[&str],
    ) -> Vec<Diagnostic> {
        let named = self.variant.as_ref().and_then(|name| unknown_variant(name, variants));
        let mut mistakes: Vec<_> =
            named.into_iter().chain(self.subject.check(stages, stacks)).collect();
        if mistakes.is_empty() {
            mistakes.extend(self.subject.check_single(stages));
        }
        mistakes
    }
}

/// A variant that is not one of `names`.
fn unknown_variant(name: &Spanned<String>, names: &[&str]) -> Option<Diagnostic> {
    let message = format!("There is no variant '{}'", name.get_ref());
    let known = names.iter().copied();
    (!names.contains(&name.get_ref().as_str()))
        .then(|| Diagnostic::unknown(name.span(), message, name.get_ref(), known))
}
