//! The settings of a cached volume, read and checked.

use toml::Table;
use units::Bytes;

use super::names::{CACHE, NAME, ORIGIN};
use crate::key::Key;
use crate::layer::Place;
use crate::lvm;
use crate::settings::{SettingError, Settings, size_text};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// Modes in which writes go through the cache.
const MODES: [&str; 3] = ["writethrough", "writeback", "passthrough"];

pub(super) const KEYS: &[Key] = &[
    Key {
        name: "size",
        default: "all of the origin device",
        allowed: "a size; lvm rounds it up to 4 MiB",
        example: "\"2G\"",
        help: "Size of the cached volume.",
    },
    Key {
        name: "cache_size",
        default: "all of the cache device",
        allowed: "a size from 16M on",
        example: "\"64M\"",
        help: "Size of the cache, its metadata included.",
    },
    Key {
        name: "chunk_size",
        default: "64k",
        allowed: "a multiple of 32k from 32k to 1G",
        example: "\"64k\"",
        help: "Unit in which blocks are cached; the cache holds at most 1,000,000 of them.",
    },
    Key {
        name: "mode",
        default: "writethrough",
        allowed: "writethrough, writeback or passthrough",
        example: "\"writeback\"",
        help: "writethrough: a write is done when the origin has it. writeback: when the cache has it. passthrough: nothing is cached anew.",
    },
    Key {
        name: "migration_threshold",
        default: "2048",
        allowed: "a whole number of sectors of 512 bytes, from 0 on",
        example: "2048",
        help: "Most that may be under way between origin and cache for the device still to count as idle, when dirty blocks are written back.",
    },
];

/// The settings of a cached volume; sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) size: Option<u64>,
    pub(super) cache_size: Option<u64>,
    pub(super) chunk_size: u64,
    pub(super) mode: String,
    pub(super) migration_threshold: u32,
}

/// The unit of lvm's chunks, and the most that a cache may have.
const CHUNK_UNIT: u64 = 32 * KIB;
const MOST_CHUNKS: u64 = 1_000_000;

/// The size of a chunk that lvm takes and that is nearest.
fn nearest_chunk(bytes: u64) -> u64 {
    let below = bytes.min(GIB) / CHUNK_UNIT * CHUNK_UNIT;
    let up = bytes.min(GIB) - below >= CHUNK_UNIT / 2;
    (below + if up { CHUNK_UNIT } else { 0 }).clamp(CHUNK_UNIT, GIB)
}

impl Setup {
    pub(super) fn read(table: &Table) -> Result<Self, SettingError> {
        let s = Settings::new(NAME, table, KEYS)?;
        let setup = Self {
            size: s.size("size")?,
            cache_size: s.size("cache_size")?,
            chunk_size: s.size("chunk_size")?.unwrap_or(64 * KIB),
            mode: s.word("mode", "writethrough", &MODES)?,
            migration_threshold: s.number("migration_threshold", 2048, 0..=u32::MAX)?,
        };
        let chunk = setup.chunk_size;
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

    /// Size of the cached volume on an origin of `bytes`.
    pub(super) fn volume_bytes(&self, bytes: u64) -> u64 {
        self.size.map_or_else(|| lvm::usable(bytes), lvm::round_up)
    }

    /// Size of the cache on a device of `bytes`.
    pub(super) fn cache_bytes(&self, bytes: u64) -> u64 {
        self.cache_size.map_or_else(|| lvm::usable(bytes), lvm::round_up)
    }

    pub(super) fn validate(&self, at: &Place) -> Result<(), SettingError> {
        let fits = |key: &str, input: &str, wanted: u64, least: u64| {
            let usable = lvm::usable(at.block(input).1);
            if (least..=usable).contains(&wanted) {
                return Ok(());
            }
            Err(SettingError::new(
                key,
                format!(
                    "{key} {} of layer 'lvmcache' does not fit its {input} device: lvm can use {} of it",
                    Bytes(wanted),
                    Bytes(usable)
                ),
                format!(
                    "write {key} from \"{}\" to \"{}\", or take another device",
                    size_text(least),
                    size_text(usable)
                ),
            ))
        };
        let cache = self.cache_bytes(at.block(CACHE).1);
        fits("size", ORIGIN, self.volume_bytes(at.block(ORIGIN).1), lvm::EXTENT)?;
        fits("cache_size", CACHE, cache, 16 * MIB)?;
        let chunks = cache / self.chunk_size;
        if chunks > MOST_CHUNKS {
            let least = cache.div_ceil(MOST_CHUNKS).next_multiple_of(CHUNK_UNIT);
            return Err(SettingError::new(
                "chunk_size",
                format!(
                    "a cache of {} has {chunks} chunks of {}",
                    Bytes(cache),
                    Bytes(self.chunk_size)
                ),
                format!(
                    "lvm allows 1,000,000: write chunk_size = \"{}\" or more",
                    size_text(least)
                ),
            ));
        }
        Ok(())
    }
}
