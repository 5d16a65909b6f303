//! `fathom layers`: the layers that a stack can be made of. Touches nothing.

use std::process::ExitCode;

use layers::Kind;
use serde_json::Value;
use units::Basis;

use crate::args::LayersArgs;
use crate::failure::Failure;
use crate::terminal::{Line, Style, Text, answer, json};

pub fn run(args: &LayersArgs) -> Result<ExitCode, Failure> {
    let kinds = layers::kinds();
    let Some(name) = &args.name else {
        match args.json {
            true => json(&pretty(&kinds.iter().map(described).collect())?),
            false => answer(&list(kinds)),
        }
        return Ok(ExitCode::SUCCESS);
    };
    let kind = layers::kind(name).ok_or_else(|| unknown(name))?;
    match args.json {
        true => json(&pretty(&described(kind))?),
        false => answer(&page(kind)),
    }
    Ok(ExitCode::SUCCESS)
}

fn unknown(name: &str) -> Failure {
    let names: Vec<_> = layers::kinds().iter().map(|kind| kind.name).collect();
    let near = experiment::nearest(name, names.iter().copied());
    let hint = near.map_or_else(String::new, |near| format!("did you mean '{near}'? "));
    Failure::usage(format!("There is no layer '{name}'"))
        .with_help(format!("{hint}There are: {}", names.join(", ")))
}

fn pretty(value: &Value) -> Result<String, Failure> {
    serde_json::to_string_pretty(value).map_err(Failure::data)
}

fn list(kinds: &[Kind]) -> Text {
    let mut text = Text::from("Layers (fathom layers NAME says more):");
    kinds.iter().for_each(|kind| text.line(format!("  {:<10} {}", kind.name, kind.about)));
    text
}

/// The manual page, and what a table says better.
fn page(kind: &Kind) -> Text {
    let style = Style::of_stdout();
    let mut text = Text::lines_of(kind.manual);
    let head = |text: &mut Text, title: &str| {
        text.line("");
        text.line(style.dim(title));
    };
    head(&mut text, "Settings: type, default, allowed");
    for key in kind.keys {
        let (takes, default) = (key.takes(), key.default());
        text.line(format!("  {:<18} {takes}, {default}; {}", key.name, key.allowed()));
        text.line(Line::from(format!("  {:<17}", "")).and(style.dim(key.help)));
    }
    head(&mut text, "Metrics");
    for metric in kind.metrics {
        text.line(format!("  {} ({})", metric.id, metric.name));
        text.line(Line::from("   ").and(style.dim(metric.help)));
    }
    if kind.metrics.is_empty() {
        text.line("  none of its own");
    }
    if !kind.counters.is_empty() {
        head(
            &mut text,
            "Counters (metric = \"...\", series = [\"...\"]; fathom show RESULT --layer-counters)",
        );
        for counter in kind.counters() {
            let grows = if counter.basis == Basis::Level { "level" } else { "growth" };
            text.line(format!("  {} ({grows}, {})", counter.id, counter.unit.words()));
            text.line(Line::from("   ").and(style.dim(counter.help)));
        }
    }
    if !kind.actions.is_empty() {
        head(&mut text, "Actions (a stage with do = \"layer\")");
        for action in kind.actions {
            let keys: Vec<_> = action.keys.iter().map(|key| key.name).collect();
            let keys =
                if keys.is_empty() { String::new() } else { format!(": {}", keys.join(", ")) };
            text.line(format!("  {}{keys}", action.name));
            text.line(Line::from("   ").and(style.dim(action.about)));
        }
    }
    if !kind.states.is_empty() {
        head(&mut text, "States (a stage with do = \"state\")");
        for state in kind.states {
            text.line(format!("  {}", state.name));
            text.line(Line::from("   ").and(style.dim(state.about)));
        }
    }
    head(&mut text, "Needs");
    let needs = kind.needs;
    for (what, names) in
        [("packages", needs.packages), ("modules", needs.modules), ("programs", needs.tools)]
    {
        text.line(format!("  {what:<9} {}", names.join(" ")));
    }
    text
}

fn described(kind: &Kind) -> Value {
    let settings: Vec<Value> = kind
        .keys
        .iter()
        .map(|key| {
            serde_json::json!({
                "name": key.name, "type": key.takes(), "default": key.default(),
                "allowed": key.allowed(), "help": key.help,
            })
        })
        .collect();
    let actions = kind.actions.iter().map(|action| {
        let keys: Vec<_> = action.keys.iter().map(|key| key.name).collect();
        serde_json::json!({ "name": action.name, "about": action.about, "settings": keys })
    });
    let fills = kind
        .fills
        .iter()
        .map(|fills| serde_json::json!({ "of": fills.of, "metric": fills.metric }));
    let states = kind
        .states
        .iter()
        .map(|state| serde_json::json!({ "name": state.name, "about": state.about }));
    let states: Vec<Value> = states.collect();
    let (actions, fills): (Vec<Value>, Vec<Value>) = (actions.collect(), fills.collect());
    serde_json::json!({
        "name": kind.name, "actions": actions, "states": states, "fills": fills, "about": kind.about, "settings": settings, "metrics": kind.metrics,
        "counters": kind.counters().collect::<Vec<_>>(),
        "needs": {
            "packages": kind.needs.packages, "modules": kind.needs.modules, "programs": kind.needs.tools,
        },
        "manual": kind.manual,
    })
}
