//! `fathom export`: a result as files that other programs read.

use std::process::ExitCode;

use export::{ExportError, Format};
use results::folder::Folder;
use serde_json::json;
use units::show::grouped;

use crate::args::{ExportArgs, ExportFormat};
use crate::failure::Failure;
use crate::render::Share;
use crate::terminal::{json, say};

pub fn run(args: &ExportArgs) -> Result<ExitCode, Failure> {
    let place = args.to.display();
    if args.to.symlink_metadata().is_ok() {
        let help = "name another directory with --to";
        return Err(Failure::refused(format!("{place} exists")).with_help(help));
    }
    let set = results::open(&args.result)?;
    let refused = |error: std::io::Error| Failure::usage(format!("Cannot make {place}: {error}"));
    let folder = Folder::begin(&args.to).map_err(refused)?;
    let format = match args.format {
        ExportFormat::Csv => Format::Csv,
        ExportFormat::Jsonl => Format::Jsonl,
        ExportFormat::Parquet => Format::Parquet,
        ExportFormat::Hlog => Format::Hlog,
        ExportFormat::FioJson => Format::FioJson,
    };
    let mut share = Share::of("exporting", 0);
    let written = |name: &str| folder.path().join(name).metadata().map_or(0, |found| found.len());
    let made = export::export(&set, format, folder.path(), |one| share.add(written(&one.name)))?;
    drop(share);
    let files: Vec<_> = made.into_iter().map(|one| (written(&one.name), one)).collect();
    folder.finish().map_err(refused)?;
    for (bytes, one) in &files {
        let what = match args.format {
            ExportFormat::Hlog => "line",
            ExportFormat::FioJson => "load",
            _ => "row",
        };
        let (rows, bytes) = (grouped(one.rows), units::Bytes(*bytes));
        let s = if one.rows == 1 { "" } else { "s" };
        say(&format!("{place}/{}: {rows} {what}{s}, {bytes}", one.name));
        one.left_out.iter().for_each(|left| say(&format!("note: {}: {left}", one.name)));
    }
    if args.json {
        let file = |(bytes, one): &(u64, export::Made)| json!({ "name": one.name, "rows": one.rows, "bytes": bytes, "left_out": one.left_out });
        let files: Vec<_> = files.iter().map(file).collect();
        let document = json!({ "directory": args.to, "complete": set.complete(), "files": files });
        json(&serde_json::to_string_pretty(&document).map_err(Failure::data)?);
    }
    super::pack::say_faults(&set);
    Ok(super::report::code_of(&set))
}

impl From<ExportError> for Failure {
    fn from(error: ExportError) -> Self {
        match error {
            ExportError::Io { .. } => Self::usage(error),
            ExportError::Nothing(_) => Self::data(error),
        }
    }
}
