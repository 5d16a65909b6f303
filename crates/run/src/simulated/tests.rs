//! Everything that a file can ask for is answered by the simulated machine too: shipped experiments, actions, states, several tops.

use std::sync::{Arc, Mutex};

use layers::{ActionKind, Kind, PartEffect};
use results::model::{CellRecord, CellState};
use sys::interrupt::Interrupt;
use units::Unit;

use super::*;
use crate::message::{Message, Post};
use crate::recorder::Recorder;

/// Keeps the last record of each cell.
#[derive(Clone, Default)]
struct Kept(Arc<Mutex<BTreeMap<String, CellRecord>>>);

impl Post for Kept {
    fn post(&mut self, message: Message) -> Result<(), RunError> {
        if let Message::Put { path, bytes } = message
            && path.ends_with("cell.json")
        {
            self.0.lock().unwrap().insert(path, serde_json::from_slice(&bytes).unwrap());
        }
        Ok(())
    }
}

/// The cells of an experiment whose loads end after some I/Os; every one ended well and left nothing.
fn simulated(text: &str) -> Vec<CellRecord> {
    let choices = experiment::PlanOptions {
        seed: Seed(1),
        run_tag: "00000000".into(),
        repeat: Some(experiment::Repeat::Fixed(1)),
        sizes: BTreeMap::new(),
        scale: experiment::Scale::Usual("lab"),
        only: Vec::new(),
    };
    let composed = experiment::compose("x.toml", text, &choices);
    let mut plan = composed.unwrap_or_else(|error| panic!("{}", error.render(false)));
    for stage in plan.cells.iter_mut().flat_map(|cell| &mut cell.stages) {
        match &mut stage.task {
            Task::Load(load) => load.ios = Some(1000),
            Task::Fill(fill) => fill.by.ios = Some(1000),
            Task::Tree(_) | Task::Age(_) | Task::Copy(_) | Task::Command(_) | Task::Steps(_) => {}
        }
    }
    let kept = Kept::default();
    let (clock, interrupt) = (sys::clock::Clock::simulated(None), Interrupt::new());
    let scene = CellContext {
        cell_count: plan.cells.len(),
        run_tag: &plan.run_tag,
        machine: Default::default(),
        clock: &clock,
        interrupt: &interrupt,
        recorder: &Recorder::new(Box::new(kept.clone())),
        injections: &[],
        inject_fault: &|_| {},
        suspends: false,
    };
    for cell in &plan.cells {
        let machine = machine(&plan, cell, &clock).unwrap();
        let mut executor = crate::executor(machine, &scene, &devices(&plan), &corpora(&plan));
        crate::cell::run(&scene, cell, &mut executor, &mut Twin::default());
    }
    let records: Vec<_> = kept.0.lock().unwrap().values().cloned().collect();
    assert_eq!(records.len(), plan.cells.len());
    for record in &records {
        assert_eq!(record.state, CellState::Done, "{:?}\n{text}", record.reason);
        assert_eq!(record.leftovers, Some(Vec::new()), "{text}");
    }
    records
}

/// The figures of layers in the measured stages of some cells: name of the layer, of the figure, and its value.
fn figures(cells: &[CellRecord]) -> Vec<(String, String, Option<f64>)> {
    let of_stages = cells
        .iter()
        .flat_map(|cell| &cell.stages)
        .filter(|stage| stage.measured)
        .flat_map(|stage| &stage.layers);
    let figure = |(layer, figures): (&String, &results::model::LayerFigures)| {
        let layer = layer.clone();
        figures.clone().into_iter().map(move |(id, value)| (layer.clone(), id, value))
    };
    of_stages.flat_map(figure).collect()
}

#[test]
fn every_shipped_experiment_runs_on_simulated_layers_without_a_figure_that_cannot_be() {
    for shipped in experiment::SHIPPED {
        for (layer, id, value) in figures(&simulated(shipped.text)) {
            let percent = layers::metric(&id).is_some_and(|metric| metric.unit == Unit::Percent);
            let possible = !percent || value.is_none_or(|value| value <= 100.0);
            assert!(possible, "{}: {id} of {layer} is {value:?} %", shipped.name);
        }
    }
}

/// A layer of a kind on separate devices, and stages before the work that is measured.
fn alone(kind: &Kind, settings: &str, stages: &str) -> String {
    let needed = kind.inputs.iter().filter(|input| !input.optional);
    let inputs: Vec<&str> = needed.map(|input| input.name).collect();
    let devices: String =
        inputs.iter().map(|name| format!("[devices.on_{name}]\nsize = \"7G\"\n")).collect();
    let on: Vec<String> = inputs.iter().map(|name| format!("{name} = \"on_{name}\"")).collect();
    format!(
        "name = \"x\"\nabout = \"x\"\nrepeat = 1\n{devices}[[stack]]\nlayer = \"{}\"\nname = \"layer\"\n\
         on = {{ {} }}\n{settings}\n{stages}[[stage]]\ndo = \"command\"\nname = \"work\"\nmeasure = true\n\
         argv = [\"sync\"]\n",
        kind.name,
        on.join(", ")
    )
}

/// The stage of an action; what grows says to what size, where it takes that.
fn stage(action: &ActionKind) -> String {
    let name = action.name;
    let sized = name == "grow" && action.keys.iter().any(|key| key.name == "logical_size");
    let size = if sized { "logical_size = \"900G\"\n" } else { "" };
    format!("[[stage]]\ndo = \"layer\"\nname = \"{name}\"\naction = \"{name}\"\n{size}")
}

#[test]
fn every_action_of_every_kind_runs_on_simulated_layers() {
    for kind in layers::kinds() {
        for action in kind.actions {
            let before = kind.actions.iter().find(|other| match (action.part, other.part) {
                (Some(PartEffect::Brings(part)), Some(PartEffect::Takes(taken))) => part == taken,
                _ => false,
            });
            let stages = before.map(stage).unwrap_or_default() + &stage(action);
            // Only a volume made from a table has its device in its own hands.
            let settings = if action.name == "crash" { "via = \"table\"" } else { "" };
            simulated(&alone(kind, settings, &stages));
        }
    }
}

#[test]
fn every_kind_that_says_how_is_restarted_and_rebooted_on_simulated_layers() {
    let mut restarted = 0;
    for kind in layers::kinds() {
        let device = || Offer::Block { device: "/dev/x".into(), bytes: 7 << 30 };
        let inputs = kind.inputs.iter().map(|input| (input.name.to_owned(), device())).collect();
        let place = Place { name: "layer", run_tag: "00000000", inputs: &inputs };
        let parsed = (kind.parse)(&Default::default()).unwrap();
        if parsed.restart(&place).is_some() {
            let stages = ["restart", "reboot"].map(|what| format!("[[stage]]\ndo = \"{what}\"\n"));
            simulated(&alone(kind, "", &stages.concat()));
            restarted += 1;
        }
    }
    assert!(restarted >= 8, "{restarted}: file systems, volumes, caches, vdo");
}

#[test]
fn every_state_of_every_kind_and_a_trim_run_on_simulated_layers() {
    for kind in layers::kinds() {
        for state in kind.states {
            let stage = format!("[[stage]]\ndo = \"state\"\nis = \"{}\"\n", state.name);
            // A steady volume has room for all of its addresses.
            let settings = if state.name == "steady" { "logical_size = \"3500M\"" } else { "" };
            simulated(&alone(kind, settings, &stage));
        }
        simulated(&alone(kind, "", "[[stage]]\ndo = \"trim\"\n"));
    }
}

/// A stage that reads a little of a layer, so that nothing stands idle.
fn look(target: &str) -> String {
    format!(
        "[[stage]]\ndo = \"load\"\nname = \"look at {target}\"\ntarget = \"{target}\"\nops = {{ randread = 100 }}\nios = 10\n"
    )
}

/// A volume of VDO and a plain one, which is the last entry; `target` is the one that is written to.
fn beside(target: &str) -> String {
    format!(
        "name = \"x\"\nabout = \"x\"\nrepeat = 1\n[devices.data]\nsize = \"7G\"\n[devices.other]\nsize = \"2G\"\n\
         [[stack]]\nlayer = \"vdo\"\non = \"data\"\nlogical_size = \"1G\"\n\
         [[stack]]\nlayer = \"linear\"\nname = \"plain\"\non = \"other\"\n\
         [[stage]]\ndo = \"load\"\nmeasure = true\nops = {{ randwrite = 100 }}\nios = 1000\ntarget = {target}\n{}{}",
        look("vdo"),
        look("plain")
    )
}

#[test]
fn what_is_written_beside_a_layer_counts_in_no_figure_of_it() {
    let written = |target: &str| {
        let figures = figures(&simulated(&beside(target)));
        let figure =
            figures.into_iter().find(|(layer, id, _)| layer == "vdo" && id == "bios_in_write");
        figure.and_then(|(_, _, value)| value).unwrap()
    };
    assert_eq!(written("\"plain\""), 0.0);
    assert_eq!(written("\"vdo\""), 1000.0);
    let share = written("{ vdo = 25, plain = 75 }");
    assert!((share - 250.0).abs() < 50.0, "{share}");
}

#[test]
fn what_was_recorded_is_no_figure_of_a_layer_that_something_worked_on() {
    let side = "name = \"side\"\nabout = \"x\"\nrepeat = 1\n[devices.slow]\nsize = \"4G\"\n\
         [devices.fast]\nsize = \"1G\"\n[devices.other]\nsize = \"2G\"\n\
         [[stack]]\nlayer = \"lvmcache\"\non = { origin = \"slow\", cache = \"fast\" }\n\
         [[stack]]\nlayer = \"linear\"\non = \"other\"\n\
         [[stage]]\ndo = \"load\"\nmeasure = true\nops = { randread = 100 }\nios = 1000\n";
    let of_cache = |target: &str| {
        let looks = look("lvmcache") + &look("linear");
        let figures = figures(&simulated(&format!("{side}target = {target}\n{looks}")));
        let figures_of_cache = figures
            .into_iter()
            .filter(|(layer, id, _)| layer == "lvmcache" && id == "used_percent");
        figures_of_cache.map(|(_, _, value)| value).collect::<Vec<_>>()
    };
    assert_eq!(of_cache("{ lvmcache = 60, linear = 40 }"), [None]);
    assert!(matches!(of_cache("\"linear\"")[..], [Some(_)]));
}

#[test]
fn a_simulated_copy_writes_nothing_that_anybody_knows_of() {
    let dir = tempfile::tempdir().unwrap();
    let corpus = dir.path().join("corpus.img");
    std::fs::write(&corpus, [7; 8192]).unwrap();
    let text = beside("\"vdo\"")
        .replacen("[[stack]]", &format!("[devices.corpus]\nfile = {corpus:?}\n[[stack]]"), 1)
        .replacen(
            "[[stage]]",
            "[[stage]]\ndo = \"copy\"\nfrom = \"corpus\"\ntarget = \"vdo\"\n[[stage]]",
            1,
        );
    let figures = figures(&simulated(&text));
    let bios: Vec<_> = figures.iter().filter(|(_, id, _)| id == "bios_in_write").collect();
    assert!(!bios.is_empty() && bios.iter().all(|(_, _, value)| value.is_none()), "{bios:?}");
}
