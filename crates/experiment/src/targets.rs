//! What a stage works on: the top of the stack, another layer by its name, several with shares, or files that were laid out.

use std::collections::BTreeMap;

use layers::Offer;
use toml::{Spanned, Value};
use units::{Key, Percent};

use crate::diagnostic::{Diagnostic, nearest};
use crate::document::Table;
use crate::graph::Built;
use crate::plan::{Aim, Target};
use crate::stages::Stage;

const TARGET: Key = Key {
    name: "target",
    takes: "the name of a layer; of a load also several with shares that sum to 100",
    example: "\"cache\"",
};
const FILES: Key =
    Key { name: "files", takes: "the name of a layout before it", example: "\"files\"" };

/// The most things that one load drives.
const MOST: usize = 16;

/// What a stage is to work on, as written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Wanted {
    /// The top of the stack.
    Top,
    /// A layer by its name.
    Layer(String),
    /// Files that a stage of this name laid out; in that layer, if one is named.
    Files(String, Option<String>),
    /// Layers and layouts by name, with the share of each, percent.
    Shares(Vec<(String, f64)>),
}

impl Wanted {
    /// Reads `target`, and of what drives a load `files`.
    pub(crate) fn read(table: &mut Table, drives: bool) -> Result<Self, Diagnostic> {
        let target = table.take::<Value>(&TARGET)?;
        let files = if drives { table.take::<String>(&FILES)? } else { None };
        let one = match target {
            None => None,
            Some(target) => match target.get_ref() {
                Value::String(name) => Some(name.clone()),
                Value::Table(shares) if drives => {
                    if files.is_some() {
                        let help = "name the layout among the targets, and leave files out";
                        let message = "A load has several targets, and files beside them";
                        return Err(Diagnostic::at(target.span(), message, help));
                    }
                    return shares_of(shares, &target).map(Self::Shares);
                }
                Value::Table(_) => {
                    let message = "Only a load and a fill have several targets";
                    return Err(Diagnostic::at(target.span(), message, "name one layer"));
                }
                _ => {
                    let message = "target is no name";
                    return Err(Diagnostic::at(target.span(), message, TARGET.help(TARGET.name)));
                }
            },
        };
        Ok(match (files, one) {
            (Some(files), one) => Self::Files(files.into_inner(), one),
            (None, Some(name)) => Self::Layer(name),
            (None, None) => Self::Top,
        })
    }
}

fn shares_of(shares: &toml::Table, at: &Spanned<Value>) -> Result<Vec<(String, f64)>, Diagnostic> {
    let wrong = |message: String, help: String| Diagnostic::at(at.span(), message, help);
    if !(2..=MOST).contains(&shares.len()) {
        let message = format!("A load cannot have {} targets with shares", shares.len());
        let help = format!("give 2 to {MOST} of them, or one by its name: target = \"...\"");
        return Err(wrong(message, help));
    }
    let mut all = Vec::new();
    for (name, share) in shares {
        let number = share.as_float().or_else(|| share.as_integer().map(|n| n as f64));
        let Some(number) = number.filter(|n| *n > 0.0 && *n < 100.0) else {
            let message = format!("The share of target '{name}' cannot be {share}");
            return Err(wrong(message, "write a number of percent above 0 and below 100".into()));
        };
        all.push((name.clone(), number));
    }
    let sum: f64 = all.iter().map(|(_, share)| share).sum();
    if (sum - 100.0).abs() > 0.01 {
        let message = format!("The shares of the targets sum to {sum}");
        return Err(wrong(message, "let them sum to 100".into()));
    }
    Ok(all)
}

/// The target of `stage` on this stack.
pub(crate) fn of(stage: &Stage, stack: &Built) -> Result<Target, Diagnostic> {
    match &stage.target {
        Wanted::Layer(name) | Wanted::Files(_, Some(name)) => layer(name, stage, stack),
        Wanted::Top | Wanted::Files(_, None) | Wanted::Shares(_) => Ok(stack.top.clone()),
    }
}

fn layer(name: &str, stage: &Stage, stack: &Built) -> Result<Target, Diagnostic> {
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
    unburdened(of(stage, stack)?, stage, stack)
}

fn unburdened(target: Target, stage: &Stage, stack: &Built) -> Result<Target, Diagnostic> {
    if let Some(above) = stack.stands_on(&target.name) {
        let message = format!("'{}' cannot be written to: '{above}' stands on it", target.name);
        let help = "leave target out, or name a layer on which nothing stands";
        return Err(Diagnostic::at(stage.places.at(key(stage)), message, help));
    }
    Ok(target)
}

/// The key that says what the target is, as far as one does.
fn key(stage: &Stage) -> &'static str {
    match stage.target {
        Wanted::Top => "do",
        Wanted::Files(..) => "files",
        Wanted::Layer(_) | Wanted::Shares(_) => "target",
    }
}

/// The target, where it must be a block device on which nothing stands.
pub(crate) fn block(stage: &Stage, stack: &Built) -> Result<Target, Diagnostic> {
    device(free(stage, stack)?, stage)
}

fn device(target: Target, stage: &Stage) -> Result<Target, Diagnostic> {
    if matches!(target.offer, Offer::Directory { .. }) {
        let message =
            format!("'{}' is a directory, and '{}' needs a block device", target.name, stage.kind);
        let help = match stage.kind.as_str() {
            "load" | "fill" => {
                "lay files out in it (do = \"layout\") and name them: files = \"...\"; or name a layer that is a device: target = \"...\""
            }
            "allocate" => {
                "it works where nothing stands on the device: for a file system leave the stage out, for all variants alike"
            }
            _ => "name a layer that is one: target = \"...\"",
        };
        return Err(Diagnostic::at(stage.places.at(key(stage)), message, help));
    }
    Ok(target)
}

/// The target, where it must be a directory in which files can be made.
pub(crate) fn directory(stage: &Stage, stack: &Built) -> Result<Target, Diagnostic> {
    let target = free(stage, stack)?;
    if matches!(target.offer, Offer::Block { .. }) {
        let message = format!("'{}' is a block device, and files need a directory", target.name);
        let help = "put a file system on it, or name one: target = \"...\"";
        return Err(Diagnostic::at(stage.places.at(key(stage)), message, help));
    }
    Ok(target)
}

/// What the load of `stage` drives, of what was laid out before.
pub(crate) fn aims(
    stage: &Stage,
    stack: &Built,
    layouts: &BTreeMap<String, Aim>,
) -> Result<Vec<Aim>, Diagnostic> {
    match &stage.target {
        Wanted::Top | Wanted::Layer(_) => Ok(vec![Aim::alone(block(stage, stack)?)]),
        Wanted::Files(name, within) => {
            let Some(aim) = layouts.get(name) else {
                let names: Vec<&str> = layouts.keys().map(String::as_str).collect();
                let help = match names[..] {
                    [] => "add a stage with do = \"layout\" and that name before it".to_owned(),
                    _ => format!("there are: {}", names.join(", ")),
                };
                let message = format!("No layout before stage '{}' is called '{name}'", stage.name);
                return Err(Diagnostic::at(stage.places.at("files"), message, help));
            };
            if let Some(within) = within.as_ref().filter(|within| **within != aim.target.name) {
                let message =
                    format!("The files '{name}' are in '{}', not in '{within}'", aim.target.name);
                let help = "leave target out: files = \"...\" says where";
                return Err(Diagnostic::at(stage.places.at("target"), message, help));
            }
            Ok(vec![aim.clone()])
        }
        Wanted::Shares(shares) => {
            let aim = |(name, share): &(String, f64)| {
                let share = Percent(*share);
                if let Some(aim) = layouts.get(name) {
                    return Ok(Aim { share, ..aim.clone() });
                }
                let target = unburdened(layer(name, stage, stack)?, stage, stack)?;
                Ok(Aim { share, ..Aim::alone(device(target, stage)?) })
            };
            shares.iter().map(aim).collect()
        }
    }
}
