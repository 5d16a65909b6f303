//! Tests of kernels as something that is compared.

use std::collections::BTreeMap;

use super::plan;
use crate::with_kernels;
use plan::Plan;

const HEAD: &str = "name = \"x\"\nabout = \"x\"\nrepeat = 1\n[devices.data]\nsize = \"8G\"\n";
const LOAD: &str = "[[stage]]\ndo = \"load\"\nname = \"m\"\nmeasure = true\nops = { randwrite = 100 }\nduration = \"1s\"\n";
const FILES: &str = "[[stack]]\nlayer = \"xfs\"\non = \"data\"\n";
const LIST: &str =
    "[[stage]]\ndo = \"command\"\nname = \"m\"\nmeasure = true\nargv = [\"ls\", \"{mount}\"]\n";
const TWO: &str = "[[variant]]\nname = \"plain\"\n[[variant.stack]]\nlayer = \"linear\"\non = \"data\"\nsize = \"1G\"\n\
                   [[variant]]\nname = \"vdo\"\n[[variant.stack]]\nlayer = \"vdo\"\non = \"data\"\nlogical_size = \"1G\"\n";

fn planned(rest: &str) -> Plan {
    let text = format!("{HEAD}{rest}");
    plan(&text).unwrap_or_else(|error| panic!("{text}\n{}", error.render(false)))
}

fn on(kernels: &[&str], rest: &str) -> Plan {
    let kernels: Vec<_> = kernels.iter().map(ToString::to_string).collect();
    planned(&with_kernels(rest.to_owned(), &kernels, &[]))
}

fn named(names: &[&str]) -> Vec<Option<String>> {
    names.iter().map(|name| Some((*name).to_owned())).collect()
}

#[test]
fn a_kernel_is_one_more_thing_of_a_machine_that_may_differ() {
    let levels =
        "[[factor]]\nname = \"kernel\"\nkey = \"machine.kernel\"\nlevels = [\"6.1\", \"6.12\"]\n";
    let plan = planned(&format!("{TWO}{LOAD}{levels}"));
    assert_eq!(plan.kernels(), named(&["6.1", "6.12"]));
    assert_eq!(plan.facts.variants[1].machine["kernel"], "6.12");
    assert_eq!(planned(&format!("{TWO}{LOAD}")).kernels(), [None]);
    let machine = "[machine]\nkernel = \"/boot/vmlinuz-6.5 mine\"\n";
    assert_eq!(
        planned(&format!("{machine}{TWO}{LOAD}")).kernels(),
        named(&["/boot/vmlinuz-6.5 mine"])
    );
}

#[test]
fn kernels_of_the_command_line_are_a_factor_and_a_single_one_is_set() {
    let text = format!("{TWO}{LOAD}");
    let several = on(&["6.12", "7.3"], &text);
    assert_eq!(several.kernels(), named(&["6.12", "7.3"]));
    let names: Vec<_> = several.facts.variants.iter().map(|v| v.name.as_str()).collect();
    let all = ["plain, kernel 6.12", "plain, kernel 7.3", "vdo, kernel 6.12", "vdo, kernel 7.3"];
    assert_eq!(names, all);
    let one = on(&["6.10"], &text);
    assert_eq!(one.kernels(), named(&["6.10"]), "a text, not a number");
    assert_eq!(one.facts.variants.len(), 2);
    assert_eq!(one.facts.scaled, ["machine.kernel = \"6.10\""]);
}

#[test]
fn a_kernel_needs_the_modules_of_the_layers_that_run_on_it_alone() {
    let text = format!("{TWO}{LOAD}")
        .replace("name = \"plain\"", "name = \"plain\"\nset.\"machine.kernel\" = \"6.1\"");
    let plan = planned(&text);
    let has = |kernel| plan.modules_on(kernel).contains(&"dm-vdo".to_owned());
    assert!(!has(Some("6.1")) && has(None));
    assert!(plan.modules_on(Some("6.1")).contains(&"dm-mod".to_owned()));
    let both = on(&["6.1", "6.12"], &format!("{TWO}{LOAD}"));
    let lacking = BTreeMap::from([("vdo, kernel 6.1".to_owned(), "vdo".to_owned())]);
    assert_eq!(both.needing(Some("6.1"), "dm-vdo"), lacking);
    assert!(both.needing(Some("6.1"), "dm-cache").is_empty());
}

#[test]
fn a_plan_names_the_kernels_that_were_found() {
    let mut plan = on(&["6.1", "6.12"], &format!("{TWO}{LOAD}"));
    let found = BTreeMap::from([("6.1".to_owned(), "6.1.0-50-amd64".to_owned())]);
    plan.name_kernels(&found);
    assert_eq!(plan.kernels(), named(&["6.1.0-50-amd64", "6.12"]));
    assert_eq!(plan.facts.variants[0].machine["kernel"], "6.1.0-50-amd64");
    assert_eq!(plan.facts.variants[0].levels["kernel"], "6.1", "the level stays as it is written");
}

#[test]
fn file_systems_are_made_for_the_oldest_kernel_of_a_comparison_in_every_variant() {
    let format = |plan: &Plan, variant: usize| {
        let stack = &plan.facts.variants[variant].stack;
        stack.iter().find(|layer| layer.name == "xfs").unwrap().settings["format"].clone()
    };
    let two = on(&["7.3", "5.10"], &format!("{FILES}{LIST}"));
    assert_eq!((format(&two, 0), format(&two, 1)), ("5.10".into(), "5.10".into()));
    assert_eq!(format(&planned(&format!("{FILES}{LIST}")), 0), "");
    let named = on(&["7.3", "5.10"], &format!("{FILES}format = \"6.12\"\n{LIST}"));
    assert_eq!(format(&named, 1), "6.12", "the user's format is kept");
    assert_eq!(format(&on(&["6.1.0-50-amd64"], &format!("{FILES}{LIST}")), 0), "6.1");
}
