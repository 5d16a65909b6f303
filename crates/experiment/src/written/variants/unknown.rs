//! Diagnostics for settings of things that do not exist.

use std::ops::Range;

use layers::Kind;

use crate::written::diagnostic::{Diagnostic, among, nearest, with_article};
use crate::written::document::Setting;

/// Names of everything that a setting can address.
#[derive(Default)]
pub(super) struct Names {
    pub layers: Vec<String>,
    pub stages: Vec<String>,
    pub devices: Vec<String>,
    pub corpora: Vec<String>,
    pub machine: Vec<String>,
}

impl Names {
    fn all(&self) -> impl Iterator<Item = &String> + Clone {
        let things = self.layers.iter().chain(&self.stages).chain(&self.devices);
        things.chain(&self.corpora).chain(&self.machine)
    }
}

/// Returns the diagnostic for a setting that addresses none of `names`; `of` says whose names they are (`of any variant`).
pub(super) fn names_nothing(setting: &Setting, names: &Names, of: &str) -> Diagnostic {
    let near = nearest_hint(&setting.path, names.all());
    let [layers, stages, devices, corpora] =
        [&names.layers, &names.stages, &names.devices, &names.corpora]
            .map(|names| names.join(", "));
    let corpora = if corpora.is_empty() { corpora } else { format!("; corpora: {corpora}") };
    let help = format!(
        "{near}write \"NAME.key\"; its layers are: {layers}; stages: {stages}; devices: {devices}{corpora}; and machine, environment"
    );
    let message = format!("'{}' names nothing {of}", setting.path);
    let name = setting.path.rsplit_once('.').map_or(&*setting.path, |(name, _)| name);
    Diagnostic::at(setting.at(), message, help).fix_by_removing().if_name_is_right(name)
}

/// Returns a hint with the one of `names` that a leading part of `path` probably means; empty if none is near.
pub(crate) fn nearest_hint<'a>(
    path: &str,
    names: impl Iterator<Item = &'a String> + Clone,
) -> String {
    let all = names.map(String::as_str);
    let ends = path.rmatch_indices('.').map(|(end, _)| &path[..end]);
    let near = ends.filter_map(|name| nearest(name, all.clone())).next();
    near.map_or_else(String::new, |near| format!("did you mean '{near}'? "))
}

/// Returns the diagnostic for a factor whose `path` ends in `key`, if that is not a setting of this kind of layer.
pub(super) fn no_setting(
    at: Range<usize>,
    path: &str,
    kind: &Kind,
    key: &str,
) -> Option<Diagnostic> {
    let known = || kind.keys.iter().map(|known| known.name);
    let message = format!("'{path}' is not a setting of {}", with_article(kind.name));
    let others = ["on", "name", "layer"];
    let strange = !known().chain(others).any(|known| Some(known) == key.split('.').next());
    let near =
        nearest(key, known()).and_then(|near| Some(path.strip_suffix(key)?.to_owned() + near));
    let mistake = || Diagnostic::at(at, message, among(key, known()));
    strange.then(|| near.iter().fold(mistake(), |mistake, near| mistake.with(format!("{near:?}"))))
}
