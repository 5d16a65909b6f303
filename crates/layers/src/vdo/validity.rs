//! Which settings can work: lvm's ranges and dm-vdo's own checks, which otherwise show only as an activation
//! that fails.

use units::Bytes;

use super::geometry;
use super::setup::Setup;
use crate::lvm;
use crate::settings::{SettingError, size_text};

const MIB: u64 = 1 << 20;
const GIB: u64 = 1 << 30;
/// Block map cache that each logical thread needs, bytes: 4096 pages.
const CACHE_PER_LOGICAL_THREAD: u64 = 16 * MIB;
/// The smallest block map cache that lvm takes.
const SMALLEST_CACHE: u64 = 128 * MIB;

/// What holds on any device.
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
    if !s.slab_size.is_power_of_two() || !(128 * MIB..=32 * GIB).contains(&s.slab_size) {
        let help = "write a power of two from 128M to 32G, such as \"2G\"";
        return refuse("slab_size", s.slab_size, help);
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
    if ![512, 4096].contains(&s.minimum_io_size) {
        let help = "write 512 or 4096";
        return refuse("minimum_io_size", u64::from(s.minimum_io_size), help);
    }
    for (key, size) in [("logical_size", s.logical_size), ("physical_size", s.physical_size)] {
        lvm::at_least_an_extent("vdo", key, size)?;
    }
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

/// lvm's smallest cache, and dm-vdo's "Insufficient block map cache for logical zones".
fn cache(s: &Setup) -> Result<(), SettingError> {
    let needed = CACHE_PER_LOGICAL_THREAD * u64::from(s.logical_threads);
    let least = needed.max(SMALLEST_CACHE);
    if s.block_map_cache >= least && s.block_map_cache.is_multiple_of(MIB) {
        return Ok(());
    }
    let why = if needed > SMALLEST_CACHE {
        format!("{} logical threads need 16M each", s.logical_threads)
    } else {
        "lvm takes whole MiB from 128M".to_owned()
    };
    Err(SettingError::new(
        "block_map_cache",
        format!("block_map_cache {} is too small or uneven: {why}", size_text(s.block_map_cache)),
        format!("write block_map_cache = \"{}\" or more whole MiB", size_text(least)),
    ))
}

/// What holds on a device of `below_bytes`.
pub(super) fn on_device(s: &Setup, below_bytes: u64) -> Result<(), SettingError> {
    let (pool, usable) = (s.pool_bytes(below_bytes), lvm::usable(below_bytes));
    if pool > usable {
        return Err(SettingError::new(
            "physical_size",
            format!(
                "physical_size {} of layer 'vdo' does not fit on a device of {}: lvm can use {} of it",
                Bytes(pool),
                Bytes(below_bytes),
                Bytes(usable)
            ),
            format!(
                "write physical_size = \"{}\" or less, or take a larger device",
                size_text(usable)
            ),
        ));
    }
    let slabs = geometry::slabs(pool, s.slab_size, s.index_memory, s.sparse_index);
    let least = lvm::round_up(geometry::smallest_pool(s.slab_size, s.index_memory, s.sparse_index));
    if slabs == 0 {
        let key = if s.physical_size.is_some() { "physical_size" } else { "slab_size" };
        let device = size_text((least + lvm::EXTENT).div_ceil(MIB) * MIB);
        return Err(SettingError::new(
            key,
            format!(
                "a VDO pool of {} holds not one slab: slab_size {} and index_memory {} need {}",
                Bytes(pool),
                size_text(s.slab_size),
                size_text(s.index_memory),
                Bytes(least)
            ),
            format!("take a device of at least {device}, or a smaller slab_size (from 128M)"),
        ));
    }
    if slabs > geometry::MOST_SLABS {
        return Err(SettingError::new(
            "slab_size",
            format!(
                "slab_size {} makes {slabs} slabs of a pool of {}; VDO has at most {}",
                size_text(s.slab_size),
                Bytes(pool),
                geometry::MOST_SLABS
            ),
            "write a larger slab_size",
        ));
    }
    if u64::from(s.physical_threads) > slabs {
        return Err(SettingError::new(
            "physical_threads",
            format!(
                "physical_threads {} is more than the {slabs} slab(s) of a pool of {}: VDO would not start",
                s.physical_threads,
                Bytes(pool)
            ),
            format!("write physical_threads = {slabs} or less, or a smaller slab_size"),
        ));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(text: &str, below: u64) -> Result<(), SettingError> {
        let setup = Setup::read(&text.parse().unwrap())?;
        on_device(&setup, below)
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
            ("minimum_io_size = 1024", "minimum_io_size", "1k", "512 or 4096"),
            ("physical_threads = 3", "physical_threads", "3", "= 2"),
            ("physical_size = \"8G\"", "physical_size", "8 GiB", "larger device"),
            ("physical_size = \"1G\"", "physical_size", "1 GiB", "slab_size"),
            ("sparse_index = true", "slab_size", "not one slab", "device of at least"),
            ("cpu_threads = 0", "cpu_threads", "0", "1 to 100"),
            ("logical_size = 0", "logical_size", "0", "10G"),
            ("logical_size = \"1k\"", "logical_size", "1k", "at least 4M"),
            ("physical_size = \"2M\"", "physical_size", "2M", "at least 4M"),
        ];
        for (text, key, value, remedy) in cases {
            let error = check(text, 7 * GIB).expect_err(text);
            assert_eq!(error.key, key, "{text}: {error:?}");
            assert!(error.message.contains(value), "{text}: {error:?}");
            assert!(error.help.contains(remedy), "{text}: {error:?}");
        }
    }

    #[test]
    fn what_vdo_accepts_is_accepted() {
        for text in [
            "",
            "logical_threads = 0\nhash_zone_threads = 0\nphysical_threads = 0",
            "logical_threads = 9\nblock_map_cache = \"144M\"",
            "slab_size = \"128M\"\nphysical_threads = 16",
            "dedupe = false\ncompression = \"off\"\nlogical_size = \"400G\"",
        ] {
            check(text, 7 * GIB).expect(text);
        }
    }

    #[test]
    fn a_device_just_too_small_is_refused_and_the_size_named_is_enough() {
        let error = check("", 4 * GIB).unwrap_err();
        let size = error.help.split("at least ").nth(1).unwrap().split(',').next().unwrap();
        assert!(check("", size.parse::<Bytes>().unwrap().0).is_ok(), "{size}");
    }
}
