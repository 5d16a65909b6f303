//! The guest's half of `fathom-bench engine --lab`: the comparison on a stack that is up.

use crate::BenchError;
use crate::guest_comparison::GuestComparison;
use crate::outcome::Outcome;
use crate::record::WHOLE;
use run::Message;
use sys::interrupt::Interrupt;

use super::table::Narrator;

/// Runs the comparison on `top`, the top of the stack; passes lines to `say`. Returns the message for the host.
pub fn compare(
    order: &GuestComparison,
    top: &str,
    interrupt: &Interrupt,
    say: &mut dyn FnMut(&str),
) -> Result<Message, String> {
    let outcome = run(order, top, interrupt, say).map_err(|error| {
        let cause = std::error::Error::source(&error);
        cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
    })?;
    let bytes = serde_json::to_vec(&outcome).map_err(|error| error.to_string())?;
    Ok(Message::Put { path: WHOLE.into(), bytes })
}

fn run(
    order: &GuestComparison,
    top: &str,
    interrupt: &Interrupt,
    say: &mut dyn FnMut(&str),
) -> Result<Outcome, BenchError> {
    let suite = order.suite(top)?;
    say(&format!("{} against {}", order.layer, suite.programs.fio.describe()));
    suite.fill(interrupt)?;
    let narrator = Narrator::new(order.verbose);
    Ok(suite.run(interrupt, &mut |event| {
        if let Some(line) = narrator.line(&event) {
            say(&line);
        }
    }))
}
