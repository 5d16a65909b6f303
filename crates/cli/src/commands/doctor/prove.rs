//! `fathom doctor RESULT --prove`: tests of limits; each compares the variant with and without one change.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use doctor::{Next, Suspect};
use experiment::Trial;
use plan::Plan;
use results::ResultSet;
use results::model::{Accelerator, Finding, Proof, ProofRound};
use results::sink::DirSink;
use run::local::{self, LocalMachine};
use run::{ExperimentSource, LAB, RunOutcome, RunRequest, Start};
use sys::interrupt::Interrupt;
use units::Nanos;

use crate::args::{DoctorArgs, GuestArgs};
use crate::choices::ledger;
use crate::commands::ends::counted;
use crate::commands::lab;
use crate::failure::Failure;
use crate::terminal::say;

/// The guest's default options.
const GUEST: GuestArgs = GuestArgs {
    memory: None,
    cpus: None,
    plain_command_line: false,
    tcg: false,
    qemu: None,
    mirror: None,
};

/// Names for the changed variant; the second is for experiments that use the first.
const NAMES: [&str; 2] = ["changed", "changed-by-doctor"];

/// Opens the directory of the result for the time of the proofs, so that it stays the same whatever its name leads to later.
fn hold(result: &ResultSet) -> Result<DirSink, String> {
    let held = DirSink::reopen(&result.path).map_err(|error| error.to_string())?;
    let found = results::open_held(&held).map_err(|error| error.to_string())?;
    if found.manifest.run_id != result.manifest.run_id {
        return Err(format!("another result has taken the place of {}", result.path.display()));
    }
    Ok(held)
}

/// Tries the change that should remove each limit, and notes the outcome in the findings.
pub fn run(
    args: &DoctorArgs,
    result: &ResultSet,
    findings: &mut [Finding],
    rule: Option<&str>,
) -> Result<(), Failure> {
    let suspects = doctor::suspects(result, findings, rule);
    let Some(text) = result.experiment_toml.clone() else {
        let error = format!("{} does not hold its experiment", result.path.display());
        return Err(
            Failure::data(error).with_help("run the experiment again, and prove that result")
        );
    };
    check(args, result, findings, &suspects, rule)?;
    let source =
        ExperimentSource { name: result.path.join("experiment.toml").display().to_string(), text };
    let out = folder(args, result)?;
    takes(args, result, suspects.iter().take(doctor::SHOWN), &source)?;
    let mut held = hold(result);
    // The rounds of one rule are numbered across all variants.
    let mut round = BTreeMap::new();
    for suspect in suspects.iter().take(doctor::SHOWN) {
        let dir = || {
            let round = round.entry(suspect.rule.as_str()).or_insert(0);
            *round += 1;
            out.join(format!("{}-{round}", suspect.rule))
        };
        let proof = prove(args, result, suspect, &source, dir)?;
        let changes: Vec<_> = suspect.changes.iter().map(ToString::to_string).collect();
        let (word, changes) = (proof.outcome.word(), changes.join(", "));
        let (rule, variant) = (&suspect.rule, &suspect.variant);
        say(&format!("{rule} of {variant} {word}: with {changes} {}", proof.describe()));
        if let Some(finding) = findings.get_mut(suspect.finding) {
            // The proof is valid even if it cannot be noted in the result.
            let kept = held.as_mut().map_err(|why| why.clone());
            let kept = kept.and_then(|held| {
                results::proofs::keep(held, finding, &proof).map_err(|error| error.to_string())
            });
            if let Err(why) = kept {
                say(&format!("The proof is not kept in the result: {why}"));
            }
            finding.proof = Some(proof);
        }
    }
    Ok(())
}

/// Says how long the proofs take, before the first begins.
fn takes<'a>(
    args: &DoctorArgs,
    result: &ResultSet,
    suspects: impl Iterator<Item = &'a Suspect>,
    source: &ExperimentSource,
) -> Result<(), Failure> {
    let plans: Vec<Plan> = suspects
        .map(|suspect| trial_plan(args, result, suspect, source))
        .collect::<Result<_, _>>()?;
    let about: u64 = plans.iter().map(|plan| plan.takes().1.0).sum();
    let (least, most) = (Nanos(about), Nanos(about * doctor::MOST_ROUNDS as u64));
    let commands = plans.iter().any(Plan::has_commands);
    let more = if commands { ", and the time of the commands" } else { "" };
    say(&format!(
        "{} to prove, in {}: about {least}, and up to {most} where a change helps{more}",
        counted(plans.len(), "limit"),
        counted(plans.iter().map(|plan| plan.cells.len()).sum(), "cell"),
    ));
    Ok(())
}

/// Refuses what cannot be proved, before anything runs.
fn check(
    args: &DoctorArgs,
    result: &ResultSet,
    findings: &[Finding],
    suspects: &[Suspect],
    rule: Option<&str>,
) -> Result<(), Failure> {
    if let Some(rule) = rule.filter(|_| suspects.is_empty()) {
        let there = findings.iter().any(|finding| finding.rule == rule);
        let known = doctor::rules().iter().any(|known| known.id == rule);
        let why = match (there, known) {
            (true, _) => format!("No setting removes what rule '{rule}' found"),
            (false, true) => format!("Rule '{rule}' found nothing in this result"),
            (false, false) => format!("There is no rule '{rule}'"),
        };
        let able = doctor::suspects(result, findings, None);
        let names: Vec<_> = able.iter().map(|suspect| suspect.rule.as_str()).collect();
        let help = match &*names {
            [] => "nothing that limits this result can be proved by a setting".to_owned(),
            names => format!("these can be proved: {}", names.join(", ")),
        };
        return Err(Failure::usage(why).with_help(help));
    }
    if suspects.is_empty() {
        say("Nothing to prove: no limit was found that a setting removes.");
        return Ok(());
    }
    if result.manifest.plan.questions.is_empty() {
        let error = "The experiment asks nothing, so that there is no figure to compare";
        return Err(Failure::usage(error).with_help("give it a [[question]], and run it again"));
    }
    if !args.lab && !args.simulate {
        let error = "A proof runs the experiment again, and nothing says where";
        return Err(
            Failure::usage(error).with_help("add --lab: it runs in a disposable virtual machine")
        );
    }
    Ok(())
}

/// The directory of all rounds.
fn folder(args: &DoctorArgs, result: &ResultSet) -> Result<PathBuf, Failure> {
    let name = &result.manifest.plan.experiment;
    let out = args.out.clone().unwrap_or_else(|| {
        let now = jiff::Timestamp::now().strftime("%Y%m%dT%H%M%SZ");
        PathBuf::from(format!("{name}-proof-{now}"))
    });
    if out.exists() {
        let error = format!("{} exists already", out.display());
        return Err(Failure::refused(error).with_help("name a new directory with --out"));
    }
    Ok(out)
}

fn prove(
    args: &DoctorArgs,
    result: &ResultSet,
    suspect: &Suspect,
    source: &ExperimentSource,
    mut next_dir: impl FnMut() -> PathBuf,
) -> Result<Proof, Failure> {
    let (mut rounds, mut figure): (Vec<ProofRound>, String) = Default::default();
    loop {
        if let Next::Known(outcome) = doctor::next(&rounds) {
            return Ok(Proof { outcome, figure, rounds });
        }
        let plan = trial_plan(args, result, suspect, source)?;
        let measured = measure(args, source, &plan, next_dir())?;
        let found = doctor::round(&measured, &analysis::analyse(&measured), &suspect.stage);
        let Some((of, round)) = found else {
            let error = format!("The result in {} has no verdict", measured.path.display());
            return Err(
                Failure::data(error).with_help("its first question has no figure in this variant")
            );
        };
        figure = of;
        rounds.push(round);
    }
}

/// Plans a round: the variant as it was, and changed.
fn trial_plan(
    args: &DoctorArgs,
    result: &ResultSet,
    suspect: &Suspect,
    source: &ExperimentSource,
) -> Result<Plan, Failure> {
    let facts = &result.manifest.plan;
    let taken = |name: &&&str| !facts.variants.iter().any(|variant| variant.name == **name);
    let name = NAMES.iter().find(taken).unwrap_or(&NAMES[0]);
    let trial = Trial {
        of: suspect.variant.clone(),
        name: (*name).to_owned(),
        set: suspect.set(),
        stage: suspect.stage.clone(),
    };
    let request = RunRequest {
        repeat: Some(experiment::Repeat::Fixed(args.repeat)),
        scale: facts.scale.clone(),
        trial: Some(trial),
        ..RunRequest::default()
    };
    Ok(request.plan(source, LAB)?)
}

/// Runs the plan of a trial.
fn measure(
    args: &DoctorArgs,
    source: &ExperimentSource,
    plan: &Plan,
    dir: PathBuf,
) -> Result<ResultSet, Failure> {
    if let Some(folder) = dir.parent() {
        sys::new_file::create_directories(folder).map_err(Failure::environment)?;
    }
    let (outcome, dir) = if args.lab {
        let lab_args = lab::own_args(source.name.clone(), dir, &GUEST);
        lab::execute_plan(&lab_args, source, plan, None)?
    } else {
        (simulate(source, plan, &dir)?, dir)
    };
    match outcome {
        RunOutcome::Complete => Ok(results::open(&dir)?),
        RunOutcome::Interrupted => Err(Failure::interrupted()),
        _ => {
            let error = format!("The proof's run in {} is {}", dir.display(), outcome.word());
            let failure = match outcome {
                RunOutcome::TeardownFailed => Failure::teardown(error),
                _ => Failure::data(error),
            };
            Err(failure.with_help("see it with fathom show"))
        }
    }
}

fn simulate(source: &ExperimentSource, plan: &Plan, dir: &Path) -> Result<RunOutcome, Failure> {
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let start = Start {
        command: crate::args::words(),
        tool_version: env!("CARGO_PKG_VERSION").into(),
        accelerator: Accelerator::None,
        accelerator_reason: None,
        simulated: true,
        devices: std::collections::BTreeMap::new(),
        host: host::facts(),
        experiment_text: source.text.clone(),
    };
    let ledger = ledger(dir, plan, start, None, Box::new(|_| {}))?;
    Ok(local::run(plan, &LocalMachine::Simulated { pace: None }, &[], ledger, None, &interrupt)?)
}
