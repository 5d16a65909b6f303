//! Counts of kernel events, in a mount namespace of the test's own with tracefs in it.

use std::process::Command;

use host::{Executor, RealMachine, Samplers};
use layers::probe::{NamedDevice, PlacedDevice, Probe, Reading, Source};
use layers::step::{Action, Step};
use results::model::LatencySource;
use sys::clock::Clock;
use sys::interrupt::Interrupt;

use crate::loop_device::Loop;

const INSTANCE: &str = "fathom_0badcafe_events";
/// Variable that is set for the test inside the namespace.
const INSIDE: &str = "FATHOM_TEST_TRACEFS";

/// Runs the test `name` of this program in a namespace in which `prepare` was done.
fn inside(name: &str, prepare: &str) {
    let program = std::env::current_exe().unwrap();
    let script = format!("{prepare} && exec \"$0\" --exact trace::{name} --nocapture");
    let tried = Command::new("unshare").args(["-m", "sh", "-c", prepare]).status();
    if !tried.is_ok_and(|status| status.success()) {
        println!("SKIP {name}: tracefs cannot be mounted in a namespace of the test's own");
        return;
    }
    let output = Command::new("unshare")
        .args(["-m", "sh", "-c", &script])
        .arg(program)
        .env(INSIDE, "1")
        .output()
        .unwrap();
    let message = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{message}{}", String::from_utf8_lossy(&output.stderr));
    assert!(message.contains("1 passed"), "{message}");
}

fn count(event: &str) -> Step {
    let (instance, event) = (INSTANCE.to_owned(), event.to_owned());
    Step {
        about: "count an event".into(),
        action: Action::Trace { instance: instance.clone(), event, writes_to: None },
        undo: vec![Action::Untrace { instance }],
        deadline_s: 10,
    }
}

fn on_this_machine(clock: &Clock) -> Executor {
    Executor::new(RealMachine::new(), clock, &Interrupt::new())
}

/// One reading of the count.
fn read(executor: &Executor, event: &str, clock: &Clock) -> results::model::SampleRow {
    let (instance, event) = (INSTANCE.to_owned(), event.to_owned());
    let probe = Probe {
        id: "machine.events".into(),
        source: Source::Trace { instance, event },
        parser: layers::machine::TRACE.into(),
        every_ms: 60_000,
        reading: Reading::Edge,
    };
    let samplers = Samplers::start(&[probe], executor, clock, |_| {}).unwrap();
    samplers.mark("settled").remove(0)
}

#[test]
fn an_event_is_counted_until_its_instance_is_removed() {
    const NAME: &str = "an_event_is_counted_until_its_instance_is_removed";
    if std::env::var_os(INSIDE).is_none() {
        inside(NAME, "mount -t tracefs none /sys/kernel/tracing");
        return;
    }
    let clock = Clock::real();
    let mut executor = on_this_machine(&clock);
    let event = "sched:sched_process_exec";
    executor.step(&count(event)).1.unwrap();
    assert_eq!(executor.leftovers("0badcafe"), [format!("trace instance {INSTANCE}")]);
    let value = |executor: &Executor| read(executor, event, &clock).fields["events"].unwrap();
    let before = value(&executor);
    for _ in 0..5 {
        Command::new("true").status().unwrap();
    }
    let after = value(&executor);
    assert!(after >= before + 5.0, "{before} {after}");
    assert!(executor.undo_all().iter().all(|record| record.error.is_none()));
    assert!(executor.leftovers("0badcafe").is_empty());
    // An event that the kernel does not have fails nothing, and is no 0.
    executor.step(&count("fathom:none")).1.unwrap();
    let row = read(&executor, "fathom:none", &clock);
    assert_eq!(row.fields["events"], None);
    assert!(row.error.as_deref().unwrap().contains("no event fathom:none"), "{row:?}");
    assert!(executor.undo_all().iter().all(|record| record.error.is_none()));
    assert!(executor.leftovers("0badcafe").is_empty());
}

#[test]
fn where_there_is_no_tracefs_the_count_is_none_and_says_why() {
    const NAME: &str = "where_there_is_no_tracefs_the_count_is_none_and_says_why";
    if std::env::var_os(INSIDE).is_none() {
        // An empty directory covers whatever is mounted there.
        inside(
            NAME,
            "mount -t tmpfs none /sys/kernel/tracing && mount -t tmpfs none /sys/kernel/debug",
        );
        return;
    }
    let clock = Clock::real();
    let mut executor = on_this_machine(&clock);
    executor.step(&count("block:block_rq_issue")).1.unwrap();
    let message = executor.take_transcript().remove(0).stdout;
    assert!(message.contains("tracefs is not mounted"), "{message}");
    let row = read(&executor, "block:block_rq_issue", &clock);
    assert_eq!(row.fields["events"], None);
    assert!(row.error.as_deref().unwrap().contains("tracefs is not mounted"), "{row:?}");
    assert!(executor.undo_all().iter().all(|record| record.error.is_none()));
}

#[test]
fn writes_to_a_device_are_told_apart_by_the_length_of_their_runs() {
    const NAME: &str = "writes_to_a_device_are_told_apart_by_the_length_of_their_runs";
    if std::env::var_os(INSIDE).is_none() {
        inside(NAME, "mount -t tracefs none /sys/kernel/tracing");
        return;
    }
    let Some(disk) = Loop::new(NAME) else { return };
    let path = disk.device.display().to_string();
    let clock = Clock::real();
    let mut executor = on_this_machine(&clock);
    let device = NamedDevice { name: "data".into(), path: path.clone() };
    let (step, probe) = layers::machine::record_writes(&device, "0badf00d");
    executor.step(&step).1.unwrap();
    let samplers =
        Samplers::start(&[Probe { every_ms: 60_000, ..probe }], &executor, &clock, |_| {});
    let samplers = samplers.unwrap();
    let grown = |places: &[u64]| {
        let before = samplers.mark("before").remove(0);
        for place in places {
            let seek = format!("seek={place}");
            let of = format!("of={path}");
            let dd = ["if=/dev/zero", &of, "bs=4k", "count=1", "oflag=direct", &seek];
            assert!(Command::new("dd").args(dd).output().unwrap().status.success());
        }
        let after = samplers.mark("after").remove(0);
        let field = |name: &str| after.fields[name].unwrap() - before.fields[name].unwrap();
        ["writes", "bytes", "runs", "dropped"].map(field)
    };
    let in_order: Vec<u64> = (100..140).collect();
    let scattered: Vec<u64> = (0..40).map(|i| 1_000 + i * 37 % 40 * 100).collect();
    let (in_order, scattered) = (grown(&in_order), grown(&scattered));
    samplers.stop();
    let undone = executor.undo_all();
    assert!(undone.iter().all(|record| record.error.is_none()), "{undone:?}");
    assert_eq!(in_order, [40.0, 163_840.0, 1.0, 0.0]);
    assert_eq!(scattered, [40.0, 163_840.0, 40.0, 0.0]);
    assert!(executor.leftovers("0badf00d").is_empty());
}

#[test]
fn latency_of_a_device_is_counted_by_steps_and_what_is_merged_counts_each() {
    const NAME: &str = "latency_of_a_device_is_counted_by_steps_and_what_is_merged_counts_each";
    if std::env::var_os(INSIDE).is_none() {
        inside(NAME, "mount -t tracefs none /sys/kernel/tracing");
        return;
    }
    let Some(disk) = Loop::new(NAME) else { return };
    let path = disk.device.display().to_string();
    let clock = Clock::real();
    let mut executor = on_this_machine(&clock);
    let placed = |name: &str, path: &str| PlacedDevice {
        name: name.into(),
        path: path.into(),
        on: Vec::new(),
    };
    let devices = vec![placed("data", &path), placed("none", "/dev/null")];
    let (step, probe) = layers::machine::measure_latency(devices.clone(), "0badbeef");
    executor.step(&step).1.unwrap();
    let samplers = Samplers::start(&[probe], &executor, &clock, |_| {}).unwrap();
    let before = samplers.mark("before").remove(0);
    let dd = |words: &[&str]| {
        assert!(Command::new("dd").args(words).output().unwrap().status.success());
    };
    let (of, from) = (format!("of={path}"), format!("if={path}"));
    dd(&["if=/dev/zero", &of, "bs=4k", "count=300", "oflag=direct"]);
    dd(&[&from, "of=/dev/null", "bs=4k", "count=200", "iflag=direct"]);
    // One long write is split, or is one: it counts once either way.
    dd(&["if=/dev/zero", &of, "bs=8M", "count=1", "oflag=direct"]);
    // The last millisecond is read the next time.
    std::thread::sleep(std::time::Duration::from_millis(20));
    let after = samplers.mark("after").remove(0);
    let left = executor.leftovers("0badbeef");
    // After a kill it goes by what is there, whatever was planned.
    let removals = executor.removals("0badbeef");
    samplers.stop();
    let undone = executor.undo_all();
    assert!(undone.iter().all(|record| record.error.is_none()), "{undone:?}");
    assert_eq!(left.len(), 1, "{left:?}");
    let (what, name) = (&removals[0].what, &removals[0].name);
    assert_eq!((what, removals[0].actions.len()), (&left[0], 1));
    assert_eq!(removals[0].actions[0], Action::Untrace { instance: name.clone() });
    assert!(executor.leftovers("0badbeef").is_empty());
    let found = layers::machine::device_latencies(&before.fields, &after.fields, &devices);
    let data = &found[0];
    assert_eq!((data.by, data.lost, &data.absent), (Some(LatencySource::Requests), 0, &None));
    assert_eq!(data.reads, 200, "{data:?}");
    // Of the long write the kernel makes several bios.
    assert!((301..=332).contains(&data.writes), "{}", data.writes);
    let reads = results::histogram::decode(&data.histograms["read"]).unwrap();
    let p50 = reads.value_at_quantile(0.5);
    assert!((2_000..100_000_000).contains(&p50), "{p50}");
    assert!(found[1].absent.as_ref().unwrap().contains("not a block device"), "{:?}", found[1]);
}
