//! Commands that change the settings of a volume that the reader made; the doctor shows them together with the settings of an experiment.

use std::collections::BTreeMap;

use units::Bytes;

use super::geometry::BLOCK;
use crate::kind::Changed;

/// Settings that take effect when a volume comes up: Fathom's name, lvm's name, and the word in the kernel's table, empty for
/// a setting with a fixed place there.
const SETTINGS_AT_START: [(&str, &str, &str); 10] = [
    ("block_map_cache", "block_map_cache_size_mb", ""),
    ("block_map_period", "block_map_period", ""),
    ("max_discard", "max_discard", "maxDiscard"),
    ("ack_threads", "ack_threads", "ack"),
    ("bio_threads", "bio_threads", "bio"),
    ("bio_rotation", "bio_rotation", "bioRotationInterval"),
    ("cpu_threads", "cpu_threads", "cpu"),
    ("hash_zone_threads", "hash_zone_threads", "hash"),
    ("logical_threads", "logical_threads", "logical"),
    ("physical_threads", "physical_threads", "physical"),
];

/// Returns the commands; none where a change needs a new volume, as a change of the size of slabs does.
pub(super) fn commands(
    settings: &BTreeMap<String, String>,
    changes: &[Changed<'_>],
) -> Vec<String> {
    let table = settings.get("via").is_some_and(|via| via == "table");
    let mut commands = Vec::new();
    let mut taken_up = Vec::new();
    for (key, value) in changes {
        let value = value.trim_matches('"');
        if let Some(switch) = switched(table, key, value == "true" || value == "on") {
            commands.push(switch);
        } else if let Some(words) = SETTINGS_AT_START.iter().find(|(name, ..)| name == key) {
            taken_up.push((*words, value));
        } else {
            return Vec::new();
        }
    }
    if !taken_up.is_empty() {
        let restart = if table { by_table(&taken_up) } else { by_lvm(&taken_up) };
        commands.extend(restart.unwrap_or_default());
    }
    commands
}

/// Returns the command that switches deduplication or compression while the volume is in use.
fn switched(table: bool, key: &str, on: bool) -> Option<String> {
    let lvm = |flag: &str| format!("lvchange {flag} {} VG/POOL", if on { "y" } else { "n" });
    match (key, table) {
        ("dedupe", false) => Some(lvm("--deduplication")),
        ("compression", false) => Some(lvm("--compression")),
        ("dedupe", true) => {
            let message = if on { "index-enable" } else { "index-disable" };
            Some(format!("dmsetup message VOLUME 0 {message}"))
        }
        ("compression", true) => {
            Some(format!("dmsetup message VOLUME 0 compression {}", if on { "on" } else { "off" }))
        }
        _ => None,
    }
}

type Taken<'a> = ((&'a str, &'a str, &'a str), &'a str);

/// Returns lvm's commands, with the volume down: only then lvm takes other settings.
fn by_lvm(taken_up: &[Taken<'_>]) -> Option<Vec<String>> {
    let setting = |((name, word, _), value): &Taken<'_>| {
        let value = match *name {
            "block_map_cache" => (value.parse::<Bytes>().ok()?.0 >> 20).to_string(),
            "max_discard" => (value.parse::<Bytes>().ok()?.0 / BLOCK).to_string(),
            _ => (*value).to_owned(),
        };
        Some(format!("{word}={value}"))
    };
    let settings = taken_up.iter().map(setting).collect::<Option<Vec<_>>>()?.join(" ");
    Some(vec![
        "lvchange -an VG/LV".into(),
        format!("lvchange --vdosettings '{settings}' VG/POOL"),
        "lvchange -ay VG/LV".into(),
    ])
}

/// Returns commands that restart the volume with the kernel's present table, changed. If a word occurs twice, dm-vdo takes the later
/// one; cache and period are at fixed places.
fn by_table(taken_up: &[Taken<'_>]) -> Option<Vec<String>> {
    let (mut edits, mut more) = (String::new(), String::new());
    for ((name, _, word), value) in taken_up {
        let blocks = || Some(value.parse::<Bytes>().ok()?.0 / BLOCK);
        match *name {
            "block_map_cache" => edits += &format!("$8={}; ", blocks()?),
            "block_map_period" => edits += &format!("$9={value}; "),
            "max_discard" => more += &format!(" {word} {}", blocks()?),
            _ => more += &format!(" {word} {value}"),
        }
    }
    let edit = if edits.is_empty() { String::new() } else { format!(" | awk '{{{edits}print}}'") };
    Some(vec![
        format!("table=\"$(dmsetup table VOLUME{edit}){more}\""),
        "dmsetup remove VOLUME".into(),
        "dmsetup create VOLUME --table \"$table\"".into(),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(via: &str, changes: &[Changed<'_>]) -> String {
        let settings = BTreeMap::from([("via".to_owned(), via.to_owned())]);
        commands(&settings, changes).join("; ")
    }

    #[test]
    fn lvm_changes_threads_while_the_volume_is_down_and_switches_while_it_is_up() {
        let changes = [("logical_threads", "9"), ("block_map_cache", "\"144M\"")];
        assert_eq!(
            shown("lvm", &changes),
            "lvchange -an VG/LV; lvchange --vdosettings 'logical_threads=9 block_map_cache_size_mb=144' VG/POOL; \
             lvchange -ay VG/LV"
        );
        assert_eq!(shown("lvm", &[("compression", "false")]), "lvchange --compression n VG/POOL");
        assert!(shown("lvm", &[("max_discard", "\"4k\"")]).contains("'max_discard=1'"));
    }

    #[test]
    fn a_volume_of_a_table_is_brought_up_again_from_its_table_with_other_words_in_it() {
        assert_eq!(
            shown("table", &[("logical_threads", "2")]),
            "table=\"$(dmsetup table VOLUME) logical 2\"; dmsetup remove VOLUME; dmsetup create VOLUME --table \"$table\""
        );
        let cache = shown("table", &[("block_map_cache", "\"64M\"")]);
        assert!(cache.contains("dmsetup table VOLUME | awk '{$8=16384; print}')"), "{cache}");
        assert_eq!(
            shown("table", &[("dedupe", "false")]),
            "dmsetup message VOLUME 0 index-disable"
        );
    }

    #[test]
    fn what_needs_another_volume_has_no_command() {
        assert_eq!(shown("lvm", &[("slab_size", "\"1G\""), ("physical_threads", "2")]), "");
        assert_eq!(shown("table", &[("on", "\"fast\"")]), "");
        assert_eq!(shown("lvm", &[]), "");
    }
}
