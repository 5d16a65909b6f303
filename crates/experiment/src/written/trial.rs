//! A variant that the file does not have: a copy of one of its variants with other settings, which is measured together with that one.

use toml::Spanned;
use toml::de::DeTable;

use crate::written::diagnostic::Diagnostic;
use crate::written::document::{Named, Setting, Written, inner};
use crate::written::file::{DEVICES, Device};
use crate::written::names;
use crate::written::variants::{Variant, Variants};
use plan::Plan;

/// One change to a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// The variant that is changed.
    pub of: String,
    /// Name of the changed variant.
    pub name: String,
    /// Settings of the changed variant, as the lines of a `set` table: `"vdo.block_map_cache" = "512M"`. A `"devices.NAME"` is a device that the
    /// experiment does not have, with its table.
    pub set: String,
    /// The measured stage that the change is for; the first question about it is the trial's only question.
    pub stage: String,
}

impl Trial {
    /// Drops from the plan's facts what concerns only the file's own variants, and all questions but the first of the stage: with one
    /// question five repeats decide most. Where none is asked of that stage, the first of all stays.
    pub(crate) fn focus(&self, plan: &mut Plan) {
        let facts = &mut plan.facts;
        let is_about =
            |stage: &Option<String>| stage.as_ref().is_none_or(|name| *name == self.stage);
        let first =
            facts.questions.iter().position(|question| is_about(&question.stage)).unwrap_or(0);
        facts.questions.drain(..first);
        facts.questions.truncate(1);
        (facts.expectations, facts.pictures, facts.factors) = Default::default();
        facts.reported.clear();
        facts.variants.iter_mut().for_each(|variant| variant.levels.clear());
    }
}

/// Reads a device that the experiment does not have.
fn device<'t>(
    name: &str,
    table: Written<'t>,
    variant: &Variant<'t>,
) -> Result<Named<Device<'t>>, Diagnostic> {
    let at = variant.span.clone();
    if variant.devices.iter().any(|device| device.name == name) {
        let message = format!("The experiment has a device '{name}' of its own");
        return Err(Diagnostic::at(at, message, "call it otherwise, and prove that result"));
    }
    let value = inner(table, at.clone(), name, &DEVICES, "A device")?;
    Device::read(Named { name: name.to_owned(), at, value })
}

impl<'t> Variants<'t> {
    /// Adds the variant of a trial, the last of all.
    pub(crate) fn try_out(&mut self, trial: &'t Trial) -> Result<(), Diagnostic> {
        let mistake = |message: String, help: &str| Diagnostic {
            message,
            span: None,
            help: Some(help.to_owned()),
            ..Diagnostic::default()
        };
        let found = self.all.iter().find(|variant| variant.name == trial.of);
        let Some(mut changed) = found.cloned() else {
            let message = format!("The experiment has no variant '{}'", trial.of);
            return Err(mistake(message, "the experiment is not the one of the result"));
        };
        if self.all.iter().any(|variant| variant.name == trial.name) {
            let message = format!("The experiment has a variant '{}' of its own", trial.name);
            return Err(mistake(message, "call the trial otherwise"));
        }
        let at = changed.span.clone();
        if let Some(wrong) = names::check("a variant", &trial.name, &at) {
            return Err(wrong);
        }
        changed.name.clone_from(&trial.name);
        let set = DeTable::parse(&trial.set).map_err(|error| {
            mistake(format!("The change is not TOML: {error}"), "write KEY = VALUE")
        })?;
        for (path, value) in set.into_inner() {
            // Mistakes in a value are reported at the variant, since the value is not in the file.
            let value = Spanned::new(at.clone(), value.into_inner());
            match path.get_ref().strip_prefix("devices.").filter(|name| !name.contains('.')) {
                Some(name) => changed.devices.push(device(name, value, &changed)?),
                None => changed.set(&Setting::listed(path.get_ref(), value))?,
            }
        }
        self.all.push(changed);
        Ok(())
    }
}
