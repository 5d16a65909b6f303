//! `fathom-bench show`: a comparison of engines that was kept.

use std::process::ExitCode;

use cli::failure::Failure;
use cli::terminal::{Text, answer, json};

use super::table;
use crate::args::ShowArgs;
use crate::outcome;
use crate::record::WHOLE;

pub fn show(args: &ShowArgs) -> Result<ExitCode, Failure> {
    let inside = args.comparison.join(WHOLE);
    let path = if args.comparison.is_dir() { &inside } else { &args.comparison };
    let unreadable =
        |error: String| Failure::data(format!("{} cannot be read: {error}", path.display()));
    let bytes = sys::input::read(path, u64::MAX).map_err(|error| unreadable(error.to_string()))?;
    let outcome = outcome::decode(&bytes)
        .map_err(|error| unreadable(error.to_string()).with_help(error.help()))?;
    if args.json {
        json(&serde_json::to_string(&outcome).map_err(Failure::data)?);
    } else {
        answer(&Text::lines_of(&table::text(&outcome, false)));
    }
    Ok(ExitCode::SUCCESS)
}
