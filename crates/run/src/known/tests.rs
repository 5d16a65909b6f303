//! Later stages of a cell verify what earlier ones wrote: stacks are simulated, and loads drive files in their place.

use std::path::Path;
use std::sync::{Arc, Mutex};

use layers::Offer;
use plan::Plan;
use results::model::{CellRecord, CellState, VerifyFigures};
use sys::clock::Clock;
use sys::interrupt::Interrupt;
use units::{Nanos, Seed};

use super::*;
use crate::RunError;
use crate::loader::Real;
use crate::message::{Message, Post};
use crate::recorder::Recorder;
use crate::scene::CellContext;
use crate::suspended::SuspendedCell;

/// Keeps the last record, and the cell that goes on elsewhere, as it travels.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Left>>);

impl Post for Kept {
    fn post(&mut self, message: Message) -> Result<(), RunError> {
        match Message::decode(&message.encode())? {
            Message::Put { path, bytes } if path.ends_with("cell.json") => {
                self.0.lock().unwrap().0 = Some(serde_json::from_slice(&bytes).unwrap());
            }
            Message::Suspended(cell) => self.0.lock().unwrap().1 = Some(*cell),
            _ => {}
        }
        Ok(())
    }
}

/// The size of what stands in the place of a block device.
const SIZE: u64 = 8 << 20;
const BLOCKS: u64 = SIZE / 4096;

fn composed(text: &str, run_tag: &str) -> Plan {
    let choices = experiment::PlanOptions {
        seed: Seed(1),
        run_tag: run_tag.into(),
        repeat: Some(experiment::Repeat::Fixed(1)),
        sizes: BTreeMap::new(),
        scale: experiment::Scale::Usual("lab"),
        only: Vec::new(),
    };
    experiment::compose("test", text, &choices).unwrap()
}

/// The plan of an experiment whose loads drive a file of `folder`, or files below it, instead of the stack.
fn plan(text: &str, folder: &Path) -> Plan {
    let mut plan = composed(text, "00000000");
    let offers = plan.cells[0].stages.iter_mut().flat_map(|stage| {
        let aims = stage.aims.iter_mut().map(|aim| &mut aim.target);
        aims.chain([&mut stage.target])
    });
    for target in offers {
        let file = folder.join(&target.name);
        if target.offer.is_directory() {
            target.offer = Offer::Directory { path: file.display().to_string(), bytes: 1 << 30 };
            std::fs::create_dir_all(file).unwrap();
        } else {
            target.offer = Offer::Block { device: file.display().to_string(), bytes: SIZE };
            let file = std::fs::File::options().create(true).append(true).open(file).unwrap();
            file.set_len(SIZE).unwrap();
        }
    }
    plan
}

/// The remains of a cell: its last record, and the cell itself if it goes on elsewhere.
type Left = (Option<CellRecord>, Option<SuspendedCell>);

/// Runs the cell of an experiment with these stages on a machine, or goes on with it on another one whose clock is five seconds ahead.
fn left(plan: &Plan, suspends: bool, begun: Option<SuspendedCell>) -> Left {
    let cell = &plan.cells[0];
    let machine = crate::simulated::machine(plan, cell, &Clock::simulated(None)).unwrap();
    left_on(plan, (machine, &crate::simulated::devices(plan)), suspends, begun)
}

/// The same on a machine with these devices.
fn left_on(
    plan: &Plan,
    (machine, devices): (impl host::Machine + 'static, &BTreeMap<String, String>),
    suspends: bool,
    begun: Option<SuspendedCell>,
) -> Left {
    let kept = Kept::default();
    let late = |begun: &SuspendedCell| Clock::real_from(Nanos(begun.at_ns + 5_000_000_000));
    let (clock, interrupt) = (begun.as_ref().map_or_else(Clock::real, late), Interrupt::new());
    let scene = CellContext {
        cell_count: 1,
        run_tag: &plan.run_tag,
        machine: Default::default(),
        clock: &clock,
        interrupt: &interrupt,
        recorder: &Recorder::new(Box::new(kept.clone())),
        injections: &[],
        inject_fault: &|_| {},
        suspends,
    };
    let cell = &plan.cells[0];
    let mut executor = crate::executor(machine, &scene, devices, &Default::default());
    let mut loader = Real::new(plan, BTreeMap::new());
    match begun {
        Some(begun) => crate::cell::continue_cell(&scene, cell, &mut executor, &mut loader, begun),
        None => crate::cell::run(&scene, cell, &mut executor, &mut loader),
    };
    std::mem::take(&mut *kept.0.lock().unwrap())
}

/// The plan of a cell with these stages.
fn planned(stack: &str, stages: &str, folder: &Path) -> Plan {
    let text = format!(
        "name = \"x\"\nabout = \"x\"\nrepeat = 1\n[devices.data]\nsize = \"7G\"\n{stack}\n{stages}"
    );
    plan(&text, folder)
}

/// The record of the cell of an experiment with these stages.
fn record(stack: &str, stages: &str) -> CellRecord {
    let folder = tempfile::tempdir().unwrap();
    left(&planned(stack, stages, folder.path()), false, None).0.unwrap()
}

const VDO: &str =
    "[[stack]]\nlayer = \"vdo\"\non = \"data\"\nlogical_size = \"8M\"\nvia = \"table\"\n";
const XFS: &str = "[[stack]]\nlayer = \"xfs\"\non = \"vdo\"\n";
const FILL: &str = "[[stage]]\ndo = \"load\"\nname = \"fill\"\nops = { write = 100 }\nblock_size = \"64k\"\npasses = 1\n";
const HALF: &str =
    "[[stage]]\ndo = \"load\"\nname = \"half\"\nops = { write = 100 }\nsize = \"4M\"\npasses = 1\n";
const MIXED: &str = "[[stage]]\ndo = \"load\"\nname = \"mixed\"\nops = { randwrite = 60, randread = 30, randdiscard = 10 }\nios = 3000\ndepth = 8\ncontent = { dedupe = 30 }\n";
const RESTART: &str = "[[stage]]\ndo = \"layer\"\nname = \"again\"\naction = \"restart\"\n";
const CRASH: &str = "[[stage]]\ndo = \"layer\"\nname = \"crashed\"\naction = \"crash\"\n";
const COMMAND: &str =
    "[[stage]]\ndo = \"command\"\nname = \"tool\"\nargv = [\"true\", \"{target}\"]\n";
const TOOL: &str = "[[stage]]\ndo = \"command\"\nname = \"tool\"\nargv = [\"true\", \"{mount}\"]\n";
const LAYOUT: &str = "[[stage]]\ndo = \"layout\"\nname = \"files\"\nfiles = 2\nsize = \"4M\"\n";
const LOOK: &str = "[[stage]]\ndo = \"load\"\nname = \"look\"\nmeasure = true\nops = { read = 100 }\npasses = 1\nverify = \"read\"\n";

fn verified(record: &CellRecord) -> VerifyFigures {
    let look = record.stages.iter().find(|stage| stage.name == "look");
    look.unwrap_or_else(|| panic!("{:?}", record.reason)).load.clone().unwrap().verify.unwrap()
}

#[test]
fn a_stage_verifies_what_the_stages_before_it_wrote_and_a_cell_that_checked_nothing_fails() {
    let files = format!("{LOOK}files = \"files\"\n");
    let both = format!("{}{XFS}", VDO.replace("8M", "1G"));
    let look = LOOK.to_owned();
    let settled = FILL.replace("passes", "settle = true\npasses");
    for (what, stack, stages, checked) in [
        ("nothing known", VDO, vec![&look], 0),
        ("known from a load", VDO, vec![&FILL.to_owned(), &look], BLOCKS),
        ("partly known", VDO, vec![&HALF.to_owned(), &look], BLOCKS / 2),
        ("known from two", VDO, vec![&FILL.to_owned(), &HALF.to_owned(), &look], BLOCKS),
        ("after a restart", VDO, vec![&FILL.to_owned(), &RESTART.to_owned(), &look], BLOCKS),
        ("after a crash", VDO, vec![&FILL.to_owned(), &CRASH.to_owned(), &look], 0),
        ("after a flush and a crash", VDO, vec![&settled, &CRASH.to_owned(), &look], BLOCKS),
        ("after a command", VDO, vec![&FILL.to_owned(), &COMMAND.to_owned(), &look], 0),
        ("a layout", &both, vec![&LAYOUT.to_owned(), &files], BLOCKS),
        (
            "a layout and a command",
            &both,
            vec![&LAYOUT.to_owned(), &TOOL.to_owned(), &files],
            BLOCKS,
        ),
    ] {
        let stages: String = stages.into_iter().map(String::as_str).collect();
        let record = record(stack, &stages);
        let found = verified(&record);
        let message = format!("{what}: {found} {:?} {:?}", record.reason, found.first);
        assert_eq!(
            (found.read, found.checked, found.correct),
            (BLOCKS, checked, checked),
            "{message}"
        );
        let nothing = record.reason.as_ref().is_some_and(|r| r.contains("Nothing was verified"));
        assert_eq!(
            (record.state == CellState::Done, nothing),
            (checked > 0, checked == 0),
            "{message}"
        );
    }
}

#[test]
fn overwrites_and_discards_of_several_stages_raise_no_alarm() {
    let twice = MIXED.replace("mixed", "mixed again").replace("ios", "verify = \"both\"\nios");
    let record = record(VDO, &format!("{FILL}{MIXED}{RESTART}{twice}{LOOK}"));
    let found = verified(&record);
    assert_eq!(record.state, CellState::Done, "{:?} {:?}", record.reason, found.first);
    assert!(found.checked > BLOCKS * 3 / 4 && found.wrong_blocks() == 0, "{found:?}");
}

const LINEAR: &str = "[[stack]]\nlayer = \"linear\"\non = \"data\"\nsize = \"8M\"\n";
const REBOOT: &str = "[[stage]]\ndo = \"reboot\"\n";

#[test]
fn a_cell_goes_on_on_another_machine_with_what_it_wrote_owes_and_measured() {
    let folder = tempfile::tempdir().unwrap();
    let stages = format!("{FILL}{MIXED}{REBOOT}{LOOK}");
    let plan = planned(LINEAR, &stages, folder.path());
    let (before, begun) = left(&plan, true, None);
    let (before, begun) = (before.unwrap(), begun.unwrap());
    let names = |record: &CellRecord| -> Vec<String> {
        record.stages.iter().map(|stage| stage.name.clone()).collect()
    };
    assert_eq!(
        (before.state, names(&before)),
        (CellState::Running, vec!["fill".into(), "mixed".into()])
    );
    assert!(!before.steps.iter().any(|step| step.undo), "the stack is not taken apart");
    let (after, none) = left(&plan, true, Some(begun.clone()));
    let after = after.unwrap();
    assert!(none.is_none());
    assert_eq!(after.state, CellState::Done, "{:?}", after.reason);
    assert_eq!(names(&after), ["fill", "mixed", "reboot", "look"]);
    assert_eq!(after.stages[..2], before.stages[..], "what was measured is final");
    assert!(after.machine.is_some(), "what both machines did for others");
    let found = verified(&after);
    assert!(found.checked > BLOCKS * 3 / 4 && found.wrong_blocks() == 0, "{found:?}");
    let boot = after.steps.iter().find(|step| step.command == "reboot").unwrap();
    assert!(boot.duration_ns >= 5_000_000_000 && boot.start_ns == begun.at_ns, "{boot:?}");
    let look = &after.stages[3];
    assert!(look.start_ns >= begun.at_ns + 5_000_000_000, "one clock");
    let undone =
        |what: &str| after.steps.iter().any(|s| s.undo && s.about == format!("undo: {what}"));
    assert!(undone("make the logical volume") && undone("make the volume group"));
}

#[test]
fn what_a_reboot_lost_is_found() {
    let folder = tempfile::tempdir().unwrap();
    let plan = planned(LINEAR, &format!("{FILL}{REBOOT}{LOOK}"), folder.path());
    let begun = left(&plan, true, None).1.unwrap();
    let disk = std::fs::File::options().write(true).open(folder.path().join("linear")).unwrap();
    std::os::unix::fs::FileExt::write_all_at(&disk, &[0; 8192], 4096).unwrap();
    let record = left(&plan, true, Some(begun)).0.unwrap();
    assert_eq!(record.state, CellState::Failed);
    assert_eq!(verified(&record).wrong_blocks(), 2, "{:?}", record.reason);
}

#[test]
fn what_may_have_changed_before_a_reboot_is_unknown_after_it() {
    for spoiler in [COMMAND, CRASH] {
        let folder = tempfile::tempdir().unwrap();
        let plan = planned(VDO, &format!("{FILL}{spoiler}{REBOOT}{LOOK}"), folder.path());
        let begun = left(&plan, true, None).1.unwrap();
        let record = left(&plan, true, Some(begun)).0.unwrap();
        let found = verified(&record);
        assert_eq!((found.read, found.checked), (BLOCKS, 0), "{spoiler}{:?}", record.reason);
    }
}

#[test]
fn a_load_on_some_of_the_targets_makes_the_others_unknown_over_a_reboot() {
    let mut kept = KeptFiles { folder: folder("00000000"), files_of: BTreeMap::new(), next: 0 };
    let names = |names: &[&str]| names.iter().map(|&name| name.to_owned()).collect::<Vec<_>>();
    kept.targets(names(&["a", "b"]), true);
    kept.targets(names(&["c"]), true);
    kept.targets(names(&["b"]), false);
    assert_eq!(kept.files_of.len(), 3);
    kept.targets(names(&["b"]), true);
    assert_eq!(kept.files_of.keys().cloned().collect::<Vec<_>>(), [names(&["b"]), names(&["c"])]);
}

/// A loop device; gone when dropped.
struct LoopDevice(String, #[expect(dead_code)] tempfile::NamedTempFile);

impl LoopDevice {
    /// `None` where none can be made, or there is no XFS.
    fn make(bytes: u64) -> Option<Self> {
        let known = std::fs::read_to_string("/proc/filesystems").ok()?;
        let formats = std::process::Command::new("mkfs.xfs").arg("-V").output().is_ok();
        known.contains("\txfs").then_some(()).filter(|()| formats)?;
        let file = tempfile::NamedTempFile::new().unwrap();
        file.as_file().set_len(bytes).unwrap();
        let attach = ["--find", "--show"];
        let made = std::process::Command::new("losetup").args(attach).arg(file.path()).output();
        let made = made.ok().filter(|made| made.status.success())?;
        Some(Self(String::from_utf8(made.stdout).unwrap().trim().to_owned(), file))
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = std::process::Command::new("losetup").args(["--detach", &self.0]).status();
    }
}

#[test]
fn files_of_a_real_file_system_are_right_after_a_restart_and_on_the_machine_that_goes_on() {
    let Some(device) = LoopDevice::make(400 << 20) else {
        println!("SKIP files_of_a_real_file_system: it needs root, loop devices and XFS");
        return;
    };
    let look = |name: &str| format!("{}files = \"files\"\n", LOOK.replace("\"look\"", name));
    let text = format!(
        "name = \"x\"\nabout = \"x\"\nrepeat = 1\n[devices.data]\nsize = \"400M\"\n[[stack]]\nlayer = \"xfs\"\non = \"data\"\n\
         {LAYOUT}[[stage]]\ndo = \"restart\"\n{}{REBOOT}{}",
        look("\"first\""),
        look("\"look\"")
    );
    // Only what is its own is left behind by it.
    let plan = composed(&text, &format!("{:08x}", std::process::id()));
    let devices = BTreeMap::from([("data".to_owned(), device.0.clone())]);
    let machine = || (host::RealMachine::new(), &devices);
    let (before, begun) = left_on(&plan, machine(), true, None);
    let Some(begun) = begun else { panic!("{:?}", before.unwrap().reason) };
    let mounts = || std::fs::read_to_string("/proc/mounts").unwrap();
    assert!(!mounts().contains(&device.0), "it is down");
    let after = left_on(&plan, machine(), true, Some(begun)).0.unwrap();
    assert_eq!(after.state, CellState::Done, "{:?}", after.reason);
    for name in ["first", "look"] {
        let stage = after.stages.iter().find(|stage| stage.name == name).unwrap();
        let found = stage.load.clone().unwrap().verify.unwrap();
        assert_eq!((found.checked, found.correct), (BLOCKS, BLOCKS), "{name}");
    }
    assert_eq!(after.leftovers, Some(Vec::new()));
    assert!(!mounts().contains(&device.0));
}
