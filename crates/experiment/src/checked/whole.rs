//! Checks of the whole file, whatever part is asked for: all variants at every scale, as it might run elsewhere.

use std::collections::BTreeMap;

use results::model::{PlanFacts, StageFacts, VariantFacts};
use units::{Key, key};

use crate::ExperimentError;
use crate::planned::compose::{self, PlanOptions};
use crate::written::diagnostic::Diagnostic;
use crate::written::document::{Places, Table};
use crate::written::file::File;
use crate::written::keys;
use crate::written::repeat::Repeat;
use crate::written::scale::{self, Scale};
use plan::Plan;

const EXPECT: Key = key("expect", "an entry [[expect]]", "[[expect]]");
const OF: Key = key("of", "another figure", "{ variant = \"plain\" }");

/// Reads, checks and plans the experiment in `text`, with what is wrong at another scale.
pub(crate) fn compose(
    file: &str,
    text: &str,
    choices: &PlanOptions,
) -> Result<Plan, ExperimentError> {
    let planned = compose::compose_at_scale(file, text, choices);
    let asked = choices.scale.name();
    let mut mistakes = planned.as_ref().err().map_or_else(Vec::new, |e| e.mistakes.clone());
    for name in scales(text, asked) {
        let whole = PlanOptions {
            scale: Scale::Asked(name.clone()),
            repeat: Some(Repeat::Fixed(1)),
            sizes: BTreeMap::new(),
            only: Vec::new(),
            ..choices.clone()
        };
        // What was asked for is planned already, if that is all of it.
        let again = (name != asked || !choices.only.is_empty())
            .then(|| compose::compose_at_scale(file, text, &whole));
        let wrong = match again.as_ref().unwrap_or(&planned) {
            Ok(plan) => inconsistent(text, &plan.facts, &name),
            Err(error) => error.mistakes.clone(),
        };
        for mistake in wrong {
            let known = |other: &Diagnostic| {
                other.span == mistake.span && is_same(&other.message, &mistake.message)
            };
            if !mistakes.iter().any(known) {
                let at = if name == asked { String::new() } else { format!("At scale '{name}': ") };
                let message = format!("{at}{}", mistake.message);
                mistakes.push(Diagnostic { message, ..mistake });
            }
        }
    }
    match planned {
        Ok(plan) if mistakes.is_empty() => Ok(plan),
        Ok(_) => Err(ExperimentError { file: file.to_owned(), text: text.to_owned(), mistakes }),
        Err(error) => Err(ExperimentError { mistakes, ..error }),
    }
}

/// Tells whether `other`, that of another scale perhaps, says the same but for sizes and numbers.
fn is_same(other: &str, message: &str) -> bool {
    let is_unit = |word: &str| word == "bytes" || word.len() <= 4 && word.ends_with('B');
    let words = |text: &str| -> Vec<String> {
        let words = text.split([' ', ',']);
        let plain =
            words.filter(|word| !word.starts_with(|c: char| c.is_ascii_digit()) && !is_unit(word));
        plain.map(str::to_owned).collect()
    };
    words(other).ends_with(&words(message))
}

/// The scales at which the experiment can be planned: the one that is asked for, those of the file, and where it has any also those
/// that every experiment has.
fn scales(text: &str, asked: &str) -> Vec<String> {
    let mut names = vec![asked.to_owned()];
    // What is no experiment at all is told already.
    if let Ok((file, _)) = File::read(text)
        && !file.scale.is_empty()
    {
        let own = file.scale.iter().map(|scale| scale.name.clone());
        names.extend(own.chain(scale::USUAL.map(str::to_owned)));
    }
    let mut once: Vec<String> = Vec::new();
    for name in names {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

/// Returns what the variants of a plan at the scale `name` do not have, though the file measures or expects it of them.
fn inconsistent(text: &str, facts: &PlanFacts, name: &str) -> Vec<Diagnostic> {
    let Ok(mut root) = Table::parse(text, "An experiment") else { return Vec::new() };
    let variants = root.tables(&keys::VARIANT, "A variant").unwrap_or_default();
    let mut mistakes: Vec<_> = facts
        .variants
        .iter()
        .filter(|variant| !variant.stages.iter().any(|stage| stage.measured))
        .map(|variant| unmeasured(variant, &variants))
        .collect();
    let Ok(expected) = root.tables(&EXPECT, "An expectation") else { return mistakes };
    for mut table in expected {
        if table.text("scale").is_some_and(|own| own != name) {
            continue;
        }
        let last = facts.variants.last().map_or("", |variant| variant.name.as_str());
        let figure =
            Expected::read(&table, &Expected { variant: last.to_owned(), ..Expected::default() });
        let of = table.table(&OF, "The figure that it is divided by").ok().flatten();
        let wrong = figure.check(facts, &table.places());
        let other = || of.and_then(|of| Expected::read(&of, &figure).check(facts, &of.places()));
        mistakes.extend(wrong.or_else(other));
    }
    mistakes
}

/// A variant of which nothing is measured.
fn unmeasured(variant: &VariantFacts, written: &[Table]) -> Diagnostic {
    let is = |table: &&Table| {
        let rest = table.text("name").and_then(|own| variant.name.strip_prefix(own));
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
    };
    let message = format!("No stage of variant '{}' is measured", variant.name);
    let help = "measure = true on a stage that it has: 'only' keeps the others from it";
    match written.iter().find(is) {
        Some(table) => Diagnostic::at(table.place("name"), message, help).resting(),
        None => Diagnostic { span: None, ..Diagnostic::at(0..0, message, help).resting() },
    }
}

/// Stage, layer and variant of an expected figure.
#[derive(Default)]
struct Expected {
    stage: Option<String>,
    layer: Option<String>,
    variant: String,
}

impl Expected {
    /// As written; what is not is as in `base`.
    fn read(table: &Table, base: &Self) -> Self {
        let text = |key: &str| table.text(key).map(str::to_owned);
        let other = table.has("operation") || table.has("layer");
        Self {
            stage: text("stage").or_else(|| base.stage.clone()),
            layer: text("layer").or_else(|| base.layer.clone().filter(|_| !other)),
            variant: text("variant").unwrap_or_else(|| base.variant.clone()),
        }
    }

    /// The variant must have the stage and the layer; that the file has them is checked elsewhere.
    fn check(&self, facts: &PlanFacts, places: &Places) -> Option<Diagnostic> {
        let variant = facts.variants.iter().find(|variant| variant.name == self.variant)?;
        let called = |stage: &StageFacts, name: &str| {
            stage.name == *name || stage.sweep.as_ref().is_some_and(|sweep| sweep.stage == *name)
        };
        let measured = || variant.stages.iter().filter(|stage| stage.measured);
        if let Some(name) = &self.stage
            && !measured().any(|stage| called(stage, name))
        {
            let names: Vec<&str> = measured().map(|stage| stage.name.as_str()).collect();
            let message = format!("Variant '{}' has no measured stage '{name}'", variant.name);
            let help = format!("'only' keeps it away; the variant has: {}", names.join(", "));
            return Some(Diagnostic::at(places.at("stage"), message, help).naming(name));
        }
        let name = self.layer.as_ref()?;
        if variant.stack.iter().any(|layer| layer.name == *name) {
            return None;
        }
        let names: Vec<&str> = variant.stack.iter().map(|layer| layer.name.as_str()).collect();
        let message = format!("Variant '{}' has no layer or device '{name}'", variant.name);
        let help = format!("name another variant; this one has: {}", names.join(", "));
        Some(Diagnostic::at(places.at("layer"), message, help).naming(name))
    }
}
