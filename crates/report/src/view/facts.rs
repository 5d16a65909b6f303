//! Facts about a run: how and on what machines it was made, what was asked, what sampling cost.

use std::collections::{BTreeMap, BTreeSet};

use results::Seal;
use results::model::{
    Accelerator, CellRecord, CellState, MachineFacts, Manifest, Row, StageFacts, StopReason,
    VariantFacts, plain_and_raw,
};
use results::read::ResultSet;
use serde_json::Value;

use super::repeats::median;
use super::{Banner, MachineRow, SamplerRow, Sequential};

/// Returns the word for an accelerator, as in JSON.
pub fn accelerator(accelerator: Accelerator) -> &'static str {
    match accelerator {
        Accelerator::Kvm => "kvm",
        Accelerator::Tcg => "tcg",
        Accelerator::None => "none",
    }
}

/// Returns the notes that must be read before any figure.
pub fn banners(set: &ResultSet) -> Vec<Banner> {
    let mut banners = Vec::new();
    let mut add = |title: &str, text: String, raw: Option<&str>| {
        banners.push(Banner { title: title.to_owned(), text, raw: raw.map(str::to_owned) });
    };
    if let Some(standing) = &set.going_on {
        let text = format!(
            "{standing}. Figures are from the cells that have ended, and no verdict is given."
        );
        add("Still running", text, None);
    }
    if let Some(what) = set.seal.broken() {
        let text = format!(
            "This result is not as its run left it: {what}. Its figures cannot be trusted."
        );
        add("Changed", text, None);
    }
    if set.manifest.simulated {
        add(
            "Simulated",
            "Layers and engine were simulated twins: no figure here was measured.".to_owned(),
            None,
        );
    }
    if let Some(why) = set.incomplete.as_ref().filter(|_| set.going_on.is_none()) {
        let (plain, raw) = plain_and_raw(why);
        let mut text = format!("This result is incomplete: {plain}.");
        if set
            .cells
            .iter()
            .any(|cell| !matches!(cell.state(), CellState::Done | CellState::Skipped))
        {
            text += " Figures rest on the cells that ended.";
        }
        add("Incomplete", text, raw);
    }
    banners
}

/// Returns name and value of everything a reader needs to run the same experiment again.
pub fn run_card(set: &ResultSet) -> Vec<(String, String)> {
    let manifest = &set.manifest;
    let begun = manifest.cells.iter().filter(|cell| cell.state != CellState::Skipped);
    let order: Vec<_> = begun.map(|c| format!("{} {}", c.variant, c.repeat)).collect();
    let reason = manifest.accelerator_reason.as_deref().map(|r| plain_and_raw(r).0);
    let reason = reason.map(|plain| format!(" ({plain})")).unwrap_or_default();
    let mut card = vec![
        ("experiment", manifest.plan.experiment.clone()),
        ("source", manifest.plan.source.clone().unwrap_or_default()),
        ("started", manifest.started_utc.clone()),
        ("ended", manifest.ended_utc.clone().unwrap_or_else(|| "not ended".to_owned())),
        ("outcome", manifest.outcome.clone().unwrap_or_else(|| "unknown: cut off".to_owned())),
        ("command", layers::step::show_argv(&manifest.command)),
        ("seed", manifest.seed.to_string()),
        ("scale", scale(manifest)),
        ("base", manifest.plan.other_base().unwrap_or_default()),
        ("repeats of each variant", manifest.plan.repeats()),
        ("a repeat took", repeat_took(set).unwrap_or_default()),
        ("stopped", manifest.stopped_text().unwrap_or_default()),
        ("order of the cells", units::show::names(&order)),
        ("disturbed cells", disturbed(set)),
        ("accelerator", format!("{}{reason}", accelerator(manifest.accelerator))),
        ("kernel", kernel(manifest)),
        ("machines", machines(set)),
        ("fathom", manifest.tool_version.clone()),
        ("run", manifest.run_id.clone()),
        ("result", set.path.display().to_string()),
        ("seal", seal(&set.seal)),
    ];
    card.retain(|(_, value)| !value.is_empty());
    card.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Returns the scale at which it ran; an experiment without scales runs as its file says.
fn scale(manifest: &Manifest) -> String {
    let none = || "none: as the file has it".to_owned();
    manifest.plan.scale.clone().unwrap_or_else(none)
}

/// Returns the kernel that the layers ran in: the guest's, if there was one.
fn kernel(manifest: &Manifest) -> String {
    let facts = manifest.guest.as_ref().unwrap_or(&manifest.host);
    facts.0.get("kernel").cloned().unwrap_or_default()
}

/// Describes the machine of each variant's cells, as far as the experiment specifies it: the values that cells set or found, or those asked for if no
/// cell records them.
fn machines(set: &ResultSet) -> String {
    let of = |variant: &VariantFacts| {
        let mut records = set.cells_of(&variant.name).filter_map(|cell| cell.record.as_ref());
        let record = records.find(|record| !record.ran_on.0.is_empty());
        let fact = |key: &String, wanted: &String| {
            // A value that the cell set takes precedence over what the machine had before.
            let set = format!("{}.{key}", layers::environment::ENVIRONMENT);
            let found = record.and_then(|of| of.facts.get(&set).or(of.ran_on.0.get(key)));
            format!("{key} {}", found.unwrap_or(wanted))
        };
        let facts: Vec<_> = variant.machine.iter().map(|(key, wanted)| fact(key, wanted)).collect();
        (!facts.is_empty()).then(|| format!("{}: {}", variant.name, facts.join(", ")))
    };
    let all: Vec<_> = set.manifest.plan.variants.iter().filter_map(of).collect();
    all.join("; ")
}

/// Returns how many cells were disturbed by something else on the machine, and at how many nobody looked.
fn disturbed(set: &ResultSet) -> String {
    let begun = set.cells.iter().filter(|cell| cell.state() != CellState::Skipped);
    let all: Vec<_> = begun.map(results::disturbances).collect();
    let seen: Vec<&Vec<String>> = all.iter().flatten().collect();
    let found = match seen.iter().filter(|why| !why.is_empty()).count() {
        _ if seen.is_empty() => return NOT_LOOKED_AT.to_owned(),
        0 => "none".to_owned(),
        some => format!("{some} of {}", seen.len()),
    };
    match all.len() - seen.len() {
        0 => found,
        n => format!("{found}; {n} {NOT_LOOKED_AT}"),
    }
}

const NOT_LOOKED_AT: &str = "not looked at";

/// Tells whether disturbances of every cell that ended well were looked for.
pub fn watched(set: &ResultSet) -> bool {
    let mut done = set.cells.iter().filter(|cell| cell.state() == CellState::Done);
    done.all(|cell| results::disturbances(cell).is_some())
}

/// Returns how long one repeat of all variants took on average, without the start of guests.
fn repeat_took(set: &ResultSet) -> Option<String> {
    let records = || set.cells.iter().filter_map(|cell| cell.record.as_ref());
    let nanos = |record: &CellRecord| Some(record.end_ns?.saturating_sub(record.start_ns));
    let all: u64 = records().filter_map(nanos).sum();
    let repeats = records().map(|record| record.repeat).collect::<BTreeSet<_>>().len();
    (all > 0).then(|| units::show::nanos(all as f64 / repeats as f64))
}

/// Returns how the number of repeats was decided.
pub fn sequential(set: &ResultSet) -> Option<Sequential> {
    let planned = set.manifest.plan.sequential.clone()?;
    let looks = analysis::looks(set).unwrap_or_default();
    let seen: Vec<_> = looks.iter().map(u32::to_string).collect();
    let looked = match seen.is_empty() {
        true => "not looked at yet".to_owned(),
        false => format!("looked at after {} of them", seen.join(", ")),
    };
    let stopped = match (set.manifest.stopped, set.manifest.stopped_text()) {
        (Some(stopped), Some(text)) if stopped.why != StopReason::Most => format!("stopped {text}"),
        (Some(_), Some(text)) => format!("ended {text}"),
        _ => "not stopped".to_owned(),
    };
    let text = format!("As many repeats as were needed: {looked}; {stopped}.");
    Some(Sequential { planned, looks, stopped: set.manifest.stopped, text })
}

/// Returns name and value of the parts of the virtual machine, and the reason for its accelerator.
pub fn lab_card(set: &ResultSet) -> Vec<(String, String)> {
    let mut card = Vec::new();
    if lab(set, "qemu_version").is_some() {
        card.extend(
            set.manifest.accelerator_reason.clone().map(|why| ("why this accelerator", why)),
        );
    }
    for (key, name) in [
        ("qemu_version", "QEMU"),
        ("command_line", "kernel command line of the guest"),
        ("image", "guest image"),
    ] {
        if let Some(text) = lab(set, key).and_then(Value::as_str) {
            card.push((name, text.to_owned()));
        }
    }
    for disk in lab(set, "disks").and_then(Value::as_array).into_iter().flatten() {
        card.push(("virtual disk", self::disk(disk)));
    }
    if let Some(argv) = lab(set, "qemu_argv").and_then(Value::as_array) {
        let argv: Vec<_> = argv.iter().filter_map(|a| a.as_str().map(str::to_owned)).collect();
        card.push(("QEMU's command line", layers::step::show_argv(&argv)));
    }
    card.retain(|(_, value)| !value.is_empty());
    card.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

/// Tells whether the files are as the run left them.
fn seal(seal: &Seal) -> String {
    match seal {
        Seal::None => "none: whether its files were changed is not known".to_owned(),
        Seal::Whole => "whole: all files are as the run left them".to_owned(),
        Seal::Broken(wrong) => format!("broken: {}", wrong.join(", ")),
    }
}

fn lab<'a>(set: &'a ResultSet, key: &str) -> Option<&'a Value> {
    set.manifest.lab.as_ref()?.get(key)
}

/// Describes a virtual disk: `data, 7 GiB, cache=none,aio=io_uring`.
fn disk(disk: &Value) -> String {
    let text = |key: &str| disk.get(key).and_then(Value::as_str).map(str::to_owned);
    let size = disk.get("size").and_then(Value::as_f64).map(units::show::bytes);
    let parts = [
        text("role"),
        size,
        text("options"),
        attributes(&disk["attributes"]),
        text("note"),
        modelled(&disk["model"]),
    ];
    parts.into_iter().flatten().collect::<Vec<_>>().join(", ")
}

/// Describes the properties that a virtual disk reported to the guest, and its limits: `logical_block 4096, limit read_iops 120`.
fn attributes(attributes: &Value) -> Option<String> {
    let list = |value: &Value| -> Vec<String> {
        let entries = value.as_object().into_iter().flatten();
        entries.map(|(key, value)| format!("{key} {}", number(value))).collect()
    };
    let mut all = Vec::new();
    for (key, value) in attributes.as_object()? {
        match value {
            Value::Object(_) => all.push(format!("{key} {}", list(value).join(" and "))),
            value => all.push(format!("{key} {}", number(value))),
        }
    }
    Some(all.join(", "))
}

/// Returns a number with its digits in groups, or another value unchanged.
fn number(value: &Value) -> String {
    value.as_u64().map_or_else(|| value.to_string(), units::show::grouped)
}

/// Describes the disk that a virtual disk was modelled on, and how late its replies were.
fn modelled(model: &Value) -> Option<String> {
    let like = model["like"].as_str()?;
    let parameters = model["parameters"].as_object()?.iter();
    let parameters: Vec<String> = parameters
        .map(|(name, value)| format!("{name} {}", value.as_str().unwrap_or("?")))
        .collect();
    let mut text = format!("modelled like {like}");
    if !parameters.is_empty() {
        text += &format!(" ({})", parameters.join(", "));
    }
    let time = |key: &str| model["served"][key].as_f64().map(units::show::nanos);
    if let (Some(half), Some(most)) = (time("late_p50_ns"), time("late_p99_ns")) {
        text += &format!("; replies late by {half} (p50), {most} (p99)");
    }
    if let Some(why) = model["served"]["priority"].as_str() {
        text += &format!("; served without real-time priority ({why})");
    }
    if let Some(note) = model["note"].as_str() {
        text += &format!("; {note}");
    }
    let faults = model["faults"].as_array().filter(|faults| !faults.is_empty());
    text += &faults
        .map_or_else(String::new, |faults| format!("; faults: {}", Value::from(faults.clone())));
    Some(text)
}

/// Returns the moments of the lab's start in seconds, in their order.
pub fn lab_times(set: &ResultSet) -> Vec<(String, f64)> {
    let timings = lab(set, "timings").and_then(Value::as_object);
    let known = timings.into_iter().flatten().filter_map(|(name, value)| {
        let (name, milliseconds) = (name.strip_suffix("_ms")?, value.as_f64()?);
        Some((name.replace('_', " "), milliseconds / 1e3))
    });
    known.collect()
}

/// Returns the facts of host and guest side by side.
pub fn machine(set: &ResultSet) -> Vec<MachineRow> {
    let empty = MachineFacts::default();
    let (host, guest) = (&set.manifest.host, set.manifest.guest.as_ref().unwrap_or(&empty));
    let names: BTreeSet<_> = host.0.keys().chain(guest.0.keys()).collect();
    let mut rows: Vec<_> = names
        .into_iter()
        .map(|name| MachineRow {
            name: name.clone(),
            host: host.0.get(name).cloned(),
            guest: guest.0.get(name).cloned(),
        })
        .collect();
    let facts = set.cells.iter().filter_map(|c| c.record.as_ref()).flat_map(|r| &r.facts);
    let mut of_layers: BTreeMap<&String, BTreeSet<&String>> = BTreeMap::new();
    for (name, value) in facts {
        of_layers.entry(name).or_default().insert(value);
    }
    rows.extend(of_layers.into_iter().map(|(name, values)| {
        let text = values.into_iter().cloned().collect::<Vec<_>>().join(", ");
        let in_guest = set.manifest.guest.is_some();
        MachineRow {
            name: name.clone(),
            host: (!in_guest).then(|| text.clone()),
            guest: in_guest.then_some(text),
        }
    }));
    rows
}

/// Describes a stage: `load “random-write”, measured: randwrite=100, permutation, ...`.
pub fn stage(stage: &StageFacts) -> String {
    let measured = if stage.measured { ", measured" } else { "" };
    let name = if stage.name == stage.kind {
        String::new()
    } else {
        format!(" \u{201c}{}\u{201d}", stage.name)
    };
    format!("{}{name}{measured}: {}", stage.kind, stage.about)
}

/// Returns the cost of every sampler over the whole result.
pub fn samplers(set: &ResultSet) -> Vec<SamplerRow> {
    #[derive(Default)]
    struct Cost {
        wall: Vec<f64>,
        cpu: Vec<f64>,
        failed: usize,
        span_ns: f64,
    }
    let mut costs: BTreeMap<&str, Cost> = BTreeMap::new();
    for cell in &set.cells {
        let mut edges: BTreeMap<&str, (u64, u64)> = BTreeMap::new();
        for row in &cell.rows {
            let Row::Sample(sample) = row else { continue };
            let cost = costs.entry(&sample.source).or_default();
            cost.wall.push(sample.cost_ns as f64);
            cost.cpu.push(sample.cost_cpu_ns as f64);
            cost.failed += usize::from(sample.error.is_some());
            let edge = edges.entry(&sample.source).or_insert((sample.at_ns, sample.at_ns));
            *edge = (edge.0.min(sample.at_ns), edge.1.max(sample.at_ns));
        }
        for (source, (first, last)) in edges {
            costs.entry(source).or_default().span_ns += (last - first) as f64;
        }
    }
    costs
        .into_iter()
        .map(|(source, cost)| SamplerRow {
            source: source.to_owned(),
            samples: cost.wall.len(),
            failed: cost.failed,
            cpu_percent: (cost.span_ns > 0.0)
                .then(|| 100.0 * cost.cpu.iter().sum::<f64>() / cost.span_ns),
            wall_ns: median(cost.wall),
            cpu_ns: median(cost.cpu),
        })
        .collect()
}
