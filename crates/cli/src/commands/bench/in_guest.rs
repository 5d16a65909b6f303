//! The guest's half of `fathom bench engine --lab`: raises the stack, runs the comparison on it, sends what it found.

use bench::BenchError;
use bench::case::cases;
use bench::contest::Programs;
use bench::fio::Fio;
use bench::ours::Fathom;
use bench::outcome::Outcome;
use bench::suite::{Pace, Suite};
use bench::target::Target;
use run::{Message, Mission};
use serde::{Deserialize, Serialize};
use sys::interrupt::Interrupt;

use super::table::Narrator;

/// What the outcome is called on its way to the host.
pub const OUTCOME: &str = "bench.json";
/// The device that null_blk makes when it is loaded.
const NULL_BLOCK: &str = "/dev/nullb0";
/// Bytes of each target that are used.
const SIZE: u64 = 256 << 20;

/// What the host asks for.
#[derive(Debug, Clone, Serialize, Deserialize)]
pub struct Order {
    /// The stack that is held while the comparison runs.
    pub mission: Mission,
    /// `vdo`, `linear` or `null_blk`.
    pub layer: String,
    /// How long and how often.
    pub pace: Pace,
    /// Only these depths; empty: all.
    pub depths: Vec<u32>,
    /// Only cases whose name holds this.
    pub case: Option<String>,
    /// Whether every run is told.
    pub verbose: bool,
}

/// Runs the comparison on `path`, the top of the stack that is up; tells lines to `say`. The message is for the host.
pub fn compare(
    order: &Order,
    path: &str,
    interrupt: &Interrupt,
    say: &mut dyn FnMut(&str),
) -> Result<Message, String> {
    let path = if order.layer == "null_blk" { NULL_BLOCK } else { path };
    let outcome = run(order, path, interrupt, say).map_err(|error| {
        let cause = std::error::Error::source(&error);
        cause.map_or_else(|| error.to_string(), |cause| format!("{error}: {cause}"))
    })?;
    let bytes = serde_json::to_vec(&outcome).map_err(|error| error.to_string())?;
    Ok(Message::Put { path: OUTCOME.into(), bytes })
}

fn run(
    order: &Order,
    path: &str,
    interrupt: &Interrupt,
    say: &mut dyn FnMut(&str),
) -> Result<Outcome, BenchError> {
    let program = std::env::current_exe()
        .map_err(|source| BenchError::Start { program: "/proc/self/exe".into(), source })?;
    let fio = Fio::find(None)?;
    say(&format!("{} against {}", order.layer, fio.describe()));
    let target = Target::lent(&order.layer, path, SIZE);
    let mut cases = cases(std::slice::from_ref(&target), true, &order.depths);
    if let Some(text) = &order.case {
        cases.retain(|case| case.name().contains(text.as_str()));
    }
    let suite = Suite {
        programs: Programs { fathom: Fathom { program }, fio },
        targets: vec![target],
        cases,
        pace: order.pace,
        backends: Vec::new(),
        left_out: Vec::new(),
    };
    suite.fill(interrupt)?;
    let narrator = Narrator::new(order.verbose);
    Ok(suite.run(interrupt, &mut |event| {
        if let Some(line) = narrator.line(&event) {
            say(&line);
        }
    }))
}
