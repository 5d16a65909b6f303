//! Settings of the environment on a real loop device: set, read back, put back, and refused.

use std::path::Path;

use host::{Executor, RealMachine};
use layers::environment::{AskedSetting, SETTINGS};
use layers::set_up;
use layers::step::{Action, Step};
use sys::clock::Clock;
use sys::interrupt::Interrupt;

use crate::loop_device::Loop;

fn on_data(setting: &str, value: &str) -> AskedSetting {
    let role = Some("data".to_owned());
    AskedSetting { setting: setting.into(), role, value: value.into() }
}

/// All values of the queue of a device, as the kernel shows them.
fn queue(device: &Path) -> Vec<(&'static str, String)> {
    let name = device.file_name().unwrap().to_string_lossy().into_owned();
    let files = SETTINGS.iter().filter(|setting| setting.is_of_device()).map(|setting| {
        let file =
            if setting.key.name == "write_cache_mode" { "write_cache" } else { setting.key.name };
        (setting.key.name, format!("/sys/block/{name}/queue/{file}"))
    });
    files.map(|(name, file)| (name, std::fs::read_to_string(file).unwrap())).collect()
}

fn executor(device: &Path) -> Executor {
    let mut executor = Executor::new(RealMachine::new(), &Clock::real(), &Interrupt::new());
    executor.bind("device.data", &device.display().to_string());
    executor
}

#[test]
fn every_setting_of_a_queue_is_set_read_back_a_fact_and_put_back() {
    let name = "every_setting_of_a_queue_is_set_read_back_a_fact_and_put_back";
    let Some(disk) = Loop::new(name) else { return };
    let before = queue(&disk.device);
    let scheduler = &before.iter().find(|(name, _)| *name == "scheduler").unwrap().1;
    let other = scheduler.split_whitespace().find(|word| !word.starts_with('['));
    let mut wanted = vec![
        ("nomerges", "2"),
        ("max_sectors_kb", "64"),
        ("nr_requests", "32"),
        ("read_ahead_kb", "256"),
        ("write_cache_mode", "write through"),
    ];
    wanted.extend(other.map(|other| ("scheduler", other)));
    let steps =
        set_up(&wanted.iter().map(|(name, value)| on_data(name, value)).collect::<Vec<_>>());
    let mut executor = executor(&disk.device);
    for step in &steps {
        executor.step(step).1.unwrap_or_else(|error| panic!("{}: {error:?}", step.about));
    }
    executor.note_environment(false);
    let changed = queue(&disk.device);
    for (setting, value) in &wanted {
        assert_eq!(executor.facts()[&format!("data.{setting}")], *value, "{setting}");
        let (_, shown) = changed.iter().find(|(name, _)| name == setting).unwrap();
        let holds = shown.trim() == *value || shown.contains(&format!("[{value}]"));
        assert!(holds, "{setting}: {shown}");
    }
    let undone = executor.undo_all();
    assert!(undone.iter().all(|record| record.error.is_none()), "{undone:?}");
    assert_eq!(queue(&disk.device), before);
    assert_eq!(executor.leftovers("0badcafe"), Vec::<String>::new());
}

#[test]
fn what_the_kernel_refuses_or_rounds_is_an_error_that_names_the_file_and_what_it_takes() {
    let name =
        "what_the_kernel_refuses_or_rounds_is_an_error_that_names_the_file_and_what_it_takes";
    let Some(disk) = Loop::new(name) else { return };
    let before = queue(&disk.device);
    for (setting, value, phrases) in [
        ("max_sectors_kb", "100000000", ["at most", "of KiB"]),
        ("scheduler", "cfq", ["refuses (Invalid argument", "one of: none"]),
        ("read_ahead_kb", "7", ["says '4' after '7' was written", "a multiple of 4"]),
        ("nr_requests", "1", ["says '4' after '1' was written", "from 4 on"]),
    ] {
        let mut executor = executor(&disk.device);
        let steps = set_up(&[on_data("nomerges", "1"), on_data(setting, value)]);
        let failed = steps.iter().find_map(|step| executor.step(step).1.err()).unwrap();
        let text = std::error::Error::source(&failed).unwrap().to_string();
        for phrase in phrases.iter().chain([&"/block/loop", &setting]) {
            assert!(text.contains(phrase), "{setting}: {phrase}: {text}");
        }
        assert!(executor.undo_all().iter().all(|record| record.error.is_none()), "{setting}");
        assert_eq!(queue(&disk.device), before, "{setting}");
    }
    let refusal = host::environment_refused("max_sectors_kb", Some(&disk.device), "100000000");
    assert!(refusal.as_ref().is_some_and(|refusal| refusal.contains("at most")), "{refusal:?}");
    assert_eq!(host::environment_refused("nomerges", Some(&disk.device), "2"), None);
}

#[test]
fn what_cannot_be_put_back_is_named_as_left_behind() {
    let name = "what_cannot_be_put_back_is_named_as_left_behind";
    let Some(disk) = Loop::new(name) else { return };
    let before = queue(&disk.device);
    let set = |value: &str| Action::Set {
        setting: "read_ahead_kb".into(),
        device: Some("{device.data}".into()),
        value: value.into(),
    };
    let step =
        Step { about: "set it".into(), action: set("8"), undo: vec![set("7")], deadline_s: 5 };
    let mut executor = executor(&disk.device);
    executor.step(&step).1.unwrap();
    executor.undo_all();
    let left = executor.leftovers("0badcafe").join("; ");
    assert!(left.contains("echo 7 > queue/read_ahead_kb of /dev/loop"), "{left}");
    let back = before.iter().find(|(name, _)| *name == "read_ahead_kb").unwrap().1.trim();
    executor.step(&Step { action: set(back), undo: Vec::new(), ..step }).1.unwrap();
    assert_eq!(queue(&disk.device), before);
}
