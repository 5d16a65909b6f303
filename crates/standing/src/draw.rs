//! A stack as lines: drawn from the top down, and as one block to paste into a report.

use std::fmt::Write;

use layers::standing::{Node, StandingStack};
use units::Bytes;

/// Queue settings that the block to paste shows, where they are known.
const QUEUE: [&str; 10] = [
    "model",
    "rotational",
    "scheduler",
    "write_cache",
    "logical_block_size",
    "physical_block_size",
    "discard_max_bytes",
    "max_sectors_kb",
    "nr_requests",
    "alignment_offset",
];

/// Returns the nodes as lines: each device comes before those that it stands on, which are indented further. A node that several others stand
/// on is drawn once.
pub fn drawing(stack: &StandingStack) -> Vec<String> {
    let (mut lines, mut drawn) = (Vec::new(), Vec::new());
    let carried = |id: &str| stack.nodes.iter().any(|n| n.on.iter().any(|(_, on)| on == id));
    for top in stack.nodes.iter().filter(|node| !carried(&node.id)) {
        draw(stack, top, None, 0, &mut drawn, &mut lines);
    }
    lines
}

fn draw<'a>(
    stack: &'a StandingStack,
    node: &'a Node,
    input: Option<&str>,
    depth: usize,
    drawn: &mut Vec<&'a str>,
    lines: &mut Vec<String>,
) {
    let indent = "  ".repeat(depth);
    let input = input.filter(|name| *name != "data").map_or_else(String::new, |n| format!("{n}: "));
    if drawn.contains(&node.id.as_str()) {
        lines.push(format!("{indent}{input}{} (see above)", node.name));
        return;
    }
    drawn.push(&node.id);
    lines.push(format!("{indent}{input}{}", describe(node)));
    for (input, id) in &node.on {
        if let Some(below) = stack.node(id) {
            draw(stack, below, Some(input), depth + 1, drawn, lines);
        }
    }
}

/// A node in one line: its name, kind, size, and what tells it from others.
fn describe(node: &Node) -> String {
    let mut words = vec![node.kind.clone()];
    if !node.target.is_empty() && node.target != node.kind {
        words.push(format!("target {}", node.target));
    }
    if node.id != node.name {
        words.push(node.id.clone());
    }
    words.extend(node.bytes.map(|bytes| Bytes(bytes).to_string()));
    if node.on.is_empty() {
        let turns = node.limit("rotational");
        words.extend(
            turns.map(|t| if t > 0.0 { "rotational" } else { "not rotational" }.to_owned()),
        );
    }
    format!("{} ({})", node.name, words.join(", "))
}

/// Returns what maintainers ask for first: versions, the stack, tables, status, settings, counters, what the kernel said and what is missing.
pub fn to_paste(stack: &StandingStack, version: &str, alarming: &[&str]) -> String {
    let mut out = String::new();
    let machine = &stack.machine;
    let unknown = || "unknown".to_owned();
    let _ = writeln!(
        out,
        "fathom {version}, kernel {}, {} processors, {} of memory",
        machine.kernel.as_deref().unwrap_or("unknown"),
        machine.cpus.map_or_else(unknown, |cpus| cpus.to_string()),
        machine.memory_bytes.map_or_else(unknown, |bytes| Bytes(bytes).to_string()),
    );
    let versions = machine.versions.iter().map(|(name, version)| format!("{name} {version}"));
    section(&mut out, "versions", versions);
    section(&mut out, "stack", drawing(stack).into_iter());
    for key in ["table", "status"] {
        let nodes = stack.nodes.iter().flat_map(|node| {
            let texts = node.texts.iter().filter(move |(name, _)| name == key);
            texts.flat_map(|(_, text)| text.lines().map(|line| format!("{}: {line}", node.name)))
        });
        section(&mut out, &format!("dmsetup {key}"), nodes);
    }
    section(
        &mut out,
        "settings",
        stack.nodes.iter().filter_map(|node| {
            pairs(node, node.settings.iter().map(|(key, value)| (key.clone(), value.clone())))
        }),
    );
    section(
        &mut out,
        "queues",
        stack.nodes.iter().filter_map(|node| {
            let known = QUEUE
                .iter()
                .filter_map(|key| Some(((*key).to_owned(), node.queue.get(*key)?.clone())));
            pairs(node, known)
        }),
    );
    section(
        &mut out,
        "counters",
        stack.nodes.iter().filter_map(|node| {
            let known =
                node.counters.iter().filter_map(|(key, value)| Some((key.clone(), (*value)?)));
            pairs(
                node,
                known
                    .filter(|(_, value)| *value != 0.0)
                    .map(|(key, value)| (key, value.to_string())),
            )
        }),
    );
    section(&mut out, "kernel log", alarming.iter().map(|line| (*line).to_owned()));
    section(&mut out, "not read", stack.missing.iter().cloned());
    out
}

fn pairs(node: &Node, pairs: impl Iterator<Item = (String, String)>) -> Option<String> {
    let all: Vec<String> = pairs.map(|(key, value)| format!("{key}={value}")).collect();
    (!all.is_empty()).then(|| format!("{}: {}", node.name, all.join(" ")))
}

fn section(out: &mut String, title: &str, lines: impl Iterator<Item = String>) {
    let mut lines = lines.peekable();
    if lines.peek().is_none() {
        return;
    }
    let _ = writeln!(out, "{title}:");
    for line in lines {
        let _ = writeln!(out, "  {line}");
    }
}
