//! Real dm-vdo in the guest.

use lab::Ending;
use units::Bytes;

use crate::{Lab, payloads};

pub(crate) fn a_vdo_volume_is_raised_read_and_taken_down(lab: &Lab) {
    let mut spec = lab.machine("volume").with_disk("data", Bytes(8 * Bytes::GIB));
    spec.will_write = Bytes(64 * Bytes::MIB);
    let (frames, end, vm) = lab.run(&spec);
    assert_eq!(end.ending, Ending::Done, "{end:#?}");
    let message: Vec<_> = payloads(&frames).into_iter().map(String::from_utf8_lossy).collect();
    let statistics = &message[2];
    // A 6 GiB pool: the whole of it, and what the volume's own structures take.
    for field in
        ["physicalBlocks : 1572864", "overheadBlocksUsed : 10489", "mode : normal", "instance : "]
    {
        assert!(statistics.contains(field), "{field} in {statistics}");
    }
    assert!(message[5].contains("No devices found"), "{}", message[5]);
    let facts = vm.facts();
    assert_eq!(facts.disks[0].size, Bytes(8 * Bytes::GIB));
    assert!(facts.disks[0].options.contains("discard=unmap"), "{}", facts.disks[0].options);
    assert!(facts.kernel.starts_with(char::is_numeric), "{}", facts.kernel);
    assert!(facts.packages.iter().any(|package| package.starts_with("vdo ")));
    let rate = facts.guest_clock_rate.expect("a session of more than a second");
    // Frames of a busy host come late by some hundredths; a clock that was measured wrong is off by a third and more.
    assert!((0.9..1.1).contains(&rate), "the guest's clock ran at {rate}");
    let log = vm.kernel_log().expect("a kernel log");
    assert!(log.contains("device-mapper") && log.contains("vdo"), "{log}");
}
