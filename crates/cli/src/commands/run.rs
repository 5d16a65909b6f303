//! `fathom run`: an experiment on this machine's devices, or on simulated ones.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use plan::Plan;
use results::model::Accelerator;
use run::local::{self, LocalMachine};
use run::{
    AdmissionError, DeviceOffer, Earlier, ExperimentSource, FULL, RunOutcome, RunRequest, Start,
};
use sys::interrupt::Interrupt;

use super::lab::with_view;
use crate::args::RunArgs;
use crate::choices::{earlier, ledger, result_directory, run_request, say_notes};
use crate::failure::Failure;
use crate::render::RunView;
use crate::terminal::say;

pub fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    super::push::check(args.common.push.as_deref())?;
    let source = ExperimentSource::find(&args.common.experiment)?.with_values(&args.common.set);
    let earlier = earlier(&args.common)?;
    let request = run_request(&args.common, earlier.as_ref());
    // Planned once without devices, so that a mistake in the file is found before any device is looked at.
    let mut paper = request.clone().plan(&source, FULL)?;
    say_about(args.common.scale.as_deref(), &mut paper);
    let (outcome, out) = execute(args, &source, (request, paper), earlier)?;
    super::ends::conclude(outcome, &out, &args.common)
}

/// Prints the notes about the experiment on this machine, and removes from its plan the keys that have no effect here.
pub fn say_about(scale: Option<&str>, paper: &mut Plan) {
    say_notes(scale, paper);
    for (role, keys) in paper.on_own_devices() {
        let keys = keys.join(", ");
        say(&format!(
            "note: {role} is a real device here, on which these keys have no effect: {keys}; fathom lab run makes disks that follow them"
        ));
    }
}

/// Runs the experiment in `source`; `paper` is its plan without devices. Returns how it ended, and the result's directory.
pub fn execute(
    args: &RunArgs,
    source: &ExperimentSource,
    (request, paper): (RunRequest, Plan),
    earlier: Option<Earlier>,
) -> Result<(RunOutcome, PathBuf), Failure> {
    let out = result_directory(&args.common, &paper)?;
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    // Held until the run has ended, so that nobody removes them from the cache.
    let mut held = crate::corpora::HeldCorpora::new();
    let (plan, machine, claimed) = if args.host.simulate {
        (paper, LocalMachine::Simulated { pace: args.pace }, run::ClaimedDevices::default())
    } else {
        if let (Some(earlier), Some(dir)) = (&earlier, &args.common.resume) {
            nothing_set(earlier, dir)?;
        }
        let claimed = admit(args, source, &paper).map_err(|failure| match &args.common.resume {
            // A device may be held by what the killed run made on it.
            Some(dir) => failure.or_clean(&format!("fathom clean {}", dir.display())),
            None => failure,
        })?;
        let full = RunRequest { seed: Some(paper.seed), sizes: claimed.sizes.clone(), ..request };
        let corpora = crate::corpora::generated(&paper.needs, &interrupt)?;
        let made = corpora.iter().map(|(name, held)| (name.clone(), held.path.clone())).collect();
        held = corpora;
        let (devices, claims) = (claimed.devices.clone(), claimed.claimed());
        let machine = LocalMachine::Real { devices, claimed: claims, made };
        let mut plan = full.plan(source, FULL)?;
        plan.on_own_devices();
        (plan, machine, claimed)
    };
    let start = Start {
        command: crate::args::words(),
        tool_version: env!("CARGO_PKG_VERSION").into(),
        accelerator: Accelerator::None,
        accelerator_reason: None,
        simulated: args.host.simulate,
        host: host::facts(),
        devices: claimed.facts.clone(),
        experiment_text: source.text.clone(),
    };
    super::ends::begin(&plan, &out, None);
    let view = Arc::new(Mutex::new(RunView::new(args.common.json)));
    super::ends::acknowledge(&interrupt, &view);
    let shown = Arc::clone(&view);
    let on = Box::new(move |e: &run::Event| with_view(&shown, |v| v.event(e)));
    let ledger = ledger(&out, &plan, start, earlier, on)?;
    let quiet = args.common.quiet.filter(|_| !args.host.simulate);
    if args.host.simulate && args.common.quiet.is_some() {
        say("note: --quiet has no effect with --simulate: nothing is measured");
    }
    let outcome = local::run(&plan, &machine, &args.common.inject, ledger, quiet, &interrupt);
    drop(held);
    with_view(&view, |v| v.close());
    Ok((outcome?, out))
}

/// Refuses to go on while settings have values of the killed run: they would be taken for those of before, and stay for good.
fn nothing_set(earlier: &Earlier, dir: &Path) -> Result<(), Failure> {
    let left = earlier.values_left()?;
    if left.is_empty() {
        return Ok(());
    }
    let what = format!("The killed run left: {}", left.join(", "));
    Err(Failure::refused(what)
        .with_help(format!("fathom clean {} --yes, then once more", dir.display())))
}

/// Claims the plan's devices until the return value is dropped; prints their full identities.
fn admit(
    args: &RunArgs,
    source: &ExperimentSource,
    plan: &Plan,
) -> Result<run::ClaimedDevices, Failure> {
    let offered = |given: &[(String, PathBuf)], destroy: bool| {
        let offered = given.iter().cloned();
        offered.map(|(role, path)| DeviceOffer { role, path, destroy }).collect::<Vec<_>>()
    };
    let offered =
        [offered(&args.host.device, false), offered(&args.host.destroy_data, true)].concat();
    let allowed = args.host.allow_commands || source.is_shipped();
    run::check_commands(plan, &source.name, allowed)
        .and_then(|()| run::check_machine(plan))
        .and_then(|()| run::check_apart(plan, &offered))
        .and_then(|()| run::check_needs(plan))
        .and_then(|()| {
            run::claim(plan, &offered, &mut |role, what| say(&format!("{role}: {what}")))
        })
        .and_then(|claimed| run::check_root().map(|()| claimed))
        .and_then(|claimed| run::check_environment(&plan.cells, &claimed.devices).map(|()| claimed))
        .map_err(|error| refusal(error, &args.common.experiment))
}

fn refusal(error: AdmissionError, experiment: &str) -> Failure {
    let help = error.help(experiment);
    match error {
        AdmissionError::Claim(error) => return error.into(),
        AdmissionError::Command { .. } => Failure::refused(error),
        AdmissionError::Lacks { .. }
        | AdmissionError::Environment { .. }
        | AdmissionError::NotRoot => Failure::environment(error),
        _ => Failure::usage(error),
    }
    .with_help(help)
}
