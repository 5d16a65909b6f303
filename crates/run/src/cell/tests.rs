//! What a cell makes of what its loads did.

use std::sync::{Arc, Mutex};

use results::model::{CellRecord, VerifyFigures};
use sys::clock::Clock;
use sys::interrupt::Interrupt;
use units::Seed;

use super::*;
use crate::RunError;
use crate::loader::LoadId;
use crate::message::Post;
use crate::recorder::Recorder;

/// A loader whose loads find what a test says.
struct Found(VerifyFigures);

impl Loader for Found {
    fn load(
        &mut self,
        scene: &CellContext,
        _: &CellPlan,
        _: LoadId,
        _: &mut Executor,
        _: &mut CellSamplers,
    ) -> Result<LoadSummary, String> {
        scene.clock.advance(units::Nanos(1_000_000));
        let verify = Some(self.0.clone());
        Ok(LoadSummary { ended_by: "passes".into(), verify, ..LoadSummary::empty(Seed(1)) })
    }
}

/// Keeps the last record that was handed in.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Option<CellRecord>>>);

impl Post for Kept {
    fn post(&mut self, message: Message) -> Result<(), RunError> {
        if let Message::Put { path, bytes } = message
            && path.ends_with("cell.json")
        {
            *self.0.lock().unwrap() = Some(serde_json::from_slice(&bytes).unwrap());
        }
        Ok(())
    }
}

/// The record of a simulated cell whose loads go as `loader` says.
fn record(loader: &mut dyn Loader) -> CellRecord {
    let text = experiment::shipped("vdo-vs-plain").unwrap().text;
    let choices = experiment::PlanOptions {
        seed: Seed(1),
        run_tag: "00000000".into(),
        repeat: Some(experiment::Repeat::Fixed(1)),
        sizes: BTreeMap::new(),
        scale: experiment::Scale::Usual("lab"),
        only: Vec::new(),
    };
    let plan = experiment::compose("test", text, &choices).unwrap();
    let kept = Kept::default();
    let (clock, interrupt) = (Clock::simulated(None), Interrupt::new());
    let scene = CellContext {
        of: plan.cells.len(),
        run_tag: &plan.run_tag,
        clock: &clock,
        interrupt: &interrupt,
        recorder: &Recorder::new(Box::new(kept.clone())),
        injections: &[],
        suffer: &|_| {},
    };
    let cell = &plan.cells[1];
    let machine = crate::simulated::machine(&plan, cell, &clock).unwrap();
    let mut executor =
        crate::executor(machine, &scene, &crate::simulated::devices(&plan), &Default::default());
    run(&scene, cell, &mut executor, loader);
    kept.0.lock().unwrap().take().unwrap()
}

#[test]
fn a_cell_in_which_verification_found_wrong_blocks_fails_and_says_which() {
    let found = VerifyFigures { checked: 4096, correct: 3836, foreign: 260, ..Default::default() };
    let record = record(&mut Found(found));
    assert_eq!(record.state, CellState::Failed);
    let said = "verification found 260 foreign blocks among 4,096 checked";
    assert_eq!(record.reason.as_deref(), Some(said));
    assert_eq!(record.stages.last().unwrap().error.as_deref(), Some(said));
    assert_eq!(record.leftovers, Some(Vec::new()));
}

#[test]
fn a_cell_in_which_all_blocks_were_right_is_done() {
    let found = VerifyFigures { checked: 4096, correct: 4000, unsure: 96, ..Default::default() };
    let record = record(&mut Found(found));
    assert_eq!((record.state, record.reason), (CellState::Done, None));
}
