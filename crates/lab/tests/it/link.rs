//! Tests of the messages between host and guest.

use std::io::Write;
use std::process::{Command, Stdio};
use std::time::Duration;

use lab::{Ending, FrameKind, Received, Vm};

use crate::{Lab, host_death, until_first_step};

pub(crate) fn megabytes_travel_both_ways_unchanged(lab: &Lab) {
    let mut vm = Vm::start(&lab.machine("echo")).unwrap();
    let sent: Vec<u8> = (0..20u32 << 20).map(|at| (at % 251) as u8).collect();
    // Sent before the guest is up: it waits in the socket, and the guest takes it when it can.
    let handle = vm.handle();
    let copy = sent.clone();
    let sender = std::thread::spawn(move || handle.send(&copy).unwrap());
    let mut back = None;
    let end = vm.wait(&mut |frame| {
        if frame.kind == FrameKind::Payload {
            back = Some(frame.payload);
        }
    });
    sender.join().unwrap();
    assert_eq!(end.ending, Ending::Done, "{end:#?}");
    assert!(back.is_some_and(|back| back == sent));
    let timings = vm.facts().timings;
    assert!(timings.up_ms < timings.first_step_ms, "{timings:?}");
}

pub(crate) fn an_interrupt_reaches_the_session(lab: &Lab) {
    let mut vm = Vm::start(&lab.machine("interrupt")).unwrap();
    until_first_step(&mut vm);
    vm.interrupt().unwrap();
    let Received::Frame(heard) = vm.recv(Duration::from_secs(30)) else {
        panic!("no answer to the interrupt");
    };
    assert!(heard.payload.starts_with(b"heard "), "{heard:?}");
    vm.interrupt().unwrap();
    assert_eq!(vm.wait(&mut drop).ending, Ending::Done);
}

pub(crate) fn a_shell_takes_commands_and_its_end_ends_the_guest(_lab: &Lab) {
    let mut child = Command::new("/proc/self/exe")
        .env(host_death::ROLE, "shell")
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap();
    let mut typed = child.stdin.take().unwrap();
    typed.write_all(b"echo from-$((6 * 7)); tty; ls /lab; dmsetup --version\n").unwrap();
    // The end of the input ends the shell, and the shell the guest.
    drop(typed);
    let output = child.wait_with_output().unwrap();
    let shown = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success(), "{shown}");
    for word in ["from-42", "/dev/hvc0", "mission", "Driver version"] {
        assert!(shown.contains(word), "{word} in {shown}");
    }
}
