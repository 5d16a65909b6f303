//! A node of a stack, made of the texts about one device or mount by the parsers of its layer.

use std::collections::BTreeMap;

use layers::Kind;
use layers::standing::{Node, Recognised, Standing};

use crate::mount::Mount;
use crate::recorded::{Block, Recorded};

/// Bytes of a sector, as the kernel counts sizes.
const SECTOR: u64 = 512;
/// Files of sysfs about any block device that say how it takes I/O; the settings made of them are named without `queue/`.
pub const ATTRIBUTES: [&str; 19] = [
    "queue/rotational",
    "queue/scheduler",
    "queue/write_cache",
    "queue/fua",
    "queue/discard_max_bytes",
    "queue/discard_granularity",
    "queue/logical_block_size",
    "queue/physical_block_size",
    "queue/minimum_io_size",
    "queue/optimal_io_size",
    "queue/max_sectors_kb",
    "queue/nr_requests",
    "queue/read_ahead_kb",
    "queue/iostats",
    "alignment_offset",
    "start",
    "ro",
    "device/model",
    "loop/backing_file",
];

/// The layer, and its form on existing machines, whose mark `is` accepts.
fn form(is: impl Fn(&Recognised) -> bool) -> Option<(&'static Kind, &'static Standing)> {
    let forms =
        layers::kinds().iter().flat_map(|kind| kind.standing.iter().map(move |s| (kind, s)));
    forms.into_iter().find(|(_, form)| is(&form.is))
}

/// The layer, and its form, that a target of the device mapper belongs to.
pub fn form_of_target(target: &str) -> Option<(&'static Kind, &'static Standing)> {
    form(|is| matches!(is, Recognised::Target(known) if *known == target))
}

/// The layer, and its form, that a device of the kernel belongs to, by the device's name.
pub fn form_of_device(name: &str) -> Option<(&'static Kind, &'static Standing)> {
    form(|is| matches!(is, Recognised::Device(prefix) if name.starts_with(prefix)))
}

/// The target of a table line, and the words after it.
pub fn target(line: &str) -> Option<(&str, Vec<&str>)> {
    let mut words = line.split_whitespace();
    let (_, _, target) = (words.next()?, words.next()?, words.next()?);
    Some((target, words.collect()))
}

/// Returns a table line with zeros instead of the encryption key that it may hold.
pub fn without_secret(line: &str) -> String {
    let Some((name, words)) = target(line) else { return line.to_owned() };
    let secret = form_of_target(name).and_then(|(_, form)| form.secret);
    let Some(key) = secret.and_then(|place| words.get(place)) else { return line.to_owned() };
    // The length stays, since it shows how strong the key is. A reference to a key in the kernel's keyring (`:size:type:name`) is not secret.
    let hidden = if key.starts_with(':') { (*key).to_owned() } else { "0".repeat(key.len()) };
    line.replacen(key, &hidden, 1)
}

/// The node of a block device, and what of it could not be read.
pub fn of_block(block: &Block, all: &Recorded) -> (Node, Vec<String>) {
    let line = block.text("table").and_then(|table| table.lines().next()).unwrap_or_default();
    let table = target(line);
    let known = match &table {
        Some((target, _)) => form_of_target(target),
        None => form_of_device(&block.name),
    };
    let mut node = Node {
        id: block.name.clone(),
        name: block.mapped.clone().unwrap_or_else(|| block.name.clone()),
        kind: known.map_or_else(|| word(block, &table), |(kind, _)| kind.name.to_owned()),
        target: table.as_ref().map_or_else(String::new, |(target, _)| (*target).to_owned()),
        reduces: known.is_some_and(|(kind, _)| kind.reduces),
        bytes: block.bytes.or_else(|| length(block)),
        queue: queue(block),
        ..Node::default()
    };
    node.on = inputs(block, known.map(|(_, form)| form), all);
    for key in ["table", "status"] {
        node.texts.extend(block.text(key).map(|text| (key.to_owned(), text.to_owned())));
    }
    if let Some(file) = block.text("loop/backing_file") {
        node.settings.insert("file".to_owned(), file.to_owned());
    }
    let missing = fill(&mut node, block, known.map(|(_, form)| form));
    (node, missing)
}

/// Gives a node the settings and counters that the parsers of its layer find, and returns what could not be read.
fn fill(node: &mut Node, block: &Block, form: Option<&Standing>) -> Vec<String> {
    let mut why: BTreeMap<String, Vec<String>> = BTreeMap::new();
    let mapped = if block.mapped.is_some() { &["table", "status"][..] } else { &[] };
    for key in mapped {
        if let Some(Err(reason)) = block.texts.get(*key) {
            why.entry(reason.clone()).or_default().push((*key).to_owned());
        }
    }
    for read in form.iter().flat_map(|form| form.reads) {
        let key = read.from.key();
        let text = match block.texts.get(&key) {
            None => continue,
            Some(Err(_)) if mapped.contains(&key.as_str()) => continue,
            Some(Err(reason)) => {
                why.entry(reason.clone()).or_default().push(key);
                continue;
            }
            Some(Ok(text)) => text.trim_end(),
        };
        let first = if key == "table" || key == "status" {
            text.lines().next().unwrap_or_default()
        } else {
            text
        };
        match layers::parse(read.parser, first) {
            Ok(parsed) => {
                let called = |name: String| read.value.map_or(name, str::to_owned);
                node.counters.extend(parsed.numbers.into_iter().map(|(n, v)| (called(n), v)));
                node.settings.extend(parsed.texts.into_iter().map(|(n, v)| (called(n), v)));
            }
            Err(error) => why.entry(error.to_string()).or_default().push(key),
        }
    }
    why.into_iter()
        .map(|(why, keys)| format!("{} of {}: {why}", keys.join(", "), node.name))
        .collect()
}

/// The devices that a device stands on, each with the name of its input.
fn inputs(block: &Block, form: Option<&Standing>, all: &Recorded) -> Vec<(String, String)> {
    let mut found: Vec<(String, String)> = Vec::new();
    let mut add = |input: &str, id: String| {
        let pair = (input.to_owned(), id);
        if !found.contains(&pair) {
            found.push(pair);
        }
    };
    for line in block.text("table").unwrap_or_default().lines() {
        let Some((name, words)) = target(line) else { continue };
        match form_of_target(name) {
            Some((_, form)) => {
                for (input, place) in form.parts {
                    let id = words.get(*place).and_then(|word| device(word, all));
                    id.into_iter().for_each(|id| add(input, id));
                }
            }
            None => words.iter().filter_map(|w| device(w, all)).for_each(|id| add("data", id)),
        }
    }
    if found.is_empty() {
        let first = match form.map(|form| form.is) {
            Some(Recognised::Device(link)) => block.text(link),
            _ => None,
        };
        for id in &block.below {
            let place = usize::from(first.is_some_and(|first| first != id));
            let parts = form.filter(|_| first.is_some()).map_or(&[("data", 0)][..], |f| f.parts);
            let input = parts.get(place).map_or("data", |(input, _)| input);
            found.push((input.to_owned(), id.clone()));
        }
    }
    found
}

/// The device that a word of a table names: by number, by path, by the mapper's name.
fn device(word: &str, all: &Recorded) -> Option<String> {
    let last = word.strip_prefix("/dev/").map(|path| path.rsplit('/').next().unwrap_or(path));
    let is = |block: &&Block| {
        block.number == word
            || last.is_some_and(|last| block.name == last || block.mapped.as_deref() == Some(last))
    };
    all.blocks.iter().find(is).map(|block| block.name.clone())
}

/// The word for a device that no layer recognises.
fn word(block: &Block, table: &Option<(&str, Vec<&str>)>) -> String {
    let named = |begin: &str| block.name.starts_with(begin);
    match table {
        Some((target, _)) => (*target).to_owned(),
        None if block.mapped.is_some() => "mapped".to_owned(),
        None if named("loop") => "loop".to_owned(),
        None if named("md") => "raid".to_owned(),
        None if named("zram") || named("ram") => "memory".to_owned(),
        None if block.texts.contains_key("start") => "partition".to_owned(),
        None => "disk".to_owned(),
    }
}

/// The size that the lines of a table add up to, bytes.
fn length(block: &Block) -> Option<u64> {
    let lines = block.text("table")?.lines();
    let sectors: Option<u64> =
        lines.map(|line| line.split_whitespace().nth(1)?.parse::<u64>().ok()).sum();
    Some(sectors? * SECTOR)
}

fn queue(block: &Block) -> BTreeMap<String, String> {
    let read = ATTRIBUTES.iter().filter_map(|key| Some((*key, block.text(key)?)));
    let chosen = |text: &str| {
        let inside = text.split_once('[').and_then(|(_, rest)| rest.split_once(']'));
        inside.map_or(text, |(word, _)| word).trim().to_owned()
    };
    let short = |key: &str| key.rsplit('/').next().unwrap_or(key).to_owned();
    read.filter(|(key, _)| *key != "loop/backing_file")
        .map(|(k, v)| (short(k), chosen(v)))
        .collect()
}

/// The node of a mounted file system on one of the devices; `None` where its device is not among them.
pub fn of_mount(mount: &Mount, all: &Recorded) -> Option<Node> {
    let by_number = |block: &&Block| mount.number.as_ref() == Some(&block.number);
    let known = all.blocks.iter().find(by_number).map(|block| block.name.clone());
    let below = known.or_else(|| device(&mount.source, all))?;
    let mut node = Node {
        id: mount.directory.clone(),
        name: mount.directory.clone(),
        kind: mount.kind.clone(),
        bytes: mount.space.map(|(all, _)| all),
        on: vec![("data".to_owned(), below)],
        settings: mount.options.clone(),
        ..Node::default()
    };
    if let Some((size, free)) = mount.space {
        let fields = [("size_bytes", size), ("free_bytes", free)];
        node.counters.extend(fields.map(|(name, value)| (name.to_owned(), Some(value as f64))));
    }
    Some(node)
}
