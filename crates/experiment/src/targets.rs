//! What a stage works on: the top of the stack, or another layer by its name.

use layers::Offer;
use units::Key;

use crate::diagnostic::{Diagnostic, nearest};
use crate::graph::Built;
use crate::plan::Target;
use crate::stages::Stage;

/// `target` of a stage.
pub(crate) const TARGET: Key =
    Key { name: "target", takes: "the name of a layer of the stack", example: "\"cache\"" };

/// The target of `stage` on this stack.
pub(crate) fn of(stage: &Stage, stack: &Built) -> Result<Target, Diagnostic> {
    let Some(name) = &stage.target else { return Ok(stack.top.clone()) };
    stack.layer(name).ok_or_else(|| {
        let names: Vec<&str> = stack.layers.iter().map(|l| l.name.as_str()).collect();
        let near = nearest(name, names.iter().copied());
        let near = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
        Diagnostic::at(
            stage.places.at("target"),
            format!("No layer of this stack is called '{name}'"),
            format!("{near}There are: {}", names.join(", ")),
        )
    })
}

/// The same, where nothing else may stand on it.
pub(crate) fn free(stage: &Stage, stack: &Built) -> Result<Target, Diagnostic> {
    let target = of(stage, stack)?;
    if let Some(above) = stack.stands_on(&target.name) {
        let message = format!("'{}' cannot be written to: '{above}' stands on it", target.name);
        let help = "leave target out, or name a layer on which nothing stands";
        return Err(Diagnostic::at(stage.places.at(key(stage)), message, help));
    }
    Ok(target)
}

/// The key that says what the target is, as far as one does.
fn key(stage: &Stage) -> &'static str {
    if stage.target.is_some() { "target" } else { "do" }
}

/// The same, where it must be a block device too.
pub(crate) fn block(stage: &Stage, stack: &Built) -> Result<Target, Diagnostic> {
    let target = free(stage, stack)?;
    if matches!(target.offer, Offer::Directory { .. }) {
        let message =
            format!("'{}' is a directory, and a {} needs a block device", target.name, stage.kind);
        let help = "name a layer that is one: target = \"...\"";
        return Err(Diagnostic::at(stage.places.at(key(stage)), message, help));
    }
    Ok(target)
}
