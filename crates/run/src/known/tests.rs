//! Later stages of a cell verify what earlier ones wrote: stacks are simulated, and loads drive files in their place.

use std::path::Path;
use std::sync::{Arc, Mutex};

use experiment::Plan;
use layers::Offer;
use results::model::{CellRecord, CellState, VerifyFigures};
use sys::clock::Clock;
use sys::interrupt::Interrupt;
use units::Seed;

use super::*;
use crate::RunError;
use crate::loader::Real;
use crate::message::{Message, Post};
use crate::recorder::Recorder;
use crate::scene::CellContext;

/// Keeps the last record.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<Option<CellRecord>>>);

impl Post for Kept {
    fn post(&mut self, message: Message) -> Result<(), RunError> {
        if let Message::Put { path, bytes } = message
            && path.ends_with("cell.json")
        {
            *self.0.lock().unwrap() = Some(serde_json::from_slice(&bytes).unwrap());
        }
        Ok(())
    }
}

/// The size of what stands in the place of a block device.
const SIZE: u64 = 8 << 20;
const BLOCKS: u64 = SIZE / 4096;

/// The plan of an experiment whose loads drive a file of `folder`, or files below it, in place of the stack.
fn plan(text: &str, folder: &Path) -> Plan {
    let choices = experiment::PlanOptions {
        seed: Seed(1),
        run_tag: "00000000".into(),
        repeat: Some(experiment::Repeat::Fixed(1)),
        sizes: BTreeMap::new(),
        scale: experiment::Scale::Usual("lab"),
        only: Vec::new(),
    };
    let mut plan = experiment::compose("test", text, &choices).unwrap();
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

/// The record of the cell of an experiment with these stages.
fn record(stack: &str, stages: &str) -> CellRecord {
    let folder = tempfile::tempdir().unwrap();
    let text = format!(
        "name = \"x\"\nabout = \"x\"\nrepeat = 1\n[devices.data]\nsize = \"7G\"\n{stack}\n{stages}"
    );
    let plan = plan(&text, folder.path());
    let kept = Kept::default();
    let (clock, interrupt) = (Clock::real(), Interrupt::new());
    let scene = CellContext {
        of: 1,
        run_tag: &plan.run_tag,
        machine: Default::default(),
        clock: &clock,
        interrupt: &interrupt,
        recorder: &Recorder::new(Box::new(kept.clone())),
        injections: &[],
        suffer: &|_| {},
    };
    let cell = &plan.cells[0];
    let machine = crate::simulated::machine(&plan, cell, &Clock::simulated(None)).unwrap();
    let devices = crate::simulated::devices(&plan);
    let mut executor = crate::executor(machine, &scene, &devices, &Default::default());
    crate::cell::run(&scene, cell, &mut executor, &mut Real::new(&plan, BTreeMap::new()));
    let record = kept.0.lock().unwrap().take();
    record.unwrap()
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
        let told = format!("{what}: {found} {:?} {:?}", record.reason, found.first);
        assert_eq!(
            (found.read, found.checked, found.correct),
            (BLOCKS, checked, checked),
            "{told}"
        );
        let nothing = record.reason.as_ref().is_some_and(|r| r.contains("Nothing was verified"));
        assert_eq!(
            (record.state == CellState::Done, nothing),
            (checked > 0, checked == 0),
            "{told}"
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
