//! `fathom uvdo rebuild`

use std::process::ExitCode;

use host::TargetPermit;
use serde_json::json;
use units::Bytes;
use uvdo::Backing;

use crate::args::UvdoRebuildArgs;
use crate::failure::Failure;
use crate::terminal::{Text, answer, json_line};

pub fn run(args: &UvdoRebuildArgs) -> Result<ExitCode, Failure> {
    let claim = host::claim_target(&args.backing, TargetPermit { destroy: true, create: false })?;
    let mut backing = Backing::through(&claim.way(), claim.path(), true)?;
    let rebuilt = uvdo::rebuild(&mut backing)?;
    if args.json {
        json_line(&json!({
            "schema": 1,
            "journal_entries": rebuilt.entries,
            "logical_used_bytes": rebuilt.logical_used * 4096,
            "counts_changed": rebuilt.counts,
            "index_records": rebuilt.index,
        }));
        return Ok(ExitCode::SUCCESS);
    }
    let mut text = Text::from(format!("{}: rebuilt", args.backing.display()));
    text.line(format!("  {} journal entries replayed", rebuilt.entries));
    text.line(format!(
        "  {} in use, {} counts corrected",
        Bytes(rebuilt.logical_used * 4096),
        rebuilt.counts
    ));
    text.line(match rebuilt.index {
        Some(records) => format!("  {records} blocks in the index"),
        None => "  no index: the volume has no room for one".into(),
    });
    answer(&text);
    Ok(ExitCode::SUCCESS)
}
