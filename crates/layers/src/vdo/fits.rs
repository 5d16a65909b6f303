//! Checks that a volume fits on its devices: room for the pool, for a slab in it, and for its threads.

use units::Bytes;

use super::geometry;
use super::names::{DATA, TAIL};
use super::setup::{Setup, Via};
use crate::layer::Place;
use crate::lvm;
use crate::settings::{SettingError, size_text};

const MIB: u64 = 1 << 20;
/// The smallest index.
const SMALLEST_INDEX: u64 = 256 * MIB;

/// Checks the settings against the devices at a place.
pub(super) fn on_devices(s: &Setup, at: &Place) -> Result<(), SettingError> {
    fits(s, at)?;
    slabs(s, at)
}

/// Checks that the devices have room for the pool.
fn fits(s: &Setup, at: &Place) -> Result<(), SettingError> {
    let has_tail = at.inputs.contains_key(TAIL);
    if s.via == Via::Lvm && has_tail {
        return Err(SettingError::new(
            "on",
            "layer 'vdo' has a tail, which lvm cannot place",
            "write via = \"table\", or leave the tail out",
        ));
    }
    if let (Some(size), false) = (s.tail_size, has_tail) {
        return Err(SettingError::new(
            "tail_size",
            format!("layer 'vdo' has a tail_size of {}, but no tail", size_text(size)),
            "write via = \"table\" and on = { data = \"...\", tail = \"...\" }, or leave tail_size out",
        ));
    }
    let (tail, device) = (s.tail(at), at.block(TAIL).1);
    if tail > device {
        return Err(SettingError::new(
            "tail_size",
            format!(
                "tail_size {} of layer 'vdo' does not fit on a device of {}",
                size_text(tail),
                Bytes(device).exact()
            ),
            format!("take a device of at least {}", size_text(tail)),
        ));
    }
    let (pool, room, data) = (s.pool_bytes(at), s.room(at), at.block(DATA).1);
    if pool > room {
        let who = match (s.via, tail) {
            (Via::Lvm, _) => format!("lvm can use {} of it", Bytes(room).exact()),
            (Via::Table, 0) => format!("whole blocks are {} of it", Bytes(room).exact()),
            (Via::Table, _) => format!("with the tail there is room for {}", Bytes(room).exact()),
        };
        return Err(SettingError::new(
            "physical_size",
            format!(
                "physical_size {} of layer 'vdo' does not fit on a device of {}: {who}",
                Bytes(pool).exact(),
                Bytes(data).exact(),
            ),
            format!(
                "write physical_size = \"{}\" or less, or take a larger device",
                size_text(room)
            ),
        ));
    }
    if pool <= tail {
        return Err(SettingError::new(
            "physical_size",
            format!(
                "physical_size {} of layer 'vdo' is not larger than its tail",
                Bytes(pool).exact()
            ),
            "write a larger physical_size: it is the size of the whole pool, including the tail",
        ));
    }
    Ok(())
}

/// Checks that the pool holds slabs, not too many, and enough for its physical threads.
fn slabs(s: &Setup, at: &Place) -> Result<(), SettingError> {
    let pool = s.pool_bytes(at);
    let slabs = geometry::slabs(pool, s.slab_size, s.index_memory, s.sparse_index);
    if slabs == 0 {
        return Err(no_slab(s, pool));
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

/// Returns the error for a pool without room for its index and one slab; it names the settings that take the room, and the sizes that would fit.
fn no_slab(s: &Setup, pool: u64) -> SettingError {
    let needs = |slab, memory, sparse| geometry::smallest_pool(slab, memory, sparse);
    let fits = |slab, memory, sparse| needs(slab, memory, sparse) <= pool;
    let least = needs(s.slab_size, s.index_memory, s.sparse_index);
    let (least, beside) = match s.via {
        Via::Lvm => (lvm::round_up(least), lvm::EXTENT),
        Via::Table => (least, 0),
    };
    let smallest = s.via.smallest_slab();
    let (key, instead) = if s.sparse_index && fits(s.slab_size, s.index_memory, false) {
        ("sparse_index", ", or sparse_index = false".to_owned())
    } else if s.index_memory > SMALLEST_INDEX && fits(s.slab_size, SMALLEST_INDEX, s.sparse_index) {
        (
            "index_memory",
            format!(", or a smaller index_memory (from {})", size_text(SMALLEST_INDEX)),
        )
    } else if s.index_memory > SMALLEST_INDEX && fits(s.slab_size, SMALLEST_INDEX, false) {
        let smaller = size_text(SMALLEST_INDEX);
        ("index_memory", format!(", or index_memory = \"{smaller}\" and sparse_index = false"))
    } else {
        let key = if s.physical_size.is_some() { "physical_size" } else { "slab_size" };
        let fits = s.slab_size > smallest && fits(smallest, s.index_memory, s.sparse_index);
        let smaller = || format!(", or a smaller slab_size (from {})", size_text(smallest));
        (key, if fits { smaller() } else { String::new() })
    };
    let device = size_text((least + beside).div_ceil(MIB) * MIB);
    let sparse = if s.sparse_index { ", sparse," } else { "" };
    SettingError::new(
        key,
        format!(
            "a VDO pool of {} holds not one slab: slab_size {} and index_memory {}{sparse} need {}",
            Bytes(pool),
            size_text(s.slab_size),
            size_text(s.index_memory),
            Bytes(least)
        ),
        format!("take a device of at least {device}{instead}"),
    )
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::on_device;

    const GIB: u64 = 1 << 30;

    fn check(text: &str, below: u64) -> Result<(), SettingError> {
        let setup = Setup::read(&text.parse().unwrap())?;
        let inputs = on_device("/dev/x", below);
        on_devices(&setup, &Place { name: "vdo", run_tag: "0badcafe", inputs: &inputs })
    }

    #[test]
    fn what_does_not_fit_names_its_key_its_value_and_a_remedy() {
        let small = "via = \"table\"\nslab_size = \"32M\"\n";
        for (text, key, value, remedy) in [
            ("physical_threads = 3", "physical_threads", "3", "= 2"),
            ("physical_size = \"8G\"", "physical_size", "8 GiB", "larger device"),
            ("via = \"table\"\nphysical_size = \"8G\"", "physical_size", "8 GiB", "7G"),
            ("physical_size = \"4G\"", "physical_size", "4 GiB", "a smaller slab_size (from 128M)"),
            ("slab_size = \"32G\"", "slab_size", "32G", "a smaller slab_size"),
            ("sparse_index = true", "sparse_index", "256M, sparse,", ", or sparse_index = false"),
            (
                "index_memory = \"1G\"",
                "index_memory",
                "index_memory 1G",
                "index_memory (from 256M)",
            ),
            (&format!("{small}index_memory = \"4G\""), "index_memory", "4G", "(from 256M)"),
            (&format!("{small}sparse_index = true"), "sparse_index", "sparse", "= false"),
            (
                "index_memory = \"4G\"\nsparse_index = true",
                "index_memory",
                "4G",
                "and sparse_index = false",
            ),
        ] {
            let error = check(text, 7 * GIB).expect_err(text);
            assert_eq!(error.key, key, "{text}: {error:?}");
            assert!(error.message.contains(value), "{text}: {error:?}");
            assert!(error.help.contains(remedy), "{text}: {error:?}");
        }
    }

    #[test]
    fn a_smaller_slab_is_no_remedy_where_none_fits() {
        for text in [
            "physical_size = \"1G\"",
            "via = \"table\"\nphysical_size = \"2785M\"\nslab_size = \"32M\"",
        ] {
            let error = check(text, 7 * GIB).unwrap_err();
            assert_eq!(error.key, "physical_size");
            assert!(!error.help.contains("slab_size"), "{error:?}");
        }
    }

    #[test]
    fn a_tail_is_no_matter_for_lvm_and_not_larger_than_its_device() {
        let check = |text: &str, tail: u64| {
            let mut inputs = on_device("/dev/x", 7 * GIB);
            let device = "/dev/y".to_owned();
            inputs.insert(TAIL.to_owned(), crate::layer::Offer::Block { device, bytes: tail });
            let at = Place { name: "vdo", run_tag: "0badcafe", inputs: &inputs };
            on_devices(&Setup::read(&text.parse().unwrap()).unwrap(), &at)
        };
        assert!(check("via = \"table\"", GIB).is_ok());
        assert_eq!(check("", GIB).unwrap_err().key, "on");
        assert_eq!(check("via = \"table\"", MIB).unwrap_err().key, "tail_size");
        let whole = "via = \"table\"\ntail_size = \"1G\"\nphysical_size = \"1G\"";
        assert_eq!(check(whole, GIB).unwrap_err().key, "physical_size");
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
