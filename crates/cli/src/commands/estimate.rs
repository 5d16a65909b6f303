//! `fathom estimate`: what a volume would save on data, and how large it has to be.

use std::path::Path;
use std::process::ExitCode;

use content::Profile;
use estimate::{Answer, Format, Request, SizingOptions, SizingRequest};
use reduce::index::{Geometry, IndexMemory};
use reduce::{BLOCK, Policy};
use report::html::Page;
use sys::interrupt::{Interrupt, Level};
use units::Bytes;

use crate::args::EstimateArgs;
use crate::failure::Failure;
use crate::outputs::{self, Input, Output, OutputKind};
use crate::render::estimate::{EstimateView, sizing_text, summary};
use crate::terminal::{Text, answer, json, json_line, say_text};

/// Bytes of the smallest table of distinct blocks: 4096 slots, each with its share of an entry.
const LEAST_MEMORY: u64 = 192 << 10;

pub fn run(args: &EstimateArgs) -> Result<ExitCode, Failure> {
    match (args.size, args.saving) {
        (Some(size), Some(saving)) => sizing(args, size, saving.fraction()),
        _ => data(args),
    }
}

fn sizing(args: &EstimateArgs, size: Bytes, saving: f64) -> Result<ExitCode, Failure> {
    let stored = Bytes((size.0 as f64 * (1.0 - saving)).round() as u64);
    let options = SizingOptions { headroom: args.headroom };
    if size.0 == 0 {
        return Err(Failure::usage("--size is 0, and no volume is made for no data")
            .with_help("give the size of the data, as in --size 10T"));
    }
    let has_index = args.index_memory.is_some() || args.sparse_index;
    let index = has_index.then(|| index(args)).transpose()?;
    let request = SizingRequest { data: size, stored, files: None, index, options };
    let sizing = estimate::size(&request).map_err(failure)?;
    if args.json {
        json_line(&serde_json::json!({"schema": estimate::SCHEMA, "sizing": sizing}));
    } else {
        let mut text = Text::from(sizing.verdict());
        text += "";
        text.append(&sizing_text(&sizing));
        answer(&text);
    }
    Ok(ExitCode::SUCCESS)
}

fn data(args: &EstimateArgs) -> Result<ExitCode, Failure> {
    let request = request(args)?;
    check_memory_and_stream(args)?;
    check_trees(args)?;
    let profile_file = args.profile.as_ref().map(|path| Output {
        option: "--profile",
        path,
        kind: OutputKind::Profile,
    });
    let page = args.output.as_ref().map(|path| Output {
        option: "-o",
        path,
        kind: OutputKind::Page(Page::Estimate),
    });
    let inputs: Vec<Input> =
        args.paths.iter().map(|path| Input { path, what: "which is estimated" }).collect();
    let files: Vec<Output> = profile_file.into_iter().chain(page).collect();
    outputs::check(&files, &inputs)?;
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let view = EstimateView::new();
    let mut tell = |progress| view.progress(&progress);
    let tell: Option<estimate::OnProgress> = if view.is_shown() { Some(&mut tell) } else { None };
    let outcome = estimate::estimate(&request, &interrupt, tell);
    view.close();
    let estimate::Estimate { answer: found, profile } = outcome.map_err(failure)?;
    let text = summary(&found);
    if args.json {
        say_text(&text);
        json(&serde_json::to_string(&found).map_err(Failure::data)?);
    } else {
        answer(&text);
    }
    written(&found, profile, profile_file, page)?;
    Ok(ExitCode::from(match (interrupt.level(), found.complete) {
        (Level::None, false) => 5,
        (Level::None, true) => 0,
        _ => 130,
    }))
}

/// Writes the profile and the page where they are asked for. It comes after the figures: reading took long, and they are not lost with a file.
fn written(
    found: &Answer,
    profile: Option<Profile>,
    profile_file: Option<Output>,
    page: Option<Output>,
) -> Result<(), Failure> {
    let profiled = profile_file.map_or(Ok(()), |file| {
        let mut profile =
            profile.ok_or_else(|| Failure::data("no block was read, so there is no profile"))?;
        if let Some(saving) = found.comparison.zstd.saving_percent {
            estimate::share_vocabulary(&mut profile, saving);
        }
        file.write(profile.to_json().map_err(Failure::data)?.as_bytes())
    });
    let paged = page.map_or(Ok(()), |page| {
        let title = format!("{} – Fathom estimate", found.paths.join(", "));
        let document = report::html::document(Page::Estimate, &title, &estimate::page(found));
        page.write(document.as_bytes())
    });
    match (profiled, paged) {
        (Err(one), Err(other)) => {
            let _ = one.report();
            Err(other)
        }
        (one, other) => one.and(other),
    }
}

/// Refuses memory in which no table fits, and a standard input that is to be read twice.
fn check_memory_and_stream(args: &EstimateArgs) -> Result<(), Failure> {
    if args.memory.0 < LEAST_MEMORY {
        let message =
            format!("--memory {} is too little: no table of distinct blocks fits", args.memory);
        return Err(
            Failure::usage(message).with_help("give at least --memory 192K; 1G is the default")
        );
    }
    if args.paths.iter().filter(|path| *path == Path::new("-")).count() > 1 {
        return Err(Failure::usage("standard input (-) is named twice, and can be read once")
            .with_help("name - once; a file that is called - is ./-"));
    }
    Ok(())
}

/// Refuses options for files if a directory is named, and options for directories if none is named.
fn check_trees(args: &EstimateArgs) -> Result<(), Failure> {
    let tree = args.paths.iter().find(|path| path.is_dir());
    let files = args.paths.iter().any(|path| !path.is_dir());
    let insists = args.format.as_deref() == Some("qcow2");
    let (message, help) = match tree {
        Some(tree) if args.format.is_some() && (insists || !files) => (
            format!(
                "--format is for files, devices and standard input, and {} is a directory",
                tree.display()
            ),
            "leave it out: files in a tree are read as they lie; name an image to read what its guest sees",
        ),
        None if args.one_file_system == "no" => (
            "--one-file-system=no is for trees, and no directory is named".to_owned(),
            "leave it out, or name a directory",
        ),
        _ => return Ok(()),
    };
    Err(Failure::usage(message).with_help(help))
}

/// The index that was asked for. VDO has it in some sizes only; other sizes are refused, not rounded.
fn index(args: &EstimateArgs) -> Result<Geometry, Failure> {
    let wanted = args.index_memory.unwrap_or(Bytes(IndexMemory::SMALLEST.bytes()));
    let memory = IndexMemory::at_least(wanted.0).filter(|memory| memory.bytes() == wanted.0);
    let memory = memory.ok_or_else(|| {
        Failure::usage(format!("VDO has no index of {wanted}"))
            .with_help("write --index-memory with 256M, 512M, 768M, or whole G up to 1T")
    })?;
    Ok(Geometry { memory, sparse: args.sparse_index })
}

fn request(args: &EstimateArgs) -> Result<Request, Failure> {
    let forgotten_blocks = args.forgotten.unwrap_or_default().0 / BLOCK as u64;
    let policy = Policy {
        index: index(args)?,
        forgotten_blocks,
        memory_bytes: args.memory.0,
        ..Policy::default()
    };
    let sizing = SizingOptions { headroom: args.headroom };
    let format = match args.format.as_deref() {
        Some("raw") => Format::Raw,
        Some(_) => Format::Qcow2,
        None => Format::Recognised,
    };
    let (paths, exact) = (args.paths.clone(), args.exact);
    let other_file_systems = args.one_file_system == "no";
    Ok(Request { paths, format, other_file_systems, exact, policy, workers: None, sizing })
}

/// Returns the failure of an estimate that could not be made.
pub fn failure(error: estimate::Error) -> Failure {
    let help = error.help();
    let failure =
        if error.is_usage() { Failure::usage(error) } else { Failure::environment(error) };
    failure.with_help(help)
}
