//! The keys of a content, with the values that each takes and an example.

use units::{Key, key};

use crate::ContentSpec;

impl ContentSpec {
    /// Every key, described.
    pub const KEYS: &[Key] = &[
        key("dedupe", "a share from 0 to 100 %", "\"50%\""),
        key("scope", "\"written\" or \"live\"", "\"live\""),
        key(
            "distance",
            "\"previous\", \"recent\", \"all\", or ranges of distances with shares that sum to 100",
            "\"1..100=30,100..10000=70\"",
        ),
        key("window", "a whole number of blocks from 1 on", "16384"),
        key("popularity", "\"uniform\", \"zipf:THETA\" or \"cap:N\"", "\"zipf:1.1\""),
        key("domain", "\"job\", \"target\" or \"all\"", "\"target\""),
        key(
            "compress",
            "a ratio, a saving, \"none\", or LZ4 sizes (\"normal:1600,300\", \"1000=30,2000=70\")",
            "\"2.5x\"",
        ),
        key("vdo_saving", "a share from 0 to 100 %", "\"66%\""),
        key("texture", "\"tail\" or \"interleaved:CHUNK\"", "\"interleaved:1k\""),
        key("zero", "a share from 0 to 100 %", "\"5%\""),
        key("block", "a power of two from 512 to 64M", "\"4k\""),
        key("misaligned", "a size smaller than a block", "512"),
        key(
            "profile",
            "the path of a file that fathom estimate --profile wrote",
            "\"data.profile\"",
        ),
    ];
}
