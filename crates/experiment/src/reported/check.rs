//! Whether reported figures are of what is measured.

use toml::Spanned;

use super::Reported;
use crate::diagnostic::Diagnostic;
use crate::expectations::unknown_variant;
use crate::stacks::VariantStack;
use crate::stages::Stage;
use crate::subject::Subject;

impl Reported {
    /// Each value must be of a figure that is measured.
    pub(crate) fn check(
        &self,
        stages: &[Stage],
        stacks: &[VariantStack],
        variants: &[&str],
    ) -> Vec<Diagnostic> {
        let wrong = |(subject, variant, _): &(Subject, Option<Spanned<String>>, f64)| {
            let named = variant.as_ref().and_then(|name| unknown_variant(name, variants));
            named.or_else(|| subject.check(stages, stacks)).or_else(|| subject.check_single(stages))
        };
        self.values.iter().filter_map(wrong).collect()
    }
}
