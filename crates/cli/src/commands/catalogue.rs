//! `fathom catalogue`: the shipped experiments, listed or run one after another.

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use experiment::{Repeat, SHIPPED, Shipped};
use plan::Plan;
use report::html::Page;
use results::model::CellState;
use results::{ResultSet, Seal};
use run::{ExperimentSource, LAB, RunOutcome, RunRequest};
use serde_json::json;
use units::Nanos;

use crate::args::{CatalogueArgs, Common, Gates, LabRunArgs};
use crate::failure::Failure;
use crate::outputs::{self, Output, OutputKind};
use crate::terminal::{Text, answer, json, say};

/// Every shipped experiment.
const ALL: &str = "all";
/// The table of expectations in the directory of the results.
const SOURCES: &str = "sources.md";
/// The page of all results there.
const INDEX: &str = "index.html";
/// The longest repeat of an experiment that runs [`REPEATS`] times; a longer one runs once.
const SHORT: Nanos = Nanos(180_000_000_000);
/// The fewest repeats that give a verdict.
const REPEATS: u32 = 5;

pub fn run(args: &CatalogueArgs) -> Result<ExitCode, Failure> {
    if args.names.is_empty() {
        return list(args);
    }
    let chosen = chosen(&args.names)?;
    if args.print {
        return print(&chosen);
    }
    let Some(out) = &args.out else {
        return Err(Failure::usage("There is no directory for the results")
            .with_help("add --out DIR; results of an earlier call in it are kept"));
    };
    // What cannot be planned is found before anything runs for hours.
    let mut planned = Vec::new();
    for shipped in chosen {
        planned.push(Planned::of(shipped, args)?);
    }
    sys::new_file::create_directories(out).map_err(|error| {
        let message = format!("--out {} cannot be made: {error}", out.display());
        Failure::usage(message).with_help("name a directory that can be written")
    })?;
    let (sources, index) = (out.join(SOURCES), out.join(INDEX));
    let written = [
        Output { option: "--out", path: &sources, kind: OutputKind::Sources },
        Output { option: "--out", path: &index, kind: OutputKind::Page(Page::Results) },
    ];
    outputs::check(&written, &[])?;
    let mut ends = Vec::new();
    let mut stopped = None;
    for (at, one) in planned.iter().enumerate() {
        say(&format!("{} of {}: {}", at + 1, planned.len(), one.shipped.name));
        let became = execute(one, args, &out.join(one.shipped.name));
        if became == ExperimentStatus::Ended(RunOutcome::Interrupted) {
            stopped = Some(ExitCode::from(RunOutcome::Interrupted.exit_code()));
        }
        ends.push((one.shipped.name, became));
        if stopped.is_some() {
            break;
        }
    }
    let shown = show(out, &written);
    say("");
    for (name, became) in &ends {
        say(&format!("{name}: {}", became.words()));
    }
    let code = exit_code(&ends);
    shown.map(|()| stopped.unwrap_or(code))
}

/// Prints the file of an experiment as it is.
fn print(chosen: &[&Shipped]) -> Result<ExitCode, Failure> {
    let [one] = chosen else {
        return Err(Failure::usage("--print takes one experiment")
            .with_help("name one: fathom catalogue vdo-vs-plain --print"));
    };
    answer(&Text::as_it_is(one.text));
    Ok(ExitCode::SUCCESS)
}

/// Outcome of an experiment of the catalogue.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ExperimentStatus {
    /// A complete result was there already.
    Kept,
    Ended(RunOutcome),
    /// It did not run at all; the reason was printed.
    Refused,
}

impl ExperimentStatus {
    fn words(self) -> &'static str {
        match self {
            Self::Kept => "complete already, kept",
            Self::Ended(RunOutcome::Complete) => "complete",
            Self::Ended(RunOutcome::Incomplete) => "incomplete; the same command goes on with it",
            Self::Ended(RunOutcome::TeardownFailed) => "the teardown failed; see above",
            Self::Ended(RunOutcome::Interrupted) => "interrupted; the same command goes on with it",
            Self::Refused => "failed; see above",
        }
    }
}

/// Returns 6 if a teardown failed, else 5 if a result is incomplete or an experiment was refused.
fn exit_code(statuses: &[(&str, ExperimentStatus)]) -> ExitCode {
    let has = |wanted: ExperimentStatus| statuses.iter().any(|(_, became)| *became == wanted);
    if has(ExperimentStatus::Ended(RunOutcome::TeardownFailed)) {
        ExitCode::from(6)
    } else if has(ExperimentStatus::Ended(RunOutcome::Incomplete)) || has(ExperimentStatus::Refused)
    {
        ExitCode::from(5)
    } else {
        ExitCode::SUCCESS
    }
}

/// Runs an experiment, continues it, or leaves a complete result as it is.
fn execute(one: &Planned, args: &CatalogueArgs, dir: &Path) -> ExperimentStatus {
    let Planned { shipped, plan, repeat } = one;
    let resumes = match standing(shipped, plan, dir) {
        Ok(ResultStatus::Whole) => return ExperimentStatus::Kept,
        Ok(ResultStatus::Begun) => true,
        Ok(ResultStatus::None) => false,
        Err(failure) => {
            let _ = failure.report();
            return ExperimentStatus::Refused;
        }
    };
    let place = |wanted: bool| wanted.then(|| dir.to_owned());
    let run = LabRunArgs {
        common: Common {
            experiment: shipped.name.to_owned(),
            out: place(!resumes),
            resume: place(resumes),
            repeat: *repeat,
            quiet: None,
            seed: None,
            scale: args.scale.clone(),
            only: Vec::new(),
            set: Vec::new(),
            json: args.json,
            push: None,
            gates: Gates::default(),
            inject: Vec::new(),
        },
        machine: args.machine.clone(),
        kernel: Vec::new(),
        keep_disks: None,
        deadline: None,
    };
    match super::lab::execute(&run) {
        Ok((outcome, _)) => ExperimentStatus::Ended(outcome),
        Err(failure) if failure.is_interrupt() => ExperimentStatus::Ended(RunOutcome::Interrupted),
        Err(failure) => {
            let _ = failure.report();
            ExperimentStatus::Refused
        }
    }
}

/// Status of the result in the directory of an experiment.
enum ResultStatus {
    None,
    Begun,
    Whole,
}

fn standing(shipped: &Shipped, plan: &Plan, dir: &Path) -> Result<ResultStatus, Failure> {
    if !dir.exists() {
        return Ok(ResultStatus::None);
    }
    let set = results::open(dir)?;
    if let Some(what) = differs(&set, shipped, plan) {
        let message = format!("{} is a result of {what}", dir.display());
        return Err(Failure::usage(message)
            .with_help("name another directory with --out, or remove that result"));
    }
    let done = |cell: &results::CellData| match cell.state() {
        CellState::Done => cell.damage.is_empty(),
        state => state == CellState::Skipped,
    };
    let whole = set.seal == Seal::Whole && set.cells.iter().all(done);
    Ok(if whole { ResultStatus::Whole } else { ResultStatus::Begun })
}

/// Returns how an earlier result differs from what is asked for now; `None` where it does not.
fn differs(set: &ResultSet, shipped: &Shipped, plan: &Plan) -> Option<String> {
    let (old, new) = (&set.manifest.plan, &plan.facts);
    let scale = |scale: &Option<String>| scale.clone().unwrap_or_else(|| "none".into());
    if set.experiment_toml.as_deref() != Some(shipped.text) {
        Some("another experiment, or of another version of it".into())
    } else if old.repeats() != new.repeats() {
        Some(format!("repeat = {}, and {} is asked for", old.repeats(), new.repeats()))
    } else if old.scale != new.scale {
        Some(format!("scale {}, and {} is asked for", scale(&old.scale), scale(&new.scale)))
    } else {
        (set.manifest.simulated).then(|| "a simulation".to_owned())
    }
}

/// Writes the table of sources and the page of all results in the directory, those of earlier calls too.
fn show(out: &Path, [sources, index]: &[Output; 2]) -> Result<(), Failure> {
    let there = |shipped: &&Shipped| out.join(shipped.name).join("manifest.json").is_file();
    let paths: Vec<PathBuf> = SHIPPED.iter().filter(there).map(|s| out.join(s.name)).collect();
    let mut views = Vec::new();
    for path in &paths {
        match super::report::view_of(path) {
            Ok(view) => views.push(view),
            Err(failure) => drop(failure.report()),
        }
    }
    if views.is_empty() {
        return Ok(());
    }
    sources.write(report::sources::markdown(&views).as_bytes())?;
    index.write(report::html::page(&views).as_bytes())?;
    say(&format!("{} and {} written", sources.path.display(), index.path.display()));
    Ok(())
}

/// The experiments of these names, each once, in the order in which they are shipped.
fn chosen(names: &[String]) -> Result<Vec<&'static Shipped>, Failure> {
    let known = || SHIPPED.iter().map(|shipped| shipped.name);
    let strange = names.iter().find(|name| *name != ALL && !known().any(|known| known == *name));
    if let Some(name) = strange {
        let near = experiment::nearest(name, known().chain([ALL]));
        let hint = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
        let names: Vec<_> = known().collect();
        return Err(Failure::usage(format!("The catalogue has no '{name}'")).with_help(format!(
            "{hint}There are: {}, and all; a file of yours runs with fathom lab run",
            names.join(", ")
        )));
    }
    let is_chosen = |name: &str| names.iter().any(|chosen| chosen == name || chosen == ALL);
    Ok(SHIPPED.iter().filter(|shipped| is_chosen(shipped.name)).collect())
}

/// A shipped experiment as it is to run.
struct Planned {
    shipped: &'static Shipped,
    plan: Plan,
    /// The number of repeats that replaces the experiment's own.
    repeat: Option<Repeat>,
}

impl Planned {
    fn of(shipped: &'static Shipped, args: &CatalogueArgs) -> Result<Self, Failure> {
        let plan = |repeat: Option<Repeat>| -> Result<Self, Failure> {
            let request = RunRequest { repeat, scale: args.scale.clone(), ..RunRequest::default() };
            let plan = request.plan(&ExperimentSource::find(shipped.name)?, LAB)?;
            Ok(Self { shipped, plan, repeat })
        };
        match args.repeat {
            Some(Repeat::Fixed(n)) => plan(Some(Repeat::Fixed(n))),
            auto @ Some(Repeat::Auto { .. }) => {
                let planned = plan(None)?;
                if decides(&planned.plan) { plan(auto) } else { Ok(planned) }
            }
            None => {
                let once = plan(Some(Repeat::Fixed(1)))?;
                let short = once.plan.takes().1 <= SHORT;
                if short { plan(Some(Repeat::Fixed(REPEATS))) } else { Ok(once) }
            }
        }
    }
}

/// Tells whether the plan has a question that more repeats can decide.
fn decides(plan: &Plan) -> bool {
    let facts = &plan.facts;
    facts.factors.is_empty() && facts.variants.len() > 1 && !facts.questions.is_empty()
}

fn list(args: &CatalogueArgs) -> Result<ExitCode, Failure> {
    let mut plans = Vec::new();
    for shipped in SHIPPED {
        plans.push(Planned::of(shipped, args)?.plan);
    }
    let about = |plan: &Plan| plan.takes().1.0;
    if args.json {
        let entries: Vec<_> = plans.iter().map(|plan| entry(plan, about(plan))).collect();
        let text = serde_json::to_string_pretty(&json!({ "experiments": entries }));
        json(&text.map_err(Failure::data)?);
        return Ok(ExitCode::SUCCESS);
    }
    let width = SHIPPED.iter().map(|shipped| shipped.name.len()).max().unwrap_or_default();
    let mut text = Text::from("Experiments that come with Fathom:");
    for plan in &plans {
        let facts = &plan.facts;
        let scale = facts.scale.as_ref().map_or_else(String::new, |s| format!(" at scale {s}"));
        text.line(format!("  {:<width$}  {}", facts.experiment, facts.about));
        text.line(format!(
            "  {:<width$}  {} cells ({} x {}){scale}, about {}{} in the lab",
            "",
            plan.cells.len(),
            facts.variants.len(),
            facts.repeats(),
            Nanos(about(plan)),
            if plan.has_commands() { " and the time of the commands" } else { "" },
        ));
    }
    let all = Nanos(plans.iter().map(about).sum());
    text += "";
    text.line(format!("All take about {all}. fathom catalogue NAME... --out DIR runs some, fathom catalogue all --out DIR all."));
    text += "With an emulated CPU, starting a guest for each adds a minute or two.";
    answer(&text);
    Ok(ExitCode::SUCCESS)
}

fn entry(plan: &Plan, about_ns: u64) -> serde_json::Value {
    let facts = &plan.facts;
    let variants: Vec<_> = facts.variants.iter().map(|variant| &variant.name).collect();
    json!({
        "name": facts.experiment, "about": facts.about, "source": facts.source, "variants": variants,
        "repeat": facts.repeat, "cells": plan.cells.len(), "scale": facts.scale, "about_ns": about_ns,
        "expectations": facts.expectations.len(),
    })
}
