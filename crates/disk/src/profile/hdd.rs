//! A 3.5-inch drive of 7,200 turns a minute, as sold since about 2018.

use super::form::{ModelKind, Profile, Published, Reach, Shape};
use super::parameter::{Parameter, Quantity::*};
use crate::Op;

const MS: f64 = 1e6;
const MB: f64 = 1e6;
const MIB: f64 = (1 << 20) as f64;

macro_rules! parameters {
    ($($name:literal $quantity:ident $least:expr, $most:expr; $about:literal)*) => {
        &[$(Parameter { name: $name, quantity: $quantity, least: $least, most: $most, about: $about }),*]
    };
}
pub(super) use parameters;

const PARAMETERS: &[Parameter] = parameters! {
    "rpm" Count 3600.0, 15_000.0; "turns of the platters in a minute"
    "rate_outer" Rate MB, 1000.0 * MB; "sustained rate of the outermost zone"
    "rate_inner" Rate MB, 1000.0 * MB; "sustained rate of the innermost zone"
    "zones" Count 1.0, 1000.0; "zones of one rate each, of equal width"
    "track_skew" Time 0.0, 5.0 * MS; "time by which a track begins later in the turn than the one before"
    "seek_least" Time 0.0, 20.0 * MS; "the shortest seek, between neighbours (a of a + b·√f, f the share of the stroke)"
    "seek_root" Time 0.0, 50.0 * MS; "growth of seeks with the root of their length (b)"
    "seek_knee" Number 0.01, 1.0; "the share of the stroke from which the arm coasts and seeks grow evenly"
    "write_settle" Time 0.0, 10.0 * MS; "time that a seek takes longer before a write"
    "missed" Time 0.0, 5.0 * MS; "time after a seek in which a place that passes is missed, which costs a turn"
    "overhead" Time 0.0, 10.0 * MS; "time from the arrival of a request until the drive acts"
    "interface" Rate MB, 10_000.0 * MB; "rate of the interface"
    "queue" Count 1.0, 1024.0; "requests among which the drive chooses (NCQ has 32)"
    "ageing" Number 0.0, 1.0; "time by which a request counts as nearer for each unit of time that it has waited"
    "read_ahead" Size 0.0, 256.0 * MIB; "bytes that an idle head reads ahead"
    "segments" Count 0.0, 10_000.0; "number of ranges of read data that the drive keeps in memory"
    "write_cache" Switch 0.0, 1.0; "whether writes are replied to before they are on the medium"
    "cache_size" Size MIB, 16_384.0 * MIB; "largest number of bytes that wait in the write cache"
    "cache_extents" Count 1.0, 1e6; "largest number of extents that wait in the write cache"
    "stroke" Stroke 1e-6, 1.0; "part of the stroke, from outside, over which the disk is laid"
};

const VALUES: &[f64] = &[
    7200.0,
    227.0 * MB,
    110.0 * MB,
    30.0,
    0.9 * MS,
    0.5 * MS,
    12.4 * MS,
    0.3,
    0.8 * MS,
    0.3 * MS,
    0.06 * MS,
    550.0 * MB,
    32.0,
    0.02,
    2.0 * MIB,
    64.0,
    1.0,
    64.0 * MIB,
    1024.0,
    1.0,
];

const PUBLISHED: &[Published] = &[
    Published {
        what: "seek, average read / write; track to track; rotation, average",
        value: "7.4 / 8.2 ms; 0.23 / 0.32 ms; 4.16 ms",
        source: "WD Ultrastar DC HC310, OEM specification",
    },
    Published {
        what: "random read / write of 4 KiB at depth 16, one of two actuators",
        value: "152 / 280 IOPS (304 / 560 with both)",
        source: "Seagate Exos 2X18, data sheet",
    },
    Published {
        what: "random read / write of 4 KiB at depth 16, one of two actuators",
        value: "152 / 192 IOPS (304 / 384 with both)",
        source: "Seagate Exos 2X14, data sheet",
    },
    Published {
        what: "sustained rate, one of two actuators; one actuator",
        value: "277 MB/s; 270 MB/s",
        source: "Seagate Exos 2X18; Exos X18, data sheets",
    },
    Published {
        what: "time for 16.8 MB in the outermost and in the innermost of 30 zones",
        value: "0.28 s and 0.55 s (a ratio of 1.96)",
        source: "Hitachi Deskstar T7K250, specification",
    },
];

const REACHES: &[Reach] = &[
    Reach {
        name: "randread 4k",
        op: Op::Read,
        shape: Shape::Random(1.0),
        block: 4096,
        depths: &[1, 2, 8, 16, 32],
    },
    Reach {
        name: "randread 4k, 1 % of it",
        op: Op::Read,
        shape: Shape::Random(0.01),
        block: 4096,
        depths: &[1, 2, 8, 32],
    },
    Reach {
        name: "randwrite 4k",
        op: Op::Write,
        shape: Shape::Random(1.0),
        block: 4096,
        depths: &[1, 32],
    },
    Reach {
        name: "read 1M, outside",
        op: Op::Read,
        shape: Shape::Sequential(0.0),
        block: 1 << 20,
        depths: &[1],
    },
    Reach {
        name: "read 1M, inside",
        op: Op::Read,
        shape: Shape::Sequential(0.95),
        block: 1 << 20,
        depths: &[1],
    },
    Reach {
        name: "write 1M, outside",
        op: Op::Write,
        shape: Shape::Sequential(0.0),
        block: 1 << 20,
        depths: &[1],
    },
];

pub(super) fn hdd() -> Profile {
    let named =
        ("hdd", "a drive of 7,200 turns a minute with a volatile write cache", ModelKind::Hdd);
    Profile::new(named, PARAMETERS, VALUES, PUBLISHED, REACHES)
}
