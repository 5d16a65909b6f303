//! `fathom bench lab`: how long the lab takes from the command to the first step of a plan.

use std::process::ExitCode;

use run::{ExperimentSource, LAB, Mission, RunRequest};
use serde_json::json;

use crate::args::BenchLabArgs;
use crate::failure::Failure;
use crate::guests::{image_spec, prepare, wish};
use crate::render::RunView;
use crate::terminal::{Text, answer, json_line, say};

/// The plan whose first step is waited for.
const EXPERIMENT: &str = "vdo-vs-plain";

pub fn lab(args: &BenchLabArgs) -> Result<ExitCode, Failure> {
    let plan = RunRequest::once().plan(&ExperimentSource::find(EXPERIMENT)?, LAB)?;
    let view = RunView::new(false);
    // The first call builds what is missing, so that the runs that count find it.
    let prepared = prepare(&plan.needs, &args.machine, &mut |event| view.lab(&event))?;
    view.close();
    let machine = prepared.machine(&plan, &args.machine);
    let mission = Mission::<()>::Shell.encode()?;
    let image = image_spec(&plan.needs, &args.machine);
    let mut seconds = Vec::new();
    for run in 1..=args.runs {
        let start = lab::bench::start_once(
            &prepared.cache,
            &image,
            wish(&args.machine),
            &|spec| {
                spec.mission.clone_from(&mission);
                spec.memory = machine.memory;
                spec.cpus = machine.cpus;
                spec.command_line = machine.command_line;
                spec.disks.clone_from(&machine.disks);
            },
            &mut |_| {},
        )?;
        seconds.push(start.to_first_step.as_secs_f64());
        let part = |ms: Option<f64>| ms.map_or_else(|| "–".into(), |ms| format!("{:.2}", ms / 1e3));
        say(&format!(
            "start {run:>2}: {:.2} s to the first step (QEMU runs {}, guest up {}, first step {})",
            start.to_first_step.as_secs_f64(),
            part(start.timings.qemu_started_ms),
            part(start.timings.up_ms),
            part(start.timings.first_step_ms),
        ));
    }
    let Some(spread) = stats::spread(&seconds) else {
        return Err(Failure::data("No start was measured"));
    };
    if args.json {
        json_line(&json!({"accelerator": prepared.accelerator.kind.name(), "starts_s": seconds,
                    "median_s": spread.median, "min_s": spread.min, "max_s": spread.max}));
    } else {
        answer(&Text::from(format!(
            "median {:.2} s of {} starts from the command to the first step under {} (min {:.2}, max {:.2})",
            spread.median,
            seconds.len(),
            prepared.accelerator.kind.name(),
            spread.min,
            spread.max,
        )));
    }
    Ok(ExitCode::SUCCESS)
}
