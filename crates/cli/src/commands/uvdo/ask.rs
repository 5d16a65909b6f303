//! Questions to a running volume: stop, status, statistics, policy.

use std::path::Path;
use std::process::ExitCode;

use serde_json::Value;
use units::Bytes;
use uvdo::{Place, ask};
use volume::Policy;

use crate::args::{PolicyArgs, StatsArgs, UvdoPlaceArgs};
use crate::failure::Failure;
use crate::terminal::{Text, answer, json, say};

/// The exit code of a volume that is read-only.
const READ_ONLY: u8 = 5;

pub fn stop(args: &UvdoPlaceArgs) -> Result<ExitCode, Failure> {
    let reply = ask_server(&args.dir, "stop")?;
    if args.json {
        let (how, fault) = reply
            .split_once(": ")
            .map_or((reply.as_str(), None), |(how, fault)| (how, Some(fault)));
        json(&serde_json::json!({"schema": 1, "stopped": how, "fault": fault}).to_string());
    } else {
        answer(&Text::from(format!("stopped: {reply}")));
    }
    Ok(ExitCode::from(if reply == "clean" { 0 } else { READ_ONLY }))
}

pub fn status(args: &UvdoPlaceArgs) -> Result<ExitCode, Failure> {
    let reply = ask_server(&args.dir, "status")?;
    let status: Value = serde_json::from_str(&reply).map_err(Failure::data)?;
    match args.json {
        true => json(&reply),
        false => answer(&page(&status)),
    }
    Ok(ExitCode::from(if status["mode"] == "normal" { 0 } else { READ_ONLY }))
}

fn page(status: &Value) -> Text {
    let word = |key: &str| status[key].as_str().unwrap_or("?").to_owned();
    let bytes = |key: &str| {
        status[key].as_u64().map_or_else(|| "?".into(), |bytes| Bytes(bytes).to_string())
    };
    let percent = |key: &str| {
        status[key].as_f64().map_or_else(|| "-".into(), |share| format!("{share:.1} %"))
    };
    let mut text = Text::from(format!("{}: {}, {}", word("backing"), word("mode"), word("policy")));
    let logical = format!("{} of {}", bytes("logical_used_bytes"), bytes("logical_bytes"));
    if let Some(fault) = status["fault"].as_str() {
        text.line(format!("  fault          {fault}"));
    }
    text.line(format!("  logical used   {logical}"));
    text.line(format!("  data stored    {}, {} free", bytes("data_bytes"), bytes("free_bytes")));
    text.line(format!("  block map      {}", bytes("map_bytes")));
    text.line(format!("  space used     {}", percent("used_percent")));
    text.line(format!("  saving         {}", percent("saving_percent")));
    if let Some(entries) = status["recovered_entries"].as_u64() {
        text.line(format!("  recovered      {entries} journal entries at its start"));
    }
    text
}

pub fn stats(args: &StatsArgs) -> Result<ExitCode, Failure> {
    let question = match (args.json, args.metrics) {
        (true, _) => "stats json",
        (_, true) => "metrics",
        _ => "stats",
    };
    let reply = ask_server(&args.dir, question)?;
    match args.json {
        true => json(&reply),
        false => answer(&Text::lines_of(&reply)),
    }
    Ok(ExitCode::SUCCESS)
}

pub fn policy(args: &PolicyArgs) -> Result<ExitCode, Failure> {
    let Some(policy) = Option::<Policy>::from(args.policy) else {
        return Err(Failure::usage("auto is a policy for a start alone")
            .with_help("give sync, async or async-unsafe"));
    };
    let reply = ask_server(&args.dir, &format!("policy {}", policy.name()))?;
    say(&format!("policy: {reply}"));
    Ok(ExitCode::SUCCESS)
}

fn ask_server(dir: &Path, question: &str) -> Result<String, Failure> {
    Ok(ask(&Place::new(dir), question)?)
}
