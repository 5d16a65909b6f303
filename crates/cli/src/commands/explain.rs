//! `fathom explain`: what an experiment would do. Touches nothing.

use std::collections::BTreeMap;
use std::process::ExitCode;

use experiment::Explained;
use units::{Bytes, Nanos};

use crate::args::ExplainArgs;
use crate::choices::{Source, plan};
use crate::failure::Failure;
use crate::terminal::{Style, Text, answer, json};

pub fn run(args: &ExplainArgs) -> Result<ExitCode, Failure> {
    let Some(experiment) = &args.experiment else {
        answer(&shipped());
        return Ok(ExitCode::SUCCESS);
    };
    let plan = plan(&Source::find(experiment)?, None, args.repeat, BTreeMap::new())?;
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
    for experiment in experiment::SHIPPED {
        let about = experiment
            .text
            .lines()
            .find_map(|line| line.strip_prefix("about = "))
            .unwrap_or_default()
            .trim_matches('"');
        text.line(format!("  {:<16} {about}", experiment.name));
    }
    text
}

fn text(explained: &Explained) -> Text {
    let style = Style::of_stdout();
    let mut text = Text::from(format!("{}: {}", explained.experiment, explained.about));
    text.line(format!(
        "{} cells, about {} (loads that end by amount: at {} IOPS)",
        explained.order.len(),
        Nanos(explained.about_ns),
        units::show::grouped(explained.assumed_iops),
    ));
    text.line(format!("order   {}", explained.order.join(", ")));
    for device in &explained.devices {
        if let Some(file) = &device.file {
            let size = Bytes(device.size_bytes);
            text.line(format!("device  {}: {size} of {}, read only", device.role, file.display()));
            continue;
        }
        text.line(format!(
            "device  {} of {}; at most {} are stored on it",
            device.role,
            Bytes(device.size_bytes),
            Bytes(device.stored_bytes),
        ));
    }
    for variant in &explained.variants {
        text += "";
        text.line(format!("variant {}", variant.name));
        for (title, lines) in [
            ("up", &variant.up),
            ("ready", &variant.ready),
            ("stages", &variant.stages),
            ("samples", &variant.samples),
            ("down", &variant.down),
        ] {
            for (i, line) in lines.iter().enumerate() {
                let title = if i == 0 { title } else { "" };
                text.line(style.dim(&format!("  {title:<8}")).and(line));
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
