//! `fathom-bench lab`: how long the lab takes from the command to the first step of a plan, without and with packages of commands.

use std::process::ExitCode;

use plan::Plan;
use run::{ExperimentSource, LAB, Mission, RunRequest};
use serde_json::json;
use units::Bytes;

use crate::args::LabArgs;
use cli::RunView;
use cli::failure::Failure;
use cli::guests::{Prepared, accelerator_choice, image_spec, prepare};
use cli::terminal::{Text, answer, json_line, say};
use sys::interrupt::Interrupt;

/// The plan whose first step is waited for.
const EXPERIMENT: &str = "vdo-vs-plain";

/// A kind of guest, and how long each of its starts took.
struct GuestKind {
    name: &'static str,
    plan: Plan,
    prepared: Prepared,
    /// Times from the command to the first step, seconds.
    starts: Vec<f64>,
}

impl GuestKind {
    fn new(name: &'static str, plan: Plan, args: &LabArgs) -> Result<Self, Failure> {
        let mut view = RunView::new(false);
        // Builds what is missing, so that the starts that count find it.
        let prepared =
            prepare(&plan.needs, &args.machine, &Interrupt::new(), &mut |event| view.lab(&event));
        view.close();
        Ok(Self { name, plan, prepared: prepared?, starts: Vec::new() })
    }

    /// Bytes of the images of packages, compressed.
    fn packages_size(&self) -> Bytes {
        Bytes(self.prepared.supplies.iter().map(|supply| supply.size.0).sum())
    }

    /// Returns the number of packages on the images: those asked for, with all that they depend on.
    fn packages_count(&self) -> usize {
        self.prepared.supplies.iter().map(|supply| supply.packages.len()).sum()
    }

    /// Starts one guest, waits for its first step, and says how long it took.
    fn start(&mut self, args: &LabArgs) -> Result<(), Failure> {
        let machine = self.prepared.machine(&self.plan, &args.machine);
        let mission = Mission::<()>::Shell.encode()?;
        let start = lab::bench::start_once(
            &self.prepared.cache,
            &image_spec(&self.plan.needs, &args.machine),
            accelerator_choice(&args.machine),
            &|spec| {
                spec.mission.clone_from(&mission);
                spec.memory = machine.memory;
                spec.cpus = machine.cpus;
                spec.command_line = machine.command_line;
                spec.disks.clone_from(&machine.disks);
                spec.supplies.clone_from(&machine.supplies);
            },
            &mut |_| {},
        )?;
        self.starts.push(start.to_first_step.as_secs_f64());
        let part = |ms: Option<f64>| ms.map_or_else(|| "–".into(), |ms| format!("{:.2}", ms / 1e3));
        say(&format!(
            "start {:>2}, {}: {:.2} s to the first step (QEMU runs {}, guest up {}, first step {})",
            self.starts.len(),
            self.name,
            start.to_first_step.as_secs_f64(),
            part(start.timings.qemu_started_ms),
            part(start.timings.up_ms),
            part(start.timings.first_step_ms),
        ));
        Ok(())
    }
}

pub fn lab(args: &LabArgs) -> Result<ExitCode, Failure> {
    let plan = RunRequest::once().plan(&ExperimentSource::find(EXPERIMENT)?, LAB)?;
    let mut with_packages = plan.clone();
    with_packages.needs.command_packages.clone_from(&args.packages);
    let mut bare = GuestKind::new("without packages", plan, args)?;
    let mut laden = if args.without_packages {
        None
    } else {
        Some(GuestKind::new("with packages", with_packages, args)?)
    };
    // By turns, so that other activity on the machine affects both alike.
    for _ in 0..args.runs {
        bare.start(args)?;
        if let Some(laden) = &mut laden {
            laden.start(args)?;
        }
    }
    let accelerator = bare.prepared.accelerator.kind.name();
    let longer = laden.as_ref().map(|laden| {
        let pairs = laden.starts.iter().zip(&bare.starts);
        stats::figure(&pairs.map(|(laden, bare)| laden - bare).collect::<Vec<f64>>())
    });
    if args.json {
        let row = |kind: &GuestKind| {
            let spread = stats::spread(&kind.starts);
            json!({"starts_s": kind.starts, "median_s": spread.map(|s| s.median),
                "min_s": spread.map(|s| s.min), "max_s": spread.map(|s| s.max),
                "image_bytes": kind.packages_size().0, "packages_count": kind.packages_count()})
        };
        json_line(&json!({"accelerator": accelerator, "packages": args.packages,
                    "without": row(&bare), "with": laden.as_ref().map(row), "longer_s": longer}));
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = format!("from the command to the first step, under {accelerator}\n");
    for kind in std::iter::once(&bare).chain(&laden) {
        let spread =
            stats::spread(&kind.starts).ok_or_else(|| Failure::data("No start was measured"))?;
        text.push_str(&format!(
            "{:<17} median {:.2} s of {} starts (min {:.2}, max {:.2})\n",
            kind.name,
            spread.median,
            kind.starts.len(),
            spread.min,
            spread.max,
        ));
    }
    if let Some((laden, longer)) = laden.as_ref().zip(longer) {
        let seconds = |value: Option<f64>| value.map_or_else(|| "–".into(), |s| format!("{s:.2}"));
        text.push_str(&format!(
            "{} on an image of {} ({} packages with what they depend on): {} s longer [{}, {}]\n",
            args.packages.join(", "),
            laden.packages_size(),
            laden.packages_count(),
            seconds(longer.median),
            seconds(longer.low),
            seconds(longer.high),
        ));
    }
    answer(&Text::lines_of(&text));
    Ok(ExitCode::SUCCESS)
}
