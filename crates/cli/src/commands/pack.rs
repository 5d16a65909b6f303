//! `fathom pack` and `fathom unpack`: a result as one file, and back.

use std::ffi::OsStr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use results::draft::Draft;
use results::packed::{self, PackError};
use units::Bytes;

use crate::args::{PackArgs, UnpackArgs};
use crate::failure::Failure;
use crate::outputs::{self, Input, Output, OutputKind};
use crate::render::Share;
use crate::terminal::say;

/// The ending of packed results' names.
pub const ENDING: &str = ".fathom";

pub fn pack(args: &PackArgs) -> Result<ExitCode, Failure> {
    if packed::is_packed(&args.result) {
        let message = format!("{} is packed already", args.result.display());
        return Err(Failure::usage(message).with_help("name the directory of a result"));
    }
    let result = results::open(&args.result)?;
    let place = match &args.output {
        Some(place) => place.clone(),
        None => {
            let mut name = named(&args.result)?;
            name.push(ENDING);
            PathBuf::from(name)
        }
    };
    let output = Output { option: "-o", path: &place, kind: OutputKind::Packed };
    outputs::check(&[output], &[Input { path: &args.result, what: "which is packed" }])?;
    let folder = place.parent().filter(|folder| !folder.as_os_str().is_empty());
    let folder = folder.unwrap_or(Path::new(".")).canonicalize().map_err(Failure::usage)?;
    if folder.starts_with(args.result.canonicalize().map_err(Failure::usage)?) {
        let message = format!("{} would lie in the result that it holds", place.display());
        return Err(Failure::refused(message).with_help("name a file elsewhere with -o"));
    }
    let mut share = Share::of("packing", packed::size(&args.result)?);
    let (draft, gone) = sys::passing::watched(|| output.begin(), Draft::unfinished_path)?;
    let written = packed::pack(&args.result, draft.file(), |bytes| share.add(bytes));
    written.map_err(|error| match error {
        PackError::Unwritten(error) => output.not_written(&error),
        error => error.into(),
    })?;
    drop(gone);
    let file = draft.finish().map_err(|error| output.not_written(&error))?;
    let size = file.metadata().map_or(0, |found| found.len());
    drop(share);
    say(&format!(
        "{} written ({}); show, report, compare, trend and doctor take it as it is",
        place.display(),
        Bytes(size)
    ));
    say_faults(&result);
    Ok(super::report::code_of(&result))
}

/// Says whether the result is incomplete or was changed.
pub fn say_faults(result: &results::ResultSet) {
    if let Some(why) = &result.incomplete {
        say(&format!("the result is incomplete: {why}"));
    }
    if let Some(what) = result.seal.broken() {
        say(&format!("the result is not as its run left it: {what}"));
    }
}

pub fn unpack(args: &UnpackArgs) -> Result<ExitCode, Failure> {
    let place = match &args.out {
        Some(place) => place.clone(),
        None => PathBuf::from(args.file.file_stem().unwrap_or(OsStr::new("result"))),
    };
    if place.symlink_metadata().is_ok() {
        let message = format!("{} exists", place.display());
        return Err(Failure::refused(message).with_help("name another directory with --out"));
    }
    let bytes = args.file.metadata().map_or(0, |found| found.len());
    let mut share = Share::of("unpacking", bytes);
    packed::unpack_to(&args.file, &place, |bytes| share.add(bytes))?;
    drop(share);
    let result = results::open(&place)?;
    say(&format!("{} made, {}", place.display(), sealed(&result)));
    Ok(super::report::code_of(&result))
}

fn sealed(result: &results::ResultSet) -> &'static str {
    match result.seal {
        results::Seal::Whole => "all of it as its run left it",
        results::Seal::None => "which is not sealed: whether its files were changed is not known",
        results::Seal::Broken(_) => "which is not as its run left it",
    }
}

/// The real name of a directory, also where the path is a link or ends with `.`.
pub fn named(dir: &Path) -> Result<std::ffi::OsString, Failure> {
    let whole = dir.canonicalize().map_err(Failure::usage)?;
    let name = whole.file_name().map(OsStr::to_owned);
    name.ok_or_else(|| {
        Failure::usage("A root directory has no name").with_help("name the file with -o")
    })
}

impl From<PackError> for Failure {
    fn from(error: PackError) -> Self {
        match error {
            PackError::Damaged { .. } => Self::data(error),
            PackError::Foreign(_) => Self::usage(error),
            PackError::Unwritten(_) => Self::environment(error),
            PackError::Io { .. } => Self::environment(error),
        }
    }
}
