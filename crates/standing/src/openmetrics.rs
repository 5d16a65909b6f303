//! Counters of a stack as they stand, in the text of OpenMetrics 1.0.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::time::Duration;

use layers::place_of;
use layers::standing::{Node, StandingStack};
use units::{Basis, Unit};

use crate::looks::{DeviceLook, Look, looks};
use crate::owners::{owner_of, owners};
use crate::recorded::Recorded;

/// The counters of a block device: the name in the parser of `/proc/diskstats`, the metric's name, its unit, the factor to that unit, its help.
const OF_DEVICES: [(&str, &str, &str, f64, &str); 15] = [
    ("reads", "reads", "", 1.0, "Reads that ended."),
    ("reads_merged", "merged_reads", "", 1.0, "Reads that were joined with others."),
    ("read_bytes", "read_bytes", "bytes", 1.0, "Bytes that were read."),
    ("read_ms", "read_seconds", "seconds", 1e-3, "Time of all reads together."),
    ("writes", "writes", "", 1.0, "Writes that ended."),
    ("writes_merged", "merged_writes", "", 1.0, "Writes that were joined with others."),
    ("written_bytes", "written_bytes", "bytes", 1.0, "Bytes that were written."),
    ("write_ms", "write_seconds", "seconds", 1e-3, "Time of all writes together."),
    ("busy_ms", "busy_seconds", "seconds", 1e-3, "Time with any I/O under way."),
    ("weighted_ms", "in_flight_seconds", "seconds", 1e-3, "Time summed over the I/Os under way."),
    ("discards", "discards", "", 1.0, "Discards that ended."),
    ("discarded_bytes", "discarded_bytes", "bytes", 1.0, "Bytes that were discarded."),
    ("discard_ms", "discard_seconds", "seconds", 1e-3, "Time of all discards together."),
    ("flushes", "flushes", "", 1.0, "Flushes that ended."),
    ("flush_ms", "flush_seconds", "seconds", 1e-3, "Time of all flushes together."),
];

/// The type of a family of metrics.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MetricType {
    /// A number that only grows, until it is reset.
    Counter,
    /// A level.
    Gauge,
    /// A number whose source does not say which of the two it is.
    Unknown,
}

/// Metrics of one name.
#[derive(Debug, Clone, PartialEq)]
pub struct Family {
    /// Its type.
    pub kind: MetricType,
    /// Its unit, which is the end of its name; empty where it has none.
    pub unit: &'static str,
    /// One line that says what it is.
    pub help: String,
    /// Its values, each with its labels.
    pub values: Vec<(Vec<(&'static str, String)>, f64)>,
}

/// Families by their names.
pub type Families = BTreeMap<String, Family>;

/// Returns the metrics of a stack: devices as they are counted now, layers and file systems as they were read, threads. A device that does not answer within
/// `limit` has none; what is not known is left out.
pub fn families(read: &Recorded, stack: &StandingStack, limit: Duration) -> Families {
    let look = looks(read, stack, Duration::ZERO, 1).recv_timeout(limit).unwrap_or_default();
    let mut all = Families::new();
    for node in &stack.nodes {
        if let Some(Ok(device)) = look.devices.get(&node.id) {
            of_device(&mut all, node, device);
        }
        if let Some(bytes) = node.bytes {
            let family = ("fathom_device_size_bytes", MetricType::Gauge, "bytes", "Its size.");
            add(&mut all, family, labels(node), bytes as f64);
        }
        of_layer(&mut all, node);
    }
    of_threads(&mut all, read, stack, &look);
    all
}

/// Returns families in the text format of OpenMetrics.
pub fn exposition(families: &Families) -> String {
    let mut text = String::new();
    for (name, family) in families {
        let (word, end) = match family.kind {
            MetricType::Counter => ("counter", "_total"),
            MetricType::Gauge => ("gauge", ""),
            MetricType::Unknown => ("unknown", ""),
        };
        let _ = writeln!(text, "# TYPE {name} {word}");
        if !family.unit.is_empty() {
            let _ = writeln!(text, "# UNIT {name} {}", family.unit);
        }
        let _ = writeln!(text, "# HELP {name} {}", escaped(&family.help));
        for (labels, value) in &family.values {
            let labels = labels.iter().map(|(key, value)| format!("{key}=\"{}\"", escaped(value)));
            let labels = labels.collect::<Vec<_>>().join(",");
            let _ = writeln!(text, "{name}{end}{{{labels}}} {value}");
        }
    }
    text + "# EOF\n"
}

/// The text with those characters escaped that would end a line or a label.
fn escaped(text: &str) -> String {
    text.replace('\\', "\\\\").replace('\n', "\\n").replace('"', "\\\"")
}

/// The labels of everything about a node.
pub fn labels(node: &Node) -> Vec<(&'static str, String)> {
    vec![("device", node.name.clone()), ("layer", node.kind.clone())]
}

fn add(
    all: &mut Families,
    (name, kind, unit, help): (&str, MetricType, &'static str, &str),
    labels: Vec<(&'static str, String)>,
    value: f64,
) {
    let family = all.entry(name.to_owned()).or_insert_with(|| Family {
        kind,
        unit,
        help: help.to_owned(),
        values: Vec::new(),
    });
    // A second value with the same name and labels would make the whole text invalid.
    if family.kind == kind && !family.values.iter().any(|(known, _)| *known == labels) {
        family.values.push((labels, value));
    }
}

fn of_device(all: &mut Families, node: &Node, device: &DeviceLook) {
    for (field, name, unit, factor, help) in OF_DEVICES {
        if let Some(value) = device.io.get(field).copied().flatten() {
            let name = format!("fathom_device_{name}");
            let family = (name.as_str(), MetricType::Counter, unit, help);
            add(all, family, labels(node), scaled(value, factor));
        }
    }
    if let Some(many) = device.io.get("in_flight").copied().flatten() {
        let family = ("fathom_device_in_flight", MetricType::Gauge, "", "I/Os under way.");
        add(all, family, labels(node), many);
    }
}

/// The value in the metric's unit; dividing by a whole number avoids the rounding error of a product with 0.001.
fn scaled(value: f64, factor: f64) -> f64 {
    if factor == 1.0 { value } else { value / (1.0 / factor).round() }
}

/// Counters and levels of a layer or a mounted file system, under its name.
fn of_layer(all: &mut Families, node: &Node) {
    let kind = if node.id.starts_with('/') { "filesystem" } else { &node.kind };
    for (field, value) in &node.counters {
        let Some(value) = value else { continue };
        let known = layers::kind(&node.kind)
            .and_then(|kind| kind.counters().find(|counter| place_of(counter).1 == field));
        let (unit, factor) = known.map_or_else(|| by_name(field), |counter| unit(counter.unit));
        let mut name = format!("fathom_{}_{}", snake(kind), snake(field));
        if !unit.is_empty() && !name.ends_with(&format!("_{unit}")) {
            name = format!("{name}_{unit}");
        }
        let (of, help) = match known {
            Some(counter) if counter.basis == Basis::Level => (MetricType::Gauge, counter.help),
            Some(counter) => (MetricType::Counter, counter.help),
            None if kind == "filesystem" => (MetricType::Gauge, "Of the mounted file system."),
            None => (MetricType::Unknown, "As the layer tells it."),
        };
        add(all, (&name, of, unit, help), labels(node), scaled(*value, factor));
    }
}

/// The unit that the name of a number ends with, where nothing else says one.
fn by_name(field: &str) -> (&'static str, f64) {
    if field.ends_with("_bytes") { ("bytes", 1.0) } else { ("", 1.0) }
}

/// The unit as the end of a name, and the factor to it.
fn unit(unit: Unit) -> (&'static str, f64) {
    match unit {
        Unit::Count => ("", 1.0),
        Unit::Blocks => ("blocks", 1.0),
        Unit::Bytes => ("bytes", 1.0),
        Unit::BytesPerSecond => ("bytes_per_second", 1.0),
        Unit::PerSecond => ("per_second", 1.0),
        Unit::Nanos => ("seconds", 1e-9),
        Unit::Micros => ("seconds", 1e-6),
        Unit::Seconds => ("seconds", 1.0),
        Unit::Percent => ("percent", 1.0),
        Unit::Ratio => ("ratio", 1.0),
    }
}

/// A name of letters, digits and underscores: `biosIn.write` is `bios_in_write`.
fn snake(name: &str) -> String {
    let mut made = String::with_capacity(name.len() + 4);
    let mut before = '_';
    for c in name.chars() {
        let letter = if c.is_ascii_alphanumeric() { c } else { '_' };
        if letter.is_ascii_uppercase() && (before.is_ascii_lowercase() || before.is_ascii_digit()) {
            made.push('_');
        }
        if letter != '_' || before != '_' {
            made.push(letter.to_ascii_lowercase());
        }
        before = letter;
    }
    made.trim_end_matches('_').to_owned()
}

/// Adds the CPU time of threads that work for one node alone; a kworker serves many and is left out.
fn of_threads(all: &mut Families, read: &Recorded, stack: &StandingStack, look: &Look) {
    let owners = owners(read, stack);
    let mut times: BTreeMap<(String, String), f64> = BTreeMap::new();
    for thread in look.threads.values().filter(|thread| !thread.name.starts_with("kworker/")) {
        if let Some(id) = owner_of(&owners, &thread.name) {
            *times.entry((id.to_owned(), thread.name.clone())).or_default() += thread.cpu_s;
        }
    }
    for ((id, thread), seconds) in times {
        let Some(node) = stack.node(&id) else { continue };
        let mut labels = labels(node);
        labels.push(("thread", thread));
        let help = "CPU time of a thread of the kernel that works for the device.";
        let family = ("fathom_thread_cpu_seconds", MetricType::Counter, "seconds", help);
        add(all, family, labels, (seconds * 100.0).round() / 100.0);
    }
}

#[cfg(test)]
mod tests;
