//! Cures for limits that come from the load or the devices: settings of the load, and devices that the lab adds for a trial.

use units::Bytes;

use super::super::{DATA, TAIL};
use crate::rule::{MeasuredStage, Observation, RuleFacts};

/// A device fast enough not to be the limit: flash whose flushes cost nothing.
const FAST: &str = "like = { base = \"nvme\", power_loss_protection = true }";
/// A flush after so many writes that no load of a trial reaches it: once a variant has set `sync`, no setting makes a load never flush.
const NEVER: &str = "\"fsync:1000000\"";

/// Settings of the volume, and devices that they need: names and values as written in TOML.
pub(super) struct Cure {
    pub changes: Vec<(&'static str, String)>,
    pub devices: Vec<(&'static str, String)>,
}

/// Returns the observation with its cure, or with the reason why there is none.
pub(super) fn cured(
    noticed: Observation,
    cure: Option<Cure>,
    nothing: &'static str,
) -> Observation {
    match cure {
        Some(Cure { changes, devices }) => Observation { changes, devices, ..noticed },
        None => Observation { no_setting: Some(nothing), ..noticed },
    }
}

/// Puts the journal, which is the tail of the pool, on a separate fast device; `None` if it has one, or if a layer lies between.
pub(super) fn journal_apart(facts: &RuleFacts) -> Option<Cure> {
    const JOURNAL: &str = "journal";
    let data = facts.device(DATA).filter(|_| !has_tail(facts))?;
    let by_table = facts.settings.get("via").is_some_and(|via| via == "table");
    let mut changes = Vec::new();
    if !by_table {
        // lvm keeps the journal with the data.
        changes.push(("via", "\"table\"".to_owned()));
    }
    changes.push(("on", format!("{{ {DATA} = \"{}\", {TAIL} = \"{JOURNAL}\" }}", data.name)));
    Some(Cure { changes, devices: vec![(JOURNAL, format!("{{ size = \"1G\", {FAST} }}"))] })
}

/// Tells whether the journal lies on a separate device.
pub(super) fn has_tail(facts: &RuleFacts) -> bool {
    facts.layer_facts().is_some_and(|facts| facts.on.contains_key(TAIL))
}

/// Puts the volume on a fast device of the same size; `None` if it is on one, or if a layer lies between.
pub(super) fn faster_device(facts: &RuleFacts) -> Option<Cure> {
    let data = facts.device(DATA)?;
    if data.settings.get("like").is_some_and(|like| like.contains("nvme")) {
        return None;
    }
    let size = data.settings.get("size")?.parse::<Bytes>().ok()?;
    let table = format!("{{ size = \"{}\", {FAST} }}", written(size));
    Some(Cure { changes: vec![data_device(facts, "faster")], devices: vec![("faster", table)] })
}

/// Puts the volume on a device of twice the size; `None` where a layer lies between.
pub(super) fn larger_device(facts: &RuleFacts) -> Option<Cure> {
    let data = facts.device(DATA)?;
    let twice = |text: &String| Some(Bytes(text.parse::<Bytes>().ok()?.0.checked_mul(2)?));
    let like =
        data.settings.get("like").map_or_else(String::new, |like| format!(", {}", model(like)));
    let table = format!("{{ size = \"{}\"{like} }}", written(twice(data.settings.get("size")?)?));
    let mut changes = vec![data_device(facts, "larger")];
    let pool = facts.settings.get("physical_size").and_then(twice);
    changes.extend(pool.map(|size| ("physical_size", format!("\"{}\"", written(size)))));
    Some(Cure { changes, devices: vec![("larger", table)] })
}

/// Writes the model of a device (`hdd, rpm 5400`) as an experiment has it.
fn model(like: &str) -> String {
    let mut words = like.split(", ");
    let base = words.next().unwrap_or_default();
    let value = |value: &str| {
        let bare = value == "true" || value == "false" || value.parse::<f64>().is_ok();
        if bare { value.to_owned() } else { format!("\"{value}\"") }
    };
    let parameters: String = words
        .filter_map(|word| word.split_once(' '))
        .map(|(key, text)| format!(", {key} = {}", value(text)))
        .collect();
    if parameters.is_empty() {
        return format!("like = \"{base}\"");
    }
    format!("like = {{ base = \"{base}\"{parameters} }}")
}

/// The volume with its data on another device.
fn data_device(facts: &RuleFacts, device: &str) -> (&'static str, String) {
    let tail = facts.layer_facts().and_then(|facts| facts.on.get(TAIL));
    let inputs = tail.map_or_else(
        || format!("\"{device}\""),
        |tail| format!("{{ {DATA} = \"{device}\", {TAIL} = \"{tail}\" }}"),
    );
    ("on", inputs)
}

/// Writes a size exactly, as an experiment has it.
fn written(Bytes(bytes): Bytes) -> String {
    let units = [(30, "G"), (20, "M"), (10, "k")];
    let whole = units.iter().find(|(shift, _)| bytes.trailing_zeros() >= *shift);
    whole.map_or_else(|| bytes.to_string(), |(shift, unit)| format!("{}{unit}", bytes >> shift))
}

/// Returns settings for the load without its flushes; none if it makes no flushes itself, or is a point of a sweep.
pub(super) fn never_durable(stage: &MeasuredStage) -> Vec<(&'static str, String)> {
    let planned = stage.planned.filter(|planned| !planned.swept);
    let flushes = planned.and_then(|planned| planned.load.as_ref()?.sync_every);
    Vec::from_iter(flushes.map(|_| ("sync", NEVER.to_owned())))
}

/// Returns settings for the load with at most `most` blocks in flight; none if it has no more anyway, or is a point of a sweep.
pub(super) fn fewer_in_flight(stage: &MeasuredStage, most: f64) -> Vec<(&'static str, String)> {
    let planned = stage.planned.filter(|planned| !planned.swept);
    let depth = planned.and_then(|planned| planned.load.as_ref()).and_then(|load| {
        let share = most / load.blocks_in_flight as f64;
        Some((load.depth as f64 * share) as u64).filter(|depth| share < 1.0 && *depth > 0)
    });
    Vec::from_iter(depth.map(|depth| ("depth", depth.to_string())))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_model_is_written_as_it_was_read_with_its_parameters() {
        assert_eq!(model("ssd"), "like = \"ssd\"");
        let disk = "like = { base = \"hdd\", rpm = 5400, write_cache = false, flush = \"2 ms\" }";
        assert_eq!(model("hdd, rpm 5400, write_cache false, flush 2 ms"), disk);
    }

    #[test]
    fn sizes_are_written_exactly_in_the_largest_unit_that_does() {
        let of = |bytes| written(Bytes(bytes));
        assert_eq!([of(7 << 30), of(3 << 29), of(4096), of(4097)], ["7G", "1536M", "4k", "4097"]);
    }
}
