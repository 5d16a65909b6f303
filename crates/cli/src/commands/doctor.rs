//! `fathom doctor`: what this machine can do, what a result suffers from and what limits it, what a plan cannot show, or what an existing
//! stack suffers from.

mod findings;
mod latency;
mod machine;
mod metrics;
mod prove;
mod rules;
mod standing;
mod watch;

use std::path::Path;
use std::process::ExitCode;

use run::{ExperimentSource, LAB, RunRequest, SourceError};

use crate::args::DoctorArgs;
use crate::choices::say_notes;
use crate::failure::Failure;
use crate::terminal::{Style, Text, answer};

pub fn run(args: &DoctorArgs) -> Result<ExitCode, Failure> {
    if args.rules {
        return rules::run(args.json);
    }
    let Some(path) = &args.subject else {
        return show(&machine::capabilities(), args.json, machine::text);
    };
    // Names and paths of other things are text.
    let Some(subject) = path.to_str() else { return of_result(args, path) };
    if let Some(source) = standing::source(subject) {
        if args.all || args.scale.is_some() || args.prove.is_some() {
            let error = format!(
                "{subject} is a stack, and --all, --scale and --prove are for results and experiments"
            );
            return Err(Failure::usage(error)
                .with_help("leave them out: everything that is found is shown"));
        }
        return standing::run(&source, args);
    }
    if args.watch.is_some() || args.metrics {
        return Err(of_a_stack(path));
    }
    match experiment(subject)? {
        Some(source) => of_plan(args, &source),
        None => of_result(args, path),
    }
}

/// Returns the error for options that only stacks take.
fn of_a_stack(path: &Path) -> Failure {
    let error = format!("{} is not a stack; --watch and --metrics are for stacks", path.display());
    Failure::usage(error).with_help("name a block device, or a path on a mounted file system")
}

/// The experiment that `subject` names; `None` where it names a result, or something that does not exist.
fn experiment(subject: &str) -> Result<Option<ExperimentSource>, Failure> {
    let path = Path::new(subject);
    if path.is_dir() || results::packed::is_packed(path) {
        return Ok(None);
    }
    if path.is_file() || path.extension().is_some_and(|extension| extension == "toml") {
        return Ok(Some(ExperimentSource::find(subject)?));
    }
    match ExperimentSource::find(subject) {
        // A missing name that is close to a shipped experiment's is taken for a mistyped experiment.
        Err(error @ SourceError::Unknown { near: Some(_), .. }) => Err(error.into()),
        found => Ok(found.ok()),
    }
}

fn of_result(args: &DoctorArgs, path: &Path) -> Result<ExitCode, Failure> {
    let result = results::open(path)?;
    if args.watch.is_some() || args.metrics {
        return Err(of_a_stack(path));
    }
    if args.scale.is_some() {
        let error = format!("{} is a result, and --scale is for experiments", path.display());
        return Err(Failure::usage(error).with_help("leave --scale out"));
    }
    let analysis = analysis::analyse(&result);
    let mut found = doctor::examine(&result, &analysis);
    let all = args.all;
    if args.prove.is_some() && results::packed::is_packed(path) {
        let error =
            format!("{} is packed: proofs are kept in the directory of a result", path.display());
        return Err(Failure::usage(error).with_help("fathom unpack makes one"));
    }
    if let Some(rule) = &args.prove {
        prove::run(args, &result, &mut found, rule.as_deref())?;
    }
    show(&found, args.json, |found, style| findings::of_result(found, all, style))?;
    Ok(super::report::code_of(&result))
}

fn of_plan(args: &DoctorArgs, source: &ExperimentSource) -> Result<ExitCode, Failure> {
    if args.prove.is_some() {
        let error =
            format!("{} is an experiment: only what a result shows can be proved", source.name);
        return Err(
            Failure::usage(error).with_help("run it first, then name the result's directory")
        );
    }
    if args.all {
        let error = format!("{} is an experiment, and --all is for results", source.name);
        return Err(Failure::usage(error)
            .with_help("leave --all out: all that the plan cannot show is listed"));
    }
    let plan =
        RunRequest { scale: args.scale.clone(), ..RunRequest::default() }.plan(source, LAB)?;
    say_notes(args.scale.as_deref(), &plan);
    show(&doctor::check_plan(&plan.facts), args.json, findings::of_plan)
}

fn show<T: serde::Serialize>(
    items: &[T],
    json: bool,
    text: impl Fn(&[T], Style) -> Text,
) -> Result<ExitCode, Failure> {
    if json {
        crate::terminal::json(&serde_json::to_string_pretty(items).map_err(Failure::data)?);
    } else {
        answer(&text(items, Style::of_stdout()));
    }
    Ok(ExitCode::SUCCESS)
}
