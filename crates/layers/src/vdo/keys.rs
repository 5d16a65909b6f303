//! The settings of a VDO volume. Names are lvm's without its prefixes; sizes are sizes, not megabytes.

use crate::key::Key;

const fn key(
    name: &'static str,
    default: &'static str,
    allowed: &'static str,
    example: &'static str,
    help: &'static str,
) -> Key {
    Key { name, default, allowed, example, help }
}

/// The settings of these names.
pub(super) const fn named<const N: usize>(names: [&str; N]) -> [Key; N] {
    let mut found = [KEYS[0]; N];
    let mut n = 0;
    while n < N {
        let mut at = 0;
        while !equal(KEYS[at].name, names[n]) {
            at += 1;
        }
        found[n] = KEYS[at];
        n += 1;
    }
    found
}

/// Tells whether two texts are equal: `==` cannot be used in a constant.
const fn equal(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    let mut at = 0;
    while at < a.len() && at < b.len() && a[at] == b[at] {
        at += 1;
    }
    at == a.len() && at == b.len()
}

/// Every setting.
pub(super) const KEYS: &[Key] = &[
    key(
        "via",
        "lvm",
        "\"lvm\" or \"table\"",
        "\"table\"",
        "What makes the volume: lvm2, or vdoformat and a table of device-mapper, which takes smaller slabs and caches.",
    ),
    key(
        "tail_size",
        "131328k",
        "a multiple of 4k from 131328k: the recovery journal and the slab summary; only with a tail",
        "\"131328k\"",
        "How much of the end of the pool lies on the device that is given as tail.",
    ),
    key(
        "logical_size",
        "as large as the pool",
        "a size; lvm rounds it up to 4 MiB, a table to 4 KiB",
        "\"80G\"",
        "Size of the volume that VDO offers. It may be many times the pool's size.",
    ),
    key(
        "physical_size",
        "all of the device",
        "a size; lvm rounds it up to 4 MiB, a table to 4 KiB",
        "\"10G\"",
        "Size of the pool that holds data and metadata.",
    ),
    key(
        "block_map_cache",
        "128M",
        "whole MiB from 128M (from 16M with via = \"table\"), and at least 16M for each logical thread",
        "\"128M\"",
        "Memory for pages of the block map. One page maps 812 blocks; a miss costs a read and a write of a page.",
    ),
    key("dedupe", "on", "on or off", "false", "Whether duplicates are looked for in the index."),
    key(
        "compression",
        "on",
        "on or off",
        "false",
        "Whether blocks are compressed with LZ4 and packed, at most 14 into one block of 4060 bytes.",
    ),
    key(
        "ack_threads",
        "1",
        "a whole number from 0 to 100",
        "1",
        "Threads that acknowledge writes; 0 does it where it arises.",
    ),
    key(
        "bio_threads",
        "4",
        "a whole number from 1 to 100",
        "4",
        "Threads that submit I/O to the pool.",
    ),
    key(
        "bio_rotation",
        "64",
        "a whole number from 1 to 1024",
        "64",
        "I/Os sent to one bio thread before the next one's turn.",
    ),
    key("cpu_threads", "2", "a whole number from 1 to 100", "2", "Threads that hash and compress."),
    key(
        "hash_zone_threads",
        "1",
        "a whole number from 0 to 100; 0 only together with logical_threads and physical_threads",
        "1",
        "Threads that look for duplicates, each for its part of the fingerprints.",
    ),
    key(
        "logical_threads",
        "1",
        "a whole number from 0 to 60; 0 only together with hash_zone_threads and physical_threads",
        "1",
        "Threads that look up the block map, each for its part of the addresses.",
    ),
    key(
        "physical_threads",
        "1",
        "a whole number from 0 to 16 and no more than there are slabs; 0 only together with logical_threads and hash_zone_threads",
        "1",
        "Threads that allocate blocks and count references, each for its slabs.",
    ),
    key(
        "max_discard",
        "4k",
        "a multiple of 4k below 4G",
        "\"16k\"",
        "Largest discard that VDO takes as one. Its blocks are done one after the other, each with an entry in the journal: of large ones each waits for a journal write of its own, while those of 4 KiB share journal blocks.",
    ),
    key(
        "slab_size",
        "2G",
        "a power of two from 128M (from 32M with via = \"table\") to 32G",
        "\"2G\"",
        "Unit of allocation. At most 8192 slabs: the pool cannot outgrow 8192 times this.",
    ),
    key(
        "index_memory",
        "256M",
        "256M, 512M, 768M or whole G up to 1T",
        "\"256M\"",
        "Memory of the deduplication index, which also sets its size on disk and its window.",
    ),
    key(
        "sparse_index",
        "off",
        "on or off",
        "true",
        "A window ten times as large for the same memory, and 8.6 times the space on disk.",
    ),
    key(
        "minimum_io_size",
        "4096",
        "512 or 4096",
        "4096",
        "Logical block size. 512 turns small writes into read and write.",
    ),
    key(
        "block_map_period",
        "16380",
        "a whole number from 1 to 16380",
        "16380",
        "How many journal blocks may pass before a dirty page of the block map is written.",
    ),
];
