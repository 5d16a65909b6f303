//! Translation of a command's options into what a run of cells takes.

use std::path::{Path, PathBuf};

use plan::Plan;
use run::{Earlier, Event, Ledger, RunRequest, Start};

use crate::args::Common;
use crate::failure::Failure;
use crate::terminal::say;

/// Returns the request for the experiment; a continued run keeps its seed and its tag.
pub fn run_request(common: &Common, earlier: Option<&Earlier>) -> RunRequest {
    let (scale, only) = (common.scale.clone(), common.only.clone());
    RunRequest { seed: common.seed, repeat: common.repeat, scale, only, ..RunRequest::default() }
        .continuing(earlier)
}

/// Prints the plan's notes, and a note if the experiment has no scale of the name that was asked for and so runs unscaled.
pub fn say_notes(scale: Option<&str>, plan: &Plan) {
    plan.notes.iter().for_each(|note| say(&format!("note: {note}")));
    if let Some(missing) = scale.filter(|_| plan.facts.scale.is_none()) {
        let name = &plan.facts.experiment;
        say(&format!(
            "note: {name} has no scale '{missing}' of its own: sizes are those of its file"
        ));
    }
}

/// The directory of the result, checked before anything is started.
pub fn result_directory(common: &Common, plan: &Plan) -> Result<PathBuf, Failure> {
    match &common.resume {
        Some(dir) => Ok(dir.clone()),
        None => {
            Ok(run::result_directory(common.out.as_deref(), plan).map_err(run::RunError::from)?)
        }
    }
}

/// The result that the command continues, if it continues one.
pub fn earlier(common: &Common) -> Result<Option<Earlier>, Failure> {
    Ok(common.resume.as_deref().map(Earlier::open).transpose()?)
}

/// Begins the result, or goes on with an earlier one of the same plan.
pub fn ledger(
    out: &Path,
    plan: &Plan,
    start: Start,
    earlier: Option<Earlier>,
    on: Box<dyn FnMut(&Event) + Send>,
) -> Result<Ledger, Failure> {
    let Some(earlier) = earlier else {
        // A simulated run makes nothing that another process could take down.
        let lock = (!start.simulated).then(|| host::RunLock::take(&plan.run_tag, out));
        let (lock, ledger) = (lock.transpose()?, Ledger::begin(out, plan, start, on)?);
        return Ok(match lock {
            Some(lock) => ledger.under(lock),
            None => ledger,
        });
    };
    earlier.check(plan, &start)?;
    for role in earlier.uncompared(&start) {
        say(&format!(
            "note: the result does not say on which device it began for '{role}': whether it continues on the same one was not checked"
        ));
    }
    let (left, skipped, all) = (earlier.left(), earlier.skipped(), plan.cells.len());
    let more = if skipped == 0 { String::new() } else { format!("; {skipped} were not needed") };
    say(&format!(
        "{} of {all} cells ended well and are kept; {left} run{more}",
        all - left - skipped
    ));
    Ok(Ledger::resume(earlier, plan, &start, on)?)
}
