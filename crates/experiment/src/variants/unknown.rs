//! Settings of what there is not.

use super::{Thing, Variant};
use crate::diagnostic::{Diagnostic, among, nearest, with_article};
use crate::document::Setting;
use crate::factors::Factor;

/// A factor whose key is no setting of the layer that it names.
pub(super) fn no_setting(factor: &Factor, variants: &[Variant]) -> Option<Diagnostic> {
    let at = factor.key.clone()?;
    let path = &factor.levels.first()?.set.first()?.path;
    let found = variants.iter().find_map(|variant| match variant.find(path)? {
        (Thing::Layer(i), key) => Some((layers::kind(variant.stack[i].text("layer")?)?, key)),
        _ => None,
    });
    let (kind, key) = found?;
    let known = || kind.keys.iter().map(|known| known.name);
    let message = format!("'{path}' is no setting of {}", with_article(kind.name));
    let others = ["on", "name", "layer"];
    let strange = !known().chain(others).any(|known| Some(known) == key.split('.').next());
    strange.then(|| Diagnostic::at(at, message, among(key, known())))
}

/// A setting for what no variant of these has.
pub(crate) fn nothing(setting: &Setting, variants: &[Variant]) -> Diagnostic {
    let mut names: [Vec<String>; 4] = Default::default();
    for (thing, name, _) in variants.iter().flat_map(Variant::things) {
        let kind = match thing {
            Thing::Layer(_) => 0,
            Thing::Stage(_) => 1,
            Thing::Device(_) => 2,
            Thing::Tree(_) => 3,
        };
        if !names[kind].contains(&name) {
            names[kind].push(name);
        }
    }
    let near = meant(&setting.path, names.iter().flatten());
    let [layers, stages, devices, trees] = names.map(|names| names.join(", "));
    let trees = if trees.is_empty() { trees } else { format!("; trees: {trees}") };
    let of = if variants.len() == 1 { "of this variant" } else { "of any variant" };
    Diagnostic::at(
        setting.at(),
        format!("'{}' names nothing {of}", setting.path),
        format!(
            "{near}write \"NAME.key\"; its layers are: {layers}; stages: {stages}; devices: {devices}{trees}"
        ),
    )
}

/// Which of `names` the name in `path`, whatever of it that is, was meant to be.
pub(crate) fn meant<'a>(path: &str, names: impl Iterator<Item = &'a String> + Clone) -> String {
    let all = names.map(String::as_str);
    let ends = path.rmatch_indices('.').map(|(end, _)| &path[..end]);
    let near = ends.filter_map(|name| nearest(name, all.clone())).next();
    near.map_or_else(String::new, |near| format!("did you mean '{near}'? "))
}
