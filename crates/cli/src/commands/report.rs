//! `fathom report`: one self-contained page of results.

use std::path::Path;
use std::process::ExitCode;

use report::view::View;

use crate::args::ReportArgs;
use crate::failure::Failure;
use crate::terminal::say;

/// A result, examined and ready to be shown.
pub fn view_of(path: &Path) -> Result<View, Failure> {
    let result = results::open(path)?;
    let analysis = analysis::analyse(&result);
    let findings = doctor::examine(&result, &analysis);
    Ok(report::view::view(&result, &analysis, &findings))
}

pub fn run(args: &ReportArgs) -> Result<ExitCode, Failure> {
    let views = args.results.iter().map(|path| view_of(path)).collect::<Result<Vec<_>, _>>()?;
    let page = report::html::page(&views);
    let output = &args.output;
    std::fs::write(output, &page).map_err(|error| {
        Failure::usage(format!("Cannot write {}: {error}", output.display()))
            .with_help("give a file in a directory that exists and may be written: -o report.html")
    })?;
    let size = units::Bytes(page.len() as u64);
    say(&format!("{} written ({size}); it opens in any browser, offline", output.display()));
    Ok(ExitCode::SUCCESS)
}
