//! The settings of a VDO volume. Names are lvm's without its prefixes; sizes are sizes, not megabytes.

use crate::key::Values::{Choice, Described, Number, OneOf, Size, Switch};
use crate::key::{Key, keys, whole};

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
pub(super) const KEYS: &[Key] = keys! {
    "via", OneOf(&["lvm", "table"]),
        "What makes the volume: lvm2, or vdoformat and a table of device-mapper, which allows smaller slabs and caches.";
    "tail_size", Described(["131328k", "a multiple of 4k from 131328k: the recovery journal and the slab summary; only with a tail", "\"131328k\""]),
        "How much of the end of the pool lies on the device that is given as tail.";
    "logical_size", Described(["as large as the pool", "a size; lvm rounds it up to a multiple of 4 MiB, a table of 4 KiB", "\"80G\""]),
        "Size of the volume that VDO offers. It may be many times the pool's size.";
    "physical_size", Described(["all of the device", "a size; lvm rounds it up to a multiple of 4 MiB, a table of 4 KiB", "\"10G\""]),
        "Size of the pool that holds data and metadata.";
    "block_map_cache", Size(128 << 20, ["whole MiB from 128M (from 16M with via = \"table\"), and at least 16M for each logical thread", "\"128M\""]),
        "Memory for pages of the block map. One page maps 812 blocks; a miss costs a read and a write of a page.";
    "dedupe", Switch(true), "Whether duplicates are looked for in the index.";
    "compression", Switch(true), "Whether blocks are compressed with LZ4 and packed, at most 14 into one block of 4060 bytes.";
    "ack_threads", whole(1, (0, 100)), "Threads that acknowledge writes; with 0 the thread that completes a write acknowledges it.";
    "bio_threads", whole(4, (1, 100)), "Threads that submit I/O to the pool.";
    "bio_rotation", whole(64, (1, 1024)), "I/Os sent to one bio thread before the next one's turn.";
    "cpu_threads", whole(2, (1, 100)), "Threads that hash and compress.";
    "hash_zone_threads", Number(1, (0, 100), ["a whole number", "; 0 only together with logical_threads and physical_threads"]),
        "Threads that look for duplicates, each for its part of the fingerprints.";
    "logical_threads", Number(1, (0, 60), ["a whole number", "; 0 only together with hash_zone_threads and physical_threads"]),
        "Threads that look up the block map, each for its part of the addresses.";
    "physical_threads", Number(1, (0, 16), ["a whole number", " and no more than there are slabs; 0 only together with logical_threads and hash_zone_threads"]),
        "Threads that allocate blocks and count references, each for its slabs.";
    "max_discard", Size(4096, ["a multiple of 4k below 4G", "\"16k\""]),
        "Largest discard that VDO takes as one. Its blocks are processed one after the other, each with an entry in the journal: each block of a large discard waits for its own journal write, while discards of 4 KiB share journal blocks.";
    "slab_size", Size(2 << 30, ["a power of two from 128M (from 32M with via = \"table\") to 32G", "\"2G\""]),
        "Unit of allocation. At most 8192 slabs: the pool cannot outgrow 8192 times this.";
    "index_memory", Size(256 << 20, ["256M, 512M, 768M or whole G up to 1T", "\"256M\""]),
        "Memory of the deduplication index, which also sets its size on disk and its window.";
    "sparse_index", Switch(false), "A window ten times as large for the same memory, and 8.6 times the space on disk.";
    "minimum_io_size", Choice(4096, &[512, 4096]), "Logical block size. With 512, a write of less than 4 KiB costs a read and a write.";
    "block_map_period", whole(16_380, (1, 16380)), "How many journal blocks may pass before a dirty page of the block map is written.";
};
