//! The guest's half of a run: executes the mission's cells and sends everything to the host.

use std::collections::BTreeMap;

use experiment::Tree;
use results::model::CellState;
use sys::clock::Clock;
use sys::interrupt::Interrupt;

use crate::cell::{self, Scene};
use crate::inject::Fault;
use crate::loader::Real;
use crate::message::{Message, Post};
use crate::recorder::Recorder;
use crate::{Mission, RunError};

/// The guest's end of the link, as the run sees it.
pub trait Link: Clone + Send + 'static {
    /// Sends one message to the host; an error when the host is gone.
    fn payload(&mut self, bytes: &[u8]) -> Result<(), String>;
    /// Says that the first step of the plan begins.
    fn first_step(&mut self) -> Result<(), String>;
}

struct ToHost<L>(L);

impl<L: Link> Post for ToHost<L> {
    fn post(&mut self, message: Message) -> Result<(), RunError> {
        self.0.payload(&message.encode()).map_err(RunError::Gone)
    }
}

/// Does what the mission says. `disk` gives the block device of a role, `tree` the directory of a tree; `hold` gets the target's path when
/// a stack is only to be held.
pub fn serve<L: Link>(
    mission: &[u8],
    mut link: L,
    interrupt: &Interrupt,
    (disk, tree): (impl Fn(&str) -> String, impl Fn(&str, &Tree) -> String),
    hold: impl FnOnce(&str),
) -> Result<(), RunError> {
    let mission: Mission =
        serde_json::from_slice(mission).map_err(|e| RunError::Language(e.to_string()))?;
    link.first_step().map_err(RunError::Gone)?;
    let roles = mission.plan.devices.keys();
    let devices: BTreeMap<_, _> = roles.map(|role| (role.clone(), disk(role))).collect();
    let trees = &mission.plan.needs.trees;
    let trees = trees.iter().map(|(name, from)| (name.clone(), tree(name, from))).collect();
    let recorder = Recorder::new(Box::new(ToHost(link)));
    recorder.send(Message::Machine(host::facts()));
    let clock = Clock::real();
    let scene = Scene {
        of: mission.plan.cells.len(),
        run_tag: &mission.plan.run_tag,
        clock: &clock,
        interrupt,
        recorder: &recorder,
        injections: &mission.injections,
        suffer: &suffer,
    };
    let real = || crate::executor(host::RealMachine::new(), &scene, &devices, &trees);
    if let Some(plan) = mission.hold.and_then(|index| mission.plan.cells.get(index)) {
        let state = cell::hold(&scene, plan, &mut real(), hold);
        return ended(state, &recorder);
    }
    let mut loader = Real { choices: mission.choices.clone(), ..Real::default() };
    for &index in &mission.cells {
        let plan = mission
            .plan
            .cells
            .get(index)
            .ok_or_else(|| RunError::Language(format!("the plan has no cell {index}")))?;
        cell::run(&scene, plan, &mut real(), &mut loader);
        if let Some(error) = recorder.failure() {
            return Err(error);
        }
        // An injected interrupt ends its cell only; the user's ends the run.
        if interrupt.level() != sys::interrupt::Level::None {
            break;
        }
    }
    Ok(())
}

/// Faults that end the guest. They are only ever asked for by tests, and only here: never on a host.
fn suffer(fault: Fault) {
    match fault {
        Fault::Crash => {
            let _ = std::fs::write("/proc/sysrq-trigger", "c");
        }
        Fault::Hang => loop {
            std::thread::sleep(std::time::Duration::from_secs(60));
        },
        Fault::Fail | Fault::Interrupt | Fault::Spoil => {}
    }
}

fn ended(state: CellState, recorder: &Recorder) -> Result<(), RunError> {
    match (state, recorder.failure()) {
        (_, Some(error)) => Err(error),
        (CellState::Failed, None) => Err(RunError::Guest("its stack could not be raised".into())),
        _ => Ok(()),
    }
}

/// A message that shows people `text`.
pub fn notice(text: &str) -> Vec<u8> {
    Message::Event(crate::Event::Notice { cell: None, text: text.to_owned() }).encode()
}
