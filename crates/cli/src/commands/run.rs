//! `fathom run`: an experiment on this machine's devices, or on simulated ones.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex};

use experiment::{Plan, Tree};
use results::model::Accelerator;
use run::local::{self, Machine};
use run::{Outcome, Start};
use sys::interrupt::Interrupt;
use units::{Bytes, Nanos};

use super::lab::with;
use crate::args::{Common, RunArgs};
use crate::choices::{Asked, FULL, Source, earlier, ledger, plan, result_directory};
use crate::failure::Failure;
use crate::render::RunView;
use crate::terminal::{Style, Text, answer, json_line, say, say_text, width};

pub fn run(args: &RunArgs) -> Result<ExitCode, Failure> {
    let source = Source::find(&args.common.experiment)?;
    let earlier = earlier(&args.common)?;
    // Composed once without devices, so that a mistake in the file is found before any device is looked at.
    let paper = plan(&source, Asked::of(&args.common, earlier.as_ref()), FULL)?;
    let out = result_directory(&args.common, &paper)?;
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let (plan, machine, _claims) = if args.simulate {
        (paper, Machine::Simulated { pace: args.pace }, Vec::new())
    } else {
        check_commands(args, &source, &paper)?;
        no_device_twice(args, &paper)?;
        check_needs(args, &paper)?;
        let (claims, devices, sizes) = claim(args, &paper)?;
        let asked = Asked::of(&args.common, earlier.as_ref());
        let asked = Asked { seed: Some(paper.seed), sizes, ..asked };
        let plan = plan(&source, asked, FULL)?;
        (plan, Machine::Real { devices }, claims)
    };
    let start = Start {
        command: std::env::args().collect(),
        tool_version: env!("CARGO_PKG_VERSION").into(),
        accelerator: Accelerator::None,
        accelerator_reason: None,
        simulated: args.simulate,
        host: host::facts(),
        experiment_text: source.text.clone(),
    };
    say(&headline(&plan, &out, None));
    let view = Arc::new(Mutex::new(RunView::new(args.common.json)));
    let shown = Arc::clone(&view);
    let on = Box::new(move |e: &run::Event| with(&shown, |v| v.event(e)));
    let ledger = ledger(&out, &plan, start, earlier, on)?;
    let outcome = local::run(&plan, &machine, &args.common.inject, ledger, &interrupt);
    with(&view, |v| v.close());
    conclude(outcome?, &out, &args.common)
}

/// Programs that somebody else's experiment names run on this machine only by the word of the user.
fn check_commands(args: &RunArgs, source: &Source, plan: &Plan) -> Result<(), Failure> {
    let command = plan.cells.iter().flat_map(|cell| &cell.stages).find_map(|stage| {
        let command = stage.command()?;
        Some((&stage.name, layers::step::show_argv(&command.argv)))
    });
    let Some((stage, command)) = command else { return Ok(()) };
    if !args.allow_commands && !source.is_shipped() {
        return Err(Failure::refused(format!(
            "Stage '{stage}' of {} executes '{command}' on this machine",
            source.name
        ))
        .with_help(format!(
            "read the commands (fathom explain {0}), then add --allow-commands; or run it in the lab: fathom lab run {0}",
            args.common.experiment
        )));
    }
    let package = |(name, tree): (&String, &Tree)| match tree {
        Tree::Package(package) => Some((name.clone(), package.clone())),
        Tree::Directory { .. } => None,
    };
    match plan.needs.trees.iter().find_map(package) {
        None => Ok(()),
        Some((name, package)) => Err(Failure::usage(format!(
            "The tree '{name}' is the files of the package {package}, which only the lab unpacks"
        ))
        .with_help(format!(
            "give [trees.{name}] a path = \"...\" in a copy of the experiment, or run it in the lab: fathom lab run {}",
            args.common.experiment
        ))),
    }
}

/// The layers must be there before any device is looked at.
fn check_needs(args: &RunArgs, plan: &Plan) -> Result<(), Failure> {
    let programs: Vec<_> = plan.needs.tools.iter().chain(&plan.needs.programs).cloned().collect();
    let missing = host::missing(&plan.needs.modules, &programs);
    if missing.is_empty() {
        return Ok(());
    }
    let packages: BTreeSet<_> = plan
        .needs
        .packages
        .iter()
        .chain(&plan.needs.command_packages)
        .map(String::as_str)
        .collect();
    let packages: Vec<_> = packages.into_iter().collect();
    Err(Failure::environment(format!("This machine lacks {}", missing.join(", "))).with_help(format!(
        "apt-get install {} and a kernel that has the modules; or run it in the lab: fathom lab run {}",
        packages.join(" "),
        args.common.experiment
    )))
}

/// Refuses devices that share bytes: what one role writes would change the other.
fn no_device_twice(args: &RunArgs, plan: &Plan) -> Result<(), Failure> {
    let help = "each role needs a device of its own";
    let paths = || args.device.iter().chain(&args.destroy_data).map(|(_, path)| path.as_path());
    super::load::apart(paths(), help)?;
    // Several roles may be read from one file; none may be written to it.
    let mut files = plan.devices.values().filter_map(|planned| planned.file.as_deref());
    files.try_for_each(|file| super::load::apart(paths().chain([file]), help))
}

type Claimed = (Vec<host::Claim>, BTreeMap<String, String>, BTreeMap<String, Bytes>);

/// Claims a device for every role, and prints whole identities.
fn claim(args: &RunArgs, plan: &Plan) -> Result<Claimed, Failure> {
    let offered = args
        .device
        .iter()
        .map(|d| (d, false))
        .chain(args.destroy_data.iter().map(|d| (d, true)))
        .collect::<Vec<_>>();
    for ((role, path), _) in &offered {
        if !plan.devices.contains_key(role) {
            let roles = plan.devices.keys().cloned().collect::<Vec<_>>().join(", ");
            return Err(Failure::usage(format!(
                "The experiment has no device '{role}' for {}",
                path.display()
            ))
            .with_help(format!("its roles are: {roles}")));
        }
    }
    let mut claimed: Claimed = Claimed::default();
    for (role, planned) in &plan.devices {
        let mut bound = offered.iter().filter(|((r, _), _)| r == role);
        if let Some(file) = &planned.file {
            if bound.next().is_some() {
                return Err(Failure::usage(format!("'{role}' is read from {}", file.display()))
                    .with_help(
                        "leave --device away for it; only its file in the experiment counts",
                    ));
            }
            say(&format!("{role}: {}, read only", file.display()));
            claimed.1.insert(role.clone(), file.display().to_string());
            continue;
        }
        let Some(((_, path), destroy)) = bound.next() else {
            return Err(Failure::usage(format!("No device is given for '{role}'")).with_help(format!(
                "add --device {role}=PATH with a scratch device of at least {}, or run it in the lab: \
                 fathom lab run {}",
                planned.size, args.common.experiment
            )));
        };
        if bound.next().is_some() {
            return Err(Failure::usage(format!("Two devices are given for '{role}'"))
                .with_help("name each role once"));
        }
        let claim = host::claim(path, *destroy)?;
        if claim.bytes() < planned.size {
            return Err(Failure::usage(format!(
                "{} has {}, and the experiment needs {} for '{role}'",
                path.display(),
                claim.bytes(),
                planned.size
            ))
            .with_help(
                "give a larger device, or make [devices] and the stack in the file smaller",
            ));
        }
        say(&format!("{role}: {}", claim.identity()));
        claimed.1.insert(role.clone(), claim.path().display().to_string());
        claimed.2.insert(role.clone(), claim.bytes());
        claimed.0.push(claim);
    }
    Ok(claimed)
}

/// What is about to happen, one line.
pub fn headline(plan: &Plan, out: &Path, accelerator: Option<&str>) -> String {
    let about: u64 = plan.cells.iter().map(|cell| cell.about.0).sum();
    let lab = accelerator.map_or_else(String::new, |name| format!(" in the lab ({name})"));
    let scale = plan.facts.scale.as_ref().map_or_else(String::new, |s| format!(" at scale {s}"));
    format!(
        "{}{scale}{lab}: {} x {} = {} cells, about {}; seed {}; result in {}",
        plan.facts.experiment,
        counted(plan.facts.variants.len(), "variant"),
        counted(plan.facts.repeat as usize, "repeat"),
        plan.cells.len(),
        Nanos(about),
        plan.seed,
        out.display(),
    )
}

/// `1 variant`, `2 variants`.
fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// The summary of a run that has ended, and its exit code.
pub fn conclude(outcome: Outcome, out: &Path, args: &Common) -> Result<ExitCode, Failure> {
    let view = super::report::view_of(out)?;
    if args.json {
        json_line(&serde_json::json!({
            "event": "ended", "outcome": outcome.word(), "exit_code": outcome.exit_code(), "result": out,
        }));
        let colour = Style::of_stderr().colour();
        say_text(&Text::made(report::terminal::text(&view, width(), colour)));
    } else {
        let colour = Style::of_stdout().colour();
        answer(&Text::made(report::terminal::text(&view, width(), colour)));
    }
    say(&format!(
        "result in {dir}; fathom report {dir} -o page.html makes a page of it",
        dir = out.display()
    ));
    Ok(match outcome {
        Outcome::Complete => super::report::strict(&view, args.strict, ExitCode::SUCCESS),
        _ => ExitCode::from(outcome.exit_code()),
    })
}
