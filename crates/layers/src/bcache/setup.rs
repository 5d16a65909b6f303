//! The settings of a cached device, read and checked.

use toml::Table;
use units::Bytes;

use super::names::{CACHE, NAME};
use crate::key::Values::{Number, OneOf, Size};
use crate::key::{Key, keys, whole};
use crate::layer::Place;
use crate::settings::{SettingError, Settings, size_text};

/// Modes in which I/Os go through the cache; the first is bcache's default.
const MODES: [&str; 4] = ["writethrough", "writeback", "writearound", "none"];
/// The largest number of buckets that is too small: with so few the kernel cannot keep any in reserve (`cache_alloc` in super.c), and refuses
/// the set.
const TOO_FEW: u64 = 512;
/// The largest bucket, bytes: the superblock has 16 bits for its size in sectors.
const LARGEST_BUCKET: u64 = 8 << 20;
const PAGE: u64 = 4096;

pub(super) const KEYS: &[Key] = keys! {
    "mode", OneOf(&MODES),
        "writethrough: a write is done when origin and cache have it. writeback: when the cache has it. writearound: it goes past the cache. none: nothing new is cached.";
    "sequential_cutoff", Size(4 << 20, ["a size; 0 for none", "\"0\""]),
        "Sequential I/Os of a task bypass the cache once they are as long as this in total.";
    "congested_read_threshold_us", Number(2000, (0, u32::MAX), ["a whole number of microseconds; 0 for none", ""]),
        "Reads from the cache that take longer make later I/Os bypass it.";
    "congested_write_threshold_us", Number(20_000, (0, u32::MAX), ["a whole number of microseconds; 0 for none", ""]),
        "Writes to the cache that take longer make later I/Os bypass it.";
    "writeback_percent", whole(10, (0, 40)),
        "Share of the cache that may be dirty before it is written back faster; 0: as fast as the origin takes it.";
    "bucket_size", Size(512 << 10, ["a power of two from 4k to 8M", "\"128k\""]),
        "Unit in which the cache is allocated and discarded; a set has more than 512 of them.";
    "block_size", Size(PAGE, ["512, 1k, 2k or 4k", "\"4k\""]), "Unit of I/Os, which is the logical block size of the cached device.";
};

/// The settings of a cached device; sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) mode: String,
    pub(super) sequential_cutoff: u64,
    pub(super) congested_read_us: u32,
    pub(super) congested_write_us: u32,
    pub(super) writeback_percent: u32,
    pub(super) bucket_size: u64,
    pub(super) block_size: u64,
}

impl Setup {
    pub(super) fn read(table: &Table) -> Result<Self, SettingError> {
        let s = Settings::new(NAME, table, KEYS)?;
        let powers = |key: &str, range: std::ops::RangeInclusive<u64>| {
            let bytes = s.bytes(key)?;
            if bytes.is_power_of_two() && range.contains(&bytes) {
                return Ok(bytes);
            }
            let [least, most] = [range.start(), range.end()].map(|bytes| size_text(*bytes));
            Err(SettingError::new(
                key,
                format!("{key} of layer '{NAME}' cannot be {}", size_text(bytes)),
                format!("write a power of two from \"{least}\" to \"{most}\""),
            ))
        };
        Ok(Self {
            mode: s.word("mode")?,
            sequential_cutoff: s.bytes("sequential_cutoff")?,
            congested_read_us: s.number("congested_read_threshold_us")?,
            congested_write_us: s.number("congested_write_threshold_us")?,
            writeback_percent: s.number("writeback_percent")?,
            bucket_size: powers("bucket_size", PAGE..=LARGEST_BUCKET)?,
            block_size: powers("block_size", 512..=PAGE)?,
        })
    }

    /// Buckets of the cache device.
    pub(super) fn buckets(&self, at: &Place) -> u64 {
        at.block(CACHE).1 / self.bucket_size
    }

    pub(super) fn validate(&self, at: &Place) -> Result<(), SettingError> {
        let (bytes, buckets) = (at.block(CACHE).1, self.buckets(at));
        if buckets > TOO_FEW {
            return Ok(());
        }
        let fits = (bytes / (TOO_FEW + 1)).checked_ilog2().map_or(0, |log| 1 << log);
        let smaller = match fits {
            PAGE.. => format!("write bucket_size = \"{}\", or ", size_text(fits)),
            _ => String::new(),
        };
        Err(SettingError::new(
            "bucket_size",
            format!(
                "a cache of {} has {buckets} buckets of {}",
                Bytes(bytes),
                Bytes(self.bucket_size)
            ),
            format!("the kernel needs more than {TOO_FEW}: {smaller}take a larger cache device"),
        ))
    }
}
