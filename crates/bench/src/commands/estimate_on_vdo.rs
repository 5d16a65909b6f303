//! `fathom-bench estimate --lab`: estimates compared with what real dm-vdo stores.

use std::path::Path;
use std::process::ExitCode;

use crate::estimate::vdo::{self, Corpus, Growth, Shares};
use estimate::{Answer, Estimate, Request};
use reduce::{BLOCK, Policy};
use serde::Serialize;
use serde_json::json;
use sys::interrupt::Interrupt;

use super::engine_record::failure;
use crate::args::EstimateArgs;
use crate::child;
use crate::fathom_contestant::Fathom;
use cli::execute_own;
use cli::failure::Failure;
use cli::terminal::{Text, answer, json_line, say};

/// Distance from what VDO stored above which the command fails, percentage points.
const MOST_POINTS: f64 = 1.0;

/// One corpus: estimated, stored, reproduced. Shares are percent of all its blocks.
#[derive(Debug, Serialize)]
struct Compared {
    name: String,
    blocks: u64,
    forgotten_blocks: u64,
    /// Estimated as it was written, the first part without deduplication.
    estimated: Shares,
    stored: Shares,
    counters: Growth,
    /// Estimated as if all of it were deduplicated, which the profile describes.
    profiled: Shares,
    reproduced: Reproduced,
    error_points: f64,
}

/// The figures of the data that the profile reproduces.
#[derive(Debug, Serialize)]
struct Reproduced {
    blocks: u64,
    estimated: Shares,
    stored: Shares,
    counters: Growth,
    error_points: f64,
}

pub fn compare(args: &EstimateArgs) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let folder = tempfile::tempdir().map_err(Failure::environment)?;
    let mut corpora = Vec::new();
    let mut estimates = Vec::new();
    for (n, (image, forgotten)) in args.corpus.iter().enumerate() {
        let (corpus, profiled) = profile(n, image, forgotten.0, folder.path(), &interrupt)?;
        let estimated = match forgotten.0 {
            0 => profiled.clone(),
            _ => estimate(image, forgotten.0, &interrupt)?.answer,
        };
        say(&format!("{}: {} blocks estimated", corpus.name, profiled.blocks.total));
        corpora.push(corpus);
        estimates.push((estimated, profiled));
    }
    let text = vdo::experiment(&corpora);
    let experiment = ("estimate-on-vdo.toml", text.as_str());
    let result = match execute_own(experiment, folder.path(), args.out.as_deref(), &args.machine)? {
        Ok(result) => result,
        Err(code) => return Ok(code),
    };
    let stored = vdo::stored(&result, &corpora).map_err(Failure::data)?;
    let mut compared = Vec::new();
    for ((corpus, (estimated, profiled)), stored) in corpora.iter().zip(&estimates).zip(&stored) {
        let made = reproduce(corpus, folder.path(), &interrupt)?;
        compared.push(compare_corpus(corpus, estimated, profiled, stored, &made));
    }
    let worst = compared.iter().map(|c| c.error_points.max(c.reproduced.error_points));
    let worst = worst.fold(0.0, f64::max);
    if args.json {
        json_line(&json!({ "schema": 1, "corpora": compared, "worst_points": worst }));
    } else {
        answer(&Text::lines_of(&table(&compared)));
    }
    say(&format!("worst of {}: {worst:.2} points from what VDO stored", compared.len()));
    Ok(if worst > MOST_POINTS { ExitCode::from(1) } else { ExitCode::SUCCESS })
}

/// An exact estimate of one image.
fn estimate(image: &Path, forgotten: u64, interrupt: &Interrupt) -> Result<Estimate, Failure> {
    let policy = Policy { forgotten_blocks: forgotten / BLOCK as u64, ..Policy::default() };
    let request = Request {
        paths: vec![image.to_owned()],
        format: estimate::Format::Raw,
        exact: true,
        policy,
        ..Request::default()
    };
    let estimate = estimate::estimate(&request, interrupt, None);
    let estimate = estimate.map_err(cli::estimate_failure)?;
    if estimate.answer.complete { Ok(estimate) } else { Err(Failure::interrupted()) }
}

/// Returns the corpus with its profile, and the estimate that the profile comes from.
fn profile(
    n: usize,
    image: &Path,
    forgotten_bytes: u64,
    folder: &Path,
    interrupt: &Interrupt,
) -> Result<(Corpus, Answer), Failure> {
    let Estimate { answer, profile } = estimate(image, 0, interrupt)?;
    let empty = || {
        Failure::usage(format!("{} holds no whole blocks of 4 KiB", image.display()))
            .with_help("fill it up: truncate -s %4096 FILE; holes do not count")
    };
    let sources = &answer.sources;
    let not_read = sources.hole_bytes + sources.preallocated_bytes + sources.shared_bytes;
    let profile = profile.filter(|_| not_read == 0).ok_or_else(empty)?;
    if answer.bytes % BLOCK as u64 != 0 {
        return Err(empty());
    }
    let path = folder.join(format!("profile{n}.json"));
    let text = profile.to_json().map_err(Failure::data)?;
    std::fs::write(&path, text).map_err(Failure::environment)?;
    let name = image.file_stem().unwrap_or(image.as_os_str()).to_string_lossy().into_owned();
    let image = image.canonicalize().map_err(Failure::environment)?;
    Ok((Corpus { name, image, bytes: answer.bytes, forgotten_bytes, profile: path }, answer))
}

/// Writes a corpus from the profile to a file with the same engine, and estimates it.
fn reproduce(corpus: &Corpus, folder: &Path, interrupt: &Interrupt) -> Result<Answer, Failure> {
    let fathom = Fathom::this_program().map_err(failure)?;
    let made = folder.join("reproduced.img");
    let [file, profile] = [&made, &corpus.profile].map(|path| path.display().to_string());
    let size = vdo::reproduced_bytes(corpus).to_string();
    let words = ["load", &file, "--size", &size, "--content-profile", &profile];
    let more = ["--ops", "write=100", "--block-size", "64k", "--passes", "1"];
    child::run(&fathom.command(&[words, more].concat()), interrupt).map_err(failure)?;
    let answer = estimate(&made, 0, interrupt)?.answer;
    std::fs::remove_file(&made).map_err(Failure::environment)?;
    Ok(answer)
}

fn shares(answer: &Answer) -> Shares {
    let (blocks, vdo) = (answer.blocks, &answer.vdo);
    let stored = blocks.unique + vdo.index.duplicates_missed + vdo.references_capped;
    let physical = vdo.physical_bytes / BLOCK as u64;
    Shares::of(blocks.total, blocks.zero, stored, vdo.packer.fragments, physical)
}

fn compare_corpus(
    corpus: &Corpus,
    estimated: &Answer,
    profiled: &Answer,
    found: &vdo::Stored,
    made: &Answer,
) -> Compared {
    let blocks = profiled.blocks;
    let (ours, whole) = (shares(estimated), shares(profiled));
    let stored = found.original.shares(blocks.total, blocks.zero);
    // If a corpus was written as it was profiled, the original on VDO is the reference; otherwise its estimate is.
    let original = if corpus.forgotten_bytes == 0 { stored } else { whole };
    let again = found.reproduced.shares(made.blocks.total, made.blocks.zero);
    let remade = shares(made);
    Compared {
        name: corpus.name.clone(),
        blocks: blocks.total,
        forgotten_blocks: corpus.forgotten_bytes / BLOCK as u64,
        error_points: ours.distance(&stored),
        estimated: ours,
        stored,
        counters: found.original,
        profiled: whole,
        reproduced: Reproduced {
            blocks: made.blocks.total,
            error_points: remade.distance(&whole).max(again.distance(&original)),
            estimated: remade,
            stored: again,
            counters: found.reproduced,
        },
    }
}

fn table(compared: &[Compared]) -> String {
    let mut text = String::from(
        "| corpus | blocks | saved: estimated, % | on VDO, % | duplicates: estimated, % | on VDO, % \
         | fragments: estimated, % | on VDO, % | largest error, points |\n\
         | --- | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |\n",
    );
    let mut row = |name: &str, blocks: u64, ours: &Shares, stored: &Shares, error: f64| {
        text.push_str(&format!(
            "| {name} | {blocks} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {:.2} | {error:.2} |\n",
            ours.saving_percent,
            stored.saving_percent,
            ours.duplicate_percent,
            stored.duplicate_percent,
            ours.fragment_percent,
            stored.fragment_percent,
        ));
    };
    for one in compared {
        row(&one.name, one.blocks, &one.estimated, &one.stored, one.error_points);
        let made = &one.reproduced;
        let name = format!("{}, reproduced", one.name);
        row(&name, made.blocks, &made.estimated, &made.stored, made.error_points);
    }
    text
}
