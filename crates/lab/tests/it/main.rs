//! The lab for real: an image from packages, guests under it, and every way in which a guest can end.
//!
//! This program is the host's half, the guest's process 1, and the child that is killed with `kill -9`.
#![allow(
    clippy::print_stdout,
    clippy::print_stderr,
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::panic,
    clippy::exit
)]

mod ends;
mod host_death;
mod in_guest;
mod link;
mod machine;
mod volume;

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::process::ExitCode;
use std::time::Duration;

use lab::{
    Accelerator, AcceleratorChoice, Cache, End, Error, Frame, FrameKind, Image, ImageNeeds,
    ImageSpec, Received, Vm, VmSpec,
};

/// One test.
type Test = (&'static str, fn(&Lab));

/// All tests, by name.
const TESTS: &[Test] = &[
    (
        "an_image_that_is_there_is_found_without_network",
        machine::an_image_that_is_there_is_found_without_network,
    ),
    (
        "the_accelerator_is_probed_once_and_explained",
        machine::the_accelerator_is_probed_once_and_explained,
    ),
    (
        "a_vdo_volume_is_raised_read_and_taken_down",
        volume::a_vdo_volume_is_raised_read_and_taken_down,
    ),
    ("megabytes_travel_both_ways_unchanged", link::megabytes_travel_both_ways_unchanged),
    ("an_interrupt_reaches_the_session", link::an_interrupt_reaches_the_session),
    (
        "a_shell_takes_commands_and_its_end_ends_the_guest",
        link::a_shell_takes_commands_and_its_end_ends_the_guest,
    ),
    (
        "a_kernel_panic_is_a_crash_with_the_console",
        ends::a_kernel_panic_is_a_crash_with_the_console,
    ),
    ("a_hanging_guest_is_killed_at_its_deadline", ends::a_hanging_guest_is_killed_at_its_deadline),
    (
        "a_panic_of_the_program_is_a_failure_with_its_words",
        ends::a_panic_of_the_program_is_a_failure_with_its_words,
    ),
    ("a_killed_session_is_told_by_process_1", ends::a_killed_session_is_told_by_process_1),
    ("a_guest_that_goes_off_early_has_crashed", ends::a_guest_that_goes_off_early_has_crashed),
    ("a_guest_that_is_dropped_is_gone", ends::a_guest_that_is_dropped_is_gone),
    (
        "every_processor_runs_when_the_session_begins",
        machine::every_processor_runs_when_the_session_begins,
    ),
    (
        "a_kernel_of_another_suite_boots_with_the_same_userland",
        machine::a_kernel_of_another_suite_boots_with_the_same_userland,
    ),
    ("two_guests_run_at_once", machine::two_guests_run_at_once),
    (
        "a_kept_disk_stays_and_gives_discarded_space_back",
        machine::a_kept_disk_stays_and_gives_discarded_space_back,
    ),
    (
        "disks_that_cannot_fit_are_refused_before_the_start",
        machine::disks_that_cannot_fit_are_refused_before_the_start,
    ),
    (
        "a_guest_dies_with_a_killed_host_and_leaves_no_file",
        host_death::a_guest_dies_with_a_killed_host_and_leaves_no_file,
    ),
];

/// The common start of every test: cache, image and accelerator.
pub(crate) struct Lab {
    pub(crate) cache: Cache,
    pub(crate) spec: ImageSpec,
    pub(crate) image: Image,
    pub(crate) accelerator: Accelerator,
}

impl Lab {
    /// The image and the accelerator: built and probed by the first process that asks.
    fn ready() -> lab::Result<Self> {
        let cache = Cache::open()?;
        let needs = ImageNeeds::new(
            &["lvm2", "vdo"],
            &["dm-mod", "dm-vdo"],
            &["lvm", "dmsetup", "vdoformat"],
        );
        let spec = ImageSpec::new(needs);
        let events = &mut |event| println!("{event:?}");
        let image = Image::ready(&cache, &spec, events)?;
        let accelerator = Accelerator::choose(&cache, &image, AcceleratorChoice::Best, events)?;
        Ok(Self { cache, spec, image, accelerator })
    }

    /// A machine whose session does what `mission` says (see `in_guest`).
    pub(crate) fn machine(&self, mission: &str) -> VmSpec {
        let mut spec = VmSpec::new(&self.cache, self.image.clone(), self.accelerator.clone());
        spec.mission = mission.as_bytes().to_vec();
        spec.deadline = Duration::from_secs(120);
        spec
    }

    /// Runs such a machine to its end; what it sent and how it ended.
    pub(crate) fn run(&self, spec: &VmSpec) -> (Vec<Frame>, End, Vm) {
        let mut vm = Vm::start(spec).unwrap();
        let mut frames = Vec::new();
        let end = vm.wait(&mut |frame| frames.push(frame));
        (frames, end, vm)
    }
}

/// Waits for the session's first step; the machine must not end before.
pub(crate) fn until_first_step(vm: &mut Vm) {
    loop {
        match vm.recv(Duration::from_secs(1)) {
            Received::Frame(frame) if frame.kind == FrameKind::FirstStep => return,
            Received::Frame(_) | Received::Nothing => {}
            Received::Ended(end) => panic!("{end:#?}"),
        }
    }
}

/// The payload of all frames that carry any.
pub(crate) fn payloads(frames: &[Frame]) -> Vec<&[u8]> {
    let some = frames.iter().filter(|frame| frame.kind == FrameKind::Payload);
    some.map(|frame| frame.payload.as_slice()).collect()
}

fn main() -> ExitCode {
    if lab::guest::is_guest() {
        return lab::guest::main(in_guest::run);
    }
    if let Some(role) = std::env::var_os(host_death::ROLE) {
        return host_death::child(&role.to_string_lossy());
    }
    let filters: Vec<_> = words().skip(1).filter(|word| !word.starts_with('-')).collect();
    let wanted = TESTS
        .iter()
        .filter(|(name, _)| filters.is_empty() || filters.iter().any(|word| name.contains(word)));
    if words().any(|word| word == "--list") {
        wanted.for_each(|(name, _)| println!("{name}: test"));
        return ExitCode::SUCCESS;
    }
    if std::env::var_os("FATHOM_TEST_LAB").is_some_and(|value| value == "no") {
        wanted.for_each(|(name, _)| println!("SKIP {name}: FATHOM_TEST_LAB=no"));
        return ExitCode::SUCCESS;
    }
    match Lab::ready() {
        Ok(lab) => run_all(&lab, wanted),
        Err(error @ (Error::MissingProgram { .. } | Error::NoMirror | Error::NoKeyring { .. })) => {
            wanted.for_each(|(name, _)| println!("SKIP {name}: {error}"));
            ExitCode::SUCCESS
        }
        Err(error) => {
            println!("the lab cannot be made ready: {error}");
            ExitCode::FAILURE
        }
    }
}

fn run_all<'a>(lab: &Lab, wanted: impl Iterator<Item = &'a Test>) -> ExitCode {
    let (mut passed, mut failed) = (0, Vec::new());
    for (name, test) in wanted {
        let began = std::time::Instant::now();
        let outcome = catch_unwind(AssertUnwindSafe(|| test(lab)));
        let word = if outcome.is_ok() { "ok" } else { "FAILED" };
        println!("test {name} ... {word} ({:.1} s)", began.elapsed().as_secs_f64());
        match outcome {
            Ok(()) => passed += 1,
            Err(_) => failed.push(*name),
        }
    }
    let word = if failed.is_empty() { "ok" } else { "FAILED" };
    println!("\ntest result: {word}. {passed} passed; {} failed; 0 ignored", failed.len());
    failed.iter().for_each(|name| println!("    {name}"));
    if failed.is_empty() { ExitCode::SUCCESS } else { ExitCode::FAILURE }
}

/// The words of the command line.
fn words() -> impl Iterator<Item = String> {
    std::env::args_os().map(|word| word.to_string_lossy().into_owned())
}
