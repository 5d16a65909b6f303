//! Both halves of a run that takes as many repeats as are needed; the guest is a twin that hands in made-up cells.

use std::collections::VecDeque;
use std::path::Path;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use experiment::Repeat;
use plan::{Machine, Plan};
use results::ResultSet;
use results::model::{Accelerator, CellState, MachineFacts, StoppedFacts};
use sys::interrupt::{Interrupt, Level};

use super::*;
use crate::remote::{self, Farewell, Guest, GuestDisks, GuestMessage, GuestNumber, Guests};
use crate::suspended::{Halt, SuspendedCell};
use crate::{
    Cells, ExperimentSource, HostReply, LAB, Message, Mission, RunOutcome, RunRequest, Start,
};

/// Guests whose cells are made up; one guest dies at a cell.
struct Twins {
    made_up: ResultSet,
    missions: Vec<Cells>,
    machines: Vec<Machine>,
    dies_at: Option<usize>,
    /// The cell in which the machine boots anew.
    reboots_at: Option<usize>,
    disks: Vec<GuestDisks>,
    /// Times that the host sent to cells that went on.
    times: Arc<Mutex<Vec<u64>>>,
}

struct Twin {
    made_up: ResultSet,
    mission: Cells,
    left: VecDeque<usize>,
    messages: VecDeque<GuestMessage>,
    /// The cell that it has asked about last.
    asked_last: Option<usize>,
    dies_at: Option<usize>,
    reboots_at: Option<usize>,
    times: Arc<Mutex<Vec<u64>>>,
}

/// The time at which a cell stops at a reboot, nanoseconds since its epoch.
const STOPPED_NS: u64 = 7_000_000_000;

impl Guests for Twins {
    type Guest = Twin;

    fn start(
        &mut self,
        (machine, disks): (Machine, GuestDisks),
        mission: &[u8],
        _: GuestNumber,
        _: &Path,
    ) -> Result<Twin, RunError> {
        self.machines.push(machine);
        self.disks.push(disks);
        let Mission::<()>::Cells(mission) = Mission::decode(mission)? else { panic!("no cells") };
        self.missions.push(mission.clone());
        let left = mission.cells.iter().copied().collect();
        let (made_up, messages) = (self.made_up.clone(), VecDeque::new());
        let (dies_at, reboots_at) = (self.dies_at.take(), self.reboots_at.take());
        let times = Arc::clone(&self.times);
        Ok(Twin { made_up, mission, left, messages, asked_last: None, dies_at, reboots_at, times })
    }

    fn facts(&self, _: &Twin) -> serde_json::Value {
        serde_json::Value::Null
    }

    fn cut_power(
        &mut self,
        _: units::Seed,
    ) -> Result<std::collections::BTreeMap<String, crate::CutLoss>, RunError> {
        Ok(std::collections::BTreeMap::new())
    }

    fn end(&mut self, _: Twin) -> Farewell {
        Farewell::default()
    }
}

impl Twin {
    /// Hands in a cell as if it had run it.
    fn run(&mut self, index: usize) {
        let plan = &self.mission.plan.cells[index];
        let (variant, repeat) = (plan.variant.clone(), plan.repeat);
        let of = self.mission.plan.cells.len();
        let mut say =
            |message: Message| self.messages.push_back(GuestMessage::Payload(message.encode()));
        match &self.mission.begun {
            Some(begun) if begun.cell == index => say(Message::Time),
            _ => say(Message::Event(Event::CellStarted { cell: index, of, variant, repeat })),
        }
        if self.dies_at == Some(index) {
            self.messages.push_back(GuestMessage::Gone("the guest died".into()));
            return;
        }
        let mut cells = self.made_up.cells_of(&plan.variant);
        let like = cells.find(|cell| cell.entry.repeat == repeat).unwrap();
        let mut record = like.record.clone().unwrap();
        record.index = index;
        if self.reboots_at == Some(index) {
            say(Message::Suspended(Box::new(SuspendedCell {
                after: layers::step::MachineEnd::Shutdown,
                cell: index,
                at_ns: STOPPED_NS,
                halt: Halt { stage: 0, step: 1, start_ns: 0 },
                position: 3,
                executor: Default::default(),
                machines: None,
                record,
                known: Default::default(),
            })));
            self.left.clear();
            return;
        }
        (record.seed, record.run_id) = (plan.seed, None);
        let made_up = std::mem::take(&mut record.stages);
        record.stages = (plan.stages.iter().enumerate())
            .map(|(index, planned)| {
                let same = made_up.iter().find(|stage| stage.measured == planned.measured);
                let mut stage = same.unwrap_or(&made_up[0]).clone();
                (stage.index, stage.measured) = (index, planned.measured);
                (stage.kind, stage.name) = (planned.kind.clone(), planned.name.clone());
                stage
            })
            .collect();
        let folder = results::cell_folder(index, &plan.variant, repeat);
        let path = format!("cells/{folder}/cell.json");
        say(Message::Put { path, bytes: serde_json::to_vec(&record).unwrap() });
        let ended = Event::CellEnded { cell: index, state: CellState::Done, reason: None };
        say(Message::Event(ended));
    }
}

impl Guest for Twin {
    fn receive(&mut self, _: Duration) -> GuestMessage {
        if let Some(heard) = self.messages.pop_front() {
            return heard;
        }
        let Some(&next) = self.left.front() else { return GuestMessage::Done };
        if self.mission.ask_before.contains(&next) && self.asked_last != Some(next) {
            self.asked_last = Some(next);
            return GuestMessage::Payload(Message::Needed(next).encode());
        }
        self.left.pop_front();
        self.run(next);
        self.messages.pop_front().unwrap()
    }

    fn interrupt(&mut self, _: Level) {}

    fn kill(&mut self) {
        self.left.clear();
    }

    fn answer(&mut self, bytes: &[u8]) {
        match HostReply::decode(bytes).unwrap() {
            HostReply::Finish => self.left.clear(),
            HostReply::Time(now) => self.times.lock().unwrap().push(now),
            HostReply::GoOn => {}
        }
    }
}

/// Result of a run of the shipped experiment, and how the run went.
struct Ran {
    set: ResultSet,
    outcome: RunOutcome,
    missions: Vec<Cells>,
    machines: Vec<Machine>,
    disks: Vec<GuestDisks>,
    times: Vec<u64>,
    looked: Vec<Event>,
    /// The last event that was reported, and how often.
    last: (Event, usize),
}

fn ran(dir: &Path, repeat: &str, dies_at: Option<usize>) -> Ran {
    ran_changed(dir, repeat, dies_at, |_, _| {})
}

fn ran_changed(
    dir: &Path,
    repeat: &str,
    dies_at: Option<usize>,
    change: impl FnOnce(&mut Plan, &mut ResultSet),
) -> Ran {
    ran_rebooting(dir, repeat, (dies_at, None), change)
}

fn ran_rebooting(
    dir: &Path,
    repeat: &str,
    (dies_at, reboots_at): (Option<usize>, Option<usize>),
    change: impl FnOnce(&mut Plan, &mut ResultSet),
) -> Ran {
    let repeat: Repeat = repeat.parse().unwrap();
    let request =
        RunRequest { repeat: Some(repeat), seed: Some(units::Seed(1)), ..RunRequest::default() };
    let mut plan = request.plan(&ExperimentSource::find("vdo-vs-plain").unwrap(), LAB).unwrap();
    let mut made_up = fixture::with(27, 7_600.0);
    change(&mut plan, &mut made_up);
    let start = Start {
        command: Vec::new(),
        tool_version: "0".into(),
        accelerator: Accelerator::Tcg,
        accelerator_reason: None,
        simulated: false,
        devices: std::collections::BTreeMap::new(),
        host: MachineFacts::default(),
        experiment_text: String::new(),
    };
    let message = Arc::new(Mutex::new(Vec::new()));
    let keep = Arc::clone(&message);
    let on = Box::new(move |event: &Event| keep.lock().unwrap().push(event.clone()));
    let out = dir.join("result");
    let ledger = Ledger::begin(&out, &plan, start, on).unwrap();
    let (missions, machines, disks, times) = Default::default();
    let mut twins = Twins { made_up, missions, machines, dies_at, reboots_at, disks, times };
    let outcome = remote::run(&plan, &[], &mut twins, ledger, None, &Interrupt::new()).unwrap();
    let message = message.lock().unwrap();
    let looked = message.iter().filter(|event| matches!(event, Event::Looked { .. }));
    let looked = looked.cloned().collect();
    let last = message.last().unwrap().clone();
    let last = (last.clone(), message.iter().filter(|event| **event == last).count());
    let set = results::open(&out).unwrap();
    let times = twins.times.lock().unwrap().clone();
    let Twins { missions, machines, disks, .. } = twins;
    Ran { set, outcome, missions, machines, disks, times, looked, last }
}

#[test]
fn that_the_last_guest_gives_back_its_disks_is_told_once_and_last() {
    for (repeat, rebooting) in [("5", None), ("2", Some(1)), ("auto", None)] {
        let dir = tempfile::tempdir().unwrap();
        let ran = ran_rebooting(dir.path(), repeat, (None, rebooting), |_, _| {});
        assert_eq!((ran.outcome, ran.last), (RunOutcome::Complete, (Event::GivingBack, 1)));
    }
}

#[test]
fn cells_of_another_machine_run_in_another_guest_in_the_order_that_was_drawn() {
    let dir = tempfile::tempdir().unwrap();
    let large = Machine { memory: Some(units::Bytes(2 << 30)), ..Machine::default() };
    let mut order = Vec::new();
    let ran = ran_changed(dir.path(), "5", None, |plan, _| {
        for cell in plan.cells.iter_mut().filter(|cell| cell.variant == "vdo") {
            cell.machine = large.clone();
        }
        order = plan.cells.iter().map(|cell| cell.machine.clone()).collect();
    });
    assert_eq!(ran.outcome, RunOutcome::Complete);
    assert_eq!(count(&ran.set, CellState::Done), 10);
    let cells: Vec<usize> = ran.missions.iter().flat_map(|mission| mission.cells.clone()).collect();
    assert_eq!(cells, (0..10).collect::<Vec<_>>(), "in the drawn order");
    for (mission, machine) in ran.missions.iter().zip(&ran.machines) {
        assert!(mission.cells.iter().all(|cell| order[*cell] == *machine), "{:?}", mission.cells);
    }
    let changes = order.windows(2).filter(|pair| pair[0] != pair[1]).count();
    assert_eq!(ran.machines.len(), changes + 1, "a guest goes on as long as its machine fits");
}

#[test]
fn a_cell_whose_machine_boots_anew_goes_on_in_the_next_guest_on_its_disks_and_with_its_clock() {
    let dir = tempfile::tempdir().unwrap();
    let ran = ran_rebooting(dir.path(), "2", (None, Some(1)), |_, _| {});
    assert_eq!(ran.outcome, RunOutcome::Complete);
    assert_eq!(count(&ran.set, CellState::Done), 4);
    assert_eq!(ran.disks, [GuestDisks::Fresh, GuestDisks::OfTheLast]);
    assert_eq!(ran.missions[1].cells, [1, 2, 3]);
    assert_eq!(ran.missions[1].begun.as_ref().unwrap().halt.step, 1);
    assert!(matches!(ran.times[..], [time] if time >= STOPPED_NS), "{:?}", ran.times);
    // A last cell leaves nothing pending, and a guest all the same.
    let dir = tempfile::tempdir().unwrap();
    let last = ran_rebooting(dir.path(), "2", (None, Some(3)), |_, _| {});
    assert_eq!((last.outcome, count(&last.set, CellState::Done)), (RunOutcome::Complete, 4));
}

fn count(set: &ResultSet, state: CellState) -> usize {
    set.cells.iter().filter(|cell| cell.state() == state).count()
}

#[test]
fn the_guest_finishes_when_all_that_is_asked_is_decided_and_what_is_left_is_skipped() {
    let dir = tempfile::tempdir().unwrap();
    let ran = ran(dir.path(), "auto", None);
    assert_eq!(ran.outcome, RunOutcome::Complete);
    assert_eq!(ran.missions.len(), 1);
    assert_eq!(ran.missions[0].ask_before, [10, 16, 24, 36]);
    let states = [CellState::Done, CellState::Skipped].map(|state| count(&ran.set, state));
    assert_eq!(states, [16, 38]);
    // The twin hands in records alone: all cells are there.
    let why = ran.set.incomplete.as_deref().unwrap_or_default();
    assert!(why.starts_with("parts are missing"), "{why}");
    let stopped = StoppedFacts { after: 8, why: StopReason::Decided };
    assert_eq!(ran.set.manifest.stopped, Some(stopped));
    let message: Vec<_> = ran
        .looked
        .iter()
        .map(|event| {
            let Event::Looked { after, claims, next, stopped } = event else { panic!() };
            let open = claims.iter().filter(|c| !c.decided).map(|c| c.question.as_str());
            (*after, open.collect::<Vec<_>>(), *next, stopped.is_some())
        })
        .collect();
    let expected =
        [(5, vec!["p99 latency of randwrite"], Some(8), false), (8, Vec::new(), None, true)];
    assert_eq!(message, expected);
}

#[test]
fn a_percentile_of_few_ios_is_not_waited_for() {
    let few = |set: &mut ResultSet| {
        let records = set.cells.iter_mut().filter_map(|cell| cell.record.as_mut());
        let loads = records.flat_map(|r| &mut r.stages).filter_map(|stage| stage.load.as_mut());
        loads.flat_map(|load| load.operations.values_mut()).for_each(|figures| figures.ios = 999);
    };
    let dir = tempfile::tempdir().unwrap();
    let ran = ran_changed(dir.path(), "auto", None, |_, made_up| few(made_up));
    let stopped = StoppedFacts { after: 5, why: StopReason::Decided };
    assert_eq!(ran.set.manifest.stopped, Some(stopped), "the rate is decided");
    // Nothing else is asked.
    let dir = tempfile::tempdir().unwrap();
    let ran = ran_changed(dir.path(), "auto", None, |plan, made_up| {
        plan.facts.questions.retain(|question| question.metric == "latency_p99_ns");
        few(made_up);
    });
    let stopped = StoppedFacts { after: 5, why: StopReason::FewIos };
    assert_eq!(ran.set.manifest.stopped, Some(stopped));
}

#[test]
fn a_guest_that_dies_in_the_last_cell_before_a_look_leaves_the_look_to_the_host() {
    let dir = tempfile::tempdir().unwrap();
    let ran = ran(dir.path(), "auto", Some(15));
    assert_eq!((ran.outcome, ran.missions.len()), (RunOutcome::Incomplete, 1));
    let states = [CellState::Done, CellState::Failed, CellState::Skipped];
    assert_eq!(states.map(|state| count(&ran.set, state)), [15, 1, 38]);
    let why = ran.set.incomplete.clone().unwrap();
    assert!(why.contains("1 of 16 cells give no figures"), "{why}");
    // One repeat has one side only.
    let comparisons =
        analyse(&ran.set).comparisons.into_iter().filter(|c| c.is_asked_about() && c.n > 0);
    assert!(comparisons.into_iter().all(|c| (c.n, c.dropped) == (7, 1)));
}

#[test]
fn a_guest_that_dies_between_looks_is_followed_by_one_that_asks_at_the_looks_that_are_left() {
    let dir = tempfile::tempdir().unwrap();
    let ran = ran(dir.path(), "auto", Some(12));
    assert_eq!(ran.missions.len(), 2);
    assert_eq!(
        (ran.missions[1].cells[0], &ran.missions[1].ask_before[..]),
        (13, &[16, 24, 36][..])
    );
    assert_eq!(ran.set.manifest.stopped.unwrap().after, 8);
}

#[test]
fn without_time_for_another_repeat_the_run_stops_and_leaves_open_what_is_open() {
    let dir = tempfile::tempdir().unwrap();
    let ran = ran(dir.path(), "auto:1ns", None);
    assert_eq!(ran.outcome, RunOutcome::Complete);
    assert_eq!(count(&ran.set, CellState::Done), 2);
    assert_eq!(ran.set.manifest.stopped, Some(StoppedFacts { after: 1, why: StopReason::Time }));
    // It asks before every repeat: the time may be over before any.
    assert_eq!(ran.missions[0].ask_before.len(), 26);
    let comparisons = analyse(&ran.set).comparisons.into_iter().filter(|c| c.is_asked_about());
    assert!(comparisons.into_iter().all(|c| c.decided_after.is_none()));
}

#[test]
fn the_most_repeats_are_the_last_look() {
    let dir = tempfile::tempdir().unwrap();
    let ran = ran(dir.path(), "auto:5", None);
    assert_eq!((ran.outcome, count(&ran.set, CellState::Done)), (RunOutcome::Complete, 10));
    assert_eq!(count(&ran.set, CellState::Skipped), 0);
    assert_eq!(ran.set.manifest.stopped.unwrap().why, StopReason::Most);
    assert!(ran.missions[0].ask_before.is_empty());
}
