//! `fathom show`: a result on the terminal.

use std::process::ExitCode;

use crate::args::ShowArgs;
use crate::failure::Failure;
use crate::terminal::{Style, answer, width};

pub fn run(args: &ShowArgs) -> Result<ExitCode, Failure> {
    let view = super::report::view_of(&args.result)?;
    if args.json {
        let json =
            serde_json::to_string_pretty(&report::json::json(&view)).map_err(Failure::data)?;
        answer(&json);
    } else if args.csv {
        answer(&report::csv::csv(&view));
    } else {
        answer(&report::terminal::text(&view, width(), Style::of_stdout().colour()));
    }
    Ok(ExitCode::SUCCESS)
}
