//! `fathom-bench engine --lab`: the same comparison on real layers, in guests.

use std::path::Path;
use std::process::ExitCode;
use std::time::Duration;

use crate::guest_comparison::{self, GuestComparison};
use crate::outcome::Outcome;
use crate::record::WHOLE;
use lab::{Ending, FrameKind, Received, Vm, VmSpec};
use plan::{Needs, Plan};
use run::{Event, ExperimentSource, KeptStack, LAB, Message, Mission, RunRequest};
use sys::interrupt::{Interrupt, Level};

use super::engine_record::{default_directory, finish, pace};
use cli::GuestArgs;

use crate::args::{EngineArgs, LabTarget};
use cli::RunView;
use cli::failure::Failure;
use cli::guests::{Prepared, prepare};
use cli::terminal::{Text, say, say_text};

/// The experiment whose stacks are raised: a linear volume, and VDO.
const EXPERIMENT: &str = "vdo-vs-plain";
/// Longest wait in one look at the link.
const PATIENCE: Duration = Duration::from_millis(200);

/// Runs the comparison in one guest for each layer.
pub fn in_lab(args: &EngineArgs, interrupt: &Interrupt) -> Result<ExitCode, Failure> {
    let out = args.out.clone().unwrap_or_else(default_directory);
    let machine = GuestArgs {
        memory: None,
        cpus: None,
        plain_command_line: true,
        tcg: false,
        qemu: None,
        mirror: None,
    };
    let mut plan = RunRequest::once().plan(&ExperimentSource::find(EXPERIMENT)?, LAB)?;
    plan.needs = plan.needs.with(&Needs {
        packages: vec![guest_comparison::PEER.into()],
        tools: vec![guest_comparison::PEER.into()],
        modules: vec![guest_comparison::NULL.into()],
        memory: guest_comparison::MEMORY,
        ..Needs::default()
    });
    let mut view = RunView::new(false);
    let prepared =
        prepare(&plan.needs, &machine, &Interrupt::new(), &mut |event| view.lab(&event))?;
    view.close();
    let kind = prepared.accelerator.kind.name();
    say(&format!("guests under {kind}: {}", prepared.accelerator.reason));
    let mut whole: Option<Outcome> = None;
    for layer in &args.target_layer {
        if interrupt.level() != Level::None {
            break;
        }
        let part = run_layer(&plan, *layer, args, &machine, &prepared, interrupt)?;
        match &mut whole {
            None => whole = Some(part),
            Some(whole) => whole.add(part),
        }
    }
    let outcome = whole.ok_or_else(Failure::interrupted)?;
    finish(&outcome, &out, args, kind, interrupt)
}

fn run_layer(
    plan: &Plan,
    layer: LabTarget,
    args: &EngineArgs,
    machine: &GuestArgs,
    prepared: &Prepared,
    interrupt: &Interrupt,
) -> Result<Outcome, Failure> {
    // null_blk needs no stack; the plain one is raised all the same, and left alone.
    let variant = if layer == LabTarget::Vdo { "vdo" } else { "plain" };
    let cell = plan.cells.iter().find(|cell| cell.variant == variant).map(|cell| cell.index);
    let cell = cell.ok_or_else(|| Failure::data(format!("{EXPERIMENT} has no '{variant}'")))?;
    let order = GuestComparison {
        layer: layer.name().into(),
        pace: pace(args),
        depths: args.depth.clone(),
        case: args.case.clone(),
        verbose: args.verbose,
    };
    let held = KeptStack { plan: plan.clone(), cell };
    let mut spec = prepared.machine(plan, machine);
    spec.mission = Mission::Measure { held, order }.encode()?;
    spec.deadline = guest_comparison::DEADLINE;
    say(&format!("{}: starting its guest", layer.name()));
    let mut result = in_guest(&spec, interrupt)?;
    // An emulated kernel crashes now and then while it boots.
    if let (Err(ending @ Ending::Crashed { .. }), Level::None) = (&result, interrupt.level()) {
        say(&format!("{}: {ending}; once more", layer.name()));
        result = in_guest(&spec, interrupt)?;
    }
    result.map_err(|ending| Failure::data(format!("{} gave no result: {ending}", layer.name())))
}

/// Runs one guest to its end; returns what it measured, or the way it ended without a result.
fn in_guest(spec: &VmSpec, interrupt: &Interrupt) -> Result<Result<Outcome, Ending>, Failure> {
    let mut vm = Vm::start(spec)?;
    let mut outcome = None;
    let mut seen = Level::None;
    loop {
        if interrupt.level() > seen {
            seen = interrupt.level();
            // A guest that is gone needs no interrupt.
            let _ = vm.interrupt();
        }
        match vm.recv(PATIENCE) {
            Received::Frame(frame) if frame.kind == FrameKind::Payload => {
                take(&frame.payload, &mut outcome);
            }
            Received::Frame(_) | Received::Nothing => {}
            Received::Ended(end) => {
                let packages = vm.facts().packages;
                let fio = packages.into_iter().find(|package| package.starts_with("fio "));
                return Ok(match (end.ending, outcome) {
                    (Ending::Done, Some(mut outcome)) => {
                        // The guest has no package manager to ask.
                        if let Some(fio) = fio {
                            outcome.programs.fio.build = format!("package {fio}");
                        }
                        Ok(outcome)
                    }
                    (ending, _) => {
                        say_text(&Text::lines_of(&end.console_tail));
                        Err(ending)
                    }
                });
            }
        }
    }
}

/// Shows what the guest says, and keeps its outcome.
fn take(payload: &[u8], outcome: &mut Option<Outcome>) {
    match Message::decode(payload) {
        Ok(Message::Event(Event::Notice { text, .. })) => say_text(&Text::lines_of(&text)),
        Ok(Message::Put { path, bytes }) if Path::new(&path) == Path::new(WHOLE) => {
            match crate::outcome::decode(&bytes) {
                Ok(read) => *outcome = Some(read),
                Err(error) => say(&format!("the guest's outcome cannot be read: {error}")),
            }
        }
        _ => {}
    }
}
