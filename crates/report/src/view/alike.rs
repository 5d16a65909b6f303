//! Variants whose stacks and stages have one shape: they share a drawing, and what differs is named.

use std::collections::BTreeMap;

use results::model::LayerFacts;

use super::Variant;

/// Placeholder in a drawing for anything that is not the same in all variants.
pub const DIFFERS: &str = "differs";
/// Kind that stands for a device in a stack.
const DEVICE: &str = "device";

/// Variants whose stacks look alike.
#[derive(Debug, Clone, PartialEq)]
pub struct Alike {
    /// Indices of the variants.
    pub variants: Vec<usize>,
    /// Their stack, with `DIFFERS` in place of anything that is not the same in all.
    pub stack: Vec<LayerFacts>,
    /// Their stages in words, without what is not the same in all.
    pub stages: Vec<String>,
    /// Differences: the name of each, and its value in each of the variants.
    pub differences: Vec<(String, Vec<String>)>,
}

/// Groups the variants by the shape of their stacks, in the order of the first variant of each group.
pub fn alike(variants: &[Variant]) -> Vec<Alike> {
    let mut groups: Vec<Vec<usize>> = Vec::new();
    for (index, variant) in variants.iter().enumerate() {
        let same = |group: &&mut Vec<usize>| shape(&variants[group[0]]) == shape(variant);
        match groups.iter_mut().find(same) {
            Some(group) => group.push(index),
            None => groups.push(vec![index]),
        }
    }
    groups.into_iter().map(|group| together(variants, group)).collect()
}

/// The layers of a stack (kind, name, inputs with the positions of the layers below, names of the settings), and the number of stages.
type Shape<'a> = (Vec<(&'a str, &'a str, Vec<(&'a str, Option<usize>)>, Vec<&'a str>)>, usize);

fn shape(variant: &Variant) -> Shape<'_> {
    let place = |name: &str| variant.stack.iter().position(|layer| layer.name == name);
    let layers = variant.stack.iter().map(|facts| {
        // A device is identified by its position, not by its name.
        let name = if facts.layer == DEVICE { "" } else { facts.name.as_str() };
        let on = facts.on.iter().map(|(input, below)| (input.as_str(), place(below))).collect();
        (facts.layer.as_str(), name, on, facts.settings.keys().map(String::as_str).collect())
    });
    (layers.collect(), variant.stages.len())
}

fn together(variants: &[Variant], group: Vec<usize>) -> Alike {
    let of: Vec<&Variant> = group.iter().filter_map(|index| variants.get(*index)).collect();
    let Some(first) = of.first() else {
        return Alike {
            variants: group,
            stack: Vec::new(),
            stages: Vec::new(),
            differences: Vec::new(),
        };
    };
    let mut differences = Vec::new();
    let mut stack = first.stack.clone();
    for place in 0..stack.len() {
        let each = |read: &dyn Fn(&LayerFacts) -> String| -> Vec<String> {
            of.iter().filter_map(|v| v.stack.get(place)).map(read).collect()
        };
        let names = each(&|layer| layer.name.clone());
        if differ(&names) {
            rename(&mut stack, place);
            differences.push((stack[place].name.clone(), names));
        }
        let keys: Vec<String> = stack[place].settings.keys().cloned().collect();
        for key in keys {
            let values = each(&|layer| layer.settings.get(&key).cloned().unwrap_or_default());
            if differ(&values) {
                differences.push((format!("{} {key}", stack[place].name), values));
                stack[place].settings.insert(key, DIFFERS.to_owned());
            }
        }
    }
    let mut stages = Vec::new();
    for place in 0..first.stages.len() {
        let texts: Vec<&str> =
            of.iter().filter_map(|v| v.stages.get(place)).map(String::as_str).collect();
        let (common, parts_left) = parts(&texts);
        if differ(&parts_left) {
            differences.push((format!("stage {}", place + 1), parts_left));
            stages.push(format!("{common}, {DIFFERS}"));
        } else {
            stages.push(texts.first().copied().unwrap_or_default().to_owned());
        }
    }
    Alike { variants: group, stack, stages, differences }
}

fn differ(values: &[String]) -> bool {
    values.iter().any(|value| Some(value) != values.first())
}

/// Renames a device that has different names in the variants to `device`, with its number if there are several devices.
fn rename(stack: &mut [LayerFacts], place: usize) {
    let several = stack.iter().filter(|layer| layer.layer == DEVICE).count() > 1;
    let new = if several { format!("{DEVICE} {}", place + 1) } else { DEVICE.to_owned() };
    let old = std::mem::replace(&mut stack[place].name, new.clone());
    for below in stack.iter_mut().flat_map(|layer| layer.on.values_mut()) {
        if *below == old {
            below.clone_from(&new);
        }
    }
}

/// Splits texts at their commas and returns the parts that all of them have, and for each text the other parts. A part that occurs twice in a text
/// is common twice only if it does in all texts.
fn parts(texts: &[&str]) -> (String, Vec<String>) {
    let counts = texts.iter().map(|text| {
        let mut part_counts: BTreeMap<&str, usize> = BTreeMap::new();
        text.split(", ").for_each(|part| *part_counts.entry(part).or_default() += 1);
        part_counts
    });
    let common = counts.reduce(|mut all, part_counts| {
        all.retain(|part, count| {
            *count = part_counts.get(part).copied().unwrap_or(0).min(*count);
            *count > 0
        });
        all
    });
    let common = common.unwrap_or_default();
    // Splits a text into its common and its other parts.
    let split = |text: &&str| -> (Vec<String>, Vec<String>) {
        let mut left = common.clone();
        text.split(", ").map(str::to_owned).partition(|part| match left.get_mut(part.as_str()) {
            Some(count) if *count > 0 => {
                *count -= 1;
                true
            }
            _ => false,
        })
    };
    let of_all = texts.first().map(|text| split(text).0).unwrap_or_default();
    (of_all.join(", "), texts.iter().map(|text| split(text).1.join(", ")).collect())
}

#[cfg(test)]
mod tests {
    use super::parts;

    #[test]
    fn a_part_is_common_as_often_as_every_text_has_it() {
        let (common, left) = parts(&["write, sync, sync", "write, read"]);
        assert_eq!((common.as_str(), left), ("write", vec!["sync, sync".into(), "read".into()]));
        let (common, left) = parts(&["write, sync, sync", "sync, write"]);
        assert_eq!((common.as_str(), left), ("write, sync", vec!["sync".into(), String::new()]));
    }
}
