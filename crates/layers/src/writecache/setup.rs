//! The settings of a volume with a write cache, read and checked.

use toml::Table;
use units::Bytes;

use super::names::NAME;
use crate::key::Values::{Number, Size, Switch};
use crate::key::{Key, Values, keys, whole};
use crate::kind::{ActionKind, PartEffect};
use crate::layer::Place;
use crate::lvm::tier::{self, TierSizes};
use crate::lvm::tier_actions;
use crate::settings::{SettingError, Settings, on_off, size_text};

/// The sizes of a block that lvm takes.
const BLOCKS: [u64; 2] = [512, 4096];

pub(super) const KEYS: &[Key] = keys! {
    tier::SIZE;
    tier::CACHE_SIZE;
    "block_size", Size(4096, ["512 or 4k", "\"4k\""]), "Unit in which writes are kept; for a smaller write the block is read, changed and written.";
    "high_watermark", Number(50, (0, 100), ["percent,", ", not below low_watermark"]),
        "Fill of the cache at which writing back begins.";
    "low_watermark", Number(45, (0, 100), ["percent,", ""]), "Fill of the cache at which writing back ends.";
    "writeback_jobs", Number(0, (0, u32::MAX), ["a whole number", "; 0 means no limit"]), "Most blocks that are written back at once.";
    "autocommit_blocks", whole(65_536, (1, u32::MAX)), "Blocks after which the cache makes its metadata durable by itself.";
    "autocommit_time", Number(1000, (1, 3_600_000), ["milliseconds,", ""]), "Time after which the cache makes its metadata durable without being asked to flush.";
    "max_age", Number(0, (0, 86_400_000), ["milliseconds,", "; 0 is for ever"]),
        "Age at which a block is written back even if the cache is not full.";
    "pause_writeback", Number(3000, (0, 3_600_000), ["milliseconds,", ""]),
        "Time for which nothing is written back after a write went around the cache to the slow device.";
    "cleaner", Switch(false), "Whether the cache takes no more writes and all of it is written back.";
    "metadata_only", Switch(false), "Whether only writes that a file system marks as metadata go to the cache.";
};

pub(super) const ACTIONS: &[ActionKind] = &[
    tier_actions::ACTIONS[0],
    tier_actions::ACTIONS[1],
    // lvm puts a write cache in front of a volume that is down.
    ActionKind { alone: true, ..tier_actions::ACTIONS[2] },
    ActionKind {
        name: "flush",
        about: "Writes back everything that the cache holds, and empties it.",
        keys: &[],
        alone: false,
        loses: false,
        part: Some(PartEffect::Needs(tier_actions::CACHED)),
    },
];

/// The settings of a volume with a write cache.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Setup {
    pub(super) sizes: TierSizes,
    /// Bytes of a block.
    pub(super) block_size: u64,
    /// Whole numbers by their words, with the default of each.
    numbers: Vec<(&'static str, u32, u32)>,
    switches: [(&'static str, bool); 2],
}

impl Setup {
    pub(super) fn read(table: &Table) -> Result<Self, SettingError> {
        let s = Settings::new(NAME, table, KEYS)?;
        let of_kind = KEYS.iter().filter_map(|key| match key.values {
            Values::Number(default, ..) => Some((key.name, default)),
            _ => None,
        });
        let number = |(word, default)| Ok((word, s.number(word)?, default));
        let setup = Self {
            sizes: TierSizes::read(&s)?,
            block_size: s.bytes("block_size")?,
            numbers: of_kind.map(number).collect::<Result<_, SettingError>>()?,
            switches: [
                ("cleaner", s.switch("cleaner")?),
                ("metadata_only", s.switch("metadata_only")?),
            ],
        };
        if !BLOCKS.contains(&setup.block_size) {
            return Err(SettingError::new(
                "block_size",
                format!(
                    "block_size of layer 'writecache' cannot be {}",
                    size_text(setup.block_size)
                ),
                "write block_size = \"4k\", or 512",
            ));
        }
        let (high, low) = (setup.number("high_watermark"), setup.number("low_watermark"));
        if low > high {
            return Err(SettingError::new(
                "low_watermark",
                format!("low_watermark {low} of layer 'writecache' is above high_watermark {high}"),
                format!("write low_watermark = {high} or less, or high_watermark = {low} or more"),
            ));
        }
        Ok(setup)
    }

    /// The whole number of a setting.
    fn number(&self, word: &str) -> u32 {
        self.numbers.iter().find(|(name, ..)| *name == word).map_or(0, |(_, value, _)| *value)
    }

    /// Returns every setting except the sizes, as text.
    pub(super) fn words(&self) -> impl Iterator<Item = (&'static str, String)> {
        let numbers = self.numbers.iter().map(|(word, value, _)| (*word, value.to_string()));
        let switches = self.switches.iter().map(|(word, on)| (*word, on_off(*on)));
        numbers.chain(switches)
    }

    /// Returns the settings that differ from the kernel's defaults, in the form that lvm takes.
    pub(super) fn non_defaults(&self) -> impl Iterator<Item = (&'static str, u32)> {
        let numbers = self.numbers.iter().filter(|(_, value, default)| value != default);
        let numbers = numbers.map(|(word, value, _)| (*word, *value));
        numbers.chain(self.switches.iter().filter(|(_, on)| *on).map(|(word, _)| (*word, 1)))
    }

    /// Refuses settings that its devices cannot have, and a cache that takes too much memory.
    pub(super) fn validate(&self, at: &Place) -> Result<(), SettingError> {
        self.sizes.validate(NAME, at)?;
        // The kernel keeps an entry for each block; lvmcache(7) names 2 % of the cache for blocks of 4 KiB.
        let memory = self.memory_bytes(at);
        if memory > MOST_MEMORY {
            return Err(SettingError::new(
                "cache_size",
                format!(
                    "a write cache of {} takes {} of memory",
                    Bytes(self.sizes.cache_bytes(at)),
                    Bytes(memory)
                ),
                "write a smaller cache_size, or block_size = \"4k\"",
            ));
        }
        Ok(())
    }

    /// Memory that the kernel takes for its entries, bytes.
    pub(super) fn memory_bytes(&self, at: &Place) -> u64 {
        self.sizes.cache_bytes(at) / self.block_size * ENTRY
    }
}

/// Bytes of memory for a block of the cache: 2 GiB for 100 GiB in blocks of 4 KiB (lvmcache(7)).
const ENTRY: u64 = 84;
/// The largest allowed memory for entries, bytes: no test machine has more to spare.
const MOST_MEMORY: u64 = 64 << 30;
