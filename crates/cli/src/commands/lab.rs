//! `fathom lab run`, `list` and `clean`.

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};

use lab::cache::Clean;
use lab::{Cache, DiskHome};
use plan::Plan;
use results::ResultSet;
use results::model::Accelerator;
use run::{Earlier, ExperimentSource, LAB, Start};
use serde_json::json;
use sys::interrupt::{Interrupt, Level};
use units::{Bytes, Nanos};

use crate::args::{Common, Gates, GuestArgs, LabRunArgs};
use crate::choices::{earlier, ledger, result_directory, run_request, say_notes};
use crate::failure::Failure;
use crate::guests::{LabGuests, prepare_plan};
use crate::render::RunView;
use crate::terminal::{Style, Text, answer, json_line, say};

pub fn run(args: &LabRunArgs) -> Result<ExitCode, Failure> {
    super::push::check(args.common.push.as_deref())?;
    let (outcome, out) = execute(args)?;
    super::ends::conclude(outcome, &out, &args.common)
}

/// Runs an experiment that the program wrote itself, `text`, which is kept in `folder` as `name`; its result, or the exit code of
/// a run that did not end well. The result stays in `out`, or goes with the folder.
pub fn execute_own(
    (name, text): (&str, &str),
    folder: &Path,
    out: Option<&Path>,
    machine: &GuestArgs,
) -> Result<Result<ResultSet, ExitCode>, Failure> {
    let file = folder.join(name);
    std::fs::write(&file, text).map_err(Failure::environment)?;
    let out = out.map_or_else(|| folder.join("result"), Path::to_owned);
    let run = own_args(file.display().to_string(), out, machine);
    let (outcome, out) = execute(&run)?;
    if outcome.exit_code() != 0 {
        return Ok(Err(ExitCode::from(outcome.exit_code())));
    }
    results::open(&out).map(Ok).map_err(Failure::data)
}

/// Returns the arguments of a run that the program starts itself.
pub fn own_args(experiment: String, out: PathBuf, machine: &GuestArgs) -> LabRunArgs {
    LabRunArgs {
        common: Common {
            experiment,
            out: Some(out),
            resume: None,
            repeat: None,
            quiet: None,
            seed: None,
            scale: None,
            only: Vec::new(),
            set: Vec::new(),
            json: false,
            push: None,
            gates: Gates::default(),
            inject: Vec::new(),
        },
        machine: machine.clone(),
        kernel: Vec::new(),
        keep_disks: None,
        deadline: None,
    }
}

/// Runs the experiment; returns how it ended, and the result's directory.
pub fn execute(args: &LabRunArgs) -> Result<(run::RunOutcome, PathBuf), Failure> {
    let source =
        ExperimentSource::find(&args.common.experiment)?.on_kernels(&args.kernel, &args.common.set);
    let earlier = earlier(&args.common)?;
    let plan = run_request(&args.common, earlier.as_ref()).plan(&source, LAB)?;
    say_notes(args.common.scale.as_deref(), &plan);
    execute_plan(args, &source, &plan, earlier)
}

/// Refuses machines that are too small for what runs in them, and options that would override the experiment's settings of a machine.
fn check_machines(plan: &Plan, args: &GuestArgs) -> Result<(), Failure> {
    for machine in plan.cells.iter().map(|cell| &cell.machine) {
        let both_say = [
            ("--memory", args.memory.is_some() && machine.memory.is_some(), "memory"),
            ("--cpus", args.cpus.is_some() && machine.cpus.is_some(), "cpus"),
        ];
        if let Some((option, _, key)) = both_say.into_iter().find(|(_, both, _)| *both) {
            let message =
                format!("{option} and machine.{key} of the experiment set the same thing");
            let help = format!("leave {option} out, or change machine.{key} in the file");
            return Err(Failure::usage(message).with_help(help));
        }
        lab::memory(plan.needs.memory, machine.memory.or(args.memory))?;
    }
    Ok(())
}

/// Runs a plan of the experiment in `source`.
pub fn execute_plan(
    args: &LabRunArgs,
    source: &ExperimentSource,
    plan: &Plan,
    earlier: Option<Earlier>,
) -> Result<(run::RunOutcome, PathBuf), Failure> {
    if args.keep_disks.is_some() {
        keepable(plan)?;
    }
    let out = result_directory(&args.common, plan)?;
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let view = Arc::new(Mutex::new(RunView::new(args.common.json)));
    let mut events = |event| with_view(&view, |v: &mut RunView| v.lab(&event));
    let mut plan = plan.clone();
    let prepared = prepare_plan(&mut plan, &args.machine, &interrupt, &mut events);
    let plan = &plan;
    // Ctrl-C reaches the children of an image build too; their errors are not worth reporting then.
    if interrupt.level() != Level::None {
        return Err(Failure::interrupted());
    }
    let prepared = prepared?;
    let accelerator = &prepared.accelerator;
    let emulated = accelerator.kind == lab::accel::AcceleratorKind::Tcg;
    let mut spec = prepared.machine(plan, &args.machine);
    if let Some(dir) = &args.keep_disks {
        spec.disk_home = DiskHome::Kept(dir.clone());
    }
    spec.deadline = args.deadline.map_or_else(|| run::remote::deadline(plan, emulated), Into::into);
    spec.check()?;
    check_machines(plan, &args.machine)?;
    let start = Start {
        command: crate::args::words(),
        tool_version: env!("CARGO_PKG_VERSION").into(),
        accelerator: match accelerator.kind {
            lab::accel::AcceleratorKind::Kvm => Accelerator::Kvm,
            lab::accel::AcceleratorKind::Tcg => Accelerator::Tcg,
        },
        accelerator_reason: Some(accelerator.reason.clone()),
        simulated: false,
        devices: std::collections::BTreeMap::new(),
        host: host::facts(),
        experiment_text: source.text.clone(),
    };
    super::ends::begin(plan, &out, Some(accelerator.kind.name()));
    super::ends::acknowledge(&interrupt, &view);
    super::ends::tell_what_takes_long(&view);
    let shown = Arc::clone(&view);
    let on = Box::new(move |e: &run::Event| with_view(&shown, |v| v.event(e)));
    let ledger = ledger(&out, plan, start, earlier, on)?;
    let mut guests = LabGuests::new(spec, prepared.images);
    let injections = &args.common.inject;
    let quiet = args.common.quiet;
    let outcome = run::remote::run(plan, injections, &mut guests, ledger, quiet, &interrupt);
    // The guest's disks are removed with it.
    drop(guests);
    with_view(&view, |v| v.close());
    Ok((outcome?, out))
}

/// Notes that modelled disks are not kept; refuses if there are no other disks.
fn keepable(plan: &plan::Plan) -> Result<(), Failure> {
    let empty = || plan.devices.iter().filter(|(_, device)| device.file.is_none());
    let modelled: Vec<&str> = empty()
        .filter(|(_, device)| device.model.is_some())
        .map(|(role, _)| role.as_str())
        .collect();
    if modelled.is_empty() {
        return Ok(());
    }
    let what = format!("modelled disks are in memory and cannot be kept: {}", modelled.join(", "));
    if modelled.len() == empty().count() {
        return Err(Failure::usage(format!("--keep-disks: {what}")).with_help(
            "leave --keep-disks out, or remove like from a device whose contents matter",
        ));
    }
    say(&format!("note: {what}"));
    Ok(())
}

/// Works on the view, which events of several threads use.
pub fn with_view<T>(view: &Mutex<RunView>, work: impl FnOnce(&mut RunView) -> T) -> T {
    work(&mut view.lock().unwrap_or_else(PoisonError::into_inner))
}

pub fn list(as_json: bool) -> Result<ExitCode, Failure> {
    let cache = Cache::open()?;
    let images = cache.images()?;
    let running = lab::machines::running();
    if as_json {
        let images: Vec<_> = images
            .iter()
            .map(|i| {
                json!({"id": i.id, "size_bytes": i.size.0, "age_s": i.age.as_secs(),
                       "unused_for_s": i.unused_for.as_secs(), "in_use": i.in_use, "contents": i.manifest})
            })
            .collect();
        let machines: Vec<_> = running
            .iter()
            .map(|m| json!({"pid": m.pid, "owner": m.owner, "memory": m.memory, "disks": m.disks}))
            .collect();
        json_line(
            &json!({"cache": cache.dir().display().to_string(), "images": images, "running": machines}),
        );
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = Text::from(format!("Guest images in {}:", cache.dir().display()));
    if images.is_empty() {
        text += "  none; the first lab run builds one";
    }
    for image in &images {
        let what = image.manifest.as_ref().map_or_else(
            || "unfinished".to_owned(),
            |m| format!("{} kernel {}, {} packages", m.suite, m.kernel, m.packages.len()),
        );
        text.line(format!(
            "  {}  {}  {what}, built {} ago{}",
            image.id.get(..12).unwrap_or(&image.id),
            image.size,
            Nanos(image.age.as_nanos() as u64),
            if image.in_use { ", in use" } else { "" },
        ));
    }
    text += "Running labs:";
    if running.is_empty() {
        text += "  none";
    }
    for machine in &running {
        text.line(format!(
            "  QEMU {} of process {}: memory {}, disks {}",
            machine.pid,
            machine.owner,
            machine.memory,
            machine.disks.join(", "),
        ));
    }
    answer(&text);
    Ok(ExitCode::SUCCESS)
}

pub fn clean(as_json: bool) -> Result<ExitCode, Failure> {
    let cleaned = Cache::open()?.clean(Clean::All)?;
    if as_json {
        let Bytes(freed) = cleaned.freed;
        json_line(&json!({
            "removed": cleaned.images, "in_use": cleaned.in_use, "freed_bytes": freed,
            "foreign": cleaned.foreign.iter().map(|p| p.to_string_lossy()).collect::<Vec<_>>(),
        }));
        return Ok(ExitCode::SUCCESS);
    }
    let style = Style::of_stdout();
    let count = cleaned.images.len();
    let mut text = Text::from(format!("{count} images removed, {} free again", cleaned.freed));
    for id in &cleaned.in_use {
        text.line(style.note("note:").and(format!("image {id} stays: a lab is using it")));
    }
    for path in &cleaned.foreign {
        let path = path.display();
        text.line(style.note("note:").and(format!("{path} stays: Fathom did not make it")));
    }
    answer(&text);
    Ok(ExitCode::SUCCESS)
}
