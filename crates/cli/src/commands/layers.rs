//! `fathom layers`: the layers that a stack can be made of. Touches nothing.

use std::process::ExitCode;

use layers::Kind;
use serde_json::{Value, json};

use crate::args::LayersArgs;
use crate::failure::Failure;
use crate::terminal::{Style, answer};

pub fn run(args: &LayersArgs) -> Result<ExitCode, Failure> {
    let kinds = layers::kinds();
    let Some(name) = &args.name else {
        let text = match args.json {
            true => pretty(&kinds.iter().map(described).collect())?,
            false => list(kinds),
        };
        answer(&text);
        return Ok(ExitCode::SUCCESS);
    };
    let kind = layers::kind(name).ok_or_else(|| unknown(name))?;
    answer(&if args.json { pretty(&described(kind))? } else { page(kind) });
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

fn list(kinds: &[Kind]) -> String {
    let mut text = String::from("Layers (fathom layers NAME says more):\n");
    kinds.iter().for_each(|kind| text.push_str(&format!("  {:<10} {}\n", kind.name, kind.about)));
    text
}

/// The manual page, and what a table says better.
fn page(kind: &Kind) -> String {
    let style = Style::of_stdout();
    let head = |title: &str| format!("\n{}\n", style.dim(title));
    let mut text = kind.manual.trim_end().to_owned();
    text.push_str(&head("\nSettings: type, default, allowed"));
    for key in kind.keys {
        let (takes, default) = (key.takes(), key.default);
        text.push_str(&format!("  {:<18} {takes}, {default}; {}\n", key.name, key.allowed));
        text.push_str(&format!("  {:<18} {}\n", "", style.dim(key.help)));
    }
    text.push_str(&head("Metrics"));
    for metric in kind.metrics {
        text.push_str(&format!(
            "  {} ({})\n    {}\n",
            metric.id,
            metric.name,
            style.dim(metric.help)
        ));
    }
    if kind.metrics.is_empty() {
        text.push_str("  none of its own\n");
    }
    text.push_str(&head("Needs"));
    let needs = kind.needs;
    for (what, names) in
        [("packages", needs.packages), ("modules", needs.modules), ("programs", needs.tools)]
    {
        text.push_str(&format!("  {what:<9} {}\n", names.join(" ")));
    }
    text
}

fn described(kind: &Kind) -> Value {
    let settings: Vec<Value> = kind
        .keys
        .iter()
        .map(|key| {
            json!({
                "name": key.name, "type": key.takes(), "default": key.default,
                "allowed": key.allowed, "help": key.help,
            })
        })
        .collect();
    json!({
        "name": kind.name, "about": kind.about, "settings": settings, "metrics": kind.metrics,
        "needs": {
            "packages": kind.needs.packages, "modules": kind.needs.modules, "programs": kind.needs.tools,
        },
        "manual": kind.manual,
    })
}
