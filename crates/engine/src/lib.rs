//! Rings, buffers, workers, recording and targets of the load.
//!
//! One worker per job drives one io_uring at an exact depth: it fills buffers, stamps, submits and waits in
//! one call, stamps again and reaps. A second backend runs the same operations and content in virtual time.
//! What a layer is, the engine does not know: it gets a path, a [`workload::LoadSpec`] and a seed.

mod banks;
mod board;
mod buffers;
mod census;
mod collect;
mod error;
mod event;
mod job;
mod load;
mod outline;
mod pace;
mod real;
mod ring;
mod sample;
mod sim;
mod summary;
mod tally;
mod target;
mod watch;
mod worker;

pub use error::{EngineError, Kind};
pub use event::{Event, Progress, Started};
pub use load::{Context, ForeignCpu, Load, SimModel, TargetSpec};
pub use target::MADE_BY_FATHOM;

use results::model::LoadSummary;

/// Runs `load` to its end and gives what it did; tells rows and notices to `on` meanwhile.
///
/// An interrupt is no error: what was measured until then is in the summary (`ended_by: "interrupted"`). Nor are
/// failed I/Os: they are counted, and a target that gives nothing else ends the load (`ended_by: "errors"`).
/// Fails when the target cannot be used, the load does not fit it, or the machine lacks what is needed.
pub fn run(
    load: &Load,
    context: &Context,
    on: &mut dyn FnMut(Event),
) -> Result<LoadSummary, EngineError> {
    run_with(load, context, on, &job::content)
}

fn run_with(
    load: &Load,
    context: &Context,
    on: &mut dyn FnMut(Event),
    make: job::MakeFill,
) -> Result<LoadSummary, EngineError> {
    match &load.target {
        TargetSpec::Path(path) => real::run(load, path, context, on, make),
        TargetSpec::Simulated(model) => sim::run(load, model, context, on, make),
    }
}
