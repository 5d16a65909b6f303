//! The stages of an experiment, read from the file; [`plan`] makes them ready for a stack.

use units::{Key, Nanos, key};

use crate::kinds::targets::WrittenTarget;
use crate::written::diagnostic::{Diagnostic, Mend, nearest};
use crate::written::document::{Places, Table};
use crate::written::keys::SET;
use crate::written::names;
use crate::written::variants::{self, Variant};

mod facts;
mod head;
mod needs;
mod planner;
mod ready;
mod task;

pub(crate) use facts::facts;
pub use head::{KindFacts, StageHead, WorksOn};
pub(crate) use needs::needs;
pub use planner::Planner;
pub(crate) use ready::plan;
pub use task::{Around, StageKind, StageTask};

/// The longest deadline.
const LONGEST_DEADLINE: Nanos = Nanos::from_secs(7 * 24 * 3600);

const NAME: Key = key("name", "a text of 1 to 64 characters", "\"random-write\"");
const MEASURE: Key = key("measure", "true or false", "true");
const SETTLE: Key = key("settle", "true or false", "true");
const ONLY: Key = key("only", "names of variants", "[\"lvmcache, junk\"]");
const DEADLINE: Key = key("deadline", "a time from 1s to 168h", "\"30m\"");
const PLACES: Key = key("places", "same (as in other stages) or fresh", "\"fresh\"");

/// One `[[stage]]` as written.
#[derive(Clone)]
pub(crate) struct Stage {
    pub head: StageHead,
    pub task: Box<dyn StageTask>,
}

impl Stage {
    /// Tells whether it, or a point of it, has this name.
    pub(crate) fn is_called(&self, name: &str) -> bool {
        self.names().any(|known| known == name)
    }

    /// Returns what its figures can be called by: its name, and those of its points.
    pub fn names(&self) -> impl Iterator<Item = String> {
        let points = self.task.points().iter().map(|point| point.name.clone());
        std::iter::once(self.head.name.clone()).chain(points)
    }
}

/// Reads every stage of a variant; all mistakes at once. `variants` are those of the experiment.
pub(crate) fn read(
    variant: &Variant,
    name: &str,
    variants: &[Variant],
) -> Result<Vec<Stage>, Vec<Diagnostic>> {
    let mut mistakes = Vec::new();
    let mut stages: Vec<Stage> = Vec::new();
    for entry in &variant.stage {
        match stage(entry.clone(), name) {
            Ok(stage) => stages.push(stage),
            Err(mistake) => mistakes.push(mistake),
        }
    }
    for (i, stage) in stages.iter().enumerate() {
        // The points of a sweep have separate names.
        let taken = |name: &String| stages[..i].iter().any(|other| other.is_called(name));
        if let Some(name) = stage.names().find(taken) {
            let message = format!("Two stages are called '{name}'");
            let help = "give one of them a name of its own: name = \"...\"";
            let mistake = Diagnostic::at(stage.head.places.at("name"), message, help);
            mistakes.push(mistake.with(format!("\"another {i}\"")).if_name_is_right(&name));
        }
    }
    let known = |name: &&String| variants.iter().any(|variant| variant.is(name));
    for stage in &stages {
        let strange = stage.head.only.iter().find(|name| !known(name));
        mistakes.extend(strange.map(|name| {
            let names = variants::names(variants);
            let message = format!(
                "Stage '{}' is for a variant '{name}', which does not exist",
                stage.head.name
            );
            let at = stage.head.places.at("only");
            let mistake = Diagnostic::unknown(at, message, name, names.iter().copied());
            // The others that are named stay.
            let others = stage.head.only.iter().filter(|name| known(name)).map(String::as_str);
            let only: Vec<&str> = others.chain(nearest(name, names)).collect();
            match only[..] {
                // It is not known which variant is meant.
                [] => Diagnostic {
                    instead: Some(Mend::Example(format!("{:?}", variants::names(variants)).into())),
                    ..mistake
                },
                _ => mistake.with(format!("{only:?}")),
            }
        }));
    }
    if mistakes.is_empty() { Ok(stages) } else { Err(mistakes) }
}

/// Refuses an experiment without a measured stage.
pub(crate) fn check_measured(stages: &[Stage]) -> Option<Diagnostic> {
    let help = "add a [[stage]] with do = \"load\" and measure = true";
    let span = stages.last().map(|stage| stage.head.places.at("name"));
    let none = Diagnostic { span, ..Diagnostic::at(0..0, "No stage is measured", help) };
    (!stages.iter().any(|stage| stage.head.measured)).then(|| none.if_rest_is_right())
}

fn stage(mut table: Table, file: &str) -> Result<Stage, Diagnostic> {
    let places = table.places();
    let StageKind { facts: kind, read } = StageKind::take(&mut table)?;
    let name = table.take::<String>(&NAME)?;
    let name = name.map_or_else(|| kind.name.to_owned(), toml::Spanned::into_inner);
    if let Some(mistake) = names::check("a stage", &name, &places.at("name")) {
        return Err(mistake.renamed());
    }
    let measured = table.take(&MEASURE)?.is_some_and(toml::Spanned::into_inner);
    unmeasured(measured, &places, kind)?;
    // Figures are only right when the stack has come to rest, so a measured stage settles by default.
    let settle = table.take(&SETTLE)?.map_or(measured, toml::Spanned::into_inner);
    let only = only(&mut table)?;
    let target =
        WrittenTarget::read(&mut table, matches!(kind.works_on, WorksOn::Load | WorksOn::Rounds))?;
    if kind.works_on == WorksOn::Nothing && target != WrittenTarget::Top {
        let message = format!("{} works on no layer, so it has no target", kind.what);
        return Err(
            Diagnostic::at(places.at("target"), message, "leave target out").fix_by_removing()
        );
    }
    let deadline = deadline(&mut table)?;
    let set = table.table(&SET, "set")?.map(Table::values).transpose()?.unwrap_or_default();
    let fresh_places = kind.works_on == WorksOn::Load && places_of(&mut table)?;
    let around = Around { name: &name, measured, sets: !set.is_empty(), places: &places, file };
    table.is(kind.what);
    let task = read(table, &around)?;
    let head = StageHead {
        kind: *kind,
        name,
        measured,
        settle,
        only,
        target,
        deadline,
        set,
        fresh_places,
        places,
    };
    Ok(Stage { head, task })
}

/// The variants that a stage is for; all where none is named.
fn only(table: &mut Table) -> Result<Vec<String>, Diagnostic> {
    let Some(only) = table.take::<Vec<String>>(&ONLY)? else { return Ok(Vec::new()) };
    if only.get_ref().is_empty() {
        let message = "A stage is for no variant";
        return Err(Diagnostic::at(only.span(), message, "name one, or leave the stage out"));
    }
    Ok(only.into_inner())
}

/// Reads the deadline: the time after which the cell fails if the stage has not ended.
fn deadline(table: &mut Table) -> Result<Option<Nanos>, Diagnostic> {
    let Some(deadline) = table.take::<Nanos>(&DEADLINE)? else { return Ok(None) };
    let value = *deadline.get_ref();
    if value < Nanos::from_secs(1) || value > LONGEST_DEADLINE {
        let message = format!("A stage cannot have a deadline of {value}");
        return Err(Diagnostic::of_key(deadline.span(), message, &DEADLINE));
    }
    Ok(Some(value))
}

/// Refuses to measure a stage that itself has no figures.
fn unmeasured(measured: bool, places: &Places, kind: &KindFacts) -> Result<(), Diagnostic> {
    let Some(instead) = kind.instead.filter(|_| measured) else { return Ok(()) };
    let message = format!("{} has no figures of its own, so it cannot be measured", kind.what);
    let help = format!("measure {instead}; settle = true reads all layers after this stage");
    Err(Diagnostic::at(places.at("measure"), message, help).fix_by_removing())
}

/// Tells whether a load draws its own hot places instead of using those of the other stages.
fn places_of(table: &mut Table) -> Result<bool, Diagnostic> {
    let Some(word) = table.take::<String>(&PLACES)? else { return Ok(false) };
    match word.get_ref().as_str() {
        "fresh" => Ok(true),
        "same" => Ok(false),
        other => {
            let message = format!("places cannot be '{other}'");
            Err(Diagnostic::of_key(word.span(), message, &PLACES))
        }
    }
}
