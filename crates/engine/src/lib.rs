//! Rings, buffers, workers, recording and targets of the load.
//!
//! One worker per job drives one io_uring at an exact depth: it fills buffers, stamps, submits and waits in
//! one call, stamps again and reaps. A second backend runs the same operations and content in virtual time.
//! The engine knows nothing about storage layers: it gets a path, a [`workload::LoadSpec`] and a seed.

mod asked_rate;
mod backend;
mod by_job;
mod census;
mod choice;
mod collect;
mod cpu_affinity;
mod ended;
mod error;
mod event;
mod floor;
mod interval_recorder;
mod job;
mod job_handle;
mod late_rows;
mod load;
mod load_status;
mod memory;
mod meter;
mod pace;
mod pacer;
mod page_cache;
mod probe;
mod ramp;
mod real;
mod record;
mod resolved_load;
mod sample;
mod sim;
mod spsc_queue;
mod stall_detector;
mod stood_still;
mod summary;
mod tally;
mod target;
pub mod tree;
pub mod verify;
mod weighted_round_robin;
mod worker;
mod workers;
mod written_map;

pub use choice::{Choice, Driver};
pub use error::{EngineError, ErrorKind};
pub use event::{Event, Progress, Started, Waiting};
pub use floor::{Floor, Floored, floor};
pub use load::{Aim, Context, ForeignCpu, Load, SimModel, TargetSpec};
pub use probe::{Alike, probe, untimed};
pub use record::{IoLogKeeper, IoLogTarget, Recording, Rehearsal};
pub use summary::asked_content;
pub use written_map::{WrittenMap, WrittenSince};

use results::model::LoadSummary;

/// Runs `load` to its end and returns its summary; passes rows and notices to `on` while the load runs.
///
/// An interrupt is not an error: the summary has what was measured until then (`ended_by: "interrupted"`). Failed I/Os are not errors either: they
/// are counted, and a target that gives nothing but errors ends the load (`ended_by: "errors"`). Fails when the target cannot be used, the load does
/// not fit it, or the machine lacks what is needed.
pub fn run(
    load: &Load,
    context: &Context,
    on: &mut dyn FnMut(Event),
) -> Result<LoadSummary, EngineError> {
    let mut on_block = Vec::new();
    let names: Vec<_> = load.targets.iter().map(|aim| aim.target.name()).collect();
    tracing::debug!(targets = ?names, seed = %load.seed, "load");
    let summary = run_with(
        load,
        context,
        &mut |event| {
            if let Event::Notice(text) = &event {
                on_block.push(text.clone());
            }
            on(event);
        },
        &job::content,
    )?;
    tracing::debug!(ended_by = %summary.ended_by, "the load has ended");
    // Notices that were found only at the end have not been reported yet.
    let late = summary.notices.iter().filter(|text| !on_block.contains(text));
    late.for_each(|text| on(Event::Notice(text.clone())));
    Ok(summary)
}

fn run_with(
    load: &Load,
    context: &Context,
    on: &mut dyn FnMut(Event),
    make: job::MakeFill,
) -> Result<LoadSummary, EngineError> {
    if load.targets.iter().any(|aim| matches!(aim.target, TargetSpec::Simulated(_))) {
        let summary = sim::run(load, context, on, make)?;
        return Ok(unverified(load, summary));
    }
    let mut session = verify::Session::default();
    let mut summary = real::run(load, context, on, (make, &probe), &mut session)?;
    session.ended(load);
    if context.interrupt.level() == sys::interrupt::Level::None
        && let Some(mut pass) = session.pass_after(load)
    {
        pass.choice = Driver::named(&summary.engine.backend)
            .map(|driver| Choice::given(driver, &summary.engine.chosen));
        // The I/Os of this pass are not the load's: they are in no row.
        let of_pass = |text: String| format!("Pass after the load: {text}");
        on(Event::ReadingBack(0.0));
        let notices = &mut |event| match event {
            Event::Notice(text) => on(Event::Notice(of_pass(text))),
            Event::Intervals { progress, .. } => {
                progress.fraction.into_iter().for_each(|share| on(Event::ReadingBack(share)));
            }
            _ => {}
        };
        match real::run(&pass, context, notices, (make, &probe), &mut session) {
            Ok(read) => {
                if read.ended_by == "interrupted" {
                    summary.lacks(of_pass("it was interrupted, and read a part only".into()));
                }
                let failed = verify::unread(&read.operations).map(of_pass);
                failed.into_iter().for_each(|text| summary.lacks(text));
                let (lacks, notices): (Vec<_>, Vec<_>) =
                    read.notices.into_iter().partition(|text| read.incomplete.contains(text));
                summary.notices.extend(notices.into_iter().map(of_pass));
                lacks.into_iter().map(of_pass).for_each(|text| summary.lacks(text));
            }
            // What the load measured before stays valid.
            Err(error) => summary
                .lacks(of_pass(format!("it could not be run: {}", sys::causes::chain(&error)))),
        }
    } else if session.pass_after(load).is_some() {
        summary.lacks("Interrupted: the pass after the load was left out".into());
    }
    session.finish(load, &mut summary);
    Ok(if driven_by_nothing(load) { unverified(load, summary) } else { summary })
}

fn driven_by_nothing(load: &Load) -> bool {
    load.targets.iter().any(|aim| matches!(aim.target, TargetSpec::Null { .. }))
}

/// Adds to the summary that nothing was verified, since the target keeps no data. In virtual time this does not make the result incomplete.
fn unverified(load: &Load, mut summary: LoadSummary) -> LoadSummary {
    let text = || "Nothing was verified: this target keeps no data".to_owned();
    match load.spec.verify {
        workload::Verify::Off if verify::wanted(load) => summary.notices.push(text()),
        workload::Verify::Off => {}
        _ if driven_by_nothing(load) => summary.lacks(text()),
        _ => summary.notices.push(text()),
    }
    summary
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::job::Fill;

    /// Gives each content to two consecutive ids: a load that asks for no duplicates then writes every second block as one.
    struct Broken {
        content: content::Source,
        block: [u8; content::BLOCK],
        again: bool,
    }

    impl Fill for Broken {
        fn fill(
            &mut self,
            address: u64,
            buffer: &mut [u8],
            on_block: &mut dyn FnMut(usize, content::ContentId),
        ) {
            for (n, out) in buffer.as_chunks_mut().0.iter_mut().enumerate() {
                if !self.again {
                    self.content
                        .fill_at(address + n as u64, &mut self.block, |_, id| on_block(n, id));
                }
                self.again = !self.again;
                *out = self.block;
            }
        }
    }

    fn broken(content: content::Source) -> Box<dyn Fill> {
        Box::new(Broken { content, block: [0; content::BLOCK], again: false })
    }

    fn achieved(target: TargetSpec, clock: &sys::clock::Clock, make: job::MakeFill) -> f64 {
        let spec = workload::LoadSpec {
            ops: workload::Ops::only(workload::OpName::Randwrite),
            pattern: Some(workload::Pattern::Permutation),
            passes: Some(1),
            jobs: 2,
            ..Default::default()
        };
        let may_create = Some(units::Bytes(64 << 20));
        let load = Load {
            spec,
            seed: units::Seed(1),
            targets: target.alone(),
            choice: None,
            verification: Default::default(),
            stage: 0,
            may_create,
            recording: Recording::default(),
        };
        let interrupt = sys::interrupt::Interrupt::new();
        let context = Context { clock, interrupt: &interrupt, foreign_cpu: None };
        let summary = run_with(&load, &context, &mut |_| {}, make).unwrap();
        assert_eq!(summary.asked.unwrap().duplicate_percent, Some(0.0));
        let achieved = summary.achieved.unwrap();
        assert_eq!(achieved.blocks, Some(16_384));
        achieved.duplicate_percent.unwrap()
    }

    #[test]
    fn a_generator_that_gives_two_ids_one_block_shows_in_what_was_achieved() {
        let folder = tempfile::tempdir().unwrap();
        let makes: [(job::MakeFill, f64); 2] = [(&broken, 50.0), (&job::content, 0.0)];
        for (i, (make, duplicates)) in makes.into_iter().enumerate() {
            let path = folder.path().join(i.to_string());
            let real = achieved(TargetSpec::Path(path), &sys::clock::Clock::real(), make);
            assert!((real - duplicates).abs() < 0.1, "{real} on a file");
            let model = SimModel { bytes: units::Bytes(64 << 20), ..SimModel::default() };
            let clock = sys::clock::Clock::simulated(None);
            let simulated = achieved(TargetSpec::Simulated(model), &clock, make);
            assert!((simulated - duplicates).abs() < 0.1, "{simulated} in virtual time");
        }
    }
}
