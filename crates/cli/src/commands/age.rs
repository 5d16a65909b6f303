//! `fathom age`: how far files and free space are in pieces.

use std::process::ExitCode;

use host::{AgeError, Look};
use sys::interrupt::{Interrupt, Level};

use crate::args::AgeArgs;
use crate::failure::Failure;
use crate::render::age::{AgeView, summary};
use crate::terminal::{answer, json_line, say_text};

/// The version of the form of the JSON.
const SCHEMA: u32 = 1;

pub fn run(args: &AgeArgs) -> Result<ExitCode, Failure> {
    let interrupt = Interrupt::new();
    interrupt.on_signals().map_err(Failure::environment)?;
    let mut view = AgeView::new();
    let mut progress = |files| view.progress(files);
    let mut look = Look { sync: true, most: None, interrupt: &interrupt, progress: &mut progress };
    let found = host::age(&args.directory, &mut look);
    drop(view);
    let age = found.map_err(failure)?;
    let text = summary(&args.directory, &age);
    if args.json {
        say_text(&text);
        let mut told = serde_json::to_value(&age).map_err(Failure::data)?;
        told["schema"] = SCHEMA.into();
        told["path"] = args.directory.to_string_lossy().into();
        json_line(&told);
    } else {
        answer(&text);
    }
    Ok(ExitCode::from(match (interrupt.level(), age.complete) {
        (Level::None, true) => 0,
        (Level::None, false) => 5,
        _ => 130,
    }))
}

fn failure(error: AgeError) -> Failure {
    let help = match &error {
        AgeError::Directory { .. } => "name a directory that you may read",
        AgeError::Sync { .. } => "fathom doctor DEVICE says what its device suffers from",
        AgeError::Silent { .. } => "name a directory on XFS, ext4 or btrfs",
    };
    match error {
        AgeError::Directory { .. } => Failure::usage(error).with_help(help),
        error => Failure::environment(error).with_help(help),
    }
}
