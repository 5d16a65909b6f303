//! `fathom explain`: what an experiment would do. Touches nothing.

use std::collections::BTreeMap;
use std::process::ExitCode;

use experiment::Explained;
use units::{Bytes, Nanos};

use crate::args::ExplainArgs;
use crate::choices::{Source, plan};
use crate::failure::Failure;
use crate::terminal::{Style, answer};

pub fn run(args: &ExplainArgs) -> Result<ExitCode, Failure> {
    let Some(experiment) = &args.experiment else {
        answer(&shipped());
        return Ok(ExitCode::SUCCESS);
    };
    let plan = plan(&Source::find(experiment)?, None, args.repeat, BTreeMap::new())?;
    let explained = experiment::explain(&plan);
    if args.json {
        let json = serde_json::to_string_pretty(&explained).map_err(Failure::data)?;
        answer(&json);
    } else {
        answer(&text(&explained));
    }
    Ok(ExitCode::SUCCESS)
}

fn shipped() -> String {
    let mut text = String::from("Shipped experiments (fathom explain NAME says more):\n");
    for experiment in experiment::SHIPPED {
        let about = experiment
            .text
            .lines()
            .find_map(|line| line.strip_prefix("about = "))
            .unwrap_or_default()
            .trim_matches('"');
        text.push_str(&format!("  {:<16} {about}\n", experiment.name));
    }
    text
}

fn text(explained: &Explained) -> String {
    let style = Style::of_stdout();
    let mut text = format!("{}: {}\n", explained.experiment, explained.about);
    text.push_str(&format!(
        "{} cells, about {} (loads that end by amount: at {} IOPS)\norder   {}\n",
        explained.order.len(),
        Nanos(explained.about_ns),
        units::show::grouped(explained.assumed_iops),
        explained.order.join(", "),
    ));
    for device in &explained.devices {
        if let Some(file) = &device.file {
            let size = Bytes(device.size_bytes);
            text.push_str(&format!(
                "device  {}: {size} of {}, read only\n",
                device.role,
                file.display()
            ));
            continue;
        }
        text.push_str(&format!(
            "device  {} of {}; at most {} are stored on it\n",
            device.role,
            Bytes(device.size_bytes),
            Bytes(device.stored_bytes),
        ));
    }
    for variant in &explained.variants {
        text.push_str(&format!("\nvariant {}\n", variant.name));
        for (title, lines) in [
            ("up", &variant.up),
            ("ready", &variant.ready),
            ("stages", &variant.stages),
            ("samples", &variant.samples),
            ("down", &variant.down),
        ] {
            for (i, line) in lines.iter().enumerate() {
                let title = if i == 0 { title } else { "" };
                text.push_str(&format!("  {} {line}\n", style.dim(&format!("{title:<8}"))));
            }
        }
        for warning in &variant.warnings {
            text.push_str(&format!("  {} {warning}\n", style.note("warning:")));
        }
    }
    text.push_str("\nNames in braces are bound when the experiment runs. Nothing was touched.\n");
    text
}
