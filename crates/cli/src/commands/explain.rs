//! `fathom explain`: what an experiment would do. Touches nothing.

use std::process::ExitCode;

use experiment::{Explained, ExplainedVariant};
use run::{ExperimentSource, LAB, RunRequest};
use units::{Bytes, Nanos};

use crate::args::ExplainArgs;
use crate::choices::say_notes;
use crate::failure::Failure;
use crate::terminal::{Line, Style, Text, answer, json};

/// The most cells that are named one by one.
const MOST_CELLS: usize = 12;

pub fn run(args: &ExplainArgs) -> Result<ExitCode, Failure> {
    let Some(experiment) = &args.experiment else {
        answer(&shipped());
        return Ok(ExitCode::SUCCESS);
    };
    let (scale, only) = (args.scale.clone(), args.only.clone());
    let request = RunRequest { repeat: args.repeat, scale, only, ..RunRequest::default() };
    let plan = request.plan(&ExperimentSource::find(experiment)?.with_values(&args.set), LAB)?;
    say_notes(args.scale.as_deref(), &plan);
    let explained = experiment::explain(&plan);
    if args.json {
        json(&serde_json::to_string_pretty(&explained).map_err(Failure::data)?);
    } else {
        answer(&text(&explained));
    }
    Ok(ExitCode::SUCCESS)
}

fn shipped() -> Text {
    let mut text = Text::from("Shipped experiments (fathom explain NAME says more):");
    let width = experiment::SHIPPED.iter().map(|one| one.name.len()).max().unwrap_or(0);
    for experiment in experiment::SHIPPED {
        text.line(format!("  {:<width$}  {}", experiment.name, about(experiment.text)));
    }
    text
}

/// Returns what a shipped experiment says that it is about.
fn about(text: &str) -> &str {
    let mut keys = text.lines().filter_map(|line| line.split_once('='));
    let found = keys.find(|(key, _)| key.trim() == "about");
    found.map_or("", |(_, value)| value.trim().trim_matches('"'))
}

fn text(explained: &Explained) -> Text {
    let style = Style::of_stdout();
    let mut text = Text::from(format!("{}: {}", explained.experiment, explained.about));
    takes(&mut text, explained);
    text.line(order(explained));
    if explained.scale.is_some() || !explained.scaled.is_empty() {
        let scale = explained.scale.as_ref().map(|scale| format!("scale   {scale} sets"));
        text.line(scale.unwrap_or_else(|| "set".to_owned()));
        for set in &explained.scaled {
            text.line(format!("        {set}"));
        }
    }
    for factor in &explained.factors {
        text.line(format!("factor  {}: {}", factor.name, factor.levels.join(", ")));
    }
    for device in &explained.devices {
        if let Some(file) = &device.file {
            let size = Bytes(device.size_bytes);
            text.line(format!("device  {}: {size} of {}, read only", device.role, file.display()));
            continue;
        }
        let largest = if device.largest { ", the most that a variant asks for" } else { "" };
        let like = device.like.as_ref().map_or_else(String::new, |like| format!(" like {like}"));
        let attributes: String =
            device.attributes.iter().map(|(key, value)| format!(", {key} {value}")).collect();
        text.line(format!(
            "device  {} of {}{largest}{like}{attributes}; at most {} are stored on it",
            device.role,
            Bytes(device.size_bytes),
            Bytes(device.stored_bytes),
        ));
    }
    let base = explained.variants.first();
    for variant in &explained.variants {
        text += "";
        let (time, more) = (Nanos(variant.about_ns), and_commands(explained));
        text.line(format!("variant {}, about {time}{more} a cell", variant.name));
        // With many variants only the differences are worth reading.
        let base = base.filter(|base| base.name != variant.name).map(sections);
        for (i, (title, lines)) in sections(variant).into_iter().enumerate() {
            if lines.len() > 1 && base.as_ref().is_some_and(|base| base[i].1 == lines) {
                text.line(style.dim(&format!("  {title:<8}")).and("as the first variant's"));
                continue;
            }
            for (i, line) in lines.iter().enumerate() {
                let lead = style.dim(&format!("  {:<8}", if i == 0 { title } else { "" }));
                let command = ["up", "ready", "down"].contains(&title);
                text.line(if command { Line::command(lead, line) } else { lead.and(line) });
            }
        }
        for warning in &variant.warnings {
            text.line(style.note("  warning:").and(warning));
        }
    }
    text += "";
    text += "Names in braces are bound when the experiment runs. Nothing was touched.";
    text
}

/// Returns the addition to a time that is shown where commands run, whose time is not known.
fn and_commands(explained: &Explained) -> &'static str {
    if explained.commands { " and the time of the commands" } else { "" }
}

/// Writes the number of cells, and how long they take.
fn takes(text: &mut Text, explained: &Explained) {
    let (about, cells) = (Nanos(explained.about_ns), explained.order.len());
    let (most, time) = match &explained.sequential {
        None => ("", about.to_string()),
        Some(_) => {
            ("at most ", format!("{} at least and {about} at most", Nanos(explained.least_ns)))
        }
    };
    let by_amount = if explained.ends_by_amount {
        let iops = units::show::grouped(explained.assumed_iops);
        format!(" (if loads that end by amount do {iops} I/Os a second)")
    } else {
        String::new()
    };
    text.line(format!(
        "{most}{cells} {}, about {time}{}{by_amount}",
        if cells == 1 { "cell" } else { "cells" },
        and_commands(explained),
    ));
    if let Some(sequential) = &explained.sequential {
        let looks: Vec<_> = sequential.looks.iter().map(u32::to_string).collect();
        let time = sequential.time.map_or_else(String::new, |time| {
            format!(", or when another repeat would not end in {time}")
        });
        text.line(format!(
            "repeats as many as are needed: it ends after {} of each variant, as soon as all that is asked is decided{time}",
            looks.join(", "),
        ));
    }
    if let Some(why) = &explained.no_verdict {
        text.line(Style::of_stdout().note("warning:").and(why));
    }
}

/// Returns the lines about a variant, under titles.
fn sections(variant: &ExplainedVariant) -> [(&'static str, Vec<String>); 7] {
    let computed = variant.computed.iter().map(ToString::to_string);
    [
        ("machine", variant.machine.iter().map(|(key, value)| format!("{key} {value}")).collect()),
        ("up", variant.up.clone()),
        ("ready", variant.ready.clone()),
        ("computed", computed.chain(variant.bounds.iter().cloned()).collect()),
        ("stages", variant.stages.clone()),
        ("samples", variant.samples.clone()),
        ("down", variant.down.clone()),
    ]
}

/// The order of the cells; where there are many, the variants that each round draws.
fn order(explained: &Explained) -> String {
    let first: Vec<&str> = explained.variants.iter().map(|v| v.name.as_str()).collect();
    if explained.order.len() <= MOST_CELLS {
        return format!("order   {}", explained.order.join("; "));
    }
    format!("order   {} x, drawn anew each time: {}", explained.repeat, first.join("; "))
}

#[cfg(test)]
mod tests {
    #[test]
    fn every_shipped_experiment_is_listed_with_what_it_is_about() {
        for shipped in experiment::SHIPPED {
            assert!(super::about(shipped.text).len() > 20, "{}", shipped.name);
        }
    }
}
