//! Checks the names that a scale uses against the variants that there are.

use super::{Variant, nothing};
use crate::written::diagnostic::{Diagnostic, Mend, nearest};
use crate::written::scale::Scaled;

impl Scaled<'_> {
    /// Returns what is wrong with the names that it uses. `known` are the variants before factors, `variants` all of them.
    pub(crate) fn check_names(&self, known: &[Variant], variants: &[Variant]) -> Vec<Diagnostic> {
        let all = self.set.iter().chain(self.variants.iter().flat_map(|own| &own.value));
        let lost = all.filter(|s| !known.iter().any(|v| v.find(&s.path).is_some()));
        let mut mistakes: Vec<_> = lost.map(|setting| nothing(setting, known)).collect();
        let strange = self.variants.iter().filter(|own| !variants.iter().any(|v| v.is(&own.name)));
        mistakes.extend(strange.map(|own| {
            let names = super::names(variants);
            let instead =
                nearest(&own.name, names.iter().copied()).map(|near| Mend::Named(near.into()));
            let message = format!("A scale is for a variant '{}', which does not exist", own.name);
            let mistake = Diagnostic::unknown(own.at.clone(), message, &own.name, names);
            Diagnostic { instead, ..mistake }
        }));
        mistakes
    }
}
