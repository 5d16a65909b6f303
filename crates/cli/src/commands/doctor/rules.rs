//! `fathom doctor --rules`: every rule.

use std::process::ExitCode;

use doctor::RuleAbout;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::terminal::{Style, Text, answer, json};

pub fn run(as_json: bool) -> Result<ExitCode, Failure> {
    let rules = doctor::rules();
    if as_json {
        let rules: Vec<Value> = rules.iter().map(value).collect();
        json(&serde_json::to_string_pretty(&rules).map_err(Failure::data)?);
    } else {
        answer(&text(&rules, Style::of_stdout()));
    }
    Ok(ExitCode::SUCCESS)
}

fn value(rule: &RuleAbout) -> Value {
    let threshold = rule.threshold.map(
        |t| json!({"above": t.above, "value": t.value, "unit": t.unit, "text": t.to_string()}),
    );
    json!({
        "id": rule.id, "layer": rule.layer, "when": rule.when.word(), "text": rule.text,
        "reads": rule.reads, "threshold": threshold, "remedy": rule.remedy, "source": rule.source,
    })
}

fn text(rules: &[RuleAbout], style: Style) -> Text {
    let mut text = Text::new();
    let mut group = None;
    for rule in rules {
        let heading = (rule.layer, rule.when);
        if group != Some(heading) {
            group = Some(heading);
            let layer = rule.layer.unwrap_or("any layer");
            text.line(style.good(&format!("{layer}, {}", rule.when.words())));
        }
        let threshold = rule.threshold.map_or_else(String::new, |t| format!(", {t}"));
        text.line(style.note(&format!("  {:<24}", rule.id)).and(rule.text));
        text.line(format!("    reads {}{threshold}", rule.reads));
        text.line(style.dim(&format!("    source: {}", rule.source)));
    }
    text
}
