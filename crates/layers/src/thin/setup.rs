//! The settings of a thin pool and its volume, read and checked.

use toml::Table;
use units::Bytes;

use super::names::{DATA, NAME};
use crate::key::Values::{Described, OneOf, Size, Switch};
use crate::key::{Key, keys};
use crate::kind::{ActionKind, State, StateMethod};
use crate::layer::Place;
use crate::lvm;
use crate::settings::{SettingError, Settings, size_text};

const KIB: u64 = 1 << 10;
const GIB: u64 = 1 << 30;

/// The unit of chunks.
const CHUNK_UNIT: u64 = 64 * KIB;
/// Bytes of metadata that lvm counts for each chunk.
const CHUNK_METADATA: u64 = 64;
/// The most metadata that a pool can have, bytes.
const MOST_METADATA: u64 = 15 * GIB;

const DISCARDS: [&str; 3] = ["passdown", "nopassdown", "ignore"];
const WHEN_FULL: [&str; 2] = ["queue", "error"];

pub(super) const KEYS: &[Key] = keys! {
    "size", Described(["what the chunks of the pool hold", "a size; lvm rounds it up to a multiple of 4 MiB", "\"2G\""]),
        "Size of the volume; a volume larger than the pool is over-provisioned.";
    "pool_size", Described(["what the metadata leaves of the device", "a size; lvm rounds it up to a multiple of 4 MiB", "\"1G\""]),
        "Size of the pool's data.";
    "metadata_size", Described(["64 bytes for each chunk, at least 4M", "a size from 4M to 15G", "\"8M\""]), "Size of the pool's metadata.";
    "chunk_size", Size(CHUNK_UNIT, ["a multiple of 64k from 64k to 1G", "\"128k\""]),
        "Unit in which space is taken, zeroed, shared with snapshots and copied.";
    "zero", Switch(true),
        "Whether a chunk is zeroed when a write that is smaller takes it; off, the unwritten rest of it reads as what the device held before.";
    "discards", OneOf(&DISCARDS),
        "passdown: a discard frees chunks and is passed to the device. nopassdown: it only frees chunks. ignore: it does nothing.";
    "when_full", OneOf(&WHEN_FULL), "queue: writes wait up to a minute for more space. error: they fail at once.";
};

pub(super) const ACTIONS: &[ActionKind] = &[
    ActionKind {
        name: "restart",
        about: "Takes the volume down and brings it up again; data stays.",
        keys: &[],
        alone: true,
        loses: false,
        part: None,
    },
    ActionKind {
        name: "snapshot",
        about: "Takes a snapshot of the volume: all its chunks are shared then, and the first write to a shared chunk copies it.",
        keys: &[Key {
            name: "name",
            values: Described([
                "a free one, chosen by lvm",
                "letters, digits and _; another one for each snapshot",
                "\"snapshot\"",
            ]),
            help: "Name of the snapshot.",
        }],
        alone: false,
        loses: false,
        part: None,
    },
];

pub(super) const STATES: &[State] = &[
    State {
        name: "fresh",
        about: "Nothing has been written: a write takes a chunk, and zeroes it. With zero = false the rest of the chunk reads as what the device held before.",
        by: StateMethod::Nothing,
    },
    State {
        name: "allocated",
        about: "Every chunk of the volume is allocated and not shared: writes overwrite.",
        by: StateMethod::Allocate,
    },
    State {
        name: "shared",
        about: "A snapshot shares every chunk of the volume: the first write to one copies it.",
        by: StateMethod::Action("snapshot"),
    },
];

/// The settings of a thin pool and its volume; sizes in bytes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) size: Option<u64>,
    pub(super) pool_size: Option<u64>,
    pub(super) metadata_size: Option<u64>,
    pub(super) chunk_size: u64,
    pub(super) zero: bool,
    pub(super) discards: String,
    pub(super) when_full: String,
}

impl Setup {
    pub(super) fn read(table: &Table) -> Result<Self, SettingError> {
        let s = Settings::new(NAME, table, KEYS)?;
        let setup = Self {
            size: s.size("size")?,
            pool_size: s.size("pool_size")?,
            metadata_size: s.size("metadata_size")?,
            chunk_size: s.bytes("chunk_size")?,
            zero: s.switch("zero")?,
            discards: s.word("discards")?,
            when_full: s.word("when_full")?,
        };
        for (key, size) in [("size", setup.size), ("pool_size", setup.pool_size)] {
            lvm::at_least_an_extent(NAME, key, size)?;
        }
        let chunk = setup.chunk_size;
        if !chunk.is_multiple_of(CHUNK_UNIT) || !(CHUNK_UNIT..=GIB).contains(&chunk) {
            let near =
                (chunk.min(GIB).saturating_add(CHUNK_UNIT / 2) / CHUNK_UNIT).max(1) * CHUNK_UNIT;
            return Err(SettingError::new(
                "chunk_size",
                format!("chunk_size of layer 'thin' cannot be {}", size_text(chunk)),
                format!(
                    "write a multiple of 64k from 64k to 1G; the nearest is \"{}\"",
                    size_text(near)
                ),
            ));
        }
        match setup.metadata_size {
            Some(size) if !(lvm::EXTENT..=MOST_METADATA).contains(&size) => Err(SettingError::new(
                "metadata_size",
                format!("metadata_size of layer 'thin' cannot be {}", size_text(size)),
                "write a size from 4M to 15G, or leave it out",
            )),
            _ => Ok(setup),
        }
    }

    /// Size of the metadata.
    pub(super) fn metadata_bytes(&self, at: &Place) -> u64 {
        let usual = || {
            let data = self.pool_size.unwrap_or(at.block(DATA).1);
            (data / self.chunk_size * CHUNK_METADATA).clamp(lvm::EXTENT, MOST_METADATA)
        };
        lvm::round_up(self.metadata_size.unwrap_or_else(usual))
    }

    /// Size of the pool's data.
    pub(super) fn pool_bytes(&self, at: &Place) -> u64 {
        let rest = || lvm::usable(at.block(DATA).1).saturating_sub(self.metadata_bytes(at));
        self.pool_size.map_or_else(rest, lvm::round_up)
    }

    /// Size of the volume.
    pub(super) fn volume_bytes(&self, at: &Place) -> u64 {
        self.size.map_or_else(|| self.room(at), lvm::round_up)
    }

    /// Returns the size of the largest volume that the pool's chunks can hold completely, in whole extents; it is less than the pool where the size
    /// of a chunk does not divide the pool.
    pub(super) fn room(&self, at: &Place) -> u64 {
        self.chunks(at) * self.chunk_size / lvm::EXTENT * lvm::EXTENT
    }

    /// Chunks that the pool has.
    pub(super) fn chunks(&self, at: &Place) -> u64 {
        self.pool_bytes(at) / self.chunk_size
    }

    pub(super) fn validate(&self, at: &Place) -> Result<(), SettingError> {
        let (usable, metadata) = (lvm::usable(at.block(DATA).1), self.metadata_bytes(at));
        let room = usable.saturating_sub(metadata);
        let pool = self.pool_bytes(at);
        let least = lvm::round_up(self.chunk_size);
        if room < least {
            return Err(SettingError::new(
                "on",
                format!(
                    "a device of {} is too small for layer 'thin': its metadata takes {}, and a chunk {}",
                    Bytes(at.block(DATA).1),
                    Bytes(metadata),
                    Bytes(self.chunk_size)
                ),
                "take a larger device, a smaller chunk_size or less metadata_size",
            ));
        }
        if pool <= room && pool >= least {
            return Ok(());
        }
        Err(SettingError::new(
            "pool_size",
            format!(
                "pool_size {} of layer 'thin' does not fit: besides the metadata of {} lvm can use {}",
                Bytes(pool),
                Bytes(metadata),
                Bytes(room)
            ),
            format!("write pool_size from \"{}\" to \"{}\"", size_text(least), size_text(room)),
        ))
    }
}
