//! The settings in the line of a volume's table, by their names in an experiment.

use std::collections::BTreeMap;

use super::geometry::BLOCK;
use crate::dm::SECTOR;
use crate::settings::size_text;

/// Settings by the words of the table (the kernel's `vdo.rst`).
const WORDS: [(&str, &str); 10] = [
    ("ack", "ack_threads"),
    ("bio", "bio_threads"),
    ("bioRotationInterval", "bio_rotation"),
    ("cpu", "cpu_threads"),
    ("hash", "hash_zone_threads"),
    ("logical", "logical_threads"),
    ("physical", "physical_threads"),
    ("deduplication", "dedupe"),
    ("compression", "compression"),
    ("maxDiscard", "max_discard"),
];

/// Returns the settings in `0 SECTORS vdo V4 DEVICE BLOCKS IO-SIZE CACHE PERIOD [KEY VALUE]...`, each as an experiment writes it; `None` for
/// other lines.
pub(super) fn settings(line: &str) -> Option<BTreeMap<&'static str, String>> {
    let words: Vec<&str> = line.split_whitespace().collect();
    let (&[_, sectors, "vdo", _, _, blocks, io_size, cache, period], pairs) =
        words.split_first_chunk()?
    else {
        return None;
    };
    let size =
        |number: &str, unit: u64| Some(size_text(number.parse::<u64>().ok()?.checked_mul(unit)?));
    let mut settings = BTreeMap::from([
        ("logical_size", size(sectors, SECTOR)?),
        ("physical_size", size(blocks, BLOCK)?),
        ("minimum_io_size", io_size.to_owned()),
        ("block_map_cache", size(cache, BLOCK)?),
        ("block_map_period", period.to_owned()),
    ]);
    for pair in pairs.chunks_exact(2) {
        if let Some((word, key)) = WORDS.iter().find(|(word, _)| *word == pair[0]) {
            let value = if *word == "maxDiscard" { size(pair[1], BLOCK)? } else { pair[1].into() };
            settings.insert(key, value);
        }
    }
    Some(settings)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// As lvm2 2.03.31 made it of a pool of 8 GiB, with max_discard=256, on a kernel 6.12.
    #[test]
    fn a_real_table_is_read_by_the_names_of_the_settings() {
        let line = "0 2099200 vdo V4 /dev/dm-0 2096128 4096 32768 16380 deduplication on compression off maxDiscard 256 \
                    ack 1 bio 4 bioRotationInterval 64 cpu 2 hash 1 logical 1 physical 1";
        let settings = settings(line).unwrap();
        assert_eq!(settings.len(), 15);
        for (key, value) in [
            ("logical_size", "1025M"),
            ("physical_size", "8188M"),
            ("block_map_cache", "128M"),
            ("dedupe", "on"),
            ("compression", "off"),
            ("max_discard", "1M"),
            ("bio_rotation", "64"),
        ] {
            assert_eq!(settings[key], value, "{key}");
        }
    }

    #[test]
    fn other_lines_have_no_settings() {
        for line in
            ["", "0 8388608 linear 254:0 0", "0 x vdo V4 /dev/dm-0 2096128 4096 32768 16380"]
        {
            assert_eq!(settings(line), None, "{line}");
        }
    }
}
