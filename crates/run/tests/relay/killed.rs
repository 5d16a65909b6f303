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
repeat = 1
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

/// A kernel with the driver of the layer: its attributes, which outlive the program that wrote them.
#[derive(Clone)]
struct Kernel {
    attributes: Arc<Mutex<BTreeMap<String, String>>>,
    rest: Arc<Mutex<SimulatedMachine>>,
}

impl Kernel {
    /// One on which another run has its set and the first device.
    fn new() -> Self {
        let rest = SimulatedMachine::new(Vec::new(), &Clock::simulated(None));
        let kernel = Self { attributes: Arc::default(), rest: Arc::new(Mutex::new(rest)) };
        kernel.put(ATTRIBUTE, "slow");
        kernel.put("/sys/relays/register", "");
        kernel.register(OTHERS);
        kernel.put("/sys/block/relay0/relay/label", OTHERS);
        kernel
    }

    fn put(&self, path: &str, value: &str) {
        self.attributes.lock().unwrap().insert(path.to_owned(), value.to_owned());
    }

    fn register(&self, uuid: &str) {
        let devices = self.all().iter().filter(|path| path.ends_with("relay/stop")).count();
        self.put(&format!("/sys/relays/sets/{uuid}/stop"), &format!("relay{devices}"));
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
        self.rest.lock().unwrap().command(argv, deadline, i)
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
                let there = self.all().contains(&"/sys/block/relay1/relay/stop".to_owned());
                Ok(if there { "relay1\n".to_owned() } else { String::new() })
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
        let Some(before) = self.attributes.lock().unwrap().get(path).cloned() else {
            return Err(io::ErrorKind::NotFound.into());
        };
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

/// The result of a run that was killed when `begun` steps of its cell had begun; the last one has no line in the transcript.
fn killed(root: &Path, plan: &Plan, cell: &CellPlan, begun: usize, kernel: &Kernel) -> ResultSet {
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
    let mut ledger = Ledger::begin(root, plan, start, Box::new(|_| {})).unwrap();
    let mut executor = Executor::new(kernel.clone(), &Clock::simulated(None), &Interrupt::new());
    executor.bind("device.data", "/dev/made-up");
    for (at, step) in cell.up[..begun].iter().enumerate() {
        executor.step(step).1.unwrap();
        for mut line in executor.take_transcript() {
            line.cell = Some(cell.index);
            let text = format!("{}\n", serde_json::to_string(&line).unwrap());
            if at + 1 < begun {
                ledger.append("transcript.jsonl", text.as_bytes()).unwrap();
            }
        }
    }
    drop(ledger);
    results::open(root).unwrap()
}

#[test]
fn attributes_and_what_the_kernel_named_are_taken_down_whenever_the_run_was_killed() {
    let plan = plan();
    let cell = &plan.cells[0];
    let before = Kernel::new().attributes.lock().unwrap().clone();
    for begun in 2..=cell.up.len() {
        let dir = tempfile::tempdir().unwrap();
        let root = dir.path().join("result");
        let kernel = Kernel::new();
        let result = killed(&root, &plan, cell, begun, &kernel);
        assert_ne!(*kernel.attributes.lock().unwrap(), before, "{begun}");
        let mut cleaning = Cleaning::of(&result, kernel.clone()).unwrap();
        let remains = cleaning.remains();
        assert!(remains.found.contains(&format!("value of the run in {ATTRIBUTE}")), "{remains:?}");
        assert_eq!(remains.left_alone, Vec::<String>::new(), "{begun}");
        let left = cleaning.take_down(&mut DirSink::reopen(&root).unwrap()).unwrap();
        assert_eq!(left, Vec::<String>::new(), "{begun}: {remains:?}");
        assert_eq!(*kernel.attributes.lock().unwrap(), before, "{begun}: {remains:?}");
    }
}

#[test]
fn an_attribute_that_somebody_changed_since_is_left_as_it_is() {
    let plan = plan();
    let dir = tempfile::tempdir().unwrap();
    let root = dir.path().join("result");
    let kernel = Kernel::new();
    let result = killed(&root, &plan, &plan.cells[0], 4, &kernel);
    kernel.put(ATTRIBUTE, "faster");
    let mut cleaning = Cleaning::of(&result, kernel.clone()).unwrap();
    assert_eq!(cleaning.remains().found.len(), 1, "the set alone");
    let left = cleaning.take_down(&mut DirSink::reopen(&root).unwrap()).unwrap();
    assert_eq!(left, Vec::<String>::new());
    assert_eq!(kernel.attributes.lock().unwrap()[ATTRIBUTE], "faster");
}
