//! `fathom lab shell`: a shell in a fresh guest, with an experiment's stack when asked.

use std::process::ExitCode;
use std::sync::Mutex;

use experiment::{CellPlan, Needs, Plan};
use lab::{Ending, FrameKind, Purpose, Vm};
use run::{Held, Mission};

use super::lab::with;
use crate::args::LabShellArgs;
use crate::choices::{Asked, LAB, Source, plan};
use crate::failure::Failure;
use crate::guests::prepare;
use crate::render::RunView;
use crate::terminal::{Text, say_text};

/// A shell is left by its user, not by a deadline; this only bounds a forgotten one.
const DEADLINE: std::time::Duration = std::time::Duration::from_secs(24 * 3600);

pub fn open(args: &LabShellArgs) -> Result<ExitCode, Failure> {
    let plan = match &args.experiment {
        Some(experiment) => Some(plan(&Source::find(experiment)?, Asked::once(), LAB)?),
        None => None,
    };
    let hold = plan.as_ref().map(|plan| held(plan, args.variant.as_deref())).transpose()?;
    let needs = plan.as_ref().map_or_else(every_need, |plan| plan.needs.clone());
    let view = Mutex::new(RunView::new(false));
    let prepared = prepare(&needs, &args.machine, &mut |event| with(&view, |v| v.lab(&event)))?;
    let mut spec = match &plan {
        Some(plan) => prepared.machine(plan, &args.machine),
        None => prepared.bare_machine(&needs, &args.machine),
    };
    spec.purpose = Purpose::Shell;
    spec.deadline = DEADLINE;
    let mission: Mission = match plan.zip(hold) {
        Some((plan, cell)) => Mission::Hold(Held { plan, cell }),
        None => Mission::Shell,
    };
    spec.mission = mission.encode()?;
    with(&view, |v| v.close());
    let mut vm = Vm::start(&spec)?;
    let end = lab::shell::attach(&mut vm, &mut |frame| {
        if frame.kind == FrameKind::Payload
            && let Ok(run::Message::Event(event)) = run::Message::decode(&frame.payload)
        {
            with(&view, |v| v.event(&event));
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

/// Position of the cell whose stack is raised.
fn held(plan: &Plan, variant: Option<&str>) -> Result<usize, Failure> {
    let wanted = |cell: &&CellPlan| variant.is_none_or(|name| cell.variant == name);
    plan.cells.iter().filter(wanted).map(|cell| cell.index).next_back().ok_or_else(|| {
        let names: Vec<_> = plan.facts.variants.iter().map(|v| v.name.as_str()).collect();
        Failure::usage(format!("There is no variant '{}'", variant.unwrap_or_default()))
            .with_help(format!("its variants are: {}", names.join(", ")))
    })
}

/// What every layer needs: a bare shell can try them all.
fn every_need() -> Needs {
    let mut needs = Needs::default();
    for kind in layers::kinds() {
        needs = needs.beside(&Needs::of(&kind.needs, 0));
    }
    needs
}
