//! Growing a volume or its pool while it is in use. What dm-vdo would refuse is refused before anything is touched: dm-vdo notices it only once
//! it is suspended, and then stays suspended.

use units::Bytes;

use super::names::TAIL;
use super::setup::{Setup, Via};
use super::volume::Volume;
use super::{fits, geometry, raise};
use crate::layer::{ActionPlan, ActionRequest};
use crate::lvm;
use crate::settings::{SettingError, size_text};

const MIB: u64 = 1 << 20;

/// Plans the steps that grow the existing volume to the sizes that its settings have now.
pub(super) fn grow(volume: &Volume, request: &ActionRequest) -> Result<ActionPlan, SettingError> {
    let [logical, physical] =
        ["logical_size", "physical_size"].map(|key| request.keys.contains_key(key));
    if !logical && !physical {
        return Err(SettingError::new(
            "action",
            "the action 'grow' does not say to what size",
            "add logical_size = \"...\", or physical_size = \"...\"",
        ));
    }
    let before = Volume { setup: &Setup::read(request.before)?, at: volume.at };
    if physical {
        pool(&before, volume)?;
    }
    let [had, has] = [&before, volume].map(|v| v.setup.volume_bytes(v.at));
    if logical {
        larger("logical_size", had, has)?;
    }
    fits::on_devices(volume.setup, volume.at)?;
    // A volume without logical_size is as large as its pool, and grows with it.
    let logical = has > had;
    let mut steps = volume.grow(logical, physical);
    // The table has another size now.
    steps.extend(raise::facts_anew(volume));
    let grown = [("logical_size", logical), ("physical_size", physical)];
    let keys: Vec<&str> = grown.into_iter().filter(|(_, grows)| *grows).map(|(k, _)| k).collect();
    steps.extend(volume.runs(&keys));
    steps.extend(volume.ready());
    Ok(ActionPlan { steps, bytes: logical.then_some(has) })
}

/// Refuses a size that is not larger than before.
fn larger(key: &str, had: u64, has: u64) -> Result<(), SettingError> {
    if has > had {
        return Ok(());
    }
    let (asks, had) = (size_text(has), size_text(had));
    let message = if asks == had {
        format!("{key} {asks} of layer 'vdo' is the size that it has already")
    } else {
        format!("{key} {asks} of layer 'vdo' is less than the {had} it has: dm-vdo cannot shrink")
    };
    Err(SettingError::new(key, message, format!("write a {key} above {had}")))
}

/// Checks that the pool grows by as much as dm-vdo needs, which otherwise answers VDO_INCREMENT_TOO_SMALL: it copies journal and summary into the
/// added space, and needs one more slab (vdo.c, grow_layout; slab-depot.c, vdo_prepare_to_grow_slab_depot).
fn pool(before: &Volume, after: &Volume) -> Result<(), SettingError> {
    const KEY: &str = "physical_size";
    if after.at.inputs.contains_key(TAIL) {
        return Err(SettingError::new(
            KEY,
            "a pool with its end on a tail cannot grow: what is added comes after the tail",
            "grow only logical_size, or make the volume without a tail",
        ));
    }
    let setup = after.setup;
    let [had, has] = [before, after].map(|v| v.setup.pool_bytes(v.at));
    larger(KEY, had, has)?;
    let slabs =
        |pool| geometry::slabs(pool, setup.slab_size, setup.index_memory, setup.sparse_index);
    let one = geometry::smallest_pool(setup.slab_size, setup.index_memory, setup.sparse_index);
    let with = |slabs: u64| one + slabs.saturating_sub(1) * setup.slab_size;
    if slabs(has) > geometry::MOST_SLABS {
        let most = with(geometry::MOST_SLABS + 1) - 1;
        let message = format!(
            "{KEY} {} of layer 'vdo' makes {} slabs of {}; VDO has at most {}",
            size_text(has),
            slabs(has),
            size_text(setup.slab_size),
            geometry::MOST_SLABS
        );
        let help = format!("write at most {KEY} = \"{}\"", size_text(most / MIB * MIB));
        return Err(SettingError::new(KEY, message, help));
    }
    let least = (had + geometry::TAIL).max(with(slabs(had) + 1));
    if has >= least {
        return Ok(());
    }
    let least = match setup.via {
        Via::Lvm => lvm::round_up(least),
        Via::Table => least.div_ceil(MIB) * MIB,
    };
    let message = format!(
        "{KEY} {} of layer 'vdo' adds {} to the {} it has, too little: the added space must hold the whole new recovery journal and slab \
        summary ({}), and one more slab ({})",
        size_text(has),
        Bytes(has - had),
        size_text(had),
        size_text(geometry::TAIL),
        size_text(setup.slab_size)
    );
    Err(SettingError::new(KEY, message, format!("write {KEY} = \"{}\" or more", size_text(least))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::{Layer, Place, on_device};

    const GIB: u64 = 1 << 30;

    fn grown(settings: &str, keys: &str, device: u64) -> Result<ActionPlan, SettingError> {
        let (before, keys): (toml::Table, toml::Table) =
            (settings.parse().unwrap(), keys.parse().unwrap());
        let mut now = before.clone();
        now.extend(keys.clone());
        let inputs = on_device("/dev/x", device);
        let at = Place { name: "vdo", run_tag: "0badcafe", inputs: &inputs };
        let request = ActionRequest { action: "grow", keys: &keys, before: &before };
        Setup::read(&now).unwrap().act(&at, &request)
    }

    fn shown(acted: &ActionPlan) -> Vec<String> {
        acted.steps.iter().map(|step| step.action.show()).collect()
    }

    #[test]
    fn growth_says_to_what_size() {
        let grown_to = grown("", "logical_size = \"9G\"", 7 * GIB).unwrap();
        assert_eq!(
            shown(&grown_to)[0],
            "lvm lvextend --yes --size 9663676416b fathom_0badcafe_vdo/volume"
        );
        assert!(
            shown(&grown_to)[2].starts_with("read vdo.later from dmsetup table"),
            "{grown_to:?}"
        );
        assert_eq!(grown_to.bytes, Some(9 * GIB));
        assert!(grown("", "", 7 * GIB).unwrap_err().help.contains("logical_size"));
    }

    #[test]
    fn what_dm_vdo_would_refuse_while_it_is_suspended_is_refused_at_its_key() {
        for via in ["lvm", "table"] {
            let settings = |slab: &str| {
                format!(
                    "via = \"{via}\"\nphysical_size = \"6G\"\nlogical_size = \"6G\"\nslab_size = \"{slab}\""
                )
            };
            for (slab, key, size, words, help) in [
                (
                    "2G",
                    "physical_size",
                    "5G",
                    "less than the 6G it has: dm-vdo cannot shrink",
                    "above 6G",
                ),
                ("2G", "physical_size", "6G", "it has already", "above 6G"),
                (
                    "2G",
                    "logical_size",
                    "4G",
                    "less than the 6G it has: dm-vdo cannot shrink",
                    "above 6G",
                ),
                ("2G", "physical_size", "6200M", "one more slab (2G)", "\"68"),
                ("128M", "physical_size", "6244M", "recovery journal", "or more"),
                ("128M", "physical_size", "1100G", "at most 8192", "at most physical_size = \"105"),
            ] {
                let error = grown(&settings(slab), &format!("{key} = \"{size}\""), 2048 * GIB)
                    .expect_err(size);
                assert_eq!(error.key, key, "{via} {size}: {error:?}");
                assert!(error.message.contains(words), "{via} {size}: {error:?}");
                assert!(error.help.contains(help), "{via} {size}: {error:?}");
            }
        }
    }

    /// A kernel took both on a pool of 4 GiB with slabs of 128 MiB.
    #[test]
    fn the_least_that_a_real_pool_grew_by_is_taken_and_one_block_less_is_not() {
        let settings = "via = \"table\"\nphysical_size = \"4G\"\nlogical_size = \"1G\"\nslab_size = \"128M\"\nblock_map_cache = \"16M\"";
        let slabs =
            |blocks: u64| geometry::slabs(blocks * geometry::BLOCK, 128 * MIB, 256 * MIB, false);
        assert_eq!((slabs(1_048_576), slabs(1_114_176), slabs(1_179_775)), (10, 12, 14));
        let to =
            |blocks: u64| grown(settings, &format!("physical_size = {}", blocks * 4096), 8 * GIB);
        assert!(to(1_048_576 + 32_832).is_ok());
        assert_eq!(to(1_048_576 + 32_831).unwrap_err().key, "physical_size");
    }

    #[test]
    fn a_size_that_the_help_names_is_enough() {
        for settings in ["physical_size = \"5G\"", "physical_size = \"5G\"\nslab_size = \"128M\""] {
            let error = grown(settings, "physical_size = \"5124M\"", 64 * GIB).unwrap_err();
            let size = error.help.split('"').nth(1).unwrap();
            assert!(
                grown(settings, &format!("physical_size = \"{size}\""), 64 * GIB).is_ok(),
                "{size}"
            );
        }
    }

    #[test]
    fn a_volume_without_a_size_of_its_own_grows_with_its_pool() {
        let acted = grown("physical_size = \"5G\"", "physical_size = \"8G\"", 9 * GIB).unwrap();
        assert_eq!(acted.bytes, Some(8 * GIB));
        assert!(
            shown(&acted)[1]
                .contains("lvextend --yes --size 8589934592b fathom_0badcafe_vdo/volume")
        );
        let fixed = "physical_size = \"5G\"\nlogical_size = \"5G\"";
        let acted = grown(fixed, "physical_size = \"8G\"", 9 * GIB).unwrap();
        assert_eq!(acted.bytes, None);
        assert!(shown(&acted).iter().all(|step| !step.contains("_vdo/volume")));
    }
}
