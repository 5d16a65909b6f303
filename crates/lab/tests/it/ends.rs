//! Every way in which a guest can end, other than well.

use std::time::{Duration, Instant};

use lab::{Ending, Vm, machines};

use crate::{Lab, until_first_step};

pub(crate) fn a_kernel_panic_is_a_crash_with_the_console(lab: &Lab) {
    let (_, end, _) = lab.run(&lab.machine("crash"));
    let Ending::Crashed { why } = &end.ending else {
        panic!("{end:#?}");
    };
    assert!(why.contains("Kernel panic - not syncing"), "{why}");
    assert!(end.console_tail.contains("Call Trace"), "{}", end.console_tail);
}

pub(crate) fn a_hanging_guest_is_killed_at_its_deadline(lab: &Lab) {
    let mut spec = lab.machine("hang");
    spec.deadline = Duration::from_secs(8);
    let began = Instant::now();
    // The caller is blocked all the time and does nothing about it.
    let (_, end, _) = lab.run(&spec);
    assert_eq!(end.ending, Ending::Deadline { after: Duration::from_secs(8) });
    let took = began.elapsed();
    assert!(took >= Duration::from_secs(8) && took < Duration::from_secs(12), "{took:?}");
}

pub(crate) fn a_panic_of_the_program_is_a_failure_with_its_words(lab: &Lab) {
    let (_, end, vm) = lab.run(&lab.machine("panic"));
    let Ending::Failed { why } = &end.ending else {
        panic!("{end:#?}");
    };
    assert!(why.contains("panicked in the guest: out of words"), "{why}");
    assert!(vm.kernel_log().is_some());
}

pub(crate) fn a_killed_session_is_told_by_process_1(lab: &Lab) {
    let (_, end, _) = lab.run(&lab.machine("die"));
    let Ending::Failed { why } = &end.ending else {
        panic!("{end:#?}");
    };
    assert!(why.contains("killed by signal 9"), "{why}");
}

pub(crate) fn a_guest_that_goes_off_early_has_crashed(lab: &Lab) {
    let (_, end, _) = lab.run(&lab.machine("off"));
    assert!(matches!(end.ending, Ending::Crashed { .. }), "{end:#?}");
}

pub(crate) fn a_guest_that_is_dropped_is_gone(lab: &Lab) {
    let mut vm = Vm::start(&lab.machine("hang")).unwrap();
    until_first_step(&mut vm);
    let ours = || {
        machines::running()
            .into_iter()
            .filter(|machine| machine.owner == std::process::id())
            .count()
    };
    assert_eq!(ours(), 1);
    drop(vm);
    assert_eq!(ours(), 0);
}
