//! Images, accelerators, disks, and several machines.

use std::os::unix::fs::MetadataExt;
use std::time::Duration;

use lab::{
    Accelerator, AcceleratorChoice, DiskHome, Ending, Error, Event, FrameKind, Image, ImageNeeds,
    ImageSpec, KernelChoice, Kernels, Received, Vm,
};
use units::Bytes;

use crate::{Lab, payloads, until_first_step};

pub(crate) fn an_image_that_is_there_is_found_without_network(lab: &Lab) {
    let mut events = Vec::new();
    // A mirror that does not exist: nothing may ask for it.
    let mut spec = lab.spec.clone();
    spec.mirror = Some("http://mirror.invalid/".into());
    let image = Image::ready(&lab.cache, &spec, &mut |event| events.push(event)).unwrap();
    assert_eq!(image, lab.image);
    assert!(matches!(events.as_slice(), [Event::ImageFound { .. }]), "{events:?}");
}

pub(crate) fn the_accelerator_is_probed_once_and_explained(lab: &Lab) {
    let mut events = Vec::new();
    let again =
        Accelerator::choose(&lab.cache, &lab.image, AcceleratorChoice::Best, &mut |event| {
            events.push(event);
        })
        .unwrap();
    assert_eq!(again, lab.accelerator);
    assert!(!again.reason.is_empty());
    assert!(!events.iter().any(|event| matches!(event, Event::ProbingKvm { .. })), "{events:?}");
}

pub(crate) fn two_guests_run_at_once(lab: &Lab) {
    let spec = lab.machine("interrupt").with_disk("data", Bytes(Bytes::GIB));
    let mut both = [Vm::start(&spec).unwrap(), Vm::start(&spec).unwrap()];
    for vm in &mut both {
        until_first_step(vm);
    }
    for vm in &mut both {
        vm.interrupt().unwrap();
        vm.interrupt().unwrap();
        assert_eq!(vm.wait(&mut drop).ending, Ending::Done);
    }
}

pub(crate) fn a_kept_disk_stays_and_gives_discarded_space_back(lab: &Lab) {
    let dir = tempfile::tempdir().unwrap();
    let mut spec = lab.machine("write").with_disk("data", Bytes(Bytes::GIB));
    spec.disk_home = DiskHome::Kept(dir.path().to_path_buf());
    spec.will_write = Bytes(32 * Bytes::MIB);
    let file = dir.path().join("data.img");
    let allocated = || std::fs::metadata(&file).unwrap().blocks() * 512;
    let mut vm = Vm::start(&spec).unwrap();
    next_payload(&mut vm);
    assert!(allocated() >= 32 << 20, "{}", allocated());
    vm.send(b"go on").unwrap();
    next_payload(&mut vm);
    assert!(allocated() < 1 << 20, "{}", allocated());
    vm.send(b"go on").unwrap();
    assert_eq!(vm.wait(&mut drop).ending, Ending::Done);
    assert_eq!(std::fs::metadata(&file).unwrap().len(), Bytes::GIB);
    let error = Vm::start(&spec).unwrap_err();
    assert!(matches!(error, Error::DiskExists { .. }), "{error}");
}

fn next_payload(vm: &mut Vm) {
    loop {
        match vm.recv(Duration::from_secs(60)) {
            Received::Frame(frame) if frame.kind == FrameKind::Payload => return,
            Received::Frame(_) => {}
            Received::Nothing => panic!("the guest says nothing"),
            Received::Ended(end) => panic!("{end:#?}"),
        }
    }
}

pub(crate) fn disks_that_cannot_fit_are_refused_before_the_start(lab: &Lab) {
    let mut spec = lab.machine("processors").with_disk("data", Bytes(Bytes::GIB));
    spec.will_write = Bytes(1 << 60);
    let error = Vm::start(&spec).unwrap_err();
    assert!(matches!(error, Error::DiskSpace { .. }), "{error}");
    assert!(error.to_string().contains(&lab.cache.dir().display().to_string()), "{error}");
    assert!(error.help().is_some());
}

pub(crate) fn every_processor_runs_when_the_session_begins(lab: &Lab) {
    let mut spec = lab.machine("processors");
    spec.cpus = 3;
    let (frames, end, _) = lab.run(&spec);
    assert_eq!(end.ending, Ending::Done, "{end:#?}");
    assert_eq!(payloads(&frames), [b"0-2\n"]);
}

pub(crate) fn a_kernel_of_another_suite_boots_with_the_same_userland(lab: &Lab) {
    let events = &mut |event| println!("{event:?}");
    let kernels = Kernels::list(&lab.cache, None, false, events).unwrap();
    // Its modules are not compressed, and the link and the disks are modules, too.
    let old = kernels.choose("6.1").unwrap().clone();
    let release = old.release.clone();
    let modules = ["dm-mod", "btrfs"].map(str::to_owned).to_vec();
    let needs = ImageNeeds { modules, ..lab.spec.needs.clone() };
    let spec = ImageSpec { needs, kernel: KernelChoice::Listed(old), ..lab.spec.clone() };
    let image = Image::ready(&lab.cache, &spec, events).unwrap();
    assert_eq!(image.manifest.packages, lab.image.manifest.packages);
    assert_eq!(image.manifest.kernel_packages[0].name, format!("linux-image-{release}"));
    let modules = &image.manifest.modules;
    for name in ["virtio-console", "crc32c-generic", "btrfs"] {
        assert!(modules.iter().any(|module| module == name), "{name} in {modules:?}");
    }
    let mut machine = lab.machine("kernel").with_disk("data", Bytes(Bytes::GIB));
    machine.image = image;
    let (frames, end, vm) = lab.run(&machine);
    assert_eq!(end.ending, Ending::Done, "{end:#?}");
    assert_eq!(payloads(&frames), [format!("{release}\n").as_bytes()]);
    assert!(vm.facts().kernel.contains(&release), "{}", vm.facts().kernel);
}
