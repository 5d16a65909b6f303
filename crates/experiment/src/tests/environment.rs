//! Tests of the environment that an experiment asks for.

use super::plan;

fn text(device: &str, rest: &str) -> String {
    format!(
        "name = \"x\"\nabout = \"x\"\n[devices.data]\nsize = \"1G\"\n{device}\n{rest}\n[[stack]]\nlayer = \"linear\"\non = \"data\"\n\
         [[stage]]\ndo = \"load\"\nname = \"l\"\nops = {{ randread = 100 }}\nduration = \"1s\"\nmeasure = true\n"
    )
}

#[test]
fn what_is_asked_of_devices_and_machine_is_set_before_anything_else_and_put_back_last() {
    let device = "scheduler = \"bfq\"\nnomerges = 2\nwrite_cache_mode = \"write through\"";
    let machine =
        "[environment]\ncpu_governor = \"performance\"\ntuned_profile = \"latency-performance\"";
    let plan = plan(&text(device, machine)).unwrap();
    let shown: Vec<String> = plan.cells[0].up.iter().map(|step| step.action.show()).collect();
    let sets: Vec<_> =
        shown.iter().filter(|s| s.starts_with("echo ") || s.starts_with("tuned")).collect();
    assert_eq!(
        sets[..5],
        [
            "tuned-adm profile latency-performance",
            "echo performance > /sys/devices/system/cpu/cpufreq/policy*/scaling_governor",
            "echo bfq > queue/scheduler of {device.data}",
            "echo 2 > queue/nomerges of {device.data}",
            "echo write through > queue/write_cache of {device.data}",
        ]
    );
    let at = |what: &str| shown.iter().position(|shown| shown.starts_with(what)).unwrap();
    assert!(at("read before.data.scheduler") < at("tuned-adm") && at("echo 2") < at("blkdiscard"));
    let down = &crate::explain(&plan).variants[0].down;
    assert_eq!(down.last().unwrap(), "tuned-adm profile {before.environment.tuned_profile.value}");
    assert!(plan.needs.faster.contains(&"bfq".to_owned()));
    assert!(plan.needs.tools.contains(&"tuned-adm".to_owned()));
    let facts = &plan.facts.variants[0];
    assert_eq!(facts.stack[0].settings["nomerges"], "2");
    assert_eq!(facts.machine["cpu_governor"], "performance");
    let again: plan::Plan = serde_json::from_str(&serde_json::to_string(&plan).unwrap()).unwrap();
    assert_eq!(again, plan);
}

#[test]
fn variants_and_factors_differ_in_the_environment_and_equal_levels_are_refused() {
    let factor = |levels: &str| {
        format!(
            "[[factor]]\nname = \"merging\"\nkey = \"device.data.nomerges\"\nlevels = [{levels}]"
        )
    };
    let crossed = plan(&text("", &factor("0, 2"))).unwrap();
    let names: Vec<_> = crossed.facts.variants.iter().map(|v| v.name.as_str()).collect();
    assert_eq!(names, ["merging 0", "merging 2"]);
    let values = crossed.facts.variants.iter().map(|v| v.stack[0].settings["nomerges"].as_str());
    assert_eq!(values.collect::<Vec<_>>(), ["0", "2"]);
    let variants = "[[variant]]\nname = \"a\"\n[[variant]]\nname = \"b\"\nset.\"environment.cpu_governor\" = \"powersave\"";
    let plan_of = plan(&text("", variants)).unwrap();
    let values_of = |name: &str| {
        let cell = plan_of.cells.iter().find(|cell| cell.variant == name).unwrap();
        cell.environment.iter().map(|setting| setting.value.clone()).collect::<Vec<_>>()
    };
    assert_eq!((values_of("a"), values_of("b")), (vec![], vec!["powersave".to_owned()]));
    let level = |name: &str, value: &str| {
        format!("{{ name = \"{name}\", set = {{ \"device.data.nomerges\" = {value} }} }}")
    };
    let levels = format!("{}, {}", level("a", "2"), level("b", "\"2\""));
    let same = format!("[[factor]]\nname = \"merging\"\nlevels = [{levels}]");
    let error = plan(&text("", &same)).unwrap_err();
    assert!(error.mistakes[0].message.contains("are the same"), "{:?}", error.mistakes);
}

#[test]
fn all_that_is_wrong_with_an_environment_is_told_at_once_with_what_is_taken() {
    let device = "scheduler = \"a b\"\nnomerges = 3\nnr_requests = 2\nread_ahead_kb = 7\nmax_sectors_kb = \"1M\"\nwrite_cache_mode = \"off\"";
    let machine = "[environment]\ncpu_governer = \"performance\"\ntuned_profile = 5.5";
    let error = plan(&text(device, machine)).unwrap_err();
    let shown: Vec<_> = error.mistakes.iter().map(|m| m.message.clone()).collect();
    let wanted = [
        "scheduler cannot be 'a b'",
        "nomerges cannot be '3'",
        "nr_requests cannot be '2'",
        "read_ahead_kb cannot be '7'",
        "max_sectors_kb cannot be '1M'",
        "write_cache_mode cannot be 'off'",
        "An environment has no key 'cpu_governer'",
    ];
    for wanted in wanted {
        assert!(shown.iter().any(|shown| shown.contains(wanted)), "{wanted}: {shown:?}");
    }
    let help = |of: &str| {
        let found = error.mistakes.iter().find(|m| m.message.contains(of));
        found.unwrap().help.clone().unwrap()
    };
    assert!(help("nomerges").contains("as in nomerges = 2"), "{}", help("nomerges"));
    assert!(help("cpu_governer").contains("did you mean 'cpu_governor'"));
    // A device has no settings of the machine, and the machine none of a device; a file that is read has no queue.
    for (device, rest, wanted) in [
        ("cpu_governor = \"performance\"", "", "A device has no key 'cpu_governor'"),
        ("", "[environment]\nnomerges = 1", "An environment has no key 'nomerges'"),
        ("", "[devices.old]\nfile = \"/dev/null\"\nnomerges = 1", "it has no nomerges"),
    ] {
        let error = plan(&text(device, rest)).unwrap_err();
        let shown: Vec<_> = error.mistakes.iter().map(|m| m.message.clone()).collect();
        assert!(shown.iter().any(|shown| shown.contains(wanted)), "{wanted}: {shown:?}");
    }
}
