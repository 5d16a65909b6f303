//! Targets of a stage: the top of the stack, another layer by its name, several with shares, or files that were laid out.

mod wanted;

use std::collections::BTreeMap;

use layers::Offer;
use units::Percent;

use crate::planned::graph::StackPlan;
use crate::stages::StageHead;
use crate::written::diagnostic::{Diagnostic, among};
use plan::{Aim, Target};
pub(crate) use wanted::WrittenTarget;

/// The target of `stage` on this stack.
pub(crate) fn of(stage: &StageHead, stack: &StackPlan) -> Result<Target, Diagnostic> {
    match &stage.target {
        WrittenTarget::Layer(name) | WrittenTarget::Files(_, Some(name)) => {
            layer(name, stage, stack)
        }
        WrittenTarget::Top | WrittenTarget::Files(_, None) | WrittenTarget::Shares(_) => {
            Ok(stack.top.clone())
        }
    }
}

fn layer(name: &str, stage: &StageHead, stack: &StackPlan) -> Result<Target, Diagnostic> {
    stack.layer(name).ok_or_else(|| {
        let names: Vec<&str> = stack.layers.iter().map(|l| l.name.as_str()).collect();
        let message = format!("No layer of this stack is called '{name}'");
        Diagnostic::unknown(stage.places.at("target"), message, name, names)
    })
}

/// The target of a stage, on which nothing else may stand.
pub(crate) fn free(stage: &StageHead, stack: &StackPlan) -> Result<Target, Diagnostic> {
    unburdened(of(stage, stack)?, stage, stack)
}

fn unburdened(target: Target, stage: &StageHead, stack: &StackPlan) -> Result<Target, Diagnostic> {
    if let Some(above) = stack.stands_on(&target.name) {
        let cannot = stage.kind.cannot;
        let message = format!("'{}' cannot {cannot} while '{above}' stands on it", target.name);
        let help = "leave target out, or name a layer on which nothing stands";
        return Err(Diagnostic::at(stage.places.at(key(stage)), message, help));
    }
    Ok(target)
}

/// The key that names the target; `do` where none is written.
fn key(stage: &StageHead) -> &'static str {
    let written = |key: &&str| stage.places.has(key);
    ["files", "target"].into_iter().find(written).unwrap_or("do")
}

/// The target, where it must be a block device on which nothing stands.
pub(crate) fn block(stage: &StageHead, stack: &StackPlan) -> Result<Target, Diagnostic> {
    device(free(stage, stack)?, stage)
}

/// The block device over the layer `name` on which nothing stands: what is written there reaches the layer.
pub(crate) fn over(name: &str, stage: &StageHead, stack: &StackPlan) -> Result<Target, Diagnostic> {
    device(layer(stack.top_over(name), stage, stack)?, stage)
}

fn device(target: Target, stage: &StageHead) -> Result<Target, Diagnostic> {
    if matches!(target.offer, Offer::Directory { .. }) {
        let message = format!(
            "'{}' is a directory, and '{}' needs a block device",
            target.name, stage.kind.name
        );
        let help = stage.kind.wants_device;
        return Err(Diagnostic::at(stage.places.at(key(stage)), message, help));
    }
    Ok(target)
}

/// The target, where it must be a directory in which files can be made.
pub(crate) fn directory(stage: &StageHead, stack: &StackPlan) -> Result<Target, Diagnostic> {
    let target = free(stage, stack)?;
    if matches!(target.offer, Offer::Block { .. }) {
        let message = format!("'{}' is a block device, and files need a directory", target.name);
        let help = "put a file system on it, or name one: target = \"...\"";
        return Err(Diagnostic::at(stage.places.at(key(stage)), message, help));
    }
    Ok(target)
}

/// Returns the targets of the load of `stage`, which may be files that were laid out before.
pub(crate) fn aims(
    stage: &StageHead,
    stack: &StackPlan,
    layouts: &BTreeMap<String, Aim>,
) -> Result<Vec<Aim>, Diagnostic> {
    match &stage.target {
        WrittenTarget::Top | WrittenTarget::Layer(_) => Ok(vec![Aim::alone(block(stage, stack)?)]),
        WrittenTarget::Files(name, within) => {
            let Some(aim) = layouts.get(name) else {
                let names: Vec<&str> = layouts.keys().map(String::as_str).collect();
                let help = match names[..] {
                    [] => "add a stage with do = \"layout\" and that name before it".to_owned(),
                    _ => among(name, names.iter().copied()),
                };
                let message = format!("No layout before stage '{}' is called '{name}'", stage.name);
                let mistake = Diagnostic::at(stage.places.at("files"), message, help);
                return Err(mistake.near(name, names).of_stages());
            };
            if let Some(within) = within.as_ref().filter(|within| **within != aim.target.name) {
                let message =
                    format!("The files '{name}' are in '{}', not in '{within}'", aim.target.name);
                let help = "leave target out: files = \"...\" says where";
                return Err(
                    Diagnostic::at(stage.places.at("target"), message, help).fix_by_removing()
                );
            }
            Ok(vec![aim.clone()])
        }
        WrittenTarget::Shares(shares) => {
            let aim = |(name, share): &(String, f64)| {
                let share = Percent(*share);
                if let Some(aim) = layouts.get(name) {
                    return Ok(Aim { share, ..aim.clone() });
                }
                // The share belongs to the name.
                let target = layer(name, stage, stack);
                let target = target.map_err(|wrong| Diagnostic { instead: None, ..wrong })?;
                let target = unburdened(target, stage, stack)?;
                Ok(Aim { share, ..Aim::alone(device(target, stage)?) })
            };
            shares.iter().map(aim).collect()
        }
    }
}
