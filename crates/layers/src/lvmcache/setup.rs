//! The settings of a cached volume, read and checked.

use std::collections::BTreeMap;

use toml::Table;
use units::Bytes;

use super::{CACHE, KIND, ORIGIN, actions, raise};
use crate::kind::Key;
use crate::layer::{Acted, Layer, Place, Raised};
use crate::lvm;
use crate::settings::{SettingError, Settings, size_text};

const KIB: u64 = 1 << 10;
const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;

/// How writes go through the cache.
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

impl Setup {
    pub(super) fn read(table: &Table) -> Result<Self, SettingError> {
        let s = Settings::new(KIND.name, table, KEYS)?;
        let setup = Self {
            size: s.size("size")?,
            cache_size: s.size("cache_size")?,
            chunk_size: s.size("chunk_size")?.unwrap_or(64 * KIB),
            mode: s.word("mode", "writethrough", &MODES)?,
            migration_threshold: s.number("migration_threshold", 2048, 0..=u32::MAX)?,
        };
        let chunk = setup.chunk_size;
        if !chunk.is_multiple_of(32 * KIB) || !(32 * KIB..=GIB).contains(&chunk) {
            return Err(SettingError::new(
                "chunk_size",
                format!("chunk_size of layer 'lvmcache' cannot be {}", size_text(chunk)),
                "write a multiple of 32k from 32k to 1G, such as \"64k\"",
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

    fn validate(&self, at: &Place) -> Result<(), SettingError> {
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
        if chunks > 1_000_000 {
            return Err(SettingError::new(
                "chunk_size",
                format!(
                    "a cache of {} has {chunks} chunks of {}",
                    Bytes(cache),
                    Bytes(self.chunk_size)
                ),
                "lvm allows 1,000,000: write a larger chunk_size",
            ));
        }
        Ok(())
    }
}

impl Layer for Setup {
    fn settings(&self) -> BTreeMap<String, String> {
        let all = || "all".to_owned();
        let entries = [
            ("size", self.size.map_or_else(all, size_text)),
            ("cache_size", self.cache_size.map_or_else(all, size_text)),
            ("chunk_size", size_text(self.chunk_size)),
            ("mode", self.mode.clone()),
            ("migration_threshold", self.migration_threshold.to_string()),
        ];
        entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    fn raise(&self, at: &Place) -> Result<Raised, SettingError> {
        self.validate(at)?;
        Ok(raise::raise(self, at))
    }

    fn act(&self, at: &Place, action: &str, _: &Table) -> Result<Acted, SettingError> {
        actions::act(self, at, action)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::Offer;

    fn check(text: &str) -> Result<Raised, SettingError> {
        let block = |device: &str, bytes| Offer::Block { device: device.into(), bytes };
        let inputs = [
            (ORIGIN.to_owned(), block("{device.slow}", 2 * GIB)),
            (CACHE.to_owned(), block("{device.fast}", GIB)),
        ];
        let inputs = inputs.into();
        let at = Place { name: "cache", run_tag: "0badcafe", inputs: &inputs };
        Setup::read(&text.parse().unwrap())?.raise(&at)
    }

    #[test]
    fn each_rule_names_its_key_its_value_and_a_remedy() {
        for (text, key, value, remedy) in [
            ("chunk_size = \"48k\"", "chunk_size", "48k", "multiple of 32k"),
            ("mode = \"fast\"", "mode", "fast", "writeback"),
            ("size = \"3G\"", "size", "3 GiB", "2044M"),
            ("cache_size = \"2G\"", "cache_size", "2 GiB", "1020M"),
            ("cache_size = \"4M\"", "cache_size", "4 MiB", "16M"),
        ] {
            let error = check(text).expect_err(text);
            assert_eq!(error.key, key, "{text}: {error:?}");
            assert!(error.message.contains(value), "{text}: {error:?}");
            assert!(error.help.contains(remedy), "{text}: {error:?}");
        }
    }

    #[test]
    fn the_cache_stands_on_its_own_device_and_is_attached_to_the_volume() {
        let raised = check("cache_size = \"64M\"\nmode = \"writeback\"").unwrap();
        let shown: Vec<_> = raised.up.iter().map(|step| step.action.show()).collect();
        assert_eq!(shown[0], "lvm pvcreate --yes {device.slow}");
        assert_eq!(shown[1], "lvm pvcreate --yes {device.fast}");
        assert!(shown[2].ends_with("fathom_0badcafe_cache {device.slow} {device.fast}"));
        assert!(shown[3].contains("--name main") && shown[3].ends_with("{device.slow}"));
        assert!(shown[4].contains("--size 67108864b") && shown[4].ends_with("{device.fast}"));
        assert!(shown[5].contains("--type cache --cachevol fast --cachemode writeback"));
        assert_eq!(raised.offer.path(), "/dev/mapper/fathom_0badcafe_cache-main");
    }
}
