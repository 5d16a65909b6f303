//! Stacks of real layers on simulated machines that fail where a test wants it.

use std::collections::BTreeSet;
use std::io;
use std::sync::{Arc, Mutex};

use host::{
    CommandOutcome, CommandOutput, Executor, Machine, MeasuredCommand, PlacedTwin, SimulatedMachine,
};
use layers::probe::Source;
use layers::step::{Mark, Step};
use layers::{Place, RaisePlan};
use sys::clock::Clock;
use sys::interrupt::Interrupt;
use units::Nanos;

pub fn raised(kind: &str, settings: &str) -> (RaisePlan, Vec<Step>, Box<dyn layers::Twin>) {
    let place = |inputs| Place { name: kind, run_tag: "0badcafe", inputs };
    let inputs = layers::on_device("{device.data}", 7 << 30);
    let resolved = layers::on_device("/dev/simulated", 7 << 30);
    let at = place(&inputs);
    let kind = layers::kind(kind).unwrap();
    let layer = (kind.parse)(&settings.parse().unwrap()).unwrap();
    let raised = layer.raise(&at).unwrap();
    let mut steps = vec![layers::fresh("{device.data}")];
    steps.extend(raised.up.iter().chain(&raised.ready).chain(&raised.settle).cloned());
    let twin = kind.twin(layer.as_ref(), &place(&resolved)).unwrap();
    (raised, steps, twin)
}

/// What a test wants of one call of the machine.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Wish {
    /// The call is not made and fails.
    Refuse,
    /// The call is made, and then reported as failed.
    FailAfter,
}

/// A simulated machine that counts its calls and grants a wish at one of them.
pub struct Wayward {
    inner: SimulatedMachine,
    calls: Arc<Mutex<usize>>,
    wish: Option<(usize, Wish)>,
}

impl Wayward {
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
    fn command(
        &mut self,
        argv: &[String],
        deadline: Nanos,
        i: &Interrupt,
    ) -> io::Result<CommandOutput> {
        self.grant(|m| m.command(argv, deadline, i))
    }
    fn measured(&mut self, work: &MeasuredCommand, i: &Interrupt) -> io::Result<CommandOutcome> {
        self.grant(|m| m.measured(work, i))
    }
    fn discard(&mut self, device: &str) -> io::Result<Option<String>> {
        self.grant(|m| m.discard(device))
    }
    fn wipe(&mut self, device: &str, mark: Option<&Mark>) -> io::Result<()> {
        self.grant(|m| m.wipe(device, mark))
    }
    fn flush(&mut self, device: &str) -> io::Result<()> {
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
        self.grant(|m| m.mount(device, at, filesystem, with))
    }
    fn unmount(&mut self, at: &str, device: Option<&str>) -> io::Result<()> {
        self.grant(|m| m.unmount(at, device))
    }
    fn start(&mut self, name: &str, argv: &[String]) -> io::Result<()> {
        self.grant(|m| m.start(name, argv))
    }
    fn stop(&mut self, name: &str) -> io::Result<()> {
        self.grant(|m| m.stop(name))
    }
    fn leftovers(&mut self, tag: &str) -> Vec<String> {
        self.inner.leftovers(tag)
    }
}

/// An executor on a simulated machine, its interrupt, and the count of calls.
pub fn executor(
    twin: Box<dyn layers::Twin>,
    wish: Option<(usize, Wish)>,
) -> (Executor, Interrupt, Clock) {
    let clock = Clock::simulated(None);
    let interrupt = Interrupt::new();
    let inner =
        SimulatedMachine::new(vec![PlacedTwin { twin, reached_from: BTreeSet::new() }], &clock);
    let machine = Wayward { inner, calls: Arc::default(), wish };
    let mut executor = Executor::new(machine, &clock, &interrupt);
    executor.bind("device.data", "/dev/simulated");
    (executor, interrupt, clock)
}
