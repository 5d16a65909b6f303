//! Mistakes in what a factor varies.

use super::{SettingTarget, Variant, unknown, unknown_target};
use crate::written::diagnostic::Diagnostic;
use crate::written::document::Setting;
use crate::written::factors::Factor;
use crate::written::file::WrittenVariant;

impl Factor<'_> {
    /// Reports settings of things that no variant has; all levels of one key are reported once.
    pub(super) fn lost(&self, variants: &[Variant]) -> Vec<Diagnostic> {
        let settings = self.levels.iter().flat_map(|level| &level.set);
        let lost = settings.filter(|s| !variants.iter().any(|v| v.find(&s.path).is_some()));
        let lost = lost.map(|setting| unknown_target(setting, variants));
        match &self.key {
            None => lost.collect(),
            // Its levels are nothing without the key.
            Some(at) => {
                let of_key = |wrong| Diagnostic { span: Some(at.clone()), instead: None, ..wrong };
                lost.take(1).map(of_key).collect()
            }
        }
    }

    /// Returns the mistake for a factor whose key is not a setting of the layer that it names.
    pub(super) fn no_setting(&self, variants: &[Variant]) -> Option<Diagnostic> {
        let at = self.key.clone()?;
        let path = &self.levels.first()?.set.first()?.path;
        let (kind, key) = variants.iter().find_map(|variant| match variant.find(path)? {
            (SettingTarget::Layer(i), key) => {
                Some((layers::kind(variant.stack[i].text("layer")?)?, key))
            }
            _ => None,
        })?;
        unknown::no_setting(at, path, kind, key)
    }

    /// Refuses a factor that varies the size of a device, or what another factor or a variant sets too: one of the two labels would be wrong.
    pub(super) fn varied(
        &self,
        before: &[Factor],
        variants: &[WrittenVariant],
    ) -> Option<Diagnostic> {
        let name = self.name.get_ref();
        let varies = |factor: &Factor, path: &str| {
            factor.levels.iter().flat_map(|level| &level.set).any(|setting| setting.path == path)
        };
        let mut settings = self.levels.iter().flat_map(|level| &level.set);
        let size = |path: &str| path.starts_with("device.") && path.ends_with(".size");
        settings.find_map(|Setting { path, .. }| {
            if size(path) {
                let message = format!("The factor '{name}' varies the size of a device");
                let help = "all variants get the largest: vary the size of the layer on it";
                return Some(Diagnostic::at(self.name.span(), message, help));
            }
            if let Some(other) = before.iter().find(|other| varies(other, path)) {
                let other = other.name.get_ref();
                let message = format!("The factors '{other}' and '{name}' both set '{path}'");
                let help = "vary it by one of them";
                return Some(
                    Diagnostic::at(self.name.span(), message, help).if_name_is_right(path),
                );
            }
            let sets_path = |v: &WrittenVariant| v.set.iter().any(|setting| setting.path == *path);
            let variant = variants.iter().find(|variant| sets_path(variant))?.name.get_ref();
            let message = format!("The factor '{name}' and variant '{variant}' both set '{path}'");
            let help = "remove it from one of them";
            Some(Diagnostic::at(self.name.span(), message, help).if_name_is_right(path))
        })
    }
}
