//! A variant that the file does not have: another one with other settings, which is measured beside it.

use toml::Spanned;
use toml::de::DeTable;

use crate::diagnostic::Diagnostic;
use crate::document::Setting;
use crate::names;
use crate::plan::Plan;
use crate::variants::Variants;

/// One change to a variant.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Trial {
    /// The variant that is changed.
    pub of: String,
    /// What the changed one is called.
    pub name: String,
    /// What is set, as the lines of a `set` table: `"vdo.block_map_cache" = "512M"`.
    pub set: String,
}

impl Trial {
    /// What of the plan's facts goes with the file's own variants alone is left out, and so are all questions but the first: with one
    /// question, five repeats decide most.
    pub(crate) fn focus(&self, plan: &mut Plan) {
        let facts = &mut plan.facts;
        facts.questions.truncate(1);
        (facts.expectations, facts.pictures, facts.factors) = Default::default();
        facts.variants.iter_mut().for_each(|variant| variant.levels.clear());
    }
}

impl<'t> Variants<'t> {
    /// Adds the variant of a trial, the last of all.
    pub(crate) fn try_out(&mut self, trial: &'t Trial) -> Result<(), Diagnostic> {
        let mistake = |message: String, help: &str| Diagnostic {
            message,
            span: None,
            help: Some(help.to_owned()),
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
            mistake(format!("The change is no TOML: {error}"), "write KEY = VALUE")
        })?;
        for (path, value) in set.into_inner() {
            // What is wrong with a value is told where the variant stands: it stands nowhere in the file itself.
            let value = Spanned::new(at.clone(), value.into_inner());
            changed.set(&Setting::listed(path.get_ref(), value))?;
        }
        self.all.push(changed);
        Ok(())
    }
}
