//! `fathom age`: the fragmentation of files and free space.

use std::process::ExitCode;

use host::{AgeError, Look};
use results::model::Age;
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
    let mut progress = |at| view.progress(at);
    let mut look = Look { sync: true, most: None, interrupt: &interrupt, progress: &mut progress };
    let found = host::age(&args.directory, &mut look);
    drop(view);
    let age = found.map_err(failure)?;
    silent(&age)?;
    let text = summary(&args.directory, &age);
    if args.json {
        say_text(&text);
        let mut document = serde_json::to_value(&age).map_err(Failure::data)?;
        document["schema"] = SCHEMA.into();
        document["path"] = args.directory.to_string_lossy().into();
        json_line(&document);
    } else {
        answer(&text);
    }
    Ok(ExitCode::from(match (interrupt.level(), age.complete) {
        (Level::None, true) => 0,
        (Level::None, false) => 5,
        _ => 130,
    }))
}

/// Fails where there is nothing to report: no file in the directory, and a file system that does not tell its free space.
fn silent(age: &Age) -> Result<(), Failure> {
    let files = &age.files;
    if files.files > 0 || files.unreadable > 0 || age.free_untold.is_none() {
        return Ok(());
    }
    let message = format!(
        "There is no file to look at, and {}",
        age.free_untold.as_deref().unwrap_or_default()
    );
    Err(Failure::environment(message)
        .with_help("name a directory with files in it, on XFS, ext4 or btrfs"))
}

fn failure(error: AgeError) -> Failure {
    match &error {
        AgeError::Directory { source, .. } if is_of_the_name(source) => {
            Failure::usage(error).with_help("name a directory that you may read")
        }
        AgeError::Directory { .. } | AgeError::Sync { .. } => Failure::environment(error)
            .with_help(
                "its file system or a device below it fails: the kernel log says why (dmesg)",
            ),
        AgeError::Silent { .. } => {
            Failure::environment(error).with_help("name a directory on XFS, ext4 or btrfs")
        }
    }
}

/// Tells whether the name given is at fault: nothing is there, it is not a directory, or this user may not read it.
fn is_of_the_name(error: &std::io::Error) -> bool {
    use std::io::ErrorKind::{InvalidFilename, NotADirectory, NotFound, PermissionDenied};
    matches!(error.kind(), NotFound | NotADirectory | PermissionDenied | InvalidFilename)
        || error.raw_os_error() == Some(rustix::io::Errno::LOOP.raw_os_error())
}
