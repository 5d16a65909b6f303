//! Tests of how a cell ends and what it records, by what its loads did.

use std::sync::{Arc, Mutex};

use results::model::{CellRecord, LayerFigures, VerifyFigures};
use sys::clock::Clock;
use sys::interrupt::Interrupt;
use units::Seed;

use super::*;
use crate::RunError;
use crate::message::Post;
use crate::recorder::Recorder;
use crate::turn::LoadId;

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
    ) -> Result<LoadSummary, crate::error::Cause> {
        scene.clock.advance(units::Nanos(1_000_000));
        let verify = Some(self.0.clone());
        Ok(LoadSummary { ended_by: "passes".into(), verify, ..LoadSummary::empty(Seed(1)) })
    }
}

/// Keeps the last record that was handed in, and all rows as they stand in a result.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<(Option<CellRecord>, Vec<u8>)>>);

impl Post for Kept {
    fn post(&mut self, message: Message) -> Result<(), RunError> {
        let mut kept = self.0.lock().unwrap();
        match message {
            Message::Put { path, bytes } if path.ends_with("cell.json") => {
                kept.0 = Some(serde_json::from_slice(&bytes).unwrap());
            }
            Message::Append { path, bytes } if path.ends_with("rows.log") => kept.1.extend(bytes),
            _ => {}
        }
        Ok(())
    }
}

/// The record of a simulated cell whose loads go as `loader` says.
fn record(loader: &mut dyn Loader) -> CellRecord {
    simulated(experiment::shipped("vdo-vs-plain").unwrap().text, 1, loader).1
}

/// The plan of a simulated cell of an experiment whose loads go as `loader` says, its record, and its rows.
fn simulated(text: &str, cell: usize, loader: &mut dyn Loader) -> (CellPlan, CellRecord, Vec<Row>) {
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
        cell_count: plan.cells.len(),
        run_tag: &plan.run_tag,
        machine: Default::default(),
        clock: &clock,
        interrupt: &interrupt,
        recorder: &Recorder::new(Box::new(kept.clone())),
        injections: &[],
        inject_fault: &|_| {},
        suspends: false,
    };
    let cell = &plan.cells[cell];
    let machine = crate::simulated::machine(&plan, cell, &clock).unwrap();
    let mut executor =
        crate::executor(machine, &scene, &crate::simulated::devices(&plan), &Default::default());
    run(&scene, cell, &mut executor, loader);
    let (record, rows) = std::mem::take(&mut *kept.0.lock().unwrap());
    let (rows, damage) = results::frames::read(&rows[..]).unwrap();
    assert!(damage.is_empty());
    (cell.clone(), record.unwrap(), rows)
}

#[test]
fn the_layers_are_read_where_the_load_of_a_stage_begins_and_where_it_is_over() {
    let text = experiment::shipped("vdo-vs-plain").unwrap().text;
    let (_, record, rows) = simulated(text, 1, &mut crate::simulated::Twin::default());
    let stage = record.stages.iter().find(|stage| stage.measured).unwrap();
    let within = |at: u64| (stage.start_ns..=stage.end_ns.unwrap()).contains(&at);
    let at = |mark: &str| -> Vec<u64> {
        let marked = rows.iter().filter_map(|row| match row {
            Row::Sample(sample) if sample.mark.as_deref() == Some(mark) => Some(sample.at_ns),
            _ => None,
        });
        marked.filter(|at| within(*at)).collect()
    };
    let (begun, over) = (at(layers::LOAD_START), at(layers::LOAD_END));
    assert!(!begun.is_empty() && begun.len() == over.len(), "{begun:?} {over:?}");
    assert!(begun.iter().max() < over.iter().min(), "{begun:?} {over:?}");
    assert!(at(layers::RAMP_START).is_empty(), "no ramp, no mark of one");
}

#[test]
fn a_ramp_is_marked_where_it_begins_and_its_cpu_time_is_in_that_per_io() {
    let text = experiment::shipped("vdo-vs-plain").unwrap().text;
    let text = text.replacen("do = \"load\"", "do = \"load\"\nramp = \"1s\"", 9);
    let (_, record, rows) = simulated(&text, 1, &mut crate::simulated::Twin::default());
    let stage = record.stages.iter().find(|stage| stage.measured).unwrap();
    let first = |mark: &str| {
        rows.iter().find_map(|row| match row {
            Row::Sample(sample) if sample.mark.as_deref() == Some(mark) => {
                (sample.at_ns >= stage.start_ns).then_some(sample.at_ns)
            }
            _ => None,
        })
    };
    let (ramp, load) = (first(layers::RAMP_START).unwrap(), first(layers::LOAD_START).unwrap());
    assert!(load - ramp >= 1_000_000_000, "{ramp} {load}");
}

#[test]
fn a_cell_in_which_verification_found_wrong_blocks_fails_and_says_which() {
    let found = VerifyFigures { checked: 4096, correct: 3836, foreign: 260, ..Default::default() };
    let record = record(&mut Found(found));
    assert_eq!(record.state, CellState::Failed);
    let message = "verification found 260 foreign blocks among 4,096 checked";
    assert_eq!(record.reason.as_deref(), Some(message));
    assert_eq!(record.stages.last().unwrap().error.as_deref(), Some(message));
    assert_eq!(record.leftovers, Some(Vec::new()));
}

#[test]
fn a_cell_in_which_all_blocks_were_right_is_done() {
    let found = VerifyFigures { checked: 4096, correct: 4000, unsure: 96, ..Default::default() };
    let record = record(&mut Found(found));
    assert_eq!((record.state, record.reason), (CellState::Done, None));
}

/// A volume whose block map is allocated by the load that is measured.
const GROWING: &str = r#"
name = "x"
about = "x"
repeat = 1
[devices.data]
size = "7G"
[[stack]]
layer = "vdo"
on = "data"
logical_size = "900G"
[[stage]]
do = "load"
measure = true
ops = { randwrite = 100 }
ios = 1000
"#;

/// A loader whose load takes a day, in which the volume grows ever more slowly, and how many readings were kept at its end.
#[derive(Default)]
struct Day {
    kept: usize,
}

impl Loader for Day {
    fn load(
        &mut self,
        scene: &CellContext,
        plan: &CellPlan,
        turn: LoadId,
        executor: &mut Executor,
        watch: &mut CellSamplers,
    ) -> Result<LoadSummary, crate::error::Cause> {
        let target = &plan.stages[turn.stage].target.name;
        for part in 0..8640u64 {
            scene.clock.advance(units::Nanos(10_000_000_000));
            let writes = layers::Writes::fresh(10 + 200_000 / (part + 1000));
            executor.wrote(target, &writes, &results::model::AskedContent::default());
            watch.tick(executor);
        }
        self.kept = watch.kept();
        Ok(LoadSummary { ended_by: "duration".into(), ..LoadSummary::empty(Seed(1)) })
    }
}

#[test]
fn a_day_of_samples_does_not_stay_in_memory_and_its_figures_are_those_of_all() {
    let mut loader = Day::default();
    let (plan, record, rows) = simulated(GROWING, 0, &mut loader);
    assert_eq!(record.state, CellState::Done, "{:?}", record.reason);
    let sample = |row| if let Row::Sample(sample) = row { Some(sample) } else { None };
    let samples: Vec<SampleRow> = rows.into_iter().filter_map(sample).collect();
    assert!(samples.len() > 30_000, "{} samples", samples.len());
    assert!(loader.kept < 4200, "{} of {} samples were kept", loader.kept, samples.len());
    let mut of_all = record.stages.clone();
    figures::of_stages(&plan, &samples, &mut of_all, 0);
    let (of_stage, all) = (&mut record.stages.clone()[0].layers, &mut of_all[0].layers);
    // The one figure that is read between marks.
    let time = |of: &mut BTreeMap<String, LayerFigures>| {
        of.get_mut("vdo").and_then(|vdo| vdo.remove("allocation_time_s")).flatten().unwrap()
    };
    let (known, whole) = (time(of_stage), time(all));
    assert!((known - whole).abs() < 0.001 * 86_400.0, "{known} and not {whole}");
    assert_eq!(of_stage, all);
    let mut cell = [record.layers.clone(), figures::of_cell(&plan, &samples, &record)];
    let times = cell.each_mut().map(time);
    assert!((times[0] - times[1]).abs() < 0.001 * 86_400.0, "{times:?}");
    assert_eq!(cell[0], cell[1]);
}
