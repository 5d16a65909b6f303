//! The stack of this machine.

use std::path::Path;
use std::time::{Duration, Instant};

use standing::live::{LiveError, find, gather};
use standing::{Top, stack};

#[test]
fn what_is_not_there_and_what_stands_on_no_device_is_told_in_words() {
    let error = find(Path::new("/dev/fathom-no-such-device")).unwrap_err();
    assert!(matches!(error, LiveError::Nothing(_)) && !error.help().is_empty());
    let error = find(Path::new("/proc/self/status")).unwrap_err();
    assert!(matches!(error, LiveError::NoDevice { .. }), "{error}");
    assert!(error.to_string().contains("proc"), "{error}");
}

#[test]
fn a_device_that_goes_away_leaves_an_empty_stack_and_a_reason_within_the_limit() {
    let start = Instant::now();
    let top = Top::Device("fathom-gone".to_owned());
    let read = gather(&top, Duration::from_secs(5));
    assert!(start.elapsed() < Duration::from_secs(6));
    assert!(read.missing.iter().any(|why| why.contains("fathom-gone went away")), "{read:?}");
    assert!(stack(&read, &top).nodes.is_empty());
}

#[test]
fn a_disk_of_this_machine_is_a_node_with_a_queue() {
    let entries = std::fs::read_dir("/sys/class/block").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let Some(name) = names.into_iter().find(|name| name.starts_with(['v', 's', 'n', 'l'])) else {
        println!("SKIP a_disk_of_this_machine_is_a_node_with_a_queue: no block device");
        return;
    };
    let top = Top::Device(name.clone());
    let read = gather(&top, Duration::from_secs(5));
    let stack = stack(&read, &top);
    let node = stack.node(&name).unwrap_or_else(|| panic!("{name}: {read:?}"));
    assert!(node.bytes.is_some() && stack.machine.cpus.is_some(), "{node:?}");
}

#[test]
fn a_loop_device_without_a_file_is_told_to_be_empty() {
    let entries = std::fs::read_dir("/sys/class/block").into_iter().flatten().flatten();
    let empty = entries.map(|entry| entry.path()).find(|at| {
        let size = std::fs::read_to_string(at.join("size")).unwrap_or_default();
        size.trim_end() == "0" && at.to_string_lossy().contains("/loop")
    });
    let device = empty.map(|at| Path::new("/dev").join(at.file_name().unwrap()));
    let Some(device) = device.filter(|device| device.exists()) else {
        println!("SKIP a_loop_device_without_a_file_is_told_to_be_empty: there is none");
        return;
    };
    match find(&device) {
        Err(LiveError::Empty(_)) => {}
        // Somebody else may have taken it meanwhile.
        other => assert!(matches!(other, Ok(Top::Device(_))), "{other:?}"),
    }
}
