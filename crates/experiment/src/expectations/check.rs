//! Whether an expectation is of what is measured.

use toml::Spanned;

use super::Expectation;
use crate::diagnostic::{Diagnostic, nearest};
use crate::stacks::VariantStack;
use crate::stages::Stage;

impl Expectation {
    /// Both figures must be of what is measured.
    pub(crate) fn check(
        &self,
        stages: &[Stage],
        stacks: &[VariantStack],
        variants: &[&str],
    ) -> Vec<Diagnostic> {
        let figures = [Some(&self.figure), self.of.as_ref()].into_iter().flatten();
        let evidence = self.evidence.iter().filter_map(|subject| subject.check(stages, stacks));
        figures
            .flat_map(|(subject, variant)| {
                let named = variant.as_ref().and_then(|name| unknown_variant(name, variants));
                named
                    .or_else(|| subject.check(stages, stacks))
                    .or_else(|| subject.check_single(stages))
            })
            .chain(evidence)
            .collect()
    }
}

/// A variant that is not one of `names`.
pub(crate) fn unknown_variant(name: &Spanned<String>, names: &[&str]) -> Option<Diagnostic> {
    let near = nearest(name.get_ref(), names.iter().copied());
    let near = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
    let message = format!("There is no variant '{}'", name.get_ref());
    let help = format!("{near}There are: {}", names.join("; "));
    (!names.contains(&name.get_ref().as_str())).then(|| Diagnostic::at(name.span(), message, help))
}
