//! Tests of `do = "restart"` and `do = "reboot"`: the stack is taken down from its top and brought up again from its bottom.

use super::plan;
use plan::Plan;
use plan::Task;

/// A stack of these entries on 20 GiB and 1 GiB, restarted after `stages`.
fn restarted(stack: &str, stages: &str) -> Result<Plan, String> {
    let fast = if stack.contains("fast") { "[devices.fast]\nsize = \"1G\"\n" } else { "" };
    let text = format!(
        "name = \"x\"\nabout = \"\"\nrepeat = 1\n[devices.data]\nsize = \"20G\"\n{fast}{stack}\n\
         {stages}\n[[stage]]\ndo = \"restart\"\n\n{WORK}"
    );
    plan(&text).map_err(|error| error.render(false))
}

/// The restart in words.
fn shown(stack: &str, stages: &str) -> Vec<String> {
    let plan = restarted(stack, stages).unwrap_or_else(|error| panic!("{error}"));
    let stage = plan.cells[0].stages.iter().find(|stage| stage.kind == "restart").unwrap();
    let Task::Steps(steps) = &stage.task else { panic!("it is no steps") };
    assert!(steps.iter().all(|step| step.undo.is_empty()), "what was raised owes it already");
    steps.iter().map(|step| step.action.show()).collect()
}

const WORK: &str =
    "[[stage]]\ndo = \"command\"\nname = \"work\"\nmeasure = true\nargv = [\"sync\"]\n";
const VDO: &str = "[[stack]]\nlayer = \"vdo\"\non = \"data\"\nphysical_size = \"6G\"\n";
const XFS: &str = "[[stack]]\nlayer = \"xfs\"\n";

#[test]
fn a_stack_goes_down_from_its_top_and_comes_up_from_its_bottom() {
    let steps = shown(&format!("{VDO}{XFS}"), "");
    let at = |words: &str| {
        let found = steps.iter().position(|step| step.contains(words));
        found.unwrap_or_else(|| panic!("no {words} in {steps:?}"))
    };
    let order = [
        at("umount /run/"),
        at("vgchange --yes --activate n"),
        at("vgchange --yes --activate y"),
        at("mode is normal"),
        at("index is online"),
        at("mount -t xfs"),
    ];
    assert!(order.is_sorted() && order[0] == 0, "{steps:?}");
    assert!(!steps.iter().any(|step| step.contains("mkfs") || step.contains("create")));
}

#[test]
fn a_volume_comes_up_with_the_settings_that_it_has_by_then() {
    let stack = VDO.replace("on =", "via = \"table\"\non =");
    let changed = "[[stage]]\ndo = \"set\"\nset.\"vdo.compression\" = false\n";
    let steps = shown(&stack, changed);
    let made = steps.iter().rfind(|step| step.contains("dmsetup create")).unwrap();
    assert!(made.contains("compression off"), "{made}");
    let removed = steps.iter().filter(|step| step.contains("dmsetup remove")).count();
    assert_eq!(removed, 2, "{steps:?}");
}

#[test]
fn a_restart_opens_an_index_that_was_closed() {
    let close = "[[stage]]\ndo = \"layer\"\nname = \"close\"\naction = \"index-close\"\n";
    let create = "[[stage]]\ndo = \"restart\"\nname = \"first\"\n\n[[stage]]\ndo = \"layer\"\naction = \"index-create\"\n";
    restarted(VDO, &format!("{close}{create}")).unwrap_or_else(|error| panic!("{error}"));
}

#[test]
fn layers_that_stand_on_their_devices_alone_can_be_restarted_and_others_are_named() {
    let cache = "[[stack]]\nlayer = \"lvmcache\"\non = { origin = \"data\", cache = \"fast\" }\n";
    let steps = shown(&format!("{cache}{XFS}"), "");
    assert_eq!(steps.len(), 4, "{steps:?}");
    let steps = shown(&cache.replace("lvmcache", "writecache"), "");
    assert_eq!(steps.len(), 2, "{steps:?}");
    for (below, above) in [("linear", "xfs"), ("thin", "ext4"), ("linear", "btrfs")] {
        let stack = format!(
            "[[stack]]\nlayer = \"{below}\"\non = \"data\"\n[[stack]]\nlayer = \"{above}\"\n"
        );
        let steps = shown(&stack, "");
        assert_eq!(steps.len(), 4, "{steps:?}");
        assert!(steps[3].contains(&format!("mount -t {above} ")), "{steps:?}");
    }
    // The key of the device is in memory alone.
    let refused = restarted("[[stack]]\nlayer = \"crypt\"\non = \"data\"\n", "").unwrap_err();
    assert!(
        refused.contains("'crypt'") && refused.contains("cannot be brought up again"),
        "{refused}"
    );
}

#[test]
fn a_reboot_comes_between_and_what_is_recorded_of_a_device_begins_anew() {
    let text = format!(
        "name = \"x\"\nabout = \"\"\nrepeat = 1\n[devices.data]\nsize = \"20G\"\nwrite_runs = true\n{VDO}{XFS}\n\
         [[stage]]\ndo = \"reboot\"\n\n{WORK}"
    );
    let plan = |text: &str| plan(text).map_err(|error| error.render(false));
    let planned = plan(&text).unwrap_or_else(|error| panic!("{error}"));
    let stage = &planned.cells[0].stages[0];
    assert!(stage.reboots());
    let Task::Steps(steps) = &stage.task else { panic!("it is no steps") };
    let shown: Vec<_> = steps.iter().map(|step| step.action.show()).collect();
    let boot = shown.iter().position(|step| step == "reboot").unwrap();
    assert!(shown[boot - 1].contains("--activate n"), "{shown:?}");
    assert!(shown[boot + 1].contains("tracing") && shown[boot + 2].contains("--activate y"));
    let about = &planned.facts.variants[0].stages[0].about;
    assert!(about.contains("; reboot; "), "{about}");
    // A modelled disk keeps what it holds for the next machine.
    assert!(plan(&text.replace("write_runs = true", "like = \"hdd\"")).is_ok());
}
