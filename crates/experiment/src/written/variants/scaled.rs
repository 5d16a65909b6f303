//! Checks the names that a scale uses against the variants that there are.

use super::{Variant, unknown_target};
use crate::written::diagnostic::{Diagnostic, Mend, nearest};
use crate::written::scale::Scaled;

impl Scaled<'_> {
    /// Returns what is wrong with the names that it uses. `known` are the variants before factors, `variants` all of them.
    pub(crate) fn check_names(&self, known: &[Variant], variants: &[Variant]) -> Vec<Diagnostic> {
        let all = self.set.iter().chain(self.variants.iter().flat_map(|changes| &changes.value));
        let lost = all.filter(|s| !known.iter().any(|v| v.find(&s.path).is_some()));
        let mut mistakes: Vec<_> = lost.map(|setting| unknown_target(setting, known)).collect();
        let strange =
            self.variants.iter().filter(|changes| !variants.iter().any(|v| v.is(&changes.name)));
        mistakes.extend(strange.map(|changes| {
            let names = super::names(variants);
            let instead =
                nearest(&changes.name, names.iter().copied()).map(|near| Mend::Named(near.into()));
            let message =
                format!("A scale is for a variant '{}', which does not exist", changes.name);
            let mistake = Diagnostic::unknown(changes.at.clone(), message, &changes.name, names);
            Diagnostic { instead, ..mistake }
        }));
        mistakes
    }
}
