//! The guest's half of a run: executes cells or holds a stack, and sends everything to the host.

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use host::Executor;
use plan::{CellPlan, Corpus, Plan};
use results::model::CellState;
use sys::clock::Clock;
use sys::interrupt::Interrupt;
use units::Nanos;

use crate::cell;
use crate::inject::InjectedFault;
use crate::loader::Real;
use crate::message::{HostReply, Message, Post};
use crate::recorder::Recorder;
use crate::scene::CellContext;
use crate::{Cells, Injection, KeptStack, RunError};

/// The guest's end of the link, as the run sees it.
pub trait Link: Clone + Send + 'static {
    /// Sends one message to the host; an error when the host is gone.
    fn payload(&mut self, bytes: &[u8]) -> Result<(), RunError>;
    /// Tells the host that the first step of the plan begins.
    fn first_step(&mut self) -> Result<(), RunError>;
}

struct ToHost<L>(L);

impl<L: Link> Post for ToHost<L> {
    fn post(&mut self, message: Message) -> Result<(), RunError> {
        self.0.payload(&message.encode())
    }
}

/// Paths that a guest has for the devices and corpora of a plan.
pub struct Site<'a> {
    /// The block device of a role.
    pub disk: &'a dyn Fn(&str) -> String,
    /// The directory of a corpus.
    pub corpus: &'a dyn Fn(&str, &Corpus) -> String,
}

/// Runs cells of a plan, one after the other.
pub fn cells<L: Link>(
    mission: &Cells,
    link: L,
    interrupt: &Interrupt,
    site: &Site,
    inbox: &Inbox,
) -> Result<(), RunError> {
    let mut loader = Real::new(&mission.plan, mission.choices.clone());
    let clock = |recorder: &Recorder| match &mission.begun {
        Some(_) => continued_clock(recorder, interrupt, inbox),
        None => Ok(Clock::real()),
    };
    let guest_end = (link, interrupt, &clock as &ClockOf);
    with_context(
        site,
        &mission.plan,
        &mission.injections,
        guest_end,
        &mission.known,
        |scene, executor| {
            check_environment(mission, site)?;
            for &index in &mission.cells {
                let plan = cell_of(&mission.plan, index)?;
                let begun = mission.begun.as_ref().filter(|begun| begun.cell == index);
                let state = match begun {
                    Some(begun) => cell::continue_cell(
                        scene,
                        plan,
                        &mut executor(),
                        &mut loader,
                        *begun.clone(),
                    ),
                    None if mission.ask_before.contains(&index)
                        && !needed(index, scene, inbox)? =>
                    {
                        break;
                    }
                    None => cell::run(scene, plan, &mut executor(), &mut loader),
                };
                if let Some(error) = scene.recorder.failure() {
                    return Err(error);
                }
                // An injected interrupt ends its cell only; the user's ends the run. A cell that is still running continues on another guest.
                if state == CellState::Running || interrupt.level() != sys::interrupt::Level::None {
                    break;
                }
            }
            Ok(())
        },
    )
}

/// Refuses settings of the environment that this guest does not take, before the first of its cells.
fn check_environment(mission: &Cells, site: &Site) -> Result<(), RunError> {
    let roles = mission.plan.devices.keys();
    let devices = roles.map(|role| (role.clone(), (site.disk)(role))).collect();
    let cells = mission.cells.iter().filter_map(|&index| mission.plan.cells.get(index));
    let checked = crate::admission::check_environment(cells, &devices);
    checked.map_err(|error| RunError::Guest(error.into()))
}

/// Source of the host's messages: returns the next one; `None` if none arrives within the given time.
pub type Inbox<'a> = dyn Fn(Duration) -> Option<Vec<u8>> + 'a;

/// Function that makes the clock of the cells once a recorder exists, through which the host can be asked.
type ClockOf<'a> = dyn Fn(&Recorder) -> Result<Clock, RunError> + 'a;

/// Asks the host whether a cell is needed, and waits for the reply.
fn needed(cell: usize, scene: &CellContext, inbox: &Inbox) -> Result<bool, RunError> {
    let reply = ask(Message::Needed(cell), scene.recorder, scene.interrupt, inbox)?;
    Ok(reply == Some(HostReply::GoOn))
}

/// The clock of a cell that another guest began: the host, which saw the cell stop, tells the time.
fn continued_clock(
    recorder: &Recorder,
    interrupt: &Interrupt,
    inbox: &Inbox,
) -> Result<Clock, RunError> {
    match ask(Message::Time, recorder, interrupt, inbox)? {
        Some(HostReply::Time(now)) => Ok(Clock::real_from(Nanos(now))),
        // Interrupted: the rest of the cell will not run.
        _ => Ok(Clock::real()),
    }
}

/// Asks the host, and waits for its reply; `None` when the user wants to stop.
fn ask(
    question: Message,
    recorder: &Recorder,
    interrupt: &Interrupt,
    inbox: &Inbox,
) -> Result<Option<HostReply>, RunError> {
    const A_WHILE: Duration = Duration::from_millis(100);
    recorder.send(question);
    while interrupt.level() == sys::interrupt::Level::None {
        if let Some(error) = recorder.failure() {
            return Err(error);
        }
        let since = Instant::now();
        if let Some(bytes) = inbox(A_WHILE) {
            return HostReply::decode(&bytes).map(Some);
        }
        // An inbox that returns at once, since the link is closed, must not make this a busy loop.
        std::thread::sleep(A_WHILE.saturating_sub(since.elapsed()));
    }
    Ok(None)
}

/// Raises a stack, does `work` with the path of its target, and takes the stack down.
pub fn keep_stack<L: Link>(
    held: &KeptStack,
    link: L,
    interrupt: &Interrupt,
    site: &Site,
    work: impl FnOnce(&str),
) -> Result<(), RunError> {
    let clock = |_: &Recorder| Ok(Clock::real());
    let guest_end = (link, interrupt, &clock as &ClockOf);
    with_context(site, &held.plan, &[], guest_end, &BTreeMap::new(), |scene, executor| {
        let state =
            cell::with_raised_stack(scene, cell_of(&held.plan, held.cell)?, &mut executor(), work);
        ended(state, scene.recorder)
    })
}

/// Sends the facts of this machine to the host, and does `work` with the context that all cells of `plan` share and with executors that
/// know its devices and corpora.
fn with_context<L: Link>(
    site: &Site,
    plan: &Plan,
    injections: &[Injection],
    (mut link, interrupt, clock): (L, &Interrupt, &ClockOf),
    known: &BTreeMap<String, String>,
    work: impl FnOnce(&CellContext, &dyn Fn() -> Executor) -> Result<(), RunError>,
) -> Result<(), RunError> {
    link.first_step()?;
    let devices: BTreeMap<_, _> =
        plan.devices.keys().map(|role| (role.clone(), (site.disk)(role))).collect();
    let corpora = &plan.needs.corpora;
    let corpora =
        corpora.iter().map(|(name, from)| (name.clone(), (site.corpus)(name, from))).collect();
    let recorder = Recorder::new(Box::new(ToHost(link)));
    let mut machine = host::facts();
    machine.0.extend(known.clone());
    recorder.send(Message::Machine(machine.clone()));
    let clock = clock(&recorder)?;
    let scene = CellContext {
        cell_count: plan.cells.len(),
        run_tag: &plan.run_tag,
        machine,
        clock: &clock,
        interrupt,
        recorder: &recorder,
        injections,
        inject_fault: &inject_fault,
        suspends: true,
    };
    work(&scene, &|| crate::executor(host::RealMachine::new(), &scene, &devices, &corpora))
}

fn cell_of(plan: &Plan, index: usize) -> Result<&CellPlan, RunError> {
    plan.cells
        .get(index)
        .ok_or_else(|| RunError::Mission(format!("the plan has no cell {index}").into()))
}

/// Carries out faults that end the guest. Only tests ask for them, and they happen in guests only, never on a host.
fn inject_fault(fault: InjectedFault) {
    match fault {
        InjectedFault::Crash => {
            let _ = std::fs::write("/proc/sysrq-trigger", "c");
        }
        InjectedFault::Hang => loop {
            std::thread::sleep(std::time::Duration::from_secs(60));
        },
        InjectedFault::Fail | InjectedFault::Interrupt | InjectedFault::Spoil => {}
    }
}

fn ended(state: CellState, recorder: &Recorder) -> Result<(), RunError> {
    match (state, recorder.failure()) {
        (_, Some(error)) => Err(error),
        (CellState::Failed, None) => Err(RunError::Guest("its stack could not be raised".into())),
        _ => Ok(()),
    }
}

/// Returns a message that shows people `text`.
pub fn notice(text: &str) -> Vec<u8> {
    Message::Event(crate::Event::Notice { cell: None, text: text.to_owned() }).encode()
}
