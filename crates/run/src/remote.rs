//! The host's half of a run in a guest: starts guests, applies what they send to the result, marks the cell
//! of a crashed guest as failed and goes on with the next one in a new guest.

use std::time::Duration;

use experiment::Plan;
use results::model::CellState;
use sys::interrupt::{Interrupt, Level};

use crate::message::{Message, Post};
use crate::{Cells, Injection, Ledger, Mission, Outcome, RunError};

/// One machine that executes missions; the lab's VM, or a twin in tests.
pub trait Guest {
    /// The next thing that the guest said; waits for it at most `patience`.
    fn receive(&mut self, patience: Duration) -> Heard;
    /// Passes the user's wish to stop on.
    fn interrupt(&mut self, level: Level);
}

/// What a guest said.
#[derive(Debug, Clone, PartialEq)]
pub enum Heard {
    /// A message of its half of the run.
    Payload(Vec<u8>),
    /// Nothing within the patience.
    Silence,
    /// It has done its mission and is off.
    Done,
    /// It is gone before its mission was done: why.
    Gone(String),
}

/// What the lab knows of a guest at its end: facts for the manifest and files for the result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Farewell {
    /// Command line, drive options, where the time went.
    pub facts: serde_json::Value,
    /// Files for the result, by path (`lab/console-1.log`).
    pub files: Vec<(String, Vec<u8>)>,
}

/// Starts guests.
pub trait Guests {
    /// The guest.
    type Guest: Guest;
    /// Starts a guest with fresh disks and gives it the mission (opaque bytes).
    fn start(&mut self, mission: &[u8]) -> Result<Self::Guest, RunError>;
    /// What is known of a guest that runs; read once after its first message.
    fn facts(&self, guest: &Self::Guest) -> serde_json::Value;
    /// Ends a guest, by force if it still runs, and tells what it leaves.
    fn end(&mut self, guest: Self::Guest) -> Farewell;
}

/// Runs every pending cell of `plan` in guests. A guest that is gone fails the cell it was at; nothing is
/// repeated silently.
pub fn run<G: Guests>(
    plan: &Plan,
    injections: &[Injection],
    guests: &mut G,
    mut ledger: Ledger,
    interrupt: &Interrupt,
) -> Result<Outcome, RunError> {
    let ended = run_cells(plan, injections, guests, &mut ledger, interrupt);
    let (state, reason) = match &ended {
        Ok(()) => (CellState::Interrupted, "stopped before it began".to_owned()),
        Err(error) => (CellState::Failed, error.to_string()),
    };
    for cell in ledger.pending() {
        let reason = Some(reason.clone());
        ledger.post(Message::Event(crate::Event::CellEnded { cell, state, reason }))?;
    }
    let outcome = ledger.finish()?;
    ended.map(|()| outcome)
}

/// Guest after guest, until no cell is pending or the user wants to stop.
fn run_cells<G: Guests>(
    plan: &Plan,
    injections: &[Injection],
    guests: &mut G,
    ledger: &mut Ledger,
    interrupt: &Interrupt,
) -> Result<(), RunError> {
    loop {
        let cells = ledger.pending();
        if cells.is_empty() || interrupt.level() != Level::None {
            return Ok(());
        }
        let mission: Mission = Mission::Cells(Cells {
            plan: plan.clone(),
            cells: cells.clone(),
            injections: injections.to_vec(),
            choices: ledger.choices().clone(),
        });
        let mut guest = guests.start(&mission.encode()?)?;
        let ended = listen(&mut guest, guests, ledger, interrupt);
        let farewell = guests.end(guest);
        ledger.lab(farewell.facts)?;
        for (path, bytes) in &farewell.files {
            ledger.put(path, bytes)?;
        }
        let reason = ended?.err();
        let stopped = interrupt.level() != Level::None;
        if !stopped && ledger.running().is_none() && ledger.pending() == cells {
            // It never came as far as a cell: the next guest would not either.
            let reason = reason.unwrap_or_else(|| "it ended without running a cell".to_owned());
            return Err(RunError::Guest(reason));
        }
        if let Some(reason) = reason {
            let state = if stopped { CellState::Interrupted } else { CellState::Failed };
            ledger.end_running(state, &reason)?;
        }
    }
}

/// Applies what the guest sends until it is off. The inner error says why it is gone too early.
fn listen<G: Guests>(
    guest: &mut G::Guest,
    guests: &G,
    ledger: &mut Ledger,
    interrupt: &Interrupt,
) -> Result<Result<(), String>, RunError> {
    let mut passed_on = Level::None;
    let mut greeted = false;
    loop {
        let level = interrupt.level();
        if level != passed_on {
            guest.interrupt(level);
            passed_on = level;
        }
        match guest.receive(Duration::from_millis(100)) {
            Heard::Silence => {}
            Heard::Done => return Ok(Ok(())),
            Heard::Gone(reason) => return Ok(Err(reason)),
            Heard::Payload(bytes) => {
                ledger.post(Message::decode(&bytes)?)?;
                if !greeted {
                    ledger.lab(guests.facts(guest))?;
                    greeted = true;
                }
            }
        }
    }
}
