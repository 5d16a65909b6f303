//! `fathom lab shell`: a shell in a fresh guest, with an experiment's stack when asked.

use std::process::ExitCode;
use std::sync::Mutex;

use lab::{Ending, FrameKind, Vm};
use plan::{Needs, Plan};
use run::{ExperimentSource, KeptStack, LAB, Mission, NoVariant, RunRequest};

use super::lab::with_view;
use crate::args::LabShellArgs;
use crate::failure::Failure;
use crate::guests::{prepare, prepare_plan};
use crate::render::RunView;
use crate::terminal::{Text, say_text};
use sys::interrupt::Interrupt;

pub fn open(args: &LabShellArgs) -> Result<ExitCode, Failure> {
    let plan = match &args.experiment {
        Some(experiment) => {
            Some(RunRequest::once().plan(&ExperimentSource::find(experiment)?, LAB)?)
        }
        None => None,
    };
    let kept = plan.as_ref().map(|plan| KeptStack::of(plan, args.variant.as_deref()));
    let kept = kept.transpose().map_err(unknown)?;
    let of_plan = |kind: &&layers::Kind| {
        let mut cells = plan.iter().flat_map(|plan| &plan.cells);
        plan.is_none() || cells.any(|cell| cell.stack.iter().any(|layer| layer.kind == kind.name))
    };
    let by_hand = Needs::by_hand(layers::kinds().iter().filter(of_plan));
    let needs = plan.as_ref().map_or_else(Needs::of_every_layer, |plan| plan.needs.clone());
    let needs = needs.joined(&by_hand);
    let view = Mutex::new(RunView::new(false));
    let mut events = |event| with_view(&view, |v: &mut RunView| v.lab(&event));
    let prepared = match &kept {
        Some(kept) => {
            let mut kept_plan = of_its_kernel(kept, needs);
            prepare_plan(&mut kept_plan, &args.machine, &Interrupt::new(), &mut events)?
        }
        None => prepare(&needs, &args.machine, &Interrupt::new(), &mut events)?,
    };
    let mission: Mission = kept.map_or(Mission::Shell, Mission::KeepStack);
    let spec = match &plan {
        Some(plan) => prepared.machine(plan, &args.machine),
        None => prepared.bare_machine(&args.machine),
    };
    let mut spec = spec.for_user();
    spec.mission = mission.encode()?;
    with_view(&view, |v| v.close());
    let mut vm = Vm::start(&spec)?;
    let end = lab::shell::attach(&mut vm, &mut |frame| {
        if frame.kind == FrameKind::Payload
            && let Ok(run::Message::Event(event)) = run::Message::decode(&frame.payload)
        {
            with_view(&view, |v| v.event(&event));
        }
    })?;
    match end.ending {
        Ending::Done => Ok(ExitCode::SUCCESS),
        ending => {
            say_text(&Text::lines_of(&end.console_tail));
            Err(Failure::data(ending.to_string())
                .with_help("the lines above are the end of the guest's console"))
        }
    }
}

/// The plan with the kept variant alone, since the guest boots that variant's kernel; `needs` are those of the whole plan and of the user.
fn of_its_kernel(kept: &KeptStack, needs: Needs) -> Plan {
    let mut plan = kept.plan.clone();
    plan.cells.retain(|cell| cell.index == kept.cell);
    let kernel = plan.cells.first().and_then(|cell| cell.machine.kernel.clone());
    let modules = kept.plan.modules_on(kernel.as_deref());
    plan.needs = Needs { modules, ..needs };
    plan
}

fn unknown(error: NoVariant) -> Failure {
    let help = error.help();
    Failure::usage(error).with_help(help)
}
