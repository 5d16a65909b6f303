//! Checks of the whole file, whatever part is asked for: all variants at every scale, as it might run elsewhere.

use std::collections::BTreeMap;

use results::model::{PlanFacts, StageFacts, VariantFacts};

use crate::ExperimentError;
use crate::planned::compose::{PlanOptions, Source};
use crate::written::diagnostic::Diagnostic;
use crate::written::file::{File, WrittenVariant};
use crate::written::repeat::Repeat;
use crate::written::scale::{self, Scale};
use crate::written::variant_figure::VariantFigure;
use plan::Plan;

/// Reads, checks and plans the experiment in `text`; mistakes at other scales are found too.
pub(crate) fn compose(
    file: &str,
    text: &str,
    choices: &PlanOptions,
) -> Result<Plan, ExperimentError> {
    let source = Source::read(file, text)?;
    let planned = source.plan(choices);
    let wanted_scale = choices.scale.name();
    let mut mistakes = planned.as_ref().err().map_or_else(Vec::new, |e| e.mistakes.clone());
    for name in scales(&source.file, wanted_scale) {
        let whole = PlanOptions {
            scale: Scale::Asked(name.to_owned()),
            repeat: Some(Repeat::Fixed(1)),
            sizes: BTreeMap::new(),
            only: Vec::new(),
            ..choices.clone()
        };
        // If the plan that is asked for has all variants, it need not be made again.
        let again = (name != wanted_scale || !choices.only.is_empty()).then(|| source.plan(&whole));
        let wrong = match again.as_ref().unwrap_or(&planned) {
            Ok(plan) => inconsistent(&source.file, &plan.facts, name),
            Err(error) => error.mistakes.clone(),
        };
        for mistake in wrong {
            let known = |other: &Diagnostic| {
                other.span == mistake.span && is_same(&other.message, &mistake.message)
            };
            if !mistakes.iter().any(known) {
                let at = if name == wanted_scale {
                    String::new()
                } else {
                    format!("At scale '{name}': ")
                };
                let message = format!("{at}{}", mistake.message);
                mistakes.push(Diagnostic { message, ..mistake });
            }
        }
    }
    match planned {
        Ok(plan) if mistakes.is_empty() => Ok(plan),
        _ => Err(source.fail(mistakes)),
    }
}

/// Tells whether the message `other`, perhaps of another scale, is the same except for sizes and numbers.
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

/// The scales at which the experiment can be planned: the one that is asked for and, if the file has scales, those and the two that every
/// experiment has.
fn scales<'a>(file: &'a File, wanted: &'a str) -> Vec<&'a str> {
    let written = file.scale.iter().map(|scale| scale.name.as_str());
    let usual = scale::USUAL.into_iter().filter(|_| !file.scale.is_empty());
    let mut once: Vec<&str> = Vec::new();
    for name in [wanted].into_iter().chain(written).chain(usual) {
        if !once.contains(&name) {
            once.push(name);
        }
    }
    once
}

/// Returns the mistakes about figures that the file measures or expects of variants that do not have them at the scale `name`.
fn inconsistent(file: &File, facts: &PlanFacts, name: &str) -> Vec<Diagnostic> {
    let silent = facts.variants.iter().filter(|v| !v.stages.iter().any(|stage| stage.measured));
    let unmeasured = silent.map(|variant| unmeasured(variant, &file.variant));
    let last = facts.variants.last().map_or("", |variant| variant.name.as_str());
    let expected = file.expect.iter().filter(|expected| expected.is_at(name));
    let missing = expected.filter_map(|expected| {
        expected.figures().find_map(|figure| missing(figure, figure.variant(last), facts))
    });
    unmeasured.chain(missing).collect()
}

/// Returns the mistake for a variant without a measured stage.
fn unmeasured(variant: &VariantFacts, written: &[WrittenVariant]) -> Diagnostic {
    let is = |entry: &&WrittenVariant| {
        let rest = variant.name.strip_prefix(entry.name.get_ref().as_str());
        rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(", "))
    };
    let message = format!("No stage of variant '{}' is measured", variant.name);
    let help = "set measure = true on one of its stages: 'only' keeps the measured ones from it";
    let span = written.iter().find(is).map(|entry| entry.name.span());
    Diagnostic { span, ..Diagnostic::at(0..0, message, help).if_rest_is_right() }
}

/// The stage or the layer of a figure that its variant does not have; that the file has them is checked elsewhere.
fn missing(figure: &VariantFigure, variant: &str, facts: &PlanFacts) -> Option<Diagnostic> {
    let subject = &figure.subject;
    let variant = facts.variants.iter().find(|facts| facts.name == variant)?;
    let called = |stage: &StageFacts, name: &str| {
        stage.name == *name || stage.sweep.as_ref().is_some_and(|sweep| sweep.stage == *name)
    };
    let measured = || variant.stages.iter().filter(|stage| stage.measured);
    if let Some(name) = &subject.stage
        && !measured().any(|stage| called(stage, name))
    {
        let names: Vec<&str> = measured().map(|stage| stage.name.as_str()).collect();
        let message = format!("Variant '{}' has no measured stage '{name}'", variant.name);
        let help = format!("'only' keeps it away; the variant has: {}", names.join(", "));
        return Some(
            Diagnostic::at(subject.places.at("stage"), message, help).if_name_is_right(name),
        );
    }
    let name = subject.layer.as_ref()?;
    if variant.stack.iter().any(|layer| layer.name == *name) {
        return None;
    }
    let names: Vec<&str> = variant.stack.iter().map(|layer| layer.name.as_str()).collect();
    let message = format!("Variant '{}' has no layer or device '{name}'", variant.name);
    let help = format!("name another variant; this one has: {}", names.join(", "));
    Some(Diagnostic::at(subject.places.at("layer"), message, help).if_name_is_right(name))
}
