//! Stacks of real layers on simulated machines that fail where a test wants it.

use std::collections::{BTreeMap, BTreeSet};
use std::io;
use std::sync::{Arc, Mutex};

use host::{
    CommandOutcome, CommandOutput, Executor, Listener, Machine, MeasuredCommand, PlacedTwin,
    SimulatedMachine,
};
use layers::probe::Source;
use layers::step::{Condition, Mark, Step};
use layers::{Offer, Place, RaisePlan};
use sys::clock::Clock;
use sys::interrupt::Interrupt;
use units::Nanos;

/// A layer that is to be raised on simulated devices: `/dev/simulated`, and `/dev/simulated-NAME` for inputs of other names than `data`.
pub fn raised(kind: &str, settings: &str) -> (RaisePlan, Vec<Step>, Box<dyn layers::Twin>) {
    let place = |inputs| Place { name: kind, run_tag: "0badcafe", inputs };
    let kind = layers::kind(kind).unwrap();
    let needed = kind.inputs.iter().filter(|input| !input.optional);
    let names: Vec<_> = needed.map(|input| input.name).collect();
    let devices = |device: &dyn Fn(&str) -> String| -> BTreeMap<String, Offer> {
        let offer = |name: &&str| Offer::Block { device: device(name), bytes: 7 << 30 };
        names.iter().map(|name| ((*name).to_owned(), offer(name))).collect()
    };
    let inputs = devices(&|name| format!("{{device.{name}}}"));
    let resolved = devices(&simulated);
    let at = place(&inputs);
    let layer = (kind.parse)(&settings.parse().unwrap()).unwrap();
    let raised = layer.raise(&at).unwrap();
    let fresh = names.iter().map(|name| layers::fresh(&format!("{{device.{name}}}")));
    let mut steps: Vec<_> = fresh.collect();
    steps.extend(raised.up.iter().chain(&raised.ready).chain(&raised.settle).cloned());
    let twin = kind.twin(layer.as_ref(), &place(&resolved)).unwrap();
    (raised, steps, twin)
}

/// The node of the simulated device that is the input of this name.
fn simulated(name: &str) -> String {
    match name {
        "data" => "/dev/simulated".to_owned(),
        other => format!("/dev/simulated-{other}"),
    }
}

/// The wish of a test for one call of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// The call is not made and fails.
    Refuse,
    /// The call is made, and then reported as failed.
    FailAfter,
    /// From this call on the nodes of all devices lead to others.
    Replace,
}

/// A simulated machine that counts its calls and grants a wish at one of them.
pub struct Wayward {
    inner: SimulatedMachine,
    calls: Arc<Mutex<usize>>,
    wish: Option<(usize, Wish)>,
    /// Calls that named a node when it led to another device.
    foreign: Arc<Mutex<Vec<String>>>,
}

impl Wayward {
    fn replaced(&self) -> bool {
        self.wish
            .is_some_and(|(at, wish)| wish == Wish::Replace && at <= *self.calls.lock().unwrap())
    }

    /// Notes that a call names a device.
    fn names(&self, text: &str) {
        if self.replaced() && text.contains("/dev/simulated") {
            self.foreign.lock().unwrap().push(text.to_owned());
        }
    }

    fn grant<T>(
        &mut self,
        call: impl FnOnce(&mut SimulatedMachine) -> io::Result<T>,
    ) -> io::Result<T> {
        let mut calls = self.calls.lock().unwrap();
        let here = *calls;
        *calls += 1;
        let failed = || Err(io::Error::other("as the test wished"));
        match self.wish {
            Some((at, Wish::Refuse)) if at == here => failed(),
            Some((at, Wish::FailAfter)) if at == here => {
                call(&mut self.inner).and_then(|_| failed())
            }
            _ => call(&mut self.inner),
        }
    }
}

impl Machine for Wayward {
    fn grants(&mut self, source: &Source, until: &Condition) -> bool {
        self.inner.grants(source, until)
    }
    fn command(
        &mut self,
        argv: &[String],
        deadline: Nanos,
        i: &Interrupt,
    ) -> io::Result<CommandOutput> {
        self.names(&argv.join(" "));
        self.grant(|m| m.command(argv, deadline, i))
    }
    fn measured(
        &mut self,
        work: &MeasuredCommand,
        i: &Interrupt,
        listener: &mut Listener,
    ) -> io::Result<CommandOutcome> {
        self.grant(|m| m.measured(work, i, listener))
    }
    fn discard(&mut self, device: &str) -> io::Result<Option<String>> {
        self.names(&format!("discard {device}"));
        self.grant(|m| m.discard(device))
    }
    fn wipe(&mut self, device: &str, mark: Option<&Mark>) -> io::Result<()> {
        self.names(&format!("wipe {device}"));
        self.grant(|m| m.wipe(device, mark))
    }
    fn flush(&mut self, device: &str) -> io::Result<()> {
        self.names(&format!("flush {device}"));
        self.grant(|m| m.flush(device))
    }
    fn read(&mut self, source: &Source) -> io::Result<String> {
        self.grant(|m| m.read(source))
    }
    fn remove_nodes(&mut self, nodes: &[String]) -> io::Result<Vec<String>> {
        self.grant(|m| m.remove_nodes(nodes))
    }
    fn sync(&mut self) -> io::Result<()> {
        self.grant(Machine::sync)
    }
    fn write(&mut self, path: &str, value: &str) -> io::Result<()> {
        self.grant(|m| m.write(path, value))
    }
    fn mount(&mut self, device: &str, at: &str, filesystem: &str, with: &str) -> io::Result<()> {
        self.names(&format!("mount {device}"));
        self.grant(|m| m.mount(device, at, filesystem, with))
    }
    fn unmount(&mut self, at: &str, device: Option<&str>) -> io::Result<()> {
        self.grant(|m| m.unmount(at, device))
    }
    fn start(&mut self, name: &str, argv: &[String]) -> io::Result<()> {
        self.names(&argv.join(" "));
        self.grant(|m| m.start(name, argv))
    }
    fn stop(&mut self, name: &str) -> io::Result<()> {
        self.grant(|m| m.stop(name))
    }
    fn intact(&mut self, words: Option<&str>) -> io::Result<()> {
        let meant = words.is_none_or(|words| words.contains("/dev/simulated"));
        match self.replaced() && meant {
            true => Err(io::Error::other("it is another device now")),
            false => Ok(()),
        }
    }
    fn leftovers(&mut self, tag: &str) -> Vec<String> {
        self.inner.leftovers(tag)
    }
}

/// An executor on a simulated machine, its interrupt, and its clock.
pub fn executor(
    twin: Box<dyn layers::Twin>,
    wish: Option<(usize, Wish)>,
) -> (Executor, Interrupt, Clock) {
    let (executor, interrupt, clock, _) = watched(twin, wish);
    (executor, interrupt, clock)
}

/// The same, with the calls that named a node when it led to another device.
pub fn watched(
    twin: Box<dyn layers::Twin>,
    wish: Option<(usize, Wish)>,
) -> (Executor, Interrupt, Clock, Arc<Mutex<Vec<String>>>) {
    let clock = Clock::simulated(None);
    let interrupt = Interrupt::new();
    let inner =
        SimulatedMachine::new(vec![PlacedTwin { twin, reached_from: BTreeSet::new() }], &clock);
    let foreign = Arc::<Mutex<Vec<String>>>::default();
    let machine = Wayward { inner, calls: Arc::default(), wish, foreign: foreign.clone() };
    let mut executor = Executor::new(machine, &clock, &interrupt);
    let inputs = layers::kinds().iter().flat_map(|kind| kind.inputs);
    inputs
        .for_each(|input| executor.bind(&format!("device.{}", input.name), &simulated(input.name)));
    (executor, interrupt, clock, foreign)
}
