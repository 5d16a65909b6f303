//! `fathom-bench verdicts --lab`: two equal variants in fresh guests.

use std::process::ExitCode;
use std::time::Instant;

use crate::equal::{self, Extent, FULL, QUICK, Resolved, THRESHOLD};
use serde_json::json;
use units::show::{nanos, significant};

use crate::args::VerdictsArgs;
use cli::execute_own;
use cli::failure::Failure;
use cli::terminal::{Text, answer, json_line, say};

/// Runs the guests one after another, and says what the machine can resolve.
pub fn equal(args: &VerdictsArgs) -> Result<ExitCode, Failure> {
    let extent = if args.quick { QUICK } else { FULL };
    let folder = tempfile::tempdir().map_err(Failure::environment)?;
    let text = equal::experiment(&extent);
    let began = Instant::now();
    let mut results = Vec::new();
    for guest in 1..=extent.guests {
        say(&format!("guest {guest} of {}", extent.guests));
        let out = args.out.as_deref().unwrap_or(folder.path()).join(format!("guest-{guest}"));
        let experiment = ("equal-variants.toml", text.as_str());
        match execute_own(experiment, folder.path(), Some(&out), &args.machine)? {
            Ok(result) => results.push(result),
            Err(code) => return Ok(code),
        }
    }
    let all = equal::resolved(&results);
    if all.is_empty() {
        return Err(Failure::data("the guests gave no two repeats with both variants"));
    }
    let met = all.iter().all(|one| one.faults().is_empty());
    let seconds = began.elapsed().as_secs_f64();
    if args.json {
        let faults: Vec<_> =
            all.iter().map(|one| json!({"metric": one.metric, "faults": one.faults()})).collect();
        json_line(&json!({
            "schema": 1, "extent": extent, "threshold": THRESHOLD, "seconds": seconds,
            "metrics": all, "faults": faults, "met": met,
        }));
    } else {
        answer(&table(&all, &extent));
    }
    say(&format!("{} guests took {}", extent.guests, nanos(seconds * 1e9)));
    Ok(ExitCode::from(u8::from(!met)))
}

fn table(all: &[Resolved], extent: &Extent) -> Text {
    let mut text = Text::lines_of(
        "| metric | spread of a repeat's ratio | repeats for 3 % | half of the interval of all | ran second over first | neighbours | guests, p | equal, p | replayed at 1, at 1.03 |\n\
         | --- | --- | ---: | ---: | --- | ---: | ---: | ---: | --- |",
    );
    let percent = |share: f64| format!("{} %", significant(100.0 * share, 3));
    for one in all {
        let [order, low, high] = one.order.map(|ratio| significant(ratio, 3));
        text.line(format!(
            "| {} | {} ({} to {}) | {} | {} | {order} [{low}, {high}] | {} | {} | {} | {}, {} |",
            one.metric,
            percent(one.deviation),
            percent(one.deviation_low),
            percent(one.deviation_high),
            one.repeats_needed.map_or("over 1000".to_owned(), |n| n.to_string()),
            percent(one.half_width),
            significant(one.neighbours, 2),
            significant(one.guests_p, 2),
            significant(one.difference_p, 2),
            percent(one.replayed_equal),
            percent(one.replayed_border),
        ));
    }
    for one in all {
        if !one.resolves {
            text.line(format!(
                "{}: this target cannot resolve {} in {} repeats",
                one.metric,
                percent(THRESHOLD),
                extent.repeats as usize * extent.guests
            ));
        }
        for fault in one.faults() {
            text.line(format!("{}: {fault}", one.metric));
        }
    }
    text
}
