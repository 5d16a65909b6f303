//! The state of an executor as a value, with which another machine can go on where this one stops.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::Executor;
use super::owed::Owed;

/// Everything that an executor remembers of its work.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct ExecutorState {
    /// Names that were bound, with their values.
    names: BTreeMap<String, String>,
    facts: BTreeMap<String, String>,
    /// The undo that is owed; the last one is done first.
    owed: Vec<Owed>,
}

impl ExecutorState {
    /// Adds a fact of the cell, for the machine that takes up this state to report.
    pub fn note_fact(&mut self, name: &str, value: &str) {
        self.facts.insert(name.to_owned(), value.to_owned());
    }
}

impl Executor {
    /// Returns its state.
    pub fn state(&self) -> ExecutorState {
        let (names, facts) = (self.names.clone(), self.facts.clone());
        ExecutorState { names, facts, owed: self.owed.clone() }
    }

    /// Goes on from the state of another executor. Names that are bound here already keep their values, because the devices of this machine have
    /// other names.
    pub fn continue_from(&mut self, state: ExecutorState) {
        let ExecutorState { names, facts, owed } = state;
        for (name, value) in names {
            self.names.entry(name).or_insert(value);
        }
        self.facts.extend(facts);
        self.owed.extend(owed);
    }
}

#[cfg(test)]
mod tests {
    use layers::step::{Action, MachineEnd, Step};
    use sys::clock::Clock;
    use sys::interrupt::Interrupt;

    use super::*;
    use crate::SimulatedMachine;

    fn executor(data: &str) -> Executor {
        let clock = Clock::simulated(None);
        let machine = SimulatedMachine::new(Vec::new(), &clock);
        let mut executor = Executor::new(machine, &clock, &Interrupt::new());
        executor.bind("device.data", data);
        executor
    }

    fn mounted(at: &str) -> Step {
        let (device, directory) = ("{device.data}".to_owned(), at.to_owned());
        Step {
            about: "mount".into(),
            action: Action::Mount {
                device: device.clone(),
                directory: directory.clone(),
                filesystem: "xfs".into(),
                options: String::new(),
            },
            undo: vec![Action::Unmount { directory, device: Some(device) }],
            deadline_s: 5,
        }
    }

    #[test]
    fn another_executor_undoes_what_was_owed_in_its_order_with_its_own_names() {
        let mut before = executor("/dev/vda");
        before.bind("vdo.instance", "3");
        for directory in ["/run/lower", "/run/upper"] {
            before.step(&mounted(directory)).1.unwrap();
        }
        let travelled = serde_json::to_string(&before.state()).unwrap();
        let mut after = executor("/dev/vdb");
        after.continue_from(serde_json::from_str(&travelled).unwrap());
        assert_eq!(after.resolve("{device.data} {vdo.instance}").unwrap(), "/dev/vdb 3");
        let undone: Vec<_> = after.undo_all().into_iter().map(|step| step.command).collect();
        assert_eq!(undone[0].split(' ').nth(1), Some("/run/upper"), "{undone:?}");
        assert_eq!(undone[1].split(' ').nth(1), Some("/run/lower"), "{undone:?}");
    }

    #[test]
    fn only_a_simulated_machine_boots_anew_in_its_place() {
        let step = Step {
            about: "boot".into(),
            action: Action::Reboot { after: MachineEnd::Shutdown },
            undo: Vec::new(),
            deadline_s: 600,
        };
        executor("/dev/x").step(&step).1.unwrap();
        let (clock, interrupt) = (Clock::real(), Interrupt::new());
        let mut real = Executor::new(crate::RealMachine::new(), &clock, &interrupt);
        assert!(real.step(&step).1.is_err());
    }
}
