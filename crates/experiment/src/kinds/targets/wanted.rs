//! Target of a stage, as written.

use toml::{Spanned, Value};
use units::{Key, key};

use crate::written::diagnostic::Diagnostic;
use crate::written::document::Table;

const TARGET: Key = key(
    "target",
    "the name of a layer; of a load also several with shares that sum to 100",
    "\"cache\"",
);
const FILES: Key = key("files", "the name of a layout before it", "\"files\"");

/// Largest number of targets of one load.
const MAX_TARGETS: usize = 16;

/// Target of a stage, as written.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum WrittenTarget {
    /// The top of the stack.
    Top,
    /// A layer by its name.
    Layer(String),
    /// Files that a stage of this name laid out; in that layer, if one is named.
    Files(String, Option<String>),
    /// Layers and layouts by name, with the share of each, percent.
    Shares(Vec<(String, f64)>),
}

impl WrittenTarget {
    /// Reads `target` and, if the kind of stage drives a load (`drives`), `files`.
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
                        let message = "A load has both several targets and files";
                        return Err(Diagnostic::at(target.span(), message, help));
                    }
                    return shares_of(shares, &target).map(Self::Shares);
                }
                Value::Table(_) => {
                    let message = "Only a load and a fill have several targets";
                    return Err(Diagnostic::at(target.span(), message, "name one layer"));
                }
                _ => {
                    let message = "target is not a name";
                    return Err(Diagnostic::of_key(target.span(), message, &TARGET));
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
    if !(2..=MAX_TARGETS).contains(&shares.len()) {
        let message = format!("A load cannot have {} targets with shares", shares.len());
        let help = format!("give 2 to {MAX_TARGETS} of them, or one by its name: target = \"...\"");
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
