//! Tests of `do = "state"`.

use layers::StateMethod;
use results::model::{Requirement, StageData};

use super::{only_mistake, plan};
use crate::{explain, shipped};
use plan::Otherwise;
use plan::Plan;
use plan::Task;

/// An experiment that brings a layer to a state before it writes; `keys` are those of the stage. The pool has 4 GiB for data.
fn text(keys: &str) -> String {
    let logical = if keys.contains("is = \"full\"") { "6G" } else { "3G" };
    sized(logical, keys)
}

fn sized(logical: &str, keys: &str) -> String {
    format!(
        "name = \"x\"\nabout = \"\"\nrepeat = 1\n[devices.data]\nsize = \"7G\"\n\
         [[stack]]\nlayer = \"vdo\"\non = \"data\"\nlogical_size = \"{logical}\"\n\
         [[stage]]\ndo = \"state\"\nname = \"ready\"\n{keys}\n\
         [[stage]]\ndo = \"load\"\nmeasure = true\nops = {{ randwrite = 100 }}\nduration = \"5s\"\n"
    )
}

fn planned(keys: &str) -> Plan {
    plan(&text(keys)).unwrap_or_else(|error| panic!("{keys}: {}", error.render(false)))
}

#[test]
fn every_state_of_every_kind_is_a_stage_that_knows_what_proves_it() {
    for state in layers::kind("vdo").unwrap().states {
        let plan = planned(&format!("is = \"{}\"", state.name));
        let stage = &plan.cells[0].stages[0];
        assert_eq!(stage.name, "ready");
        let planned = stage.state.as_ref().unwrap();
        assert_eq!((&*planned.layer, &*planned.state), ("vdo", state.name));
        assert_eq!(planned.otherwise, Otherwise::Fail);
        assert!(!planned.criteria.is_empty());
        let as_declared = match (&state.by, &stage.task) {
            (StateMethod::Nothing, Task::Steps(steps)) => steps.is_empty(),
            (StateMethod::Action(_) | StateMethod::Discard, Task::Steps(steps)) => {
                !steps.is_empty()
            }
            (StateMethod::Allocate, Task::Load(load)) => load.last_block,
            (StateMethod::Load { metric, at_least, .. }, Task::Fill(fill)) => {
                fill.metric == *metric && fill.at_least == *at_least
            }
            _ => false,
        };
        assert!(as_declared, "{}: {:?}", state.name, stage.task);
        let data = match &state.by {
            StateMethod::Allocate => StageData::Allocation,
            StateMethod::Load { .. } => StageData::State,
            _ => StageData::Nothing,
        };
        assert_eq!(stage.traits.data, data, "{}", state.name);
        let discards = plan.needs.tools.iter().any(|tool| tool == "blkdiscard");
        assert_eq!(discards, matches!(state.by, StateMethod::Discard), "{}", state.name);
        let json = serde_json::to_string(&plan).unwrap();
        assert_eq!(serde_json::from_str::<Plan>(&json).unwrap(), plan);
    }
}

#[test]
fn plans_of_before_stages_had_traits_are_read() {
    let mut json = serde_json::to_value(planned("is = \"full\"")).unwrap();
    let stage = json["cells"][0]["stages"][0].as_object_mut().unwrap();
    assert!(stage.remove("traits").is_some());
    let read = serde_json::from_value::<Plan>(json).unwrap();
    assert_eq!(read.cells[0].stages[0].kind, "fill");
}

#[test]
fn a_state_says_in_a_plan_what_proves_it() {
    let plan = planned("is = \"steady\"\nby = { ops = { randwrite = 100 }, depth = 7 }");
    let Task::Fill(fill) = &plan.cells[0].stages[0].task else { panic!("no fill") };
    assert_eq!(fill.by.depth, 7);
    let shown = explain(&plan).variants[0].stages[0].clone();
    for words in [
        "vdo is steady when physical_used_percent of vdo is at least 50 %",
        "slabs_reopened of vdo grows",
        "device_write_size_bytes of data stays within 10 %",
        "a round is 197k of bios_in_write",
    ] {
        assert!(shown.contains(words), "{shown}");
    }
    let recorded =
        text("is = \"steady\"").replace("size = \"7G\"", "size = \"7G\"\nwrite_runs = true");
    let shown = explain(&super::plan(&recorded).unwrap()).variants[0].stages[0].clone();
    assert!(shown.contains("device_write_run_bytes of data stays within 10 %"), "{shown}");
}

#[test]
fn a_state_that_is_not_reached_may_be_a_warning() {
    let plan = planned("is = \"fresh\"\notherwise = \"warn\"");
    let state = plan.cells[0].stages[0].state.as_ref().unwrap();
    assert_eq!(state.otherwise, Otherwise::Warn);
    assert!(
        state.criteria.iter().all(|criterion| matches!(criterion.must, Requirement::BeAtMost(_)))
    );
}

#[test]
fn what_is_wrong_in_a_state_is_told_at_its_place() {
    for (keys, line, words) in [
        ("is = \"stedy\"", "is = \"stedy\"", "did you mean 'steady'?"),
        ("is = \"full\"\notherwise = \"stop\"", "otherwise = \"stop\"", "takes fail or warn"),
        (
            "is = \"fresh\"\nby = { ops = { write = 100 } }",
            "by = { ops = { write = 100 } }",
            "leave 'by' out",
        ),
        ("is = \"fresh\"\nmeasure = true", "measure = true", "measure the load that follows"),
        ("is = \"full\"\ntarget = \"data\"", "is = \"full\"", "fathom layers NAME"),
        ("otherwise = \"warn\"", "[[stage]]", "add it"),
    ] {
        let message = only_mistake(&text(keys), line);
        assert!(message.contains(words), "{keys}\n{message}");
    }
}

#[test]
fn a_state_that_cannot_come_about_is_told_before_anything_runs() {
    for (logical, keys, line, words) in [
        ("1G", "is = \"full\"", "is = \"full\"", "or more"),
        ("64M", "is = \"steady\"", "is = \"steady\"", "write a logical_size from"),
        ("6G", "is = \"steady\"", "is = \"steady\"", "a load over fewer addresses"),
        ("1P", "is = \"allocated\"", "do = \"state\"", "leave the stage out"),
    ] {
        let message = only_mistake(&sized(logical, keys), line);
        assert!(message.contains(words), "{logical} {keys}\n{message}");
    }
    let by = "is = \"steady\"\nby = { ops = { randwrite = 100 }, size = \"3G\" }";
    assert!(plan(&sized("6G", by)).is_ok());
}

#[test]
fn a_shipped_experiment_asks_for_a_state_of_the_load_before() {
    let plan = plan(shipped("vdo-full").unwrap().text).unwrap();
    let first = &plan.cells[0].stages[1];
    assert_eq!(first.state.as_ref().unwrap().state, "full");
    let Task::Fill(fill) = &first.task else { panic!("no fill") };
    assert!(fill.by.max_errors.is_some_and(|errors| errors > 1_000_000));
}
