//! What is held against the whole file, whatever part of it is asked for: all variants at every scale, as it would run on another place.

use std::collections::BTreeMap;

use crate::compose::{self, Choices};
use crate::diagnostic::Diagnostic;
use crate::file::File;
use crate::plan::Plan;
use crate::repeat::Repeat;
use crate::scale::{self, Scale};
use crate::ExperimentError;

/// Reads, checks and plans the experiment in `text`; `file` names it in errors. What is wrong at another scale is told as well.
pub fn compose(file: &str, text: &str, choices: &Choices) -> Result<Plan, ExperimentError> {
    let planned = compose::compose(file, text, choices);
    let asked = choices.scale.name();
    let mut mistakes = planned.as_ref().err().map_or_else(Vec::new, |e| e.mistakes.clone());
    for name in scales(text, asked) {
        let whole = Choices {
            scale: Scale::Asked(name.clone()),
            repeat: Some(Repeat::Fixed(1)),
            sizes: BTreeMap::new(),
            only: Vec::new(),
            ..choices.clone()
        };
        // What was asked for is planned already, if that is all of it.
        let again = (name != asked || !choices.only.is_empty())
            .then(|| compose::compose(file, text, &whole));
        let wrong = match again.as_ref().unwrap_or(&planned) {
            Ok(_) => Vec::new(),
            Err(error) => error.mistakes.clone(),
        };
        for mistake in wrong {
            let known = |other: &Diagnostic| {
                other.span == mistake.span && other.message.ends_with(&mistake.message)
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
