//! Messages before and after a run, here and in the lab.

use std::collections::BTreeMap;
use std::path::Path;
use std::process::ExitCode;
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;
use std::time::Duration;

use plan::Plan;
use results::ResultSet;
use results::model::{CellState, LoadSummary};
use run::RunOutcome;
use sys::interrupt::{Interrupt, Level};

use crate::args::Common;
use crate::failure::Failure;
use crate::render::RunView;
use crate::terminal::{Style, Text, answer, json_line, say, say_text, width};

/// Says what is about to happen, with notes and warnings about the plan.
pub fn begin(plan: &Plan, out: &Path, accelerator: Option<&str>) {
    say(&headline(plan, out, accelerator));
    if let Some(base) = plan.facts.other_base() {
        say(&format!("note: variants are compared with {base}"));
    }
    if let Some(why) = plan.no_verdict() {
        say(&format!("warning: {why}"));
    }
}

/// Time between two checks whether somebody wishes to stop.
const POLL_INTERVAL: Duration = Duration::from_millis(100);

/// Confirms, from a thread of its own and while the run has a `view`, that Ctrl-C was noticed: work under way may take long to end.
pub fn acknowledge(interrupt: &Interrupt, view: &Arc<Mutex<RunView>>) {
    let (interrupt, view) = (interrupt.clone(), Arc::downgrade(view));
    let watch = move || {
        while let Some(view) = view.upgrade() {
            if interrupt.level() != Level::None {
                let text = "stopping: what was measured is kept, and what was made is taken down; Ctrl-C again does not wait for the stage";
                return view.lock().unwrap_or_else(PoisonError::into_inner).line(text);
            }
            drop(view);
            thread::sleep(POLL_INTERVAL);
        }
    };
    // Without the thread the run stops all the same, but without this message.
    drop(thread::Builder::new().name("stopping".into()).spawn(watch));
}

/// Makes the `view` of a run say what takes so long, from a thread of its own that ends with the view.
pub fn tell_what_takes_long(view: &Arc<Mutex<RunView>>) {
    let view = Arc::downgrade(view);
    let watch = move || {
        while let Some(view) = view.upgrade() {
            view.lock().unwrap_or_else(PoisonError::into_inner).wait();
            drop(view);
            thread::sleep(POLL_INTERVAL);
        }
    };
    // Without the thread the run ends all the same, but without these messages.
    drop(thread::Builder::new().name("waiting".into()).spawn(watch));
}

/// Returns what is about to happen, one line.
fn headline(plan: &Plan, out: &Path, accelerator: Option<&str>) -> String {
    let (least, most) = plan.takes();
    let first = plan.facts.sequential.as_ref().and_then(|s| s.looks.first().copied());
    let first = first.filter(|first| *first < plan.facts.repeat);
    let cells = |repeats: u32| repeats as usize * plan.facts.variants.len();
    let (repeats, all) = match first {
        None => (
            counted(plan.facts.repeat as usize, "repeat"),
            counted(cells(plan.facts.repeat), "cell"),
        ),
        Some(first) => (
            format!("{first} to {} repeats", plan.facts.repeat),
            format!("{} to {} cells", cells(first), cells(plan.facts.repeat)),
        ),
    };
    let about = if least == most { most.to_string() } else { format!("{least} to {most}") };
    let more = if plan.has_commands() { " and the time of the commands" } else { "" };
    let lab = accelerator.map_or_else(String::new, |name| format!(" in the lab ({name})"));
    let scale = plan.facts.scale.as_ref().map_or_else(String::new, |s| format!(" at scale {s}"));
    format!(
        "{}{scale}{lab}: {} x {repeats} = {all}, about {about}{more}; seed {}; result in {}",
        plan.facts.experiment,
        counted(plan.facts.variants.len(), "variant"),
        plan.seed,
        out.display(),
    )
}

/// `1 variant`, `2 variants`.
pub fn counted(n: usize, what: &str) -> String {
    if n == 1 { format!("1 {what}") } else { format!("{n} {what}s") }
}

/// The summary of a run that has ended, and its exit code.
pub fn conclude(outcome: RunOutcome, out: &Path, args: &Common) -> Result<ExitCode, Failure> {
    let result = results::open(out)?;
    let view = super::report::view(&result);
    let silent = silent(&result);
    let code = match outcome {
        RunOutcome::Complete if counts(&result, &silent) => 5,
        other => other.exit_code(),
    };
    if args.json {
        json_line(&serde_json::json!({
            "event": "ended", "outcome": outcome.word(), "exit_code": code, "result": out.display().to_string(),
        }));
        let colour = Style::of_stderr().colour();
        say_text(&Text::preformatted(&report::terminal::text(&view, width(), colour)));
    } else {
        let colour = Style::of_stdout().colour();
        answer(&Text::preformatted(&report::terminal::text(&view, width(), colour)));
    }
    for what in silent {
        say(&format!(
            "warning: {what}: no I/O succeeded in the measured time, so it has no figures"
        ));
    }
    let dir = out.display();
    say(&format!("result in {dir}; fathom report {dir} -o page.html makes a page of it"));
    if matches!(outcome, RunOutcome::Interrupted | RunOutcome::Incomplete) {
        say(&format!(
            "the same command with --resume {dir} instead of --out continues it: runs that ended well are kept"
        ));
    }
    let code = match outcome {
        RunOutcome::Complete => {
            super::report::gated_exit_code(&view, &args.gates, ExitCode::from(code))
        }
        _ => Ok(ExitCode::from(code)),
    };
    let Some(to) = &args.push else { return code };
    // A gate that had nothing to judge is an error of its own, and no reason to send nothing.
    let sent = super::push::after_run(outcome, out, to, args.json);
    code.map(|code| if code == ExitCode::SUCCESS { sent } else { code })
}

/// Tells whether loads that measured nothing make the whole run fail. A simulated target may be so fast that a load ends within its ramp,
/// though it takes long on the real disk: a simulated run fails only if it measured nothing at all.
fn counts(result: &ResultSet, silent: &[String]) -> bool {
    let records = result.cells.iter().filter_map(|cell| cell.record.as_ref());
    let mut stages = records.flat_map(|record| &record.stages).filter(|stage| stage.measured);
    let did = |load: &LoadSummary| load.operations.values().any(|op| op.ios > 0);
    let mut any = || stages.any(|stage| stage.load.as_ref().is_some_and(did));
    !silent.is_empty() && (!result.manifest.simulated || !any())
}

fn did_nothing(load: &LoadSummary) -> bool {
    !load.operations.is_empty() && load.operations.values().all(|op| op.ios == 0)
}

/// Names the loads that measured nothing although their cells ended well: `Nothing was measured by stage 'L' of variant 'a', repeat 1, 2`.
fn silent(result: &ResultSet) -> Vec<String> {
    let mut repeats: BTreeMap<(&str, &str), Vec<String>> = BTreeMap::new();
    let records = result.cells.iter().filter_map(|cell| cell.record.as_ref());
    for record in records.filter(|record| record.state == CellState::Done) {
        for stage in record.stages.iter().filter(|stage| stage.measured) {
            if stage.load.as_ref().is_some_and(did_nothing) {
                let of = (record.variant.as_str(), stage.name.as_str());
                repeats.entry(of).or_default().push(record.repeat.to_string());
            }
        }
    }
    let sentence = |((variant, stage), repeats): ((&str, &str), Vec<String>)| {
        let repeats = repeats.join(", ");
        format!("Nothing was measured by stage '{stage}' of variant '{variant}', repeat {repeats}")
    };
    repeats.into_iter().map(sentence).collect()
}
