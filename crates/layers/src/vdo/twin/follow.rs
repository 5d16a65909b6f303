//! Settings that a volume runs with after a command: those in another table, or in lvm's options.

use units::Bytes;

use crate::vdo::geometry::BLOCK;
use crate::vdo::setup::Setup;
use crate::vdo::tables;

/// A setting that a command changes: its name, and its value as an experiment writes it.
pub(super) type Change = (String, String);

/// Returns what a command changes: the settings in a table that it has, or in lvm's options.
pub(super) fn changes(argv: &[String]) -> Vec<Change> {
    if let Some(settings) = argv.iter().find_map(|word| tables::settings(word)) {
        return settings.into_iter().map(|(key, value)| (key.to_owned(), value)).collect();
    }
    let words: Vec<&str> = argv.iter().flat_map(|word| word.split([' ', '='])).collect();
    match words[..] {
        ["lvm", "lvchange", ..] => {
            words.windows(2).filter_map(|pair| of_lvm(pair[0], pair[1])).collect()
        }
        ["lvm", "lvextend", .., size, volume] => {
            let key = if volume.ends_with("/pool") { "physical_size" } else { "logical_size" };
            vec![(key.to_owned(), size.to_owned())]
        }
        _ => Vec::new(),
    }
}

/// An option of lvm and its value.
fn of_lvm(option: &str, value: &str) -> Option<Change> {
    let blocks = |value: &str| Some((value.parse::<u64>().ok()? * BLOCK).to_string());
    let (key, value) = match option {
        "--deduplication" => ("dedupe", if value == "y" { "on" } else { "off" }.to_owned()),
        "--compression" => ("compression", if value == "y" { "on" } else { "off" }.to_owned()),
        "max_discard" => ("max_discard", blocks(value)?),
        "block_map_cache_size_mb" => ("block_map_cache", format!("{value}M")),
        key => (key, value.to_owned()),
    };
    Some((key.to_owned(), value))
}

/// Applies a change to the settings; changes of sizes are left to the twin.
pub(super) fn change_setting(setup: &mut Setup, key: &str, value: &str) {
    let bytes = || value.parse::<Bytes>().map_or(0, |bytes| bytes.0);
    let (number, on) = (value.parse::<u32>().unwrap_or_default(), value == "on");
    match key {
        "dedupe" => setup.dedupe = on,
        "compression" => setup.compression = on,
        "max_discard" => setup.max_discard = bytes(),
        "block_map_cache" => setup.block_map_cache = bytes(),
        "block_map_period" => setup.block_map_period = number,
        "ack_threads" => setup.ack_threads = number,
        "bio_threads" => setup.bio_threads = number,
        "bio_rotation" => setup.bio_rotation = number,
        "cpu_threads" => setup.cpu_threads = number,
        "hash_zone_threads" => setup.hash_zone_threads = number,
        "logical_threads" => setup.logical_threads = number,
        "physical_threads" => setup.physical_threads = number,
        _ => {}
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_table_and_the_options_of_lvm_change_what_a_volume_runs_with() {
        let changes = |command: &str| {
            let argv: Vec<String> = command.split('|').map(str::to_owned).collect();
            changes(&argv)
        };
        let pair = |key: &str, value: &str| (key.to_owned(), value.to_owned());
        let pool = "lvm|lvchange|--yes|--vdosettings|cpu_threads=3 max_discard=256|vg/pool";
        let changed = changes(pool);
        assert!(changed.contains(&pair("cpu_threads", "3")), "{changed:?}");
        assert!(changed.contains(&pair("max_discard", "1048576")), "{changed:?}");
        assert!(
            changes("lvm|lvchange|--compression|n|vg/pool").contains(&pair("compression", "off"))
        );
        assert_eq!(
            changes("lvm|lvextend|--size|8589934592b|vg/volume"),
            [pair("logical_size", "8589934592b")]
        );
        let table =
            "0 2097152 vdo V4 /dev/dm-0 1048576 4096 4096 16380 compression off maxDiscard 256";
        let changed = changes(&format!("dmsetup|reload|v|--table|{table}"));
        assert!(changed.contains(&pair("max_discard", "1M")), "{changed:?}");
        assert_eq!(changes("dmsetup|reload|v|--table|0 8388608 linear 254:0 0"), []);
    }
}
