//! Checks of settings: lvm's ranges and dm-vdo's own checks, which would otherwise show only as an activation
//! that fails.

use super::geometry;
use super::setup::{Setup, Via};
use crate::lvm;
use crate::settings::{SettingError, size_text};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// Block map cache that each logical thread needs, bytes: 4096 pages.
const CACHE_PER_LOGICAL_THREAD: u64 = 16 * MIB;
/// The largest slab.
const LARGEST_SLAB: u64 = 32 * GIB;

impl Via {
    /// The smallest slab that it makes.
    pub(super) fn smallest_slab(self) -> u64 {
        match self {
            Self::Lvm => 128 * MIB,
            Self::Table => 32 * MIB,
        }
    }

    /// The smallest block map cache that it takes.
    fn smallest_cache(self) -> u64 {
        match self {
            Self::Lvm => 128 * MIB,
            Self::Table => CACHE_PER_LOGICAL_THREAD,
        }
    }
}

/// Checks what has to hold on any device; `fits` checks what has to hold on the devices of a place.
pub(super) fn alone(s: &Setup) -> Result<(), SettingError> {
    zones(s)?;
    cache(s)?;
    let refuse = |key: &str, value: u64, help: &str| {
        Err(SettingError::new(
            key,
            format!("{key} of layer 'vdo' cannot be {}", size_text(value)),
            help,
        ))
    };
    let smallest = s.via.smallest_slab();
    if !s.slab_size.is_power_of_two() || !(smallest..=LARGEST_SLAB).contains(&s.slab_size) {
        let smaller = match s.via {
            Via::Lvm => "; via = \"table\" takes 32M and more",
            Via::Table => "",
        };
        let smallest = size_text(smallest);
        let help = format!("write a power of two from {smallest} to 32G, such as \"2G\"{smaller}");
        return refuse("slab_size", s.slab_size, &help);
    }
    let quarters = [256 * MIB, 512 * MIB, 768 * MIB].contains(&s.index_memory);
    let whole = s.index_memory.is_multiple_of(GIB) && (GIB..=1024 * GIB).contains(&s.index_memory);
    if !quarters && !whole {
        let help = "write 256M, 512M, 768M or whole G; lvm would silently round it";
        return refuse("index_memory", s.index_memory, help);
    }
    if s.max_discard == 0
        || !s.max_discard.is_multiple_of(geometry::BLOCK)
        || s.max_discard >= 4 * GIB
    {
        let help = "write a multiple of 4k below 4G, such as \"16k\"";
        return refuse("max_discard", s.max_discard, help);
    }
    let sizes = [("logical_size", s.logical_size), ("physical_size", s.physical_size)];
    for (key, size) in sizes.into_iter().filter(|_| s.via == Via::Lvm) {
        lvm::at_least_an_extent("vdo", key, size)?;
    }
    tail(s)?;
    if s.logical_size.is_some_and(|size| size > 4 << 50) {
        return refuse("logical_size", s.logical_size.unwrap_or(0), "VDO offers at most 4P");
    }
    Ok(())
}

/// dm-vdo: "Logical, physical, and hash zones counts must all be zero or all non-zero".
fn zones(s: &Setup) -> Result<(), SettingError> {
    let counts = [
        ("hash_zone_threads", s.hash_zone_threads),
        ("logical_threads", s.logical_threads),
        ("physical_threads", s.physical_threads),
    ];
    let zero = counts.iter().find(|(_, n)| *n == 0);
    let some = counts.iter().find(|(_, n)| *n != 0);
    let (Some((key, _)), Some((other, n))) = (zero, some) else { return Ok(()) };
    Err(SettingError::new(
        key,
        format!(
            "{key} is 0 but {other} is {n}: VDO takes the three zone counts all zero or all non-zero"
        ),
        format!(
            "write {key} = 1, or set hash_zone_threads, logical_threads and physical_threads to 0"
        ),
    ))
}

/// Checks that the tail holds the whole journal and the whole summary.
fn tail(s: &Setup) -> Result<(), SettingError> {
    let size = s.tail_size.unwrap_or(geometry::TAIL);
    if size >= geometry::TAIL && size.is_multiple_of(geometry::BLOCK) {
        return Ok(());
    }
    Err(SettingError::new(
        "tail_size",
        format!(
            "tail_size of layer 'vdo' cannot be {}: too small, or no multiple of 4k",
            size_text(size)
        ),
        format!(
            "write a multiple of 4k from \"{}\": 32,768 blocks of the recovery journal and 64 of the slab summary",
            size_text(geometry::TAIL)
        ),
    ))
}

/// Checks the size of the block map cache. lvm and a table each have a minimum, and dm-vdo needs a part for each logical thread:
/// with less it says "Insufficient block map cache for logical zones".
fn cache(s: &Setup) -> Result<(), SettingError> {
    let needed = CACHE_PER_LOGICAL_THREAD * u64::from(s.logical_threads);
    let smallest = s.via.smallest_cache();
    let least = needed.max(smallest);
    if s.block_map_cache >= least && s.block_map_cache.is_multiple_of(MIB) {
        return Ok(());
    }
    let why = match s.via {
        _ if needed > smallest => format!("{} logical threads need 16M each", s.logical_threads),
        Via::Lvm => "lvm takes whole MiB from 128M (via = \"table\" takes 16M)".to_owned(),
        Via::Table => "a table takes whole MiB from 16M".to_owned(),
    };
    Err(SettingError::new(
        "block_map_cache",
        format!(
            "block_map_cache {} is too small, or not in whole MiB: {why}",
            size_text(s.block_map_cache)
        ),
        format!("write block_map_cache = \"{}\" or more, in whole MiB", size_text(least)),
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str) -> Result<Setup, SettingError> {
        Setup::read(&text.parse().unwrap())
    }

    #[test]
    fn each_rule_names_its_key_its_value_and_a_remedy() {
        let cases = [
            ("logical_threads = 0", "logical_threads", "0 but hash_zone_threads is 1", "= 1"),
            ("logical_threads = 9", "block_map_cache", "128M", "144M"),
            ("block_map_cache = \"64M\"", "block_map_cache", "64M", "128M"),
            ("block_map_cache = \"131073k\"", "block_map_cache", "131073k", "whole MiB"),
            ("slab_size = \"64M\"", "slab_size", "64M", "128M"),
            ("slab_size = \"3G\"", "slab_size", "3G", "power of two"),
            ("index_memory = \"300M\"", "index_memory", "300M", "256M"),
            ("max_discard = \"6k\"", "max_discard", "6k", "multiple of 4k"),
            ("minimum_io_size = 1024", "minimum_io_size", "1024", "512 or 4096"),
            ("cpu_threads = 0", "cpu_threads", "0", "1 to 100"),
            ("logical_size = 0", "logical_size", "0", "10G"),
            ("logical_size = \"1k\"", "logical_size", "1k", "at least 4M"),
            ("physical_size = \"2M\"", "physical_size", "2M", "at least 4M"),
        ];
        for (text, key, value, remedy) in cases {
            let error = check(text).expect_err(text);
            assert_eq!(error.key, key, "{text}: {error:?}");
            assert!(error.message.contains(value), "{text}: {error:?}");
            assert!(error.help.contains(remedy), "{text}: {error:?}");
        }
    }

    #[test]
    fn a_table_takes_smaller_slabs_and_caches_than_lvm_and_a_tail() {
        let table = |text: &str| format!("via = \"table\"\n{text}");
        for text in ["slab_size = \"32M\"", "block_map_cache = \"16M\"", "logical_size = \"8k\""] {
            check(&table(text)).expect(text);
        }
        let cases = [
            ("slab_size = \"16M\"", "slab_size", "32M"),
            ("block_map_cache = \"8M\"", "block_map_cache", "16M"),
            ("block_map_cache = \"16M\"\nlogical_threads = 2", "block_map_cache", "32M"),
            ("tail_size = \"128M\"", "tail_size", "131328k"),
        ];
        for (text, key, remedy) in cases {
            let error = check(&table(text)).expect_err(text);
            assert_eq!(error.key, key, "{text}: {error:?}");
            assert!(error.help.contains(remedy), "{text}: {error:?}");
        }
    }
}
