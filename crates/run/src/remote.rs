//! The host's half of a run in a guest: starts guests, applies what they send to the result, marks the cell
//! of a crashed guest as failed and goes on with the next one in a new guest.

use std::collections::BTreeMap;
use std::path::Path;
use std::time::{Duration, Instant};

use layers::step::MachineEnd;
use plan::{Machine, Plan, StagePlan};
use results::model::CellState;
use sys::interrupt::{Interrupt, Level};
use units::{Nanos, Seed};

use crate::looks::Looks;
use crate::message::{HostReply, Message, Post};
use crate::quiet::{QuietMachine, Waiting};
use crate::suspended::{CutLoss, SuspendedCell};
use crate::{Cells, Event, Injection, Ledger, Mission, RunError, RunOutcome};

/// One machine that executes missions; the lab's VM, or a twin in tests.
pub trait Guest {
    /// Returns the next message of the guest; waits for it at most `patience`.
    fn receive(&mut self, patience: Duration) -> GuestMessage;
    /// Passes on the user's wish to stop.
    fn interrupt(&mut self, level: Level);
    /// Sends it a reply (opaque bytes).
    fn answer(&mut self, bytes: &[u8]);
    /// Ends it at once, whatever it does.
    fn kill(&mut self);
}

/// Messages that the host receives from a guest, silence and its end among them.
#[derive(Debug, Clone, PartialEq)]
pub enum GuestMessage {
    /// A message of its half of the run.
    Payload(Vec<u8>),
    /// No message within the patience.
    Silence,
    /// It has done its mission and is off.
    Done,
    /// It ended before its mission was done; the reason.
    Gone(String),
}

/// Facts and files that the lab has of a guest at its end: the facts for the manifest, the files for the result.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct Farewell {
    /// Command line, drive options, where the time went.
    pub facts: serde_json::Value,
    /// Files for the result, by path (`lab/console-1.log`).
    pub files: Vec<(String, Vec<u8>)>,
}

/// The deadline of a guest is this many times the estimated time of its plan ...
const DEADLINE_FACTOR: u64 = 5;
/// ... and never less than this.
const LEAST_DEADLINE: Duration = Duration::from_secs(600);
/// Factor of the deadline with an emulated CPU: no estimate knows how slow that is while the machine does other work, too.
const EMULATED: u32 = 4;

/// Returns the time after which a guest that runs `plan` is given up.
pub fn deadline(plan: &Plan, emulated: bool) -> Duration {
    let about: u64 = plan.cells.iter().map(|cell| cell.about.0).sum();
    // Nobody knows beforehand how long a command or a fill takes.
    let limits = plan.cells.iter().flat_map(|cell| &cell.stages).filter_map(StagePlan::patience);
    let limits: u64 = limits.map(|limit| limit.0).sum();
    let quick = Duration::from_nanos(about * DEADLINE_FACTOR + limits).max(LEAST_DEADLINE);
    if emulated { quick * EMULATED } else { quick }
}

/// The number of a guest of a result, from 1: it distinguishes the files of this guest from those of the others.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct GuestNumber(usize);

impl GuestNumber {
    /// Returns the next number in the result at `out`: a continued run keeps the files of earlier guests.
    fn next(out: &Path) -> Self {
        let there = |turn: usize| out.join(Self(turn).file("console")).symlink_metadata();
        let free = |turn: &usize| there(*turn).is_err();
        Self((1..).find(free).unwrap_or(usize::MAX))
    }

    /// Tells whether it is the first guest.
    pub fn is_first(self) -> bool {
        self.0 <= 1
    }

    /// Returns a unique name: `guest` for the first guest, `guest-2` for the second.
    pub fn name(self, what: &str) -> String {
        if self.is_first() { what.to_owned() } else { format!("{what}-{}", self.0) }
    }

    /// Returns the path of one of its logs in the result: `lab/console.log`.
    pub fn file(self, what: &str) -> String {
        format!("lab/{}.log", self.name(what))
    }
}

/// Disks of a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum GuestDisks {
    /// They are empty.
    Fresh,
    /// They hold the data of the previous guest.
    OfTheLast,
}

/// Starts guests, one after the other.
pub trait Guests {
    /// The guest.
    type Guest: Guest;
    /// Starts a guest with this [`Machine`] and these disks and gives it the mission (opaque bytes). Its console output goes to the new file
    /// `console` of the result.
    fn start(
        &mut self,
        on: (Machine, GuestDisks),
        mission: &[u8],
        turn: GuestNumber,
        console: &Path,
    ) -> Result<Self::Guest, RunError>;
    /// Cuts the power of the disks of the guest that ended last: what was in their volatile caches is lost in part, as `seed` draws it. Returns
    /// what each modelled disk had at risk and lost, by role.
    fn cut_power(&mut self, seed: Seed) -> Result<BTreeMap<String, CutLoss>, RunError>;
    /// Returns what only the host knows of guests with this [`Machine`], as facts by name: the packages that their kernel came in.
    fn known(&self, _machine: &Machine) -> BTreeMap<String, String> {
        BTreeMap::new()
    }
    /// Returns what is known of a guest that runs; read once after its first message.
    fn facts(&self, guest: &Self::Guest) -> serde_json::Value;
    /// Ends a guest, by force if it still runs, and returns what it leaves.
    fn end(&mut self, guest: Self::Guest) -> Farewell;
}

/// Runs every pending cell of `plan` in guests. If a guest dies, the cell that it was running has failed; nothing is
/// repeated silently.
pub fn run<G: Guests>(
    plan: &Plan,
    injections: &[Injection],
    guests: &mut G,
    mut ledger: Ledger,
    quiet: Option<QuietMachine>,
    interrupt: &Interrupt,
) -> Result<RunOutcome, RunError> {
    ledger.watch_host();
    let between = Between::new(plan, &ledger, quiet, interrupt);
    let ended = run_cells(plan, injections, guests, (&mut ledger, between), interrupt)
        .map_err(|error| ledger.stopped_by(error));
    let (state, reason) = match &ended {
        Ok(()) => (CellState::Interrupted, "stopped before it began".to_owned()),
        Err(error) => (CellState::Failed, error.to_string()),
    };
    ledger.end_pending(state, &reason)?;
    let outcome = ledger.finish()?;
    ended.map(|()| outcome)
}

/// Work of the host between cells: looks at the run, and waits for a quiet machine.
struct Between<'a> {
    looks: Option<Looks>,
    waiting: Option<Waiting>,
    began: Instant,
    interrupt: &'a Interrupt,
    /// A cell that the next guest goes on with.
    begun: Option<Box<SuspendedCell>>,
    /// The time of that cell at a moment, nanoseconds since its epoch.
    time: Option<(u64, Instant)>,
}

impl<'a> Between<'a> {
    fn new(
        plan: &Plan,
        ledger: &Ledger,
        quiet: Option<QuietMachine>,
        interrupt: &'a Interrupt,
    ) -> Self {
        let looks = Looks::of(plan, ledger, Nanos(0));
        let (waiting, began) = (quiet.map(Waiting::new), Instant::now());
        Self { looks, waiting, began, interrupt, begun: None, time: None }
    }

    /// Looks at the run, where a look is due.
    fn look(&mut self, ledger: &mut Ledger) -> Result<(), RunError> {
        let now = Nanos(self.began.elapsed().as_nanos() as u64);
        self.looks.as_mut().map_or(Ok(()), |looks| looks.consider(ledger, now))
    }

    /// Tells whether a cell is needed; if it is, first waits for a quiet machine.
    fn needed(&mut self, cell: usize, ledger: &mut Ledger) -> Result<bool, RunError> {
        self.look(ledger)?;
        let needed = ledger.pending().contains(&cell);
        if let Some(waiting) = self.waiting.as_mut().filter(|_| needed) {
            waiting.before(cell, ledger, self.interrupt)?;
        }
        Ok(needed)
    }

    /// Keeps a cell for the next guest; the cell's clock goes on until then.
    fn keep(&mut self, cell: Box<SuspendedCell>) {
        tracing::info!(cell = cell.cell, "a cell waits for its machine to boot");
        self.time = Some((cell.at_ns, Instant::now()));
        self.begun = Some(cell);
    }

    /// Returns the reply to a guest that asks for the time of the cell that it continues.
    fn time(&self) -> HostReply {
        let passed = |(then, since): (u64, Instant)| then + since.elapsed().as_nanos() as u64;
        HostReply::Time(self.time.map_or(0, passed))
    }

    /// Returns those of `cells` before which a guest asks whether they are needed.
    fn ask_before(&self, plan: &Plan, cells: &[usize]) -> Vec<usize> {
        match (&self.waiting, &self.looks) {
            (Some(_), _) => cells.to_vec(),
            (None, Some(looks)) => looks.ask_before(&plan.cells, cells),
            (None, None) => Vec::new(),
        }
    }
}

/// The machine of the next guest, and the cells that it runs: the one that was begun, then the pending ones in their order, up to the first
/// that needs another machine. `None` if no cell is left.
fn next_guest(
    plan: &Plan,
    begun: Option<usize>,
    pending: &[usize],
) -> Option<(Machine, Vec<usize>)> {
    let machine =
        |cell: usize| plan.cells.get(cell).map(|cell| cell.machine.clone()).unwrap_or_default();
    let cells = || begun.into_iter().chain(pending.iter().copied());
    let first = machine(cells().next()?);
    let alike = cells().take_while(|cell| machine(*cell) == first).collect();
    Some((first, alike))
}

/// Runs one guest after another, until no cell is pending or the user wants to stop.
fn run_cells<G: Guests>(
    plan: &Plan,
    injections: &[Injection],
    guests: &mut G,
    (ledger, mut between): (&mut Ledger, Between),
    interrupt: &Interrupt,
) -> Result<(), RunError> {
    loop {
        if interrupt.level() != Level::None {
            return ledger.end_running(CellState::Interrupted, "stopped while its machine booted");
        }
        between.look(ledger)?;
        let (mut begun, pending) = (between.begun.take(), ledger.pending());
        if let Some(begun) = begun.as_mut().filter(|begun| begun.after == MachineEnd::PowerCut) {
            let seed = plan.seed.derive(&format!("power cut {} {}", begun.cell, begun.position));
            let name = &plan.cells[begun.cell].stages[begun.halt.stage].name;
            let text = begun.cut(name, &guests.cut_power(seed)?);
            ledger.post(Message::Event(Event::Notice { cell: Some(begun.cell), text }))?;
        }
        let goes_on = begun.is_some();
        let next = next_guest(plan, begun.as_ref().map(|begun| begun.cell), &pending);
        let Some((machine, cells)) = next else { return Ok(()) };
        let disks = begun.as_ref().map_or(GuestDisks::Fresh, |_| GuestDisks::OfTheLast);
        let mission: Mission = Mission::Cells(Cells {
            plan: plan.clone(),
            cells: cells.clone(),
            begun,
            injections: injections.to_vec(),
            choices: ledger.choices().clone(),
            ask_before: between.ask_before(plan, &cells),
            known: guests.known(&machine),
            log: tracing::enabled!(tracing::Level::DEBUG),
        });
        let turn = GuestNumber::next(ledger.way());
        let console = ledger.place(&turn.file("console"))?;
        tracing::info!(guest = turn.0, ?machine, ?cells, "start a guest");
        let started = guests.start((machine, disks), &mission.encode()?, turn, &console.way());
        if let Err(error) = &started {
            // The guest may have been meant to continue a cell that is still running.
            ledger.end_running(CellState::Failed, &crate::chain(error))?;
        }
        let mut guest = started?;
        let ended = listen(&mut guest, guests, (&mut *ledger, &mut between), interrupt);
        let farewell = guests.end(guest);
        ledger.lab(farewell.facts)?;
        for (path, bytes) in &farewell.files {
            ledger.put(path, bytes)?;
        }
        let reason = ended?;
        tracing::info!(guest = turn.0, gone = ?reason, "the guest has ended");
        let stopped = interrupt.level() != Level::None;
        let none = ledger.running().is_none() && ledger.pending() == pending;
        if !stopped && !goes_on && none {
            // The guest ended before it began a cell: the next guest would not get further.
            let reason = reason.unwrap_or_else(|| "it ended without running a cell".to_owned());
            return Err(RunError::Guest(reason.into()));
        }
        let reason = match between.begun {
            None if ledger.running().is_some() => {
                reason.or(Some("the guest ended before the cell did".to_owned()))
            }
            _ => reason,
        };
        if let Some(reason) = reason {
            between.begun = None;
            let state = if stopped { CellState::Interrupted } else { CellState::Failed };
            ledger.end_running(state, &reason)?;
        }
    }
}

/// Applies what the guest sends until it has ended; returns the reason if it ended too early.
fn listen<G: Guests>(
    guest: &mut G::Guest,
    guests: &G,
    (ledger, between): (&mut Ledger, &mut Between),
    interrupt: &Interrupt,
) -> Result<Option<String>, RunError> {
    let mut passed_on = Level::None;
    let (mut greeted, mut killed, mut over) = (false, false, false);
    loop {
        let level = interrupt.level();
        if level != passed_on {
            guest.interrupt(level);
            passed_on = level;
        }
        match guest.receive(Duration::from_millis(100)) {
            GuestMessage::Silence => {}
            GuestMessage::Done => return Ok(None),
            GuestMessage::Gone(reason) => return Ok((!killed).then_some(reason)),
            // Its remaining messages are about a machine that is gone.
            GuestMessage::Payload(_) if killed => {}
            GuestMessage::Payload(bytes) => {
                match Message::decode(&bytes)? {
                    Message::Needed(cell) => {
                        let needed = between.needed(cell, ledger)?;
                        guest.answer(
                            &if needed { HostReply::GoOn } else { HostReply::Finish }.encode(),
                        );
                    }
                    Message::Suspended(cell) => {
                        if cell.after.is_sudden() {
                            guest.kill();
                            killed = true;
                        }
                        between.keep(cell);
                    }
                    Message::Time => guest.answer(&between.time().encode()),
                    // The guest's facts are known once it has begun; a line of its log does not mean that it has.
                    Message::Log(line) => {
                        tracing::debug!(target: "guest", "{line}");
                        continue;
                    }
                    message => ledger.post(message)?,
                }
                if !greeted {
                    ledger.lab(guests.facts(guest))?;
                    greeted = true;
                }
                if !over && ledger.running().is_none() && ledger.pending().is_empty() {
                    ledger.tell(&Event::GivingBack);
                    over = true;
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{ExperimentSource, LAB, RunRequest};

    #[test]
    fn what_a_guest_leaves_takes_no_place_of_what_another_left() {
        let out = tempfile::tempdir().unwrap();
        let first = GuestNumber::next(out.path());
        assert_eq!((first.file("console").as_str(), first.is_first()), ("lab/console.log", true));
        std::fs::create_dir(out.path().join("lab")).unwrap();
        std::fs::write(out.path().join("lab/console.log"), "").unwrap();
        let second = GuestNumber::next(out.path());
        assert_eq!((second.file("qemu").as_str(), second.is_first()), ("lab/qemu-2.log", false));
        assert_eq!(second.name("guest"), "guest-2");
    }

    #[test]
    fn a_guest_is_given_up_after_five_times_what_its_plan_takes_and_not_before_ten_minutes() {
        let mut plan =
            RunRequest::once().plan(&ExperimentSource::find("vdo-vs-plain").unwrap(), LAB).unwrap();
        for (cell, about) in plan.cells.iter_mut().zip([60, 40]) {
            cell.about = units::Nanos(about * 1_000_000_000);
        }
        plan.cells.truncate(1);
        let limits: u64 =
            plan.cells[0].stages.iter().filter_map(StagePlan::patience).map(|limit| limit.0).sum();
        assert_eq!(limits, 0, "no stage of it has a limit of its own");
        assert_eq!(deadline(&plan, false), LEAST_DEADLINE);
        plan.cells[0].about = units::Nanos(1000 * 1_000_000_000);
        assert_eq!(deadline(&plan, false), Duration::from_secs(5000));
        assert_eq!(deadline(&plan, true), Duration::from_secs(20_000));
    }
}
