//! Steps and their undo: nothing stays behind, wherever a run fails or is stopped.

use host::{Executor, RealMachine};
use layers::probe::Source;
use layers::step::{Action, Condition, Step};
use sys::clock::Clock;
use sys::interrupt::{Interrupt, Level};

use crate::stacks::{Wish, executor, raised, watched};

const LAYERS: [&str; 2] = ["linear", "vdo"];

fn step(action: Action, undo: Vec<Action>) -> Step {
    Step { about: "try something".into(), action, undo, deadline_s: 2 }
}

fn command(words: &[&str]) -> Action {
    Action::Command { argv: words.iter().map(ToString::to_string).collect(), removes: None }
}

fn on_this_machine() -> Executor {
    Executor::new(RealMachine::new(), &Clock::real(), &Interrupt::new())
}

#[test]
fn a_whole_stack_goes_up_and_down_and_leaves_nothing() {
    for kind in LAYERS {
        let (_, steps, twin) = raised(kind, "");
        let (mut executor, _, _) = executor(twin, None);
        for step in &steps {
            let (record, outcome) = executor.step(step);
            outcome.unwrap_or_else(|e| panic!("{kind}: {}: {e}", step.about));
            assert!(!record.command.contains('{'), "{}", record.command);
        }
        assert!(!executor.leftovers("0badcafe").is_empty());
        let undone = executor.undo_all();
        assert!(undone.iter().all(|r| r.undo && r.error.is_none()), "{undone:?}");
        assert_eq!(executor.leftovers("0badcafe"), Vec::<String>::new());
        assert!(executor.undo_all().is_empty(), "what is undone is not undone again");
    }
}

#[test]
fn what_steps_found_out_is_bound_and_kept_as_facts() {
    let (raised, steps, twin) = raised("vdo", "");
    let (mut executor, _, _) = executor(twin, None);
    for step in &steps {
        executor.step(step).1.unwrap();
    }
    assert_eq!(executor.facts()["vdo.instance"], "0");
    assert_eq!(executor.facts()["vdo.config.index.memorySize"], "0.25");
    assert!(executor.facts()["vdo.table"].contains("vdo V4"));
    let source = executor.resolve_source(&raised.probes[2].source).unwrap();
    assert_eq!(source, Source::Threads { prefix: "vdo0:".into() });
}

#[test]
fn no_call_of_any_layer_names_a_device_whose_node_leads_elsewhere_by_then() {
    let kinds = layers::kinds().iter().map(|kind| (kind.name, ""));
    for (kind, settings) in kinds.chain([("vdo", "via = \"table\"")]) {
        let mut whole = 0;
        for at in 0.. {
            let (_, steps, twin) = raised(kind, settings);
            let (mut executor, _, _, foreign) = watched(twin, Some((at, Wish::Replace)));
            let failed = steps.iter().any(|step| executor.step(step).1.is_err());
            let undone = executor.undo_all();
            assert_eq!(*foreign.lock().unwrap(), Vec::<String>::new(), "{kind}, call {at}");
            // What names no device is undone all the same, so that a replaced one leaves no mounts and nodes behind.
            let lost = |text: &Option<String>| {
                text.as_ref().is_some_and(|text| text.contains("another device"))
            };
            let other = undone.iter().filter(|undo| !undo.command.contains("/dev/simulated"));
            assert!(other.into_iter().all(|undo| !lost(&undo.error)), "{kind}, call {at}");
            if !failed && undone.iter().all(|undo| undo.error.is_none()) {
                break;
            }
            whole = at;
        }
        assert!(whole > 0, "{kind} was never replaced");
    }
}

#[test]
fn undo_runs_in_reverse_order_of_the_steps() {
    let (_, steps, twin) = raised("vdo", "");
    let (mut executor, _, _) = executor(twin, None);
    for step in &steps {
        executor.step(step).1.unwrap();
    }
    let verbs: Vec<_> = executor.undo_all().iter().map(|r| r.command.clone()).collect();
    let at = |what: &str| verbs.iter().position(|v| v.contains(what)).unwrap();
    assert!(at("lvremove") < at("dmsetup remove"), "{verbs:?}");
    assert!(at("dmsetup remove") < at("vgremove") && at("vgremove") < at("pvremove"), "{verbs:?}");
}

#[test]
fn a_failure_at_any_call_of_the_machine_leaves_nothing() {
    for kind in LAYERS {
        for wish in [Wish::Refuse, Wish::FailAfter] {
            for at in 0.. {
                let (_, steps, twin) = raised(kind, "");
                let (mut executor, _, _) = executor(twin, Some((at, wish)));
                let failed = steps.iter().any(|step| executor.step(step).1.is_err());
                executor.undo_all();
                let left = executor.leftovers("0badcafe");
                assert_eq!(left, Vec::<String>::new(), "{kind} {wish:?} at call {at}");
                // Waits go on when one read of them fails; past the last call nothing can fail any more.
                if !failed && at > 20 {
                    break;
                }
            }
        }
    }
}

#[test]
fn an_interrupt_at_any_step_leaves_nothing() {
    for kind in LAYERS {
        let count = raised(kind, "").1.len();
        for at in 0..=count {
            for level in [Level::Finish, Level::Now] {
                let (_, steps, twin) = raised(kind, "");
                let (mut executor, interrupt, _) = executor(twin, None);
                let mut stopped = false;
                for (index, step) in steps.iter().enumerate() {
                    if index == at {
                        interrupt.request(level);
                    }
                    if let Err(error) = executor.step(step).1 {
                        assert!(error.interrupted() && index == at, "{error}");
                        stopped = true;
                        break;
                    }
                }
                assert_eq!(stopped, at < count);
                executor.undo_all();
                assert_eq!(executor.leftovers("0badcafe"), Vec::<String>::new(), "{kind} at {at}");
            }
        }
    }
}

#[test]
fn an_undo_that_fails_once_is_tried_again() {
    let (_, steps, twin) = raised("linear", "");
    let calls_up = steps.len();
    let (mut executor, _, _) = executor(twin, Some((calls_up, Wish::Refuse)));
    for step in &steps {
        executor.step(step).1.unwrap();
    }
    executor.undo_all();
    assert_eq!(executor.leftovers("0badcafe"), Vec::<String>::new());
}

#[test]
fn each_undo_is_tried_even_when_another_fails() {
    let folder = tempfile::tempdir().unwrap();
    let file = |name: &str| folder.path().join(name).display().to_string();
    let mut executor = on_this_machine();
    let first = step(command(&["touch", &file("a")]), vec![command(&["rm", &file("a")])]);
    let second = step(command(&["true"]), vec![command(&["fathom-no-such-program"])]);
    for step in [first, second] {
        executor.step(&step).1.unwrap();
    }
    let undone = executor.undo_all();
    assert!(undone[0].error.as_ref().unwrap().contains("fathom-no-such-program"), "{undone:?}");
    assert_eq!(undone[1].error, None);
    assert!(!std::path::Path::new(&file("a")).exists());
}

#[test]
fn a_command_that_fails_is_quoted_with_its_last_words() {
    let mut executor = on_this_machine();
    let failing = command(&["sh", "-c", "echo first >&2; echo the reason >&2; exit 5"]);
    let (record, outcome) = executor.step(&step(failing, Vec::new()));
    let text = outcome.unwrap_err().to_string();
    assert!(text.contains("exit code 5") && text.contains("the reason"), "{text}");
    assert_eq!(record.error.as_deref(), Some(text.as_str()));
    let entry = executor.take_transcript().remove(0);
    assert_eq!((entry.exit_code, entry.stderr.as_str()), (Some(5), "first\nthe reason\n"));
    assert!(executor.take_transcript().is_empty());
}

#[test]
fn a_command_that_hangs_ends_at_its_deadline() {
    let mut executor = on_this_machine();
    let error = executor.step(&step(command(&["sleep", "63"]), Vec::new())).1.unwrap_err();
    assert!(error.to_string().contains("longer than 2 s"), "{error}");
}

#[test]
fn a_wait_ends_when_its_condition_holds_or_says_what_it_saw() {
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("status").display().to_string();
    let wait = |is: &str| {
        let action = Action::Wait {
            source: Source::File { path: path.clone() },
            parser: "vdo.status".into(),
            until: Condition::Text { field: "index".into(), is: is.into() },
            every_ms: 10,
        };
        step(action, Vec::new())
    };
    std::fs::write(&path, "0 8 vdo /dev/x normal - online online 1 2").unwrap();
    let mut executor = on_this_machine();
    executor.step(&wait("online")).1.unwrap();
    let error = executor.step(&wait("closed")).1.unwrap_err().to_string();
    assert!(error.contains("last seen: index is online"), "{error}");
}

#[test]
fn a_wait_for_one_number_below_another_needs_both() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let wait = |field: &str, other: &str| {
        let action = Action::Wait {
            source: Source::File { path: file.path().display().to_string() },
            parser: "vdo.status".into(),
            until: Condition::AtMost { field: field.into(), other: other.into() },
            every_ms: 10,
        };
        step(action, Vec::new())
    };
    let mut executor = on_this_machine();
    for (used, holds) in [(1, true), (2, true), (3, false)] {
        let line = format!("0 8 vdo /dev/x normal - online online {used} 2");
        std::fs::write(file.path(), line).unwrap();
        let outcome = executor.step(&wait("used_blocks", "total_blocks")).1;
        assert_eq!(outcome.is_ok(), holds, "{used}: {outcome:?}");
    }
    let error = executor.step(&wait("used_blocks", "total_blocks")).1.unwrap_err().to_string();
    assert!(error.contains("used_blocks is 3, total_blocks is 2"), "{error}");
    let error = executor.step(&wait("used_blocks", "blocks")).1.unwrap_err().to_string();
    assert!(error.contains("blocks is absent"), "{error}");
}

#[test]
fn a_placeholder_that_nothing_bound_is_named() {
    let mut executor = on_this_machine();
    let flush = Action::Flush { device: "{device.slow}".into() };
    let error = executor.step(&step(flush, Vec::new())).1.unwrap_err().to_string();
    assert!(error.contains("{device.slow}"), "{error}");
}

#[test]
fn an_attribute_is_written_and_read_back() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let path = file.path().display().to_string();
    let write = |reads: Option<&str>| Action::Write {
        path: path.clone(),
        value: "writeback".into(),
        reads: reads.map(str::to_owned),
        may_be_gone: false,
    };
    let mut executor = on_this_machine();
    executor.step(&step(write(Some("writeback")), Vec::new())).1.unwrap();
    let error = executor.step(&step(write(Some("none")), Vec::new())).1.unwrap_err();
    let message = std::error::Error::source(&error).unwrap().to_string();
    assert!(
        message.contains("says 'writeback'") && message.contains("'none' was expected"),
        "{message}"
    );
    let absent = |may_be_gone| {
        let (path, value) = ("/proc/fathom-none".into(), "1".into());
        step(Action::Write { path, value, reads: None, may_be_gone }, Vec::new())
    };
    assert!(executor.step(&absent(false)).1.is_err());
    executor.step(&absent(true)).1.unwrap();
}

#[test]
fn the_chosen_one_of_several_words_is_what_an_attribute_reads() {
    // As of `cache_mode` of bcache: a file that says so, whatever is written.
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "123456 writethrough [writeback] none").unwrap();
    let write = |reads: &str| Action::Write {
        path: file.path().display().to_string(),
        value: "123456".into(),
        reads: Some(reads.to_owned()),
        may_be_gone: false,
    };
    let mut executor = on_this_machine();
    executor.bind("mode", "writeback");
    executor.step(&step(write("{mode}"), Vec::new())).1.unwrap();
    let error = executor.step(&step(write("none"), Vec::new())).1.unwrap_err();
    let message = std::error::Error::source(&error).unwrap().to_string();
    assert!(message.contains("'none' was expected"), "{message}");
}

#[test]
fn an_attribute_of_a_block_device_is_changed_and_put_back_and_a_fact() {
    const NAME: &str = "an_attribute_of_a_block_device_is_changed_and_put_back_and_a_fact";
    let image = tempfile::NamedTempFile::new().unwrap();
    image.as_file().set_len(1 << 20).unwrap();
    let losetup = |args: &[&str]| {
        let output = std::process::Command::new("losetup").args(args).output().ok()?;
        output.status.success().then(|| String::from_utf8_lossy(&output.stdout).trim().to_owned())
    };
    let Some(device) = losetup(&["--find", "--show", &image.path().display().to_string()]) else {
        return println!("SKIP {NAME}: no loop device can be made");
    };
    let name = device.trim_start_matches("/dev/");
    let path = format!("/sys/block/{name}/queue/read_ahead_kb");
    let before = std::fs::read_to_string(&path).unwrap().trim().to_owned();
    let write = |value: &str| Action::Write {
        path: path.clone(),
        value: value.to_owned(),
        reads: Some(value.to_owned()),
        may_be_gone: false,
    };
    let mut executor = on_this_machine();
    executor.bind("device.data", &device);
    executor.note_environment(false);
    let at_first = executor.facts().clone();
    let outcome = executor.step(&step(write("64"), vec![write(&before)])).1;
    let changed = std::fs::read_to_string(&path).unwrap();
    executor.note_environment(true);
    let then = executor.facts().clone();
    let undone = executor.undo_all();
    let after = std::fs::read_to_string(&path).unwrap();
    losetup(&["--detach", &device]).unwrap();
    outcome.unwrap();
    assert!(undone.iter().all(|record| record.error.is_none()), "{undone:?}");
    assert_eq!((changed.trim(), after.trim()), ("64", before.as_str()));
    assert_eq!(at_first["data.read_ahead_kb"], before);
    assert_eq!(then["data.read_ahead_kb"], format!("{before}, then 64"));
    for same in ["data.scheduler", "data.nr_requests"] {
        assert_eq!(at_first[same], then[same]);
        assert!(!then[same].contains(['[', '\n']), "{then:?}");
    }
}

#[test]
fn what_a_command_prints_is_bound_to_a_name() {
    let argv = ["echo", "vdo: 0 2097152 linear 7:3 0"].map(str::to_owned).to_vec();
    let bind = Action::Bind {
        source: Source::Command { argv },
        parser: "dm.table".into(),
        prefix: "volume".into(),
    };
    let mut executor = on_this_machine();
    executor.step(&step(bind, Vec::new())).1.unwrap();
    let table = executor.facts()["volume.table"].clone();
    assert!(table.contains("linear 7:3"), "{table}");
    assert_eq!(executor.resolve("{volume.table}").unwrap(), table);
}

#[test]
fn a_file_system_is_mounted_in_a_directory_that_goes_away_with_it() {
    const NAME: &str = "a_file_system_is_mounted_in_a_directory_that_goes_away_with_it";
    if !rustix::process::geteuid().is_root() {
        return println!("SKIP {NAME}: needs root");
    }
    let folder = tempfile::tempdir().unwrap();
    let at = folder.path().join("fathom_0badcafe_x");
    let directory = at.display().to_string();
    let (device, filesystem) = ("none".to_owned(), "tmpfs".to_owned());
    let mount = Action::Mount {
        device,
        directory: directory.clone(),
        filesystem,
        options: "size=64k".into(),
    };
    let unmount = Action::Unmount { directory, device: None };
    let mut executor = on_this_machine();
    executor.step(&step(mount, vec![unmount.clone()])).1.unwrap();
    assert_eq!(executor.leftovers("0badcafe"), [format!("mount at {}", at.display())]);
    std::fs::write(at.join("file"), "in it").unwrap();
    assert!(executor.undo_all().iter().all(|record| record.error.is_none()));
    assert!(!at.exists() && executor.leftovers("0badcafe").is_empty());
    let (record, outcome) = executor.step(&step(unmount, Vec::new()));
    outcome.unwrap_or_else(|error| panic!("gone is fine: {error}: {record:?}"));
}

#[test]
fn a_process_lives_until_it_is_stopped() {
    let file = tempfile::NamedTempFile::new().unwrap();
    let script = format!("echo $$ >{}; exec sleep 600", file.path().display());
    let start = Action::Start {
        name: "sleeper".into(),
        argv: ["sh", "-c", &script].map(str::to_owned).to_vec(),
    };
    let stop = Action::Stop { name: "sleeper".into() };
    let mut executor = on_this_machine();
    executor.step(&step(start, vec![stop])).1.unwrap();
    let waited = std::time::Instant::now();
    let id = loop {
        let text = std::fs::read_to_string(file.path()).unwrap();
        if text.ends_with('\n') {
            break text.trim().to_owned();
        }
        assert!(waited.elapsed().as_secs() < 60, "it never started");
        std::thread::sleep(std::time::Duration::from_millis(10));
    };
    let there = || std::path::Path::new(&format!("/proc/{id}")).exists();
    assert!(there());
    assert!(executor.undo_all().iter().all(|record| record.error.is_none()));
    assert!(!there(), "{id} lives on");
}

#[test]
fn commands_and_directories_are_sources() {
    let mut executor = on_this_machine();
    let argv = ["echo", "7 8"].map(str::to_owned).to_vec();
    assert_eq!(executor.read(&Source::Command { argv }).unwrap(), "7 8\n");
    let failing =
        Source::Command { argv: ["sh", "-c", "echo why >&2; exit 3"].map(str::to_owned).to_vec() };
    assert_eq!(executor.read(&failing).unwrap_err().to_string(), "why");
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("cache_hits"), "12\n").unwrap();
    std::fs::write(folder.path().join("state"), "clean\ndirty\n").unwrap();
    let path = folder.path().display().to_string();
    let text = executor.read(&Source::Directory { path }).unwrap();
    assert_eq!(text, "cache_hits 12\nstate clean dirty\n");
}
