//! Context of a cell: the clock, the recorder, and an executor that knows its devices.

use results::model::MachineFacts;
use sys::clock::Clock;
use sys::interrupt::Interrupt;

use crate::inject::{InjectedFault, Injection};
use crate::recorder::Recorder;

/// Everything that a cell needs and that outlives the cell.
pub(crate) struct CellContext<'a> {
    /// Number of cells of the plan.
    pub cell_count: usize,
    /// The run's tag, part of the names of what it makes.
    pub run_tag: &'a str,
    /// Facts of the machine that runs the cells; empty in a simulation.
    pub machine: MachineFacts,
    pub clock: &'a Clock,
    pub interrupt: &'a Interrupt,
    pub recorder: &'a Recorder,
    pub injections: &'a [Injection],
    /// Carries out a fault that only a guest may suffer.
    pub inject_fault: &'a dyn Fn(InjectedFault),
    /// Tells whether a cell that reboots its machine continues on another machine; otherwise the same machine continues it.
    pub suspends: bool,
}

/// Paths by name.
pub(crate) type Paths = std::collections::BTreeMap<String, String>;

/// An executor of `machine` that knows the block device of each role and the directory of each corpus.
pub(crate) fn executor(
    machine: impl host::Machine + 'static,
    scene: &CellContext,
    devices: &Paths,
    corpora: &Paths,
) -> host::Executor {
    let mut executor = host::Executor::new(machine, scene.clock, scene.interrupt);
    for (role, path) in devices {
        executor.bind(&format!("device.{role}"), path);
    }
    for (name, path) in corpora {
        executor.bind(&format!("corpus.{name}"), path);
    }
    executor
}
