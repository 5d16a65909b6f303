//! A variant that the file does not have.

use super::*;
use crate::{Trial, compose_trial, shipped};

fn trial(of: &str, name: &str, set: &str) -> Result<plan::Plan, crate::ExperimentError> {
    let trial =
        Trial { of: of.into(), name: name.into(), set: set.into(), stage: "random-write".into() };
    let choices = PlanOptions { only: vec![of.into(), name.into()], ..choices() };
    compose_trial("a.toml", shipped("vdo-vs-plain").unwrap().text, &choices, &trial)
}

#[test]
fn a_trial_stands_beside_the_variant_that_it_changes_and_answers_the_first_question() {
    let plan = trial("vdo", "changed", "\"vdo.block_map_cache\" = \"256M\"").unwrap();
    let caches: Vec<_> = plan
        .facts
        .variants
        .iter()
        .map(|v| (v.name.as_str(), v.stack[1].settings["block_map_cache"].as_str()))
        .collect();
    assert_eq!(caches, [("vdo", "128M"), ("changed", "256M")]);
    assert_eq!(plan.facts.questions.len(), 1);
    let stages = |n: usize| plan.facts.variants[n].stages.len();
    assert_eq!(stages(0), stages(1));
}

#[test]
fn a_trial_may_stand_on_a_device_that_the_experiment_does_not_have() {
    let set = "\"devices.journal\" = { size = \"1G\", like = \"nvme\" }\n\
               \"vdo.on\" = { data = \"slow\", tail = \"journal\" }";
    let with = |set: &str| {
        let trial = Trial {
            of: "hdd alone".into(),
            name: "changed".into(),
            set: set.to_owned(),
            stage: "write".into(),
        };
        let only = vec!["hdd alone".into(), "changed".into()];
        let choices = PlanOptions { only, ..choices() };
        compose_trial("a.toml", shipped("vdo-journal-device").unwrap().text, &choices, &trial)
    };
    let plan = with(set).unwrap();
    let devices: Vec<_> = plan.devices.keys().map(String::as_str).collect();
    assert_eq!(devices, ["journal", "slow"]);
    let stands = |n: usize| {
        let stack = &plan.facts.variants[n].stack;
        stack.iter().filter(|l| l.layer == "device").map(|l| l.name.as_str()).collect::<Vec<_>>()
    };
    assert_eq!((stands(0), stands(1)), (vec!["slow"], vec!["journal", "slow"]));
    let message = |set: &str| with(set).unwrap_err().mistakes[0].message.clone();
    assert!(message(&set.replace("journal", "ssd")).contains("a device 'ssd' of its own"));
    let small = message(&set.replace("\"1G\"", "1"));
    assert!(small.contains("device"), "{small}");
}

#[test]
fn a_trial_may_change_the_load_and_asks_about_the_stage_that_it_is_for() {
    let compose = |experiment: &str, of: &str, set: &str, stage: &str| {
        let [of, name, set, stage] = [of, "changed", set, stage].map(str::to_owned);
        let choices = PlanOptions { only: vec![of.clone(), name.clone()], ..choices() };
        let trial = Trial { of, name, set, stage };
        compose_trial("a.toml", shipped(experiment).unwrap().text, &choices, &trial).unwrap()
    };
    let seldom = "\"write.sync\" = \"fsync:1000000\"";
    let plan = compose("vdo-durability", "fsync 32", seldom, "write");
    let syncs = plan.facts.variants.iter().map(|v| v.stages[1].load["sync"].clone());
    assert_eq!(syncs.collect::<Vec<_>>(), ["fsync:32", "fsync:1000000"]);
    let nvme = "\"devices.journal\" = { size = \"1G\", like = \"nvme\" }\n\"vdo.via\" = \"table\"\n\
                \"vdo.on\" = { data = \"data\", tail = \"journal\" }";
    let plan = compose("vdo-durability", "fsync 32", nvme, "write");
    assert_eq!(plan.facts.variants[1].stack.last().unwrap().settings["via"], "table");
    let stages_of = |stage: &str| {
        let plan = compose("cache-first-look", "cached", "", stage);
        let stages: Vec<_> =
            plan.facts.questions.iter().map(|question| question.stage.clone()).collect();
        stages
    };
    assert_eq!(stages_of("cold"), [Some("cold".to_owned())]);
    assert_eq!(stages_of("warm"), [Some("warm".to_owned())]);
}

#[test]
fn what_a_trial_cannot_change_is_told() {
    let refusal = |of, name, set| trial(of, name, set).unwrap_err().mistakes[0].message.clone();
    let set = "\"vdo.compression\" = false";
    assert!(refusal("vdo", "plain", set).contains("a variant 'plain' of its own"));
    assert!(refusal("other", "changed", set).contains("no variant 'other'"));
    assert!(refusal("vdo", "changed", "\"vdo.no_such\" = 1").contains("no_such"));
    assert!(refusal("vdo", "changed", "= 1").contains("not TOML"));
    assert!(refusal("vdo", "changed", "\"vdo.block_map_cache\" = \"16M\"").contains("16M"));
}
