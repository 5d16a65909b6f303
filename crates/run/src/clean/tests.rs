use std::collections::BTreeSet;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex};

use host::{
    CommandOutcome, CommandOutput, Listener, MeasuredCommand, PlacedTwin, SimulatedMachine,
};
use layers::Place;
use layers::probe::Source;
use layers::step::Mark;
use results::model::{Accelerator, CellState};
use results::sink::DirSink;
use units::{Nanos, Seed};

use super::*;
use crate::message::{Message, Post};
use crate::{Event, Ledger, Start};

const TAG: &str = "0badcafe";

/// A machine that outlives the program that used it.
#[derive(Clone)]
struct Lasting(Arc<Mutex<SimulatedMachine>>);

impl Machine for Lasting {
    fn command(
        &mut self,
        argv: &[String],
        deadline: Nanos,
        i: &Interrupt,
    ) -> io::Result<CommandOutput> {
        self.0.lock().unwrap().command(argv, deadline, i)
    }
    fn measured(
        &mut self,
        work: &MeasuredCommand,
        i: &Interrupt,
        listener: &mut Listener,
    ) -> io::Result<CommandOutcome> {
        self.0.lock().unwrap().measured(work, i, listener)
    }
    fn discard(&mut self, device: &str) -> io::Result<Option<String>> {
        self.0.lock().unwrap().discard(device)
    }
    fn wipe(&mut self, device: &str, mark: Option<&Mark>) -> io::Result<()> {
        self.0.lock().unwrap().wipe(device, mark)
    }
    fn flush(&mut self, device: &str) -> io::Result<()> {
        self.0.lock().unwrap().flush(device)
    }
    fn read(&mut self, source: &Source) -> io::Result<String> {
        self.0.lock().unwrap().read(source)
    }
    fn remove_nodes(&mut self, nodes: &[String]) -> io::Result<Vec<String>> {
        self.0.lock().unwrap().remove_nodes(nodes)
    }
    fn sync(&mut self) -> io::Result<()> {
        self.0.lock().unwrap().sync()
    }
    fn write(&mut self, path: &str, value: &str) -> io::Result<()> {
        self.0.lock().unwrap().write(path, value)
    }
    fn mount(
        &mut self,
        device: &str,
        directory: &str,
        filesystem: &str,
        options: &str,
    ) -> io::Result<()> {
        self.0.lock().unwrap().mount(device, directory, filesystem, options)
    }
    fn unmount(&mut self, directory: &str, device: Option<&str>) -> io::Result<()> {
        self.0.lock().unwrap().unmount(directory, device)
    }
    fn start(&mut self, name: &str, argv: &[String]) -> io::Result<()> {
        self.0.lock().unwrap().start(name, argv)
    }
    fn stop(&mut self, name: &str) -> io::Result<()> {
        self.0.lock().unwrap().stop(name)
    }
    /// Returns what is on other devices than the run's belongs to another run.
    fn leftovers(&mut self, tag: &str) -> Vec<String> {
        let ours = |left: &String| left.contains(tag) || left.ends_with("/dev/simulated-data");
        self.0.lock().unwrap().leftovers(tag).into_iter().filter(ours).collect()
    }
    fn bears(&mut self, device: &str, tag: &str) -> bool {
        self.0.lock().unwrap().bears(device, tag)
    }
}

fn plan() -> Plan {
    plan_of("vdo-vs-plain", experiment::shipped("vdo-vs-plain").unwrap().text)
}

fn plan_of(name: &str, text: &str) -> Plan {
    let choices = experiment::PlanOptions {
        seed: Seed(1),
        run_tag: TAG.into(),
        repeat: Some(experiment::Repeat::Fixed(1)),
        sizes: BTreeMap::new(),
        scale: experiment::Scale::Usual("lab"),
        only: Vec::new(),
    };
    experiment::compose(&format!("{name}.toml"), text, &choices).unwrap()
}

/// The twins of a cell, and those of a volume of another run on another device, which is up.
fn machine(cell: &CellPlan) -> Lasting {
    let clock = Clock::simulated(None);
    let kind = |name: &str| layers::kind(name).unwrap().parse;
    let elsewhere = layers::on_device("/dev/other", 1 << 34);
    let other = Place { name: "plain", run_tag: "feedf00d", inputs: &elsewhere };
    let others = kind("linear")(&Default::default()).unwrap();
    let layer = &cell.stack[0];
    let bytes = layer.inputs["data"].bytes();
    let inputs = layers::on_device("/dev/simulated-data", bytes);
    let place = Place { name: &layer.name, run_tag: TAG, inputs: &inputs };
    let twins = [kind(&layer.kind)(&layer.settings).unwrap().twin(&place), others.twin(&other)];
    let placed = |twin| PlacedTwin { twin, reached_from: BTreeSet::new() };
    let twins = twins.into_iter().flatten().map(placed).collect();
    let machine = Lasting(Arc::new(Mutex::new(SimulatedMachine::new(twins, &clock))));
    let mut executor = Executor::new(machine.clone(), &clock, &Interrupt::new());
    others.raise(&other).unwrap().up.iter().for_each(|step| executor.step(step).1.unwrap());
    machine
}

/// Returns what is there of the other run: a node, a group, a physical volume.
fn others_of(machine: &Lasting) -> Vec<String> {
    let left = machine.0.lock().unwrap().leftovers("feedf00d");
    left.into_iter().filter(|l| l.contains("feedf00d") || l.ends_with("/dev/other")).collect()
}

/// The result of a run that was killed in `cell` when `begun` of its steps had begun; the last one has no line in the transcript.
fn killed(root: &Path, plan: &Plan, cell: &CellPlan, begun: usize, machine: &Lasting) -> ResultSet {
    let start = Start {
        command: vec!["fathom".into()],
        tool_version: "0".into(),
        accelerator: Accelerator::None,
        accelerator_reason: None,
        simulated: false,
        devices: std::collections::BTreeMap::new(),
        host: host::facts(),
        experiment_text: String::new(),
    };
    let mut ledger = Ledger::begin(root, plan, start, Box::new(|_| {})).unwrap();
    let mut executor = Executor::new(machine.clone(), &Clock::simulated(None), &Interrupt::new());
    executor.bind("device.data", "/dev/simulated-data");
    let started = Event::CellStarted {
        cell: cell.index,
        of: plan.cells.len(),
        variant: cell.variant.clone(),
        repeat: cell.repeat,
    };
    ledger.post(Message::Event(started)).unwrap();
    for (at, step) in cell.up[..begun].iter().enumerate() {
        executor.numbered(Some(at), step).1.unwrap();
        for mut line in executor.take_transcript() {
            line.cell = Some(cell.index);
            let text = format!("{}\n", serde_json::to_string(&line).unwrap());
            if at + 1 < begun || begun == cell.up.len() {
                ledger.append("transcript.jsonl", text.as_bytes()).unwrap();
            }
        }
    }
    drop(ledger);
    results::open(root).unwrap()
}

#[test]
fn whatever_moment_a_run_is_killed_at_cleaning_takes_down_its_stack_and_nothing_of_another_run() {
    let plan = plan();
    for cell in &plan.cells {
        for begun in 0..=cell.up.len() {
            let dir = tempfile::tempdir().unwrap();
            let root = dir.path().join("result");
            let machine = machine(cell);
            let others = others_of(&machine);
            let result = killed(&root, &plan, cell, begun, &machine);
            assert_eq!(result.cells[cell.index].state(), CellState::Running);
            let there = machine.clone().leftovers(TAG);
            let mut cleaning = Cleaning::of(&result, machine.clone()).unwrap();
            let remains = cleaning.remains();
            assert_eq!(remains.found, there, "{} {begun}", cell.variant);
            // One line tells the node for the cells without a line too.
            let told = result.transcript.iter().any(|l| l.bound.contains_key("device.data"));
            assert_eq!(told, !result.transcript.is_empty());
            assert_eq!(remains.unseen.is_empty(), told, "{:?}", remains.unseen);
            // A device that is only marked for lvm carries no tag.
            let marked = there == ["physical volume /dev/simulated-data"];
            assert_eq!(remains.commands.is_empty(), there.is_empty() || marked, "{remains:?}");
            if marked {
                assert_eq!(remains.left_alone, ["lvm pvremove --yes /dev/simulated-data"]);
            }
            let mut sink = DirSink::reopen(&root).unwrap();
            let left = cleaning.take_down(&mut sink).unwrap();
            assert_eq!(left, if marked { there } else { Vec::new() }, "{} {begun}", cell.variant);
            assert_eq!((others_of(&machine), others.len()), (others, 3), "of another run");
            // What was done stands in the transcript, and is not owed any more.
            let result = results::open(&root).unwrap();
            let last = result.transcript.last().unwrap();
            assert_eq!((last.about.as_str(), last.error.is_some()), (CLEANED, marked));
            let again = Cleaning::of(&result, machine.clone()).unwrap().remains();
            assert!(again.commands.is_empty() && again.found == left, "{again:?}");
        }
    }
}

#[test]
fn the_numbers_of_all_steps_are_known_of_every_experiment_once_its_plan_was_written() {
    for experiment in experiment::SHIPPED {
        let plan = serde_json::to_value(plan_of(experiment.name, experiment.text)).unwrap();
        let plan: Plan = serde_json::from_value(plan).unwrap();
        for cell in &plan.cells {
            let (steps, name) = (begun::steps(cell, TAG), experiment.name);
            let numbers = begun::numbers(&steps, cell).unwrap_or_else(|| panic!("{name}"));
            assert!(!numbers.is_empty() && numbers.is_sorted(), "{name}");
            let owes = |number: &usize| !cell.up[*number].undo.is_empty();
            let found = numbers.iter().filter(|number| owes(number)).count();
            // Traces are found by the tag.
            let traced = |step: &&layers::step::Step| matches!(step.action, Action::Trace { .. });
            let all = cell.up.iter().filter(|step| !step.undo.is_empty());
            assert_eq!(found, all.filter(|step| !traced(step)).count(), "{name}");
            let later = cell.stages.iter().flat_map(|s| s.before.iter().chain(s.task.steps()));
            let later = later.chain(&cell.ready).chain(&cell.settle);
            assert!(later.into_iter().all(|step| step.undo.is_empty()), "{name}: it has no number");
            let nothing = |undo: &Action| matches!(undo, Action::Command { removes: None, .. });
            let undos = cell.up.iter().flat_map(|step| &step.undo);
            assert_eq!(undos.filter(|undo| nothing(undo)).count(), 0, "{name}: of what is it?");
        }
    }
}

#[test]
fn a_result_without_a_whole_tag_is_refused() {
    let mut result = fixture::result();
    for id in ["", "0", "0badcaf", "../../et"] {
        result.manifest.run_id = id.into();
        let machine = SimulatedMachine::new(Vec::new(), &Clock::simulated(None));
        assert!(Cleaning::of(&result, machine).is_err(), "{id}");
    }
}
