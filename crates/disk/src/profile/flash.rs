//! A SATA drive and an NVMe drive of flash.

use super::form::{ModelKind, Profile, Published, Reach, Shape};
use super::hdd::parameters;
use super::parameter::{Parameter, Quantity::*};
use crate::Op;

const US: f64 = 1e3;
const MB: f64 = 1e6;
const KIB: f64 = 1024.0;
const MIB: f64 = 1024.0 * KIB;

const PARAMETERS: &[Parameter] = parameters! {
    "dies" Count 1.0, 4096.0; "dies that work at the same time"
    "page" Size 4.0 * KIB, 1024.0 * KIB; "what a die reads or programs at once"
    "read" Time 0.0, 10_000.0 * US; "time in which a die reads a page"
    "program" Time 0.0, 100_000.0 * US; "time in which a die programs a page"
    "firmware" Time 0.0, 10_000.0 * US; "time from the arrival of a read until the dies act"
    "command" Time 0.0, 1_000.0 * US; "time that a request takes on the link, without its bytes"
    "link" Rate MB, 100_000.0 * MB; "rate of the link"
    "buffer_latency" Time 0.0, 10_000.0 * US; "time that a write takes beyond its transfer over the link"
    "buffer_size" Size 64.0 * KIB, 16_384.0 * MIB; "largest number of bytes that wait in the write buffer"
    "flush" Time 0.0, 1_000_000.0 * US; "time that a flush takes after the last page is programmed"
    "power_loss_protection" Switch 0.0, 1.0; "whether the buffer survives a power cut, and flushes cost nothing"
};

const SSD: &[f64] = &[
    32.0,
    16.0 * KIB,
    68.0 * US,
    900.0 * US,
    20.0 * US,
    3.5 * US,
    550.0 * MB,
    35.0 * US,
    16.0 * MIB,
    2500.0 * US,
    0.0,
];

const NVME: &[f64] = &[
    128.0,
    16.0 * KIB,
    65.0 * US,
    700.0 * US,
    15.0 * US,
    1.2 * US,
    3400.0 * MB,
    10.0 * US,
    64.0 * MIB,
    1200.0 * US,
    0.0,
];

const DC600M: &[Published] = &[
    Published {
        what: "random read / steady random write of 4 KiB",
        value: "94,000 / 65,000 IOPS",
        source: "Kingston DC600M 960G, data sheet",
    },
    Published {
        what: "sequential read / write",
        value: "560 / 530 MB/s",
        source: "Kingston DC600M 960G, data sheet",
    },
];

const REACHES: &[Reach] = &[
    Reach {
        name: "randread 4k",
        op: Op::Read,
        shape: Shape::Random(1.0),
        block: 4096,
        depths: &[1, 4, 16, 32, 128],
    },
    Reach {
        name: "randwrite 4k",
        op: Op::Write,
        shape: Shape::Random(1.0),
        block: 4096,
        depths: &[1, 32],
    },
    Reach {
        name: "read 1M",
        op: Op::Read,
        shape: Shape::Sequential(0.0),
        block: 1 << 20,
        depths: &[2],
    },
    Reach {
        name: "write 1M",
        op: Op::Write,
        shape: Shape::Sequential(0.0),
        block: 1 << 20,
        depths: &[2],
    },
];

pub(super) fn ssd() -> Profile {
    let named = ("ssd", "flash behind SATA, with a volatile write buffer", ModelKind::Flash);
    Profile::new(named, PARAMETERS, SSD, DC600M, REACHES)
}

pub(super) fn nvme() -> Profile {
    let named = ("nvme", "flash behind NVMe, with a volatile write buffer", ModelKind::Flash);
    Profile::new(named, PARAMETERS, NVME, &[], REACHES)
}
