//! Remains of a killed run with a layer that is attributes and UUIDs: at whatever moment it was killed, all of it is taken down, and nothing
//! of another run.

use std::collections::BTreeMap;
use std::io;
use std::path::Path;
use std::sync::{Arc, Mutex, Once};

use host::{
    CommandOutcome, CommandOutput, Executor, Listener, Machine, MeasuredCommand, SimulatedMachine,
};
use layers::probe::Source;
use layers::step::Mark;
use plan::{CellPlan, Plan};
use results::model::Accelerator;
use results::read::ResultSet;
use results::sink::DirSink;
use run::clean::Cleaning;
use run::{Ledger, Start};
use sys::clock::Clock;
use sys::interrupt::Interrupt;
use units::{Nanos, Seed};

use super::relay;
use super::relay::ATTRIBUTE;

const TEXT: &str = r#"
name = "relays"
about = "A layer that the kernel names"
repeat = 2
[devices.data]
size = "1G"
[[stack]]
layer = "relay"
name = "pair"
on = "data"
[[stage]]
do = "load"
measure = true
ops = { randwrite = 100 }
duration = "3s"
"#;

/// The plan of the experiment, with the made-up kind among all others.
fn plan() -> Plan {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| assert!(layers::register([relay::KIND]), "somebody asked for kinds before"));
    let choices = experiment::PlanOptions {
        seed: Seed(1),
        run_tag: "0badcafe".into(),
        repeat: None,
        sizes: BTreeMap::new(),
        scale: experiment::Scale::Usual("lab"),
        only: Vec::new(),
    };
    let plan = experiment::compose("relays.toml", TEXT, &choices);
    plan.unwrap_or_else(|error| panic!("{}", error.render(false)))
}

const OTHERS: &str = "feedf00d-666d-8072-8000-000000000000";
const LATER: &str = "feedf00e-666d-8072-8000-000000000000";

/// A kernel with the driver of the layer: its attributes, which outlive the program that wrote them.
#[derive(Clone)]
struct Kernel {
    attributes: Arc<Mutex<BTreeMap<String, String>>>,
    rest: Arc<Mutex<SimulatedMachine>>,
    /// Number of writes and commands until it takes none any more.
    takes: Arc<Mutex<usize>>,
}

impl Kernel {
    /// One on which another run has its set and the first device.
    fn new() -> Self {
        let rest = SimulatedMachine::new(Vec::new(), &Clock::simulated(None));
        let (rest, takes) = (Arc::new(Mutex::new(rest)), Arc::new(Mutex::new(usize::MAX)));
        let kernel = Self { attributes: Arc::default(), rest, takes };
        kernel.put(ATTRIBUTE, "slow");
        kernel.put("/sys/relays/register", "");
        kernel.add(0, OTHERS);
        kernel
    }

    fn put(&self, path: &str, value: &str) {
        self.attributes.lock().unwrap().insert(path.to_owned(), value.to_owned());
    }

    /// Adds a set of another run, and its device of this number.
    fn add(&self, number: usize, uuid: &str) {
        self.register(uuid);
        self.put(&format!("/sys/block/relay{number}/relay/label"), uuid);
    }

    fn take(&self) -> io::Result<()> {
        let mut takes = self.takes.lock().unwrap();
        *takes = takes.checked_sub(1).ok_or_else(|| io::Error::other("it takes nothing now"))?;
        Ok(())
    }

    fn register(&self, uuid: &str) {
        let devices = self.all().iter().filter(|path| path.ends_with("relay/stop")).count();
        self.put(&format!("/sys/relays/sets/{uuid}/stop"), &format!("relay{devices}"));
        self.put(&format!("/sys/relays/sets/{uuid}/holds"), "0");
        for attribute in ["stop", "label"] {
            self.put(&format!("/sys/block/relay{devices}/relay/{attribute}"), "");
        }
    }

    fn all(&self) -> Vec<String> {
        self.attributes.lock().unwrap().keys().cloned().collect()
    }
}

impl Machine for Kernel {
    fn command(
        &mut self,
        argv: &[String],
        deadline: Nanos,
        i: &Interrupt,
    ) -> io::Result<CommandOutput> {
        let [program, verb, uuid] = argv else {
            return self.rest.lock().unwrap().command(argv, deadline, i);
        };
        assert_eq!(program, "relayctl");
        self.take()?;
        let holds = format!("/sys/relays/sets/{uuid}/holds");
        let before = self.attributes.lock().unwrap().get(&holds).map(|text| text.parse::<u32>());
        let before = before.map_or(0, Result::unwrap);
        let now = if verb == "hold" { Some(before + 1) } else { before.checked_sub(1) };
        let Some(now) = now else {
            let stderr = "nobody holds it".to_owned();
            return Ok(CommandOutput { code: Some(1), stderr, ..CommandOutput::default() });
        };
        self.put(&holds, &now.to_string());
        Ok(CommandOutput { code: Some(0), ..CommandOutput::default() })
    }
    fn measured(
        &mut self,
        work: &MeasuredCommand,
        i: &Interrupt,
        listener: &mut Listener,
    ) -> io::Result<CommandOutcome> {
        self.rest.lock().unwrap().measured(work, i, listener)
    }
    fn discard(&mut self, _: &str) -> io::Result<Option<String>> {
        Ok(None)
    }
    fn wipe(&mut self, _: &str, _: Option<&Mark>) -> io::Result<()> {
        Ok(())
    }
    fn flush(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn read(&mut self, source: &Source) -> io::Result<String> {
        let gone = || io::Error::from(io::ErrorKind::NotFound);
        match source {
            Source::File { path } => {
                self.attributes.lock().unwrap().get(path).cloned().ok_or_else(gone)
            }
            Source::Holders { .. } => {
                let sets = self.attributes.lock().unwrap();
                let ours = sets.iter().find(|(path, _)| {
                    path.starts_with("/sys/relays/sets/0badcafe-") && path.ends_with("/stop")
                });
                Ok(ours.map(|(_, node)| format!("{node}\n")).unwrap_or_default())
            }
            _ => Err(gone()),
        }
    }
    fn remove_nodes(&mut self, _: &[String]) -> io::Result<Vec<String>> {
        Ok(Vec::new())
    }
    fn sync(&mut self) -> io::Result<()> {
        Ok(())
    }
    /// Stopping a set stops its device; each attribute of what is stopped goes.
    fn write(&mut self, path: &str, value: &str) -> io::Result<()> {
        if path.starts_with("/proc/") {
            return Ok(());
        }
        self.take()?;
        let Some(before) = self.attributes.lock().unwrap().get(path).cloned() else {
            return Err(io::ErrorKind::NotFound.into());
        };
        let holds = path.strip_suffix("/stop").map(|of| format!("{of}/holds"));
        let holds = holds.and_then(|path| self.attributes.lock().unwrap().get(&path).cloned());
        if holds.is_some_and(|holds| holds != "0") {
            return Err(io::ErrorKind::ResourceBusy.into());
        }
        match path.strip_suffix("/stop") {
            Some(stopped) => self.attributes.lock().unwrap().retain(|path, _| {
                let of_device = !before.is_empty() && path.contains(&format!("/{before}/"));
                !path.starts_with(stopped) && !of_device
            }),
            None if path.ends_with("/register") => self.register(value),
            None => self.put(path, value),
        }
        Ok(())
    }
    fn mount(&mut self, _: &str, _: &str, _: &str, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn unmount(&mut self, _: &str, _: Option<&str>) -> io::Result<()> {
        Ok(())
    }
    fn start(&mut self, _: &str, _: &[String]) -> io::Result<()> {
        Ok(())
    }
    fn stop(&mut self, _: &str) -> io::Result<()> {
        Ok(())
    }
    fn leftovers(&mut self, tag: &str) -> Vec<String> {
        let attributes = self.attributes.lock().unwrap();
        let labels = attributes.iter().filter_map(|(path, label)| {
            let node = path.strip_prefix("/sys/block/")?.strip_suffix("/relay/label")?;
            layers::is_of_run(label, tag).then(|| format!("relay {node}"))
        });
        let sets = attributes.keys().filter_map(|path| {
            let uuid = path.strip_prefix("/sys/relays/sets/")?.strip_suffix("/stop")?;
            layers::is_of_run(uuid, tag).then(|| format!("set of relays {uuid}"))
        });
        sets.chain(labels).collect()
    }
}

fn ledger(root: &Path, plan: &Plan) -> Ledger {
    let start = Start {
        command: vec!["a test".into()],
        tool_version: "0".into(),
        accelerator: Accelerator::None,
        accelerator_reason: None,
        simulated: false,
        devices: BTreeMap::new(),
        host: host::facts(),
        experiment_text: TEXT.into(),
    };
    Ledger::begin(root, plan, start, Box::new(|_| {})).unwrap()
}

fn executor(kernel: &Kernel) -> Executor {
    let mut executor = Executor::new(kernel.clone(), &Clock::simulated(None), &Interrupt::new());
    executor.bind("device.data", "/dev/made-up");
    executor
}

/// Writes what the executor did in a cell into the result, with ids or as earlier versions did.
fn write(ledger: &mut Ledger, executor: &mut Executor, cell: usize, ids: bool) {
    for mut line in executor.take_transcript() {
        line.cell = Some(cell);
        if !ids {
            (line.step, line.part, line.bound) = (None, None, BTreeMap::new());
        }
        let text = format!("{}\n", serde_json::to_string(&line).unwrap());
        assert_eq!(ids, text.contains("\"step\":"), "{text}");
        ledger.append("transcript.jsonl", text.as_bytes()).unwrap();
    }
}

/// Raises the stack of a cell.
fn raise(ledger: &mut Ledger, executor: &mut Executor, cell: &CellPlan) {
    for (at, step) in cell.up.iter().enumerate() {
        executor.numbered(Some(at), step).1.unwrap();
    }
    write(ledger, executor, cell.index, true);
}

/// The result of a run that was killed when `begun` steps of its cell had begun; the last one has no line in the transcript.
fn killed(root: &Path, plan: &Plan, (begun, ids): (usize, bool), kernel: &Kernel) -> ResultSet {
    let (mut ledger, mut executor, cell) = (ledger(root, plan), executor(kernel), &plan.cells[0]);
    for (at, step) in cell.up[..begun].iter().enumerate() {
        executor.numbered(Some(at), step).1.unwrap();
        if at + 1 < begun {
            write(&mut ledger, &mut executor, cell.index, ids);
        }
    }
    drop(ledger);
    results::open(root).unwrap()
}

#[test]
fn attributes_and_what_the_kernel_named_are_taken_down_whenever_the_run_was_killed() {
    let plan = plan();
    let before = Kernel::new().attributes.lock().unwrap().clone();
    for begun in (2..=plan.cells[0].up.len()).flat_map(|begun| [(begun, true), (begun, false)]) {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("result");
        let kernel = Kernel::new();
        let result = killed(&root, &plan, begun, &kernel);
        assert_ne!(*kernel.attributes.lock().unwrap(), before, "{begun:?}");
        let mut cleaning = Cleaning::of(&result, kernel.clone()).unwrap();
        let remains = cleaning.remains();
        assert!(remains.found.contains(&format!("value of the run in {ATTRIBUTE}")), "{remains:?}");
        assert_eq!(remains.left_alone, Vec::<String>::new(), "{begun:?}");
        let left = cleaning.take_down(&mut DirSink::reopen(&root).unwrap()).unwrap();
        assert_eq!(left, Vec::<String>::new(), "{begun:?}: {remains:?}");
        assert_eq!(*kernel.attributes.lock().unwrap(), before, "{begun:?}: {remains:?}");
    }
}

#[test]
fn of_two_steps_that_say_and_do_the_same_the_one_is_undone_that_was_not() {
    let plan = plan();
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("result");
    let kernel = Kernel::new();
    let before = kernel.attributes.lock().unwrap().clone();
    let (mut ledger, mut executor) = (ledger(&root, &plan), executor(&kernel));
    raise(&mut ledger, &mut executor, &plan.cells[0]);
    // The device is stopped and one hold released; then the kernel refuses everything.
    *kernel.takes.lock().unwrap() = 2;
    executor.undo_all();
    write(&mut ledger, &mut executor, 0, true);
    *kernel.takes.lock().unwrap() = usize::MAX;
    drop(ledger);
    let mut cleaning = Cleaning::of(&results::open(&root).unwrap(), kernel.clone()).unwrap();
    let left = cleaning.take_down(&mut DirSink::reopen(&root).unwrap()).unwrap();
    assert_eq!(left, Vec::<String>::new());
    assert_eq!(*kernel.attributes.lock().unwrap(), before);
    let done = results::open(&root).unwrap().transcript;
    let done = done.iter().filter(|line| line.undo && line.error.is_none());
    let released = done.filter(|line| line.argv.get(1).is_some_and(|verb| verb == "release"));
    let released: Vec<_> = released.map(|line| (line.step, line.part, line.exit_code)).collect();
    let hold = plan.cells[0].up.iter().position(|step| step.about == "hold the set").unwrap();
    assert_eq!(released, [(Some(hold + 1), Some(0), Some(0)), (Some(hold), Some(0), Some(0))]);
    // What was cleaned is not owed again.
    let mut again = Cleaning::of(&results::open(&root).unwrap(), kernel).unwrap();
    assert_eq!(again.remains(), run::clean::Remains::default());
}

#[test]
fn a_device_that_the_kernel_calls_otherwise_in_another_cell_is_taken_down_under_its_own_name() {
    let plan = plan();
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("result");
    let (mut ledger, kernel) = (ledger(&root, &plan), Kernel::new());
    let mut first = executor(&kernel);
    raise(&mut ledger, &mut first, &plan.cells[0]);
    assert!(first.undo_all().iter().all(|undone| undone.error.is_none()));
    write(&mut ledger, &mut first, 0, true);
    // The name that the device of the first cell had now belongs to somebody else's device.
    kernel.add(1, LATER);
    let before = kernel.attributes.lock().unwrap().clone();
    raise(&mut ledger, &mut executor(&kernel), &plan.cells[1]);
    drop(ledger);
    let mut cleaning = Cleaning::of(&results::open(&root).unwrap(), kernel.clone()).unwrap();
    let commands = cleaning.remains().commands;
    assert!(commands.contains(&"echo 1 > /sys/block/relay2/relay/stop".to_owned()), "{commands:?}");
    let left = cleaning.take_down(&mut DirSink::reopen(&root).unwrap()).unwrap();
    assert_eq!(left, Vec::<String>::new(), "{commands:?}");
    assert_eq!(*kernel.attributes.lock().unwrap(), before, "{commands:?}");
    let message = results::open(&root).unwrap().transcript;
    let mut undone = message.iter().filter(|line| line.undo);
    assert!(undone.all(|line| line.bound.is_empty()), "names of another cell: {message:?}");
}

#[test]
fn an_attribute_that_somebody_changed_since_is_left_as_it_is() {
    let plan = plan();
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("result");
    let kernel = Kernel::new();
    let result = killed(&root, &plan, (4, true), &kernel);
    kernel.put(ATTRIBUTE, "faster");
    let mut cleaning = Cleaning::of(&result, kernel.clone()).unwrap();
    assert_eq!(cleaning.remains().found.len(), 1, "the set alone");
    let left = cleaning.take_down(&mut DirSink::reopen(&root).unwrap()).unwrap();
    assert_eq!(left, Vec::<String>::new());
    assert_eq!(kernel.attributes.lock().unwrap()[ATTRIBUTE], "faster");
}
