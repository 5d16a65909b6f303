//! The simulated machine: twins of the layers answer, time is virtual, nothing is touched.

use std::collections::{BTreeMap, BTreeSet};
use std::io;

use layers::machine::MachineTwin;
use layers::probe::Source;
use layers::step::{Action, Condition, Mark, is_planned, show_argv};
use layers::{Twin, TwinAnswer, Writes};
use results::model::{AskedContent, CommandFigures};
use sys::clock::Clock;
use sys::interrupt::{Interrupt, Level};
use units::Nanos;

use crate::{CommandOutcome, CommandOutput, Listener, Machine, MeasuredCommand};

/// Virtual time that a command takes.
const COMMAND: Nanos = Nanos(50_000_000);
/// Virtual time that a discard or a flush takes.
const TOUCH: Nanos = Nanos(5_000_000);

/// Virtual time that a machine takes to go off and come up again.
const BOOT: Nanos = Nanos(10_000_000_000);

/// A simulated layer at its place.
pub struct PlacedTwin {
    /// The twin that answers for it.
    pub twin: Box<dyn Twin>,
    /// Names of the layers through which writes reach it, its own among them.
    pub reached_from: BTreeSet<String>,
}

/// A machine of simulated layers: it answers the commands that a real one would execute.
pub struct SimulatedMachine {
    twins: Vec<PlacedTwin>,
    machine: MachineTwin,
    clock: Clock,
    /// Actions of stages, placeholders allowed: they succeed though no twin models them.
    staged: Vec<Action>,
    /// Tells whether anything was done that a twin need not model.
    worked_on: bool,
    /// Attributes of the kernel that were written, directories where something is mounted, processes that run.
    attributes: BTreeMap<String, String>,
    mounts: BTreeSet<String>,
    processes: BTreeSet<String>,
}

impl SimulatedMachine {
    /// A machine that answers as `twins` do, asked in their order (from the bottom of the stack to its top), in the
    /// time of `clock`; diskstats and CPU have no figures.
    pub fn new(twins: Vec<PlacedTwin>, clock: &Clock) -> Self {
        let (attributes, mounts, processes) = Default::default();
        let (machine, staged, worked_on) = (MachineTwin, Vec::new(), false);
        let clock = clock.clone();
        Self { twins, machine, clock, staged, worked_on, attributes, mounts, processes }
    }

    /// Lets actions of stages succeed where no twin models them; from then on the layers have no figures.
    #[must_use]
    pub fn letting(self, staged: Vec<Action>) -> Self {
        Self { staged, ..self }
    }

    fn answer(&mut self, source: &Source) -> Option<String> {
        let mut twins = self.twins.iter_mut();
        twins.find_map(|placed| placed.twin.read(source)).or_else(|| self.machine.read(source))
    }
}

impl Machine for SimulatedMachine {
    fn command(
        &mut self,
        argv: &[String],
        _deadline: Nanos,
        interrupt: &Interrupt,
    ) -> io::Result<CommandOutput> {
        // A paced clock really waits here, so that a test can interrupt in the midst of a command.
        self.clock.sleep(COMMAND, interrupt);
        for placed in &mut self.twins {
            if let TwinAnswer::Ran { exit, stdout, stderr } = placed.twin.command(argv) {
                let code = Some(exit);
                return Ok(CommandOutput { code, stdout, stderr, ..CommandOutput::default() });
            }
        }
        let command = show_argv(argv);
        let is = |action: &Action| {
            matches!(action, Action::Command { .. }) && is_planned(&action.show(), &command)
        };
        if self.staged.iter().any(is) {
            self.lost_track();
            return Ok(CommandOutput { code: Some(0), ..CommandOutput::default() });
        }
        Err(io::Error::new(io::ErrorKind::NotFound, "no twin answers this command"))
    }

    /// Nothing is run, so that nothing is measured.
    fn measured(
        &mut self,
        _: &MeasuredCommand,
        interrupt: &Interrupt,
        _: &mut Listener,
    ) -> io::Result<CommandOutcome> {
        let interrupted = self.clock.sleep(COMMAND, interrupt) != Level::None;
        self.lost_track();
        let figures = CommandFigures { exit_code: Some(0), ..Default::default() };
        Ok(CommandOutcome { figures, interrupted, ..CommandOutcome::default() })
    }

    fn discard(&mut self, _device: &str) -> io::Result<Option<String>> {
        self.clock.advance(TOUCH);
        Ok(None)
    }

    fn wipe(&mut self, _device: &str, _: Option<&Mark>) -> io::Result<()> {
        self.clock.advance(TOUCH);
        Ok(())
    }

    fn flush(&mut self, device: &str) -> io::Result<()> {
        self.clock.advance(TOUCH);
        self.twins.iter_mut().for_each(|placed| placed.twin.flushed(device));
        Ok(())
    }

    fn read(&mut self, source: &Source) -> io::Result<String> {
        let attribute = match source {
            Source::File { path } => self.attributes.get(path).cloned(),
            // A setting that was never set has no value.
            Source::Environment { .. } => {
                Some(self.attributes.get(&source.show()).cloned().unwrap_or_default())
            }
            Source::Trace { .. } | Source::WriteRuns { .. } | Source::Latency { .. } => {
                Some("absent: a simulated machine has no tracefs".to_owned())
            }
            _ => None,
        };
        attribute
            .or_else(|| self.answer(source))
            .ok_or_else(|| io::Error::from_raw_os_error(libc::ENXIO))
    }

    fn remove_nodes(&mut self, nodes: &[String]) -> io::Result<Vec<String>> {
        let twins = self.twins.iter_mut();
        Ok(twins.flat_map(|placed| placed.twin.remove_nodes(nodes)).collect())
    }

    fn sync(&mut self) -> io::Result<()> {
        self.clock.advance(TOUCH);
        Ok(())
    }

    fn write(&mut self, path: &str, value: &str) -> io::Result<()> {
        self.clock.advance(TOUCH);
        self.attributes.insert(path.to_owned(), value.to_owned());
        Ok(())
    }

    fn set(&mut self, setting: &str, device: Option<&str>, value: &str) -> io::Result<()> {
        let of =
            Source::Environment { setting: setting.to_owned(), device: device.map(str::to_owned) };
        self.write(&of.show(), value)
    }

    fn mount(&mut self, _: &str, directory: &str, _: &str, _: &str) -> io::Result<()> {
        self.clock.advance(TOUCH);
        self.mounts.insert(directory.to_owned());
        Ok(())
    }

    fn unmount(&mut self, directory: &str, _: Option<&str>) -> io::Result<()> {
        self.clock.advance(TOUCH);
        self.mounts.remove(directory);
        Ok(())
    }

    fn start(&mut self, name: &str, _: &[String]) -> io::Result<()> {
        self.processes.insert(name.to_owned());
        Ok(())
    }

    /// Clears what is in memory; the twins stay, since they model what is on the devices.
    fn reboot(&mut self) -> io::Result<()> {
        self.clock.advance(BOOT);
        self.processes.clear();
        self.attributes.clear();
        self.mounts.clear();
        self.twins.iter_mut().for_each(|placed| placed.twin.power_off());
        Ok(())
    }

    fn stop(&mut self, name: &str) -> io::Result<()> {
        self.processes.remove(name);
        Ok(())
    }

    fn leftovers(&mut self, _tag: &str) -> Vec<String> {
        let mounts = self.mounts.iter().map(|path| format!("mount at {path}"));
        let processes = self.processes.iter().map(|name| format!("process {name}"));
        let twins = self.twins.iter().flat_map(|placed| placed.twin.leftovers());
        mounts.chain(processes).chain(twins).collect()
    }

    fn bears(&mut self, device: &str, tag: &str) -> bool {
        let left = self.leftovers(tag);
        let group = format!("volume group fathom_{tag}");
        left.contains(&format!("physical volume {device}"))
            && left.iter().any(|left| left.starts_with(&group))
    }

    fn wrote(&mut self, target: &str, writes: &Writes, content: &AskedContent) {
        self.worked_on = true;
        for placed in &mut self.twins {
            if placed.reached_from.contains(target) {
                placed.twin.wrote(writes, content);
            }
        }
    }

    fn lost_track(&mut self) {
        self.worked_on = true;
        self.twins.iter_mut().for_each(|placed| placed.twin.lost_track());
    }

    /// Tells whether a wait ends at once: it is a stage's own wait, a twin grants it, or a stage did something that the layer's model does not know.
    fn grants(&mut self, source: &Source, until: &Condition) -> bool {
        let wait = source.show();
        let staged = self.staged.iter().any(|action| match action {
            Action::Wait { source, until: condition, .. } => {
                condition == until && is_planned(&source.show(), &wait)
            }
            _ => false,
        });
        let granted = self.twins.iter().any(|placed| placed.twin.grants(source, until));
        staged || granted || self.worked_on && self.answer(source).is_none()
    }
}
