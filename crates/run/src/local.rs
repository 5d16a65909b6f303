//! A run on this machine, or on its simulated twin.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::sync::{Arc, Mutex, PoisonError};

use plan::{Corpus, Plan};
use results::model::CellState;
use sys::clock::Clock;
use sys::interrupt::{Interrupt, Level};

use crate::cell;
use crate::loader::Real;
use crate::looks::Looks;
use crate::message::{Message, Post};
use crate::quiet::{QuietMachine, Waiting};
use crate::recorder::Recorder;
use crate::scene::CellContext;
use crate::simulated::{self, Twin};
use crate::{Injection, Ledger, Paths, RunError, RunOutcome};

/// Machine that executes the plan: this one, or simulated layers.
pub enum LocalMachine {
    /// This machine.
    Real {
        /// Block device of each role, claimed.
        devices: BTreeMap<String, String>,
        /// The devices that are written to, as they were claimed.
        claimed: Vec<host::ClaimedDevice>,
        /// Directories of the corpora that were made from a seed.
        made: BTreeMap<String, PathBuf>,
    },
    /// Twins in virtual time; `pace` is real seconds per simulated one, `None` for as fast as it goes.
    Simulated {
        /// Real seconds per simulated second.
        pace: Option<f64>,
    },
}

/// The ledger, shared between the recorder of the cells and the end of the run.
#[derive(Clone)]
struct Shared(Arc<Mutex<Option<Ledger>>>);

impl Shared {
    fn with<T>(
        &self,
        work: impl FnOnce(&mut Ledger) -> Result<T, RunError>,
    ) -> Result<T, RunError> {
        let mut place = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        place.as_mut().map_or_else(|| Err(RunError::Gone("the ledger is closed".into())), work)
    }
}

impl Post for Shared {
    fn post(&mut self, message: Message) -> Result<(), RunError> {
        self.with(|ledger| ledger.post(message))
    }
}

/// The corpora by name, as directories of this machine. Packages are not among them: on this machine the experiment must name a directory.
fn corpora(plan: &Plan, made: &BTreeMap<String, PathBuf>) -> Paths {
    let path = |(name, corpus): (&String, &Corpus)| match corpus {
        Corpus::Package(_) => None,
        Corpus::Directory { path, .. } => Some((name.clone(), path.display().to_string())),
        Corpus::Made(_) => made.get(name).map(|path| (name.clone(), path.display().to_string())),
    };
    plan.needs.corpora.iter().filter_map(path).collect()
}

/// Runs every cell of `plan` and ends the ledger.
pub fn run(
    plan: &Plan,
    machine: &LocalMachine,
    injections: &[Injection],
    ledger: Ledger,
    quiet: Option<QuietMachine>,
    interrupt: &Interrupt,
) -> Result<RunOutcome, RunError> {
    let pending = ledger.pending();
    let shared = Shared(Arc::new(Mutex::new(Some(ledger))));
    let recorder = Recorder::new(Box::new(shared.clone()));
    let (clock, known) = match machine {
        LocalMachine::Real { .. } => (Clock::real(), host::facts()),
        LocalMachine::Simulated { pace } => {
            (Clock::simulated(*pace), results::model::MachineFacts::default())
        }
    };
    let scene = CellContext {
        cell_count: plan.cells.len(),
        run_tag: &plan.run_tag,
        machine: known,
        clock: &clock,
        interrupt,
        recorder: &recorder,
        injections,
        inject_fault: &|_| {},
        suspends: false,
    };
    let mut loader = Real::new(plan, BTreeMap::new());
    let mut waiting = quiet.map(Waiting::new);
    let mut looks = shared.with(|ledger| Ok(Looks::of(plan, ledger, clock.now())))?;
    for cell in plan.cells.iter().filter(|cell| pending.contains(&cell.index)) {
        if let Some(looks) = looks.as_mut().filter(|_| interrupt.level() == Level::None) {
            shared.with(|ledger| looks.consider(ledger, clock.now()))?;
        }
        if !shared.with(|ledger| Ok(ledger.pending().contains(&cell.index)))? {
            break;
        }
        if let Some(waiting) = waiting.as_mut().filter(|_| interrupt.level() == Level::None) {
            shared.with(|ledger| waiting.before(cell.index, ledger, interrupt))?;
        }
        if interrupt.level() != Level::None {
            let why = "stopped before it began";
            shared.with(|ledger| ledger.end_pending(CellState::Interrupted, why))?;
            break;
        }
        match machine {
            LocalMachine::Real { devices, claimed, made } => {
                let machine = host::RealMachine::with_devices(claimed.clone());
                let mut executor = crate::executor(machine, &scene, devices, &corpora(plan, made));
                cell::run(&scene, cell, &mut executor, &mut loader);
            }
            LocalMachine::Simulated { .. } => {
                let machine = simulated::machine(plan, cell, &clock)?;
                let devices = simulated::devices(plan);
                let corpora = simulated::corpora(plan);
                let mut executor = crate::executor(machine, &scene, &devices, &corpora);
                cell::run(&scene, cell, &mut executor, &mut Twin::default());
            }
        }
        if let Some(error) = recorder.failure() {
            return Err(shared.with(|ledger| Ok(ledger.stopped_by(error)))?);
        }
    }
    if let Some(error) = recorder.failure() {
        return Err(shared.with(|ledger| Ok(ledger.stopped_by(error)))?);
    }
    if let Some(looks) = looks.as_mut().filter(|_| interrupt.level() == Level::None) {
        shared.with(|ledger| looks.consider(ledger, clock.now()))?;
    }
    let ledger = shared.0.lock().unwrap_or_else(PoisonError::into_inner).take();
    ledger.map_or_else(|| Err(RunError::Gone("the ledger is closed".into())), Ledger::finish)
}
