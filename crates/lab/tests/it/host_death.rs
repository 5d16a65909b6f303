//! The host's process dies at once, and takes the guest with it.

use std::collections::BTreeSet;
use std::io::{BufRead, BufReader};
use std::path::PathBuf;
use std::process::{Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

use lab::{Ending, Purpose, Vm, machines};
use units::Bytes;

use crate::{Lab, until_first_step};

/// Set in the environment of this program's children: what they are to do.
pub(crate) const ROLE: &str = "FATHOM_LAB_TEST";

pub(crate) fn a_guest_dies_with_a_killed_host_and_leaves_no_file(lab: &Lab) {
    let before = files(lab);
    let mut child =
        Command::new("/proc/self/exe").env(ROLE, "hang").stdout(Stdio::piped()).spawn().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    assert!(lines.map_while(Result::ok).any(|line| line == "up"));
    let guests =
        || machines::running().into_iter().filter(|machine| machine.owner == child.id()).count();
    assert_eq!(guests(), 1);
    // SIGKILL: no handler, no Drop.
    let owner = child.id();
    child.kill().unwrap();
    child.wait().unwrap();
    let killed = Instant::now();
    while machines::running().iter().any(|machine| machine.owner == owner) {
        assert!(killed.elapsed() < Duration::from_secs(30), "QEMU lives on");
        std::thread::sleep(Duration::from_millis(10));
    }
    assert_eq!(files(lab), before);
}

/// All files below the cache directory.
fn files(lab: &Lab) -> BTreeSet<PathBuf> {
    let mut found = BTreeSet::new();
    let mut open = vec![lab.cache.dir().to_path_buf()];
    while let Some(dir) = open.pop() {
        for entry in std::fs::read_dir(dir).unwrap() {
            let path = entry.unwrap().path();
            if path.is_dir() {
                open.push(path.clone());
            }
            found.insert(path);
        }
    }
    found
}

/// Runs a child process of the tests, by its role.
pub(crate) fn child(role: &str) -> ExitCode {
    let lab = Lab::ready().unwrap();
    let mut spec = lab.machine(role).with_disk("data", Bytes(Bytes::GIB));
    if role == "shell" {
        spec.purpose = Purpose::Shell;
        let mut vm = Vm::start(&spec).unwrap();
        let end = lab::shell::attach(&mut vm, &mut drop).unwrap();
        println!("{end:?}");
        return if end.ending == Ending::Done { ExitCode::SUCCESS } else { ExitCode::FAILURE };
    }
    let mut vm = Vm::start(&spec).unwrap();
    until_first_step(&mut vm);
    println!("up");
    vm.wait(&mut drop);
    ExitCode::SUCCESS
}
