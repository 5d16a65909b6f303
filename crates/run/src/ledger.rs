//! The host's side of every run: applies messages to the result's directory and keeps the manifest.

use std::collections::BTreeMap;
use std::path::Path;

use host::{Meter, RunLock};
use plan::Plan;
use results::model::{
    Accelerator, CellEntry, CellState, MachineFacts, Manifest, ResumeFacts, SCHEMA,
    SequentialFacts, StopReason, StoppedFacts,
};
use results::sink::{DirSink, Place, Sink, SinkError};
use results::writer::{write_experiment, write_manifest};

use crate::message::{Chosen, Message, Post};
use crate::resume::Earlier;
use crate::start::Start;
use crate::{Event, RunError, RunOutcome};

/// The manifest and the directory of a running result.
pub struct Ledger {
    sink: DirSink,
    /// The lock that keeps other processes from this run, by whichever path they know its result.
    _lock: Option<RunLock>,
    manifest: Manifest,
    left_behind: bool,
    choices: BTreeMap<String, engine::Choice>,
    /// Measurement of the host's work for others while a cell runs in a guest.
    host: Host,
    on: Box<dyn FnMut(&Event) + Send>,
}

/// State of the measurement of the host's work for others.
enum Host {
    /// The host runs the cells itself: each measures it.
    Ran,
    /// Guests run the cells; none is running.
    Rests,
    /// A guest is running a cell.
    Measured(Meter),
}

impl Ledger {
    /// Declares that cells run in guests from here on, so that the host's work for others during each cell is recorded.
    pub(crate) fn watch_host(&mut self) {
        // A simulated guest has no host.
        if !self.manifest.simulated {
            self.host = Host::Rests;
        }
    }

    /// Makes the ledger hold the lock of the run until its end.
    #[must_use]
    pub fn under(self, lock: RunLock) -> Self {
        Self { _lock: Some(lock), ..self }
    }

    /// Makes the directory (which must not exist) and writes the manifest before all else, so that a result says
    /// what it is even after a kill.
    pub fn begin(
        dir: &Path,
        plan: &Plan,
        start: Start,
        on: Box<dyn FnMut(&Event) + Send>,
    ) -> Result<Self, RunError> {
        let sink = DirSink::create(dir)?;
        let cells = plan
            .cells
            .iter()
            .map(|cell| CellEntry {
                index: cell.index,
                variant: cell.variant.clone(),
                repeat: cell.repeat,
                folder: results::cell_folder(cell.index, &cell.variant, cell.repeat),
                state: CellState::Pending,
                reason: None,
                disturbed_percent: None,
                host: None,
            })
            .collect();
        let manifest = Manifest {
            schema: SCHEMA,
            tool_version: start.tool_version,
            run_id: plan.run_tag.clone(),
            command: start.command,
            started_utc: now_utc(),
            ended_utc: None,
            resumed: Vec::new(),
            devices: start.devices,
            seed: plan.seed,
            accelerator: start.accelerator,
            accelerator_reason: start.accelerator_reason,
            simulated: start.simulated,
            plan: plan.facts.clone(),
            plan_document: document(plan)?,
            host: start.host,
            guest: None,
            lab: None,
            cells,
            outcome: None,
            stopped: None,
        };
        let mut ledger = Self::of(sink, manifest, on);
        ledger.save()?;
        write_experiment(&mut ledger.sink, &start.experiment_text)?;
        Ok(ledger)
    }

    /// The ledger of a run that has this manifest and has recorded nothing.
    fn of(sink: DirSink, manifest: Manifest, on: Box<dyn FnMut(&Event) + Send>) -> Self {
        let (choices, host) = (BTreeMap::new(), Host::Ran);
        Self { sink, _lock: None, manifest, left_behind: false, choices, host, on }
    }

    /// Continues an earlier run of the same plan ([`Earlier::check`]): its cells that ended well are kept, the others are taken
    /// out of the result and are pending again. Cells that the run had no time for are pending too, with the time limit of the new `plan`.
    pub fn resume(
        earlier: Earlier,
        plan: &Plan,
        start: &Start,
        on: Box<dyn FnMut(&Event) + Send>,
    ) -> Result<Self, RunError> {
        let (sink, lock, mut manifest, kept) = earlier.into_parts();
        manifest.resumed.push(ResumeFacts {
            started_utc: now_utc(),
            command: start.command.clone(),
            kept: kept.iter().filter(|kept| **kept).count(),
            tool_version: Some(start.tool_version.clone()),
        });
        (manifest.ended_utc, manifest.outcome) = (None, None);
        let skipped = |cell: &CellEntry| cell.state == CellState::Skipped;
        if let (Some(old), Some(new)) = (&mut manifest.plan.sequential, &plan.facts.sequential) {
            old.time = new.time;
        }
        manifest.plan_document = document(plan)?;
        // Cells that were not needed may be needed once another cell has run again.
        let again = manifest.cells.iter().zip(&kept).any(|(cell, kept)| !kept && !skipped(cell));
        let late = manifest.stopped.is_some_and(|stopped| stopped.why == StopReason::Time);
        if again || late {
            manifest.stopped = None;
        }
        let mut again = Vec::new();
        for (cell, kept) in manifest.cells.iter_mut().zip(kept) {
            if manifest.stopped.is_some() && skipped(cell) {
                continue;
            }
            cell.reason = None;
            cell.disturbed_percent = cell.disturbed_percent.filter(|_| kept);
            cell.host = cell.host.filter(|_| kept);
            cell.state = if kept { CellState::Done } else { CellState::Pending };
            again.extend((!kept).then(|| cell.folder.clone()));
        }
        let mut ledger = Self { _lock: lock, ..Self::of(sink, manifest, on) };
        // From here on the seal would be wrong. The manifest is saved before files of the dropped cells are removed.
        ledger.sink.remove(results::checksums::SUMS)?;
        ledger.save()?;
        for folder in again {
            ledger.sink.remove(&format!("{}/{folder}", results::writer::CELLS))?;
        }
        // A kill may have come between a cell's end and its seal.
        let done = ledger.manifest.cells.iter().filter(|cell| cell.state == CellState::Done);
        let done: Vec<_> = done.map(|cell| (cell.index, cell.folder.clone())).collect();
        for (index, folder) in done {
            ledger.seal(index, &folder);
        }
        Ok(ledger)
    }

    /// The path that leads this process to the result's directory, even if the directory's name leads elsewhere now.
    pub fn way(&self) -> &Path {
        self.sink.way()
    }

    /// Returns the choices of how loads are driven so far, by the name of the loads that are driven alike.
    pub fn choices(&self) -> &BTreeMap<String, engine::Choice> {
        &self.choices
    }

    /// Positions of the cells that have not begun.
    pub fn pending(&self) -> Vec<usize> {
        let pending = |c: &&CellEntry| c.state == CellState::Pending;
        self.manifest.cells.iter().filter(pending).map(|c| c.index).collect()
    }

    /// Position of the cell that is running.
    pub fn running(&self) -> Option<usize> {
        self.manifest.cells.iter().find(|c| c.state == CellState::Running).map(|c| c.index)
    }

    /// Records what is known of the lab.
    pub fn lab(&mut self, facts: serde_json::Value) -> Result<(), RunError> {
        self.manifest.lab = Some(facts);
        self.save()
    }

    /// Records the accelerator that executes the guest.
    pub fn accelerator(
        &mut self,
        accelerator: Accelerator,
        reason: Option<String>,
    ) -> Result<(), RunError> {
        self.manifest.accelerator = accelerator;
        self.manifest.accelerator_reason = reason;
        self.save()
    }

    /// Replaces a file of the result that belongs to no cell (`lab/console.log`).
    pub fn put(&mut self, path: &str, bytes: &[u8]) -> Result<(), RunError> {
        Ok(self.sink.put(path, bytes)?)
    }

    /// Opens the folder of a file of the result, for the writer of that file while guests run.
    pub(crate) fn place(&self, path: &str) -> Result<Place, RunError> {
        Ok(self.sink.place(path)?)
    }

    /// Adds to a file of the result that belongs to no cell.
    pub fn append(&mut self, path: &str, bytes: &[u8]) -> Result<(), RunError> {
        Ok(self.sink.append(path, bytes)?)
    }

    /// Marks a cell before which the machine was not quiet: others took this share of its CPUs.
    pub(crate) fn disturbed(&mut self, cell: usize, percent: f64) -> Result<(), RunError> {
        if let Some(cell) = self.manifest.cells.get_mut(cell) {
            cell.disturbed_percent = Some(percent);
        }
        self.save()
    }

    /// Tells whether the run takes no more repeats.
    pub(crate) fn stopped(&self) -> bool {
        self.manifest.stopped.is_some()
    }

    /// Returns in words after which repeat and why a run with as many repeats as needed stopped.
    pub(crate) fn stopped_text(&self) -> Option<String> {
        self.manifest.stopped_text()
    }

    /// Returns the looks of a run with as many repeats as needed; `None` where the number of repeats is fixed.
    pub(crate) fn sequential(&self) -> Option<&SequentialFacts> {
        self.manifest.plan.sequential.as_ref()
    }

    /// Notes that the run takes no more repeats: cells that have not begun are skipped.
    pub(crate) fn stop(&mut self, after: u32, why: StopReason) -> Result<(), RunError> {
        self.manifest.stopped = Some(StoppedFacts { after, why });
        if let Some(sequential) = &mut self.manifest.plan.sequential {
            sequential.look_after(after);
        }
        for cell in self.manifest.cells.iter_mut().filter(|c| c.state == CellState::Pending) {
            cell.state = CellState::Skipped;
        }
        self.save()
    }

    /// Reports an event that changes nothing in the result.
    pub(crate) fn tell(&mut self, event: &Event) {
        (self.on)(event);
    }

    /// Marks the running cell as ended from outside: its guest crashed, or never answered.
    pub fn end_running(&mut self, state: CellState, reason: &str) -> Result<(), RunError> {
        match self.running() {
            Some(cell) => {
                let reason = Some(reason.to_owned());
                self.post(Message::Event(Event::CellEnded { cell, state, reason }))
            }
            None => Ok(()),
        }
    }

    /// Marks all cells that have not begun, in one go: the manifest of a run of many cells takes long to write.
    pub(crate) fn end_pending(&mut self, state: CellState, reason: &str) -> Result<(), RunError> {
        let pending = self.pending();
        for index in &pending {
            let Some(cell) = self.manifest.cells.get_mut(*index) else { continue };
            (cell.state, cell.reason) = (state, Some(reason.to_owned()));
        }
        if !pending.is_empty() {
            self.save()?;
        }
        for cell in pending {
            (self.on)(&Event::CellEnded { cell, state, reason: Some(reason.to_owned()) });
        }
        Ok(())
    }

    /// Ends the run: the manifest records how, and the result is sealed. A cell whose files others removed or cut has failed.
    pub fn finish(mut self) -> Result<RunOutcome, RunError> {
        let changed = self.sink.changed();
        for cell in &mut self.manifest.cells {
            let folder = Path::new(results::writer::CELLS).join(&cell.folder);
            if changed.iter().any(|file| Path::new(file).starts_with(&folder)) {
                cell.state = CellState::Failed;
                cell.reason = Some("another program changed its files during the run".to_owned());
            }
        }
        let outcome = RunOutcome::of(self.manifest.cells.iter().map(|c| c.state), self.left_behind);
        self.manifest.ended_utc = Some(now_utc());
        self.manifest.outcome = Some(outcome.word().to_owned());
        self.save()?;
        // Nothing changes any more. A result without a seal is usable as well, and says that it has none.
        if let Err(error) = results::checksums::write(self.sink.way()) {
            let text = format!("the result is not sealed: {}", crate::chain(&error));
            (self.on)(&Event::Notice { cell: None, text });
        }
        let whole = match changed {
            files if files.is_empty() => Ok(()),
            files => Err(SinkError::Changed { name: self.sink.name().to_owned(), files }),
        };
        // The directory's name must still lead to this result.
        let found = self.sink.check_name().and(whole);
        found.map(|()| outcome).map_err(|source| RunError::Spoiled { outcome, source })
    }

    /// Returns the error to report for `error`: if the result's directory was removed, that tells more than the first missing file.
    pub(crate) fn stopped_by(&self, error: RunError) -> RunError {
        self.sink.check_there().err().map_or(error, RunError::Sink)
    }

    fn save(&mut self) -> Result<(), RunError> {
        Ok(write_manifest(&mut self.sink, &self.manifest)?)
    }

    fn event(&mut self, event: &Event) -> Result<(), RunError> {
        let change = match event {
            Event::CellStarted { cell, .. } => Some((*cell, CellState::Running, None)),
            Event::CellEnded { cell, state, reason } => Some((*cell, *state, reason.clone())),
            _ => None,
        };
        if let Some((index, state, reason)) = change {
            let cell =
                self.manifest.cells.get_mut(index).ok_or_else(|| {
                    RunError::Language(format!("there is no cell {index}").into())
                })?;
            match (&self.host, state) {
                (Host::Rests, CellState::Running) => {
                    self.host = Meter::new().map_or(Host::Rests, Host::Measured);
                }
                (Host::Measured(meter), _) if state != CellState::Running => {
                    cell.host = meter.read().ok();
                    self.host = Host::Rests;
                }
                _ => {}
            }
            cell.state = state;
            cell.reason = reason;
            let folder = cell.folder.clone();
            if state != CellState::Running {
                self.seal(index, &folder);
            }
            self.save()?;
        }
        (self.on)(event);
        Ok(())
    }
}

impl Post for Ledger {
    fn post(&mut self, message: Message) -> Result<(), RunError> {
        match message {
            Message::Put { path, bytes } => self.put(&path, &bytes),
            Message::Append { path, bytes } => self.append(&path, &bytes),
            Message::Event(event) => self.event(&event),
            Message::Machine(facts) => self.machine(facts),
            Message::LeftBehind(_) => {
                self.left_behind = true;
                Ok(())
            }
            Message::Chosen(Chosen { loads, choice }) => {
                self.choices.insert(loads, choice);
                Ok(())
            }
            Message::Log(_) => Ok(()),
            Message::Needed(_) | Message::Time | Message::Suspended(_) => {
                Err(RunError::Language("a guest asked where nobody answers".into()))
            }
        }
    }
}

impl Ledger {
    /// Seals the cell's series. If that fails, its rows are still whole and sealing can be repeated: the failure is reported, and the run goes on.
    fn seal(&mut self, index: usize, folder: &str) {
        // A cell that never began has no folder.
        if !self.sink.way().join("cells").join(folder).exists() {
            return;
        }
        if let Err(error) = results::seal(self.sink.way(), folder) {
            let text = format!("the series of {folder} are not sealed: {}", crate::chain(&error));
            (self.on)(&Event::Notice { cell: Some(index), text });
        }
    }

    fn machine(&mut self, facts: MachineFacts) -> Result<(), RunError> {
        // The facts of the first guest; those of other guests are kept with the cells that they run.
        self.manifest.guest.get_or_insert(facts);
        self.save()
    }
}

/// Returns a plan as it stands in the manifest.
fn document(plan: &Plan) -> Result<serde_json::Value, RunError> {
    serde_json::to_value(plan).map_err(|error| RunError::Plan(error.into()))
}

/// Returns the date and time, whole seconds.
pub fn now_utc() -> String {
    jiff::Timestamp::now().round(jiff::Unit::Second).unwrap_or_default().to_string()
}
