//! The settings of a cached volume, read and checked.

use toml::Table;
use units::Bytes;

use super::names::NAME;
use crate::key::Values::{Described, OneOf};
use crate::key::{Key, keys};
use crate::layer::Place;
use crate::lvm::tier::{self, TierSizes};
use crate::lvm::{EXTENT, round_up};
use crate::settings::{SettingError, Settings, size_text};

const KIB: u64 = 1 << 10;
const SECTOR: u64 = 512;
const GIB: u64 = 1 << 30;

/// Modes in which writes go through the cache.
pub(super) const MODES: [&str; 3] = ["writethrough", "writeback", "passthrough"];
const POLICIES: [&str; 2] = ["smq", "cleaner"];
/// Name of the setting.
pub(super) const THRESHOLD: &str = "migration_threshold";
const VIAS: [&str; 2] = ["cachevol", "cachepool"];

pub(super) const KEYS: &[Key] = keys! {
    tier::SIZE;
    tier::CACHE_SIZE;
    "via", OneOf(&VIAS), "cachevol: one volume holds blocks and metadata. cachepool: two volumes, one for each.";
    "chunk_size", Described(["64k, or what keeps the cache at 1,000,000 chunks", "a multiple of 32k from 32k to 1G", "\"64k\""]),
        "Unit in which blocks are cached; the cache holds at most 1,000,000 of them.";
    "mode", OneOf(&MODES),
        "writethrough: a write is done when the origin has it. writeback: when the cache has it. passthrough: nothing new is cached.";
    "policy", Described(["smq", "smq or cleaner", "\"smq\""]),
        "smq decides what is hot. cleaner caches nothing new and writes back all that is dirty; it needs via = \"cachepool\" and mode = \"writethrough\".";
    "migration_threshold", Described(["2048, or eight chunks where these are more", "a whole number of sectors of 512 bytes, at least eight chunks", "4096"]),
        "Dirty blocks are written back while the device is idle: while at most this much is being copied between origin and cache.";
};

/// The settings of a cached volume; sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) sizes: TierSizes,
    pub(super) pooled: bool,
    /// The size of a chunk where the experiment gives one.
    pub(super) chunk_size: Option<u64>,
    pub(super) mode: String,
    pub(super) policy: String,
    /// The threshold in sectors where the experiment gives one.
    pub(super) migration_threshold: Option<u32>,
}

/// Bytes of metadata that lvm counts for a chunk and its hint, and for transactions (lvm2's cache_manip.c).
const CHUNK_METADATA: u64 = 36;
const TRANSACTIONS: u64 = 4 << 20;
/// The unit of lvm's chunks, and the most that a cache may have.
const CHUNK_UNIT: u64 = 32 * KIB;
const MOST_CHUNKS: u64 = 1_000_000;

/// The kernel's default threshold of migrations, sectors, and the number of chunks to which lvm raises a smaller one, since dm-cache would stall
/// below that (lvm2's libdm-deptree.c).
const USUAL_THRESHOLD: u64 = 2048;
const LEAST_CHUNKS: u64 = 8;

/// Reads the threshold, if the experiment gives one.
fn threshold(s: &Settings, table: &Table) -> Result<Option<u32>, SettingError> {
    let written = table.contains_key(THRESHOLD);
    written.then(|| s.number_or(THRESHOLD, 0, |_| true)).transpose()
}

/// Returns the nearest size of a chunk that lvm takes.
fn nearest_chunk(bytes: u64) -> u64 {
    let below = bytes.min(GIB) / CHUNK_UNIT * CHUNK_UNIT;
    let up = bytes.min(GIB) - below >= CHUNK_UNIT / 2;
    (below + if up { CHUNK_UNIT } else { 0 }).clamp(CHUNK_UNIT, GIB)
}

/// Returns the smallest size of a chunk with which a cache of `cache` bytes has no more chunks than lvm allows.
fn finest_chunk(cache: u64) -> u64 {
    cache.div_ceil(MOST_CHUNKS).next_multiple_of(CHUNK_UNIT).max(CHUNK_UNIT)
}

/// Returns lvm's default size of a chunk for a cache of `cache` bytes.
fn usual_chunk(cache: u64) -> u64 {
    finest_chunk(cache).max(64 * KIB)
}

impl Setup {
    pub(super) fn read(table: &Table) -> Result<Self, SettingError> {
        let s = Settings::new(NAME, table, KEYS)?;
        let setup = Self {
            sizes: TierSizes::read(&s)?,
            pooled: s.word("via")? == VIAS[1],
            chunk_size: s.size("chunk_size")?,
            mode: s.word("mode")?,
            policy: s.word_or("policy", POLICIES[0], &POLICIES)?,
            migration_threshold: threshold(&s, table)?,
        };
        setup.cleaner_can_run()?;
        let Some(chunk) = setup.chunk_size else { return Ok(setup) };
        let near = nearest_chunk(chunk);
        if near != chunk {
            return Err(SettingError::new(
                "chunk_size",
                format!("chunk_size of layer 'lvmcache' cannot be {}", size_text(chunk)),
                format!(
                    "write a multiple of 32k from 32k to 1G; the nearest is \"{}\"",
                    size_text(near)
                ),
            ));
        }
        Ok(setup)
    }

    /// Refuses the cleaner where lvm does not pass it to the kernel: a cachevol gets smq (by its old name, mq) whatever is asked for, and the
    /// cleaner runs in writethrough whatever the mode is.
    fn cleaner_can_run(&self) -> Result<(), SettingError> {
        let refused = |message: String, help| Err(SettingError::new("policy", message, help));
        if self.policy != "cleaner" {
            return Ok(());
        }
        if !self.pooled {
            return refused(
                "policy of layer 'lvmcache' cannot be cleaner with via = \"cachevol\"".to_owned(),
                "lvm records it, but runs smq all the same: write via = \"cachepool\"",
            );
        }
        if self.mode != MODES[0] {
            return refused(
                format!(
                    "policy of layer 'lvmcache' cannot be cleaner with mode = \"{}\"",
                    self.mode
                ),
                "lvm runs the cleaner in writethrough: set mode = \"writethrough\" too; where a stage sets the policy, in the same stage",
            );
        }
        Ok(())
    }

    /// The way that the cache is made.
    pub(super) fn via(&self) -> &'static str {
        VIAS[usize::from(self.pooled)]
    }

    /// Size of a chunk of a cache at `at`.
    pub(super) fn chunk(&self, at: &Place) -> u64 {
        self.chunk_size.unwrap_or_else(|| usual_chunk(self.sizes.cache_bytes(at)))
    }

    /// Returns the sectors that a cache at `at` may be copying while it counts as idle.
    pub(super) fn threshold(&self, at: &Place) -> u64 {
        self.migration_threshold.map_or(USUAL_THRESHOLD.max(self.least_threshold(at)), u64::from)
    }

    fn least_threshold(&self, at: &Place) -> u64 {
        LEAST_CHUNKS * self.chunk(at) / SECTOR
    }

    /// The smallest size of a chunk that a cache at `at` could have.
    pub(super) fn finest_chunk(&self, at: &Place) -> u64 {
        finest_chunk(self.sizes.cache_bytes(at))
    }

    /// Returns the metadata of a cache at `at`, bytes: the size that lvm computes, in whole extents, and at least two.
    pub(super) fn metadata_bytes(&self, at: &Place) -> u64 {
        let whole = self.sizes.cache_bytes(at);
        round_up(TRANSACTIONS + whole / self.chunk(at) * CHUNK_METADATA).max(2 * EXTENT)
    }

    /// Returns the bytes left for blocks after the metadata.
    pub(super) fn data_bytes(&self, at: &Place) -> u64 {
        self.sizes.cache_bytes(at).saturating_sub(self.metadata_bytes(at))
    }

    pub(super) fn validate(&self, at: &Place) -> Result<(), SettingError> {
        self.sizes.validate(NAME, at)?;
        let (cache, chunk) = (self.sizes.cache_bytes(at), self.chunk(at));
        let data = self.data_bytes(at);
        if chunk > data {
            return Err(SettingError::new(
                "chunk_size",
                format!(
                    "a cache of {} has {} for blocks, less than a chunk of {}",
                    Bytes(cache),
                    Bytes(data),
                    Bytes(chunk)
                ),
                format!(
                    "write chunk_size = \"{}\" or less, or a larger cache_size",
                    size_text(data / CHUNK_UNIT * CHUNK_UNIT)
                ),
            ));
        }
        let chunks = cache / chunk;
        if chunks > MOST_CHUNKS {
            return Err(SettingError::new(
                "chunk_size",
                format!("a cache of {} has {chunks} chunks of {}", Bytes(cache), Bytes(chunk)),
                format!(
                    "lvm allows 1,000,000: write chunk_size = \"{}\" or more",
                    size_text(usual_chunk(cache))
                ),
            ));
        }
        self.threshold_holds(at)
    }

    /// Refuses a threshold that lvm would raise.
    fn threshold_holds(&self, at: &Place) -> Result<(), SettingError> {
        let (threshold, least) = (self.threshold(at), self.least_threshold(at));
        if threshold >= least {
            return Ok(());
        }
        Err(SettingError::new(
            THRESHOLD,
            format!("{threshold} sectors are less than eight chunks of {}", Bytes(self.chunk(at))),
            format!("lvm would raise it to these: write {THRESHOLD} = {least} or more"),
        ))
    }
}
