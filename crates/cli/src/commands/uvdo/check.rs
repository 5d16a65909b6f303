//! `fathom uvdo check`

use std::process::ExitCode;

use host::TargetPermit;
use serde_json::{Value, json};
use units::Bytes;
use uvdo::Backing;
use volume::{Problem, Report, State};

use crate::args::UvdoCheckArgs;
use crate::failure::Failure;
use crate::terminal::{Style, Text, answer, json_line};

/// Problems that are shown one by one.
const SHOWN: usize = 20;
/// The exit code when something is wrong.
const WRONG: u8 = 5;

pub fn run(args: &UvdoCheckArgs) -> Result<ExitCode, Failure> {
    let claim = host::claim_target(&args.backing, TargetPermit { destroy: true, create: false })?;
    let backing = Backing::through(&claim.way(), claim.path(), false)?;
    let report = uvdo::check(backing)?;
    match args.json {
        true => json_line(&described(&report)),
        false => answer(&page(args, &report)),
    }
    Ok(ExitCode::from(if report.problems.is_empty() { 0 } else { WRONG }))
}

fn state(report: &Report) -> &'static str {
    match report.state {
        State::Clean => "clean",
        State::Dirty => "dirty",
        State::ReadOnly => "read-only",
    }
}

fn described(report: &Report) -> Value {
    json!({
        "schema": 1,
        "state": state(report),
        "journal_entries": report.entries,
        "pages": report.pages,
        "logical_used_bytes": report.logical_used * 4096,
        "data_bytes": report.data_blocks * 4096,
        "checked": ["references", "counts", "checksums of records"],
        "not_checked": ["data, which has no checksum"],
        "problems": report.problems.iter().map(describe).collect::<Vec<_>>(),
    })
}

fn describe(problem: &Problem) -> String {
    match problem {
        Problem::Damaged(pbn) => format!("block {pbn}: a record is damaged"),
        Problem::Count { pbn, stored, counted } => {
            format!("block {pbn}: its count is {stored}, and {counted} mappings lead to it")
        }
        Problem::Mapping { lbn, pbn } => {
            format!("block {lbn} of the volume leads to block {pbn}, which holds no data")
        }
        Problem::LogicalUsed { stored, counted } => {
            format!("the volume counts {stored} blocks in use, and {counted} are mapped")
        }
    }
}

fn page(args: &UvdoCheckArgs, report: &Report) -> Text {
    let bytes = |blocks: u64| Bytes(blocks * 4096);
    let mut text = Text::from(format!("{}: {}", args.backing.display(), state(report)));
    if report.state != State::Clean {
        text.line(format!("  {} journal entries, which a start replays", report.entries));
    }
    let (logical, data) = (bytes(report.logical_used), bytes(report.data_blocks));
    text.line(format!("  {} pages of the map read", report.pages));
    text.line(format!("  {logical} in use, stored in {data}"));
    let style = Style::of_stdout();
    if report.problems.is_empty() {
        text.line(style.good("records agree:").and("references, counts and checksums of records"));
        text.line("not checked: the data itself, which has no checksum and was not read");
        return text;
    }
    text.line(style.bad("wrong:").and(format!("{} problems", report.problems.len())));
    report
        .problems
        .iter()
        .take(SHOWN)
        .for_each(|problem| text.line(format!("  {}", describe(problem))));
    if let Some(more) = report.problems.len().checked_sub(SHOWN).filter(|more| *more > 0) {
        text.line(format!("  and {more} more"));
    }
    text
}
