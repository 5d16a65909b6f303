//! `fathom disk list` and `fathom disk show`.

use std::process::ExitCode;

use disk::bench::{Load, LoadResult, run};
use disk::{ModelKind, Op, Profile, Quantity, Reach, profiles};
use serde_json::{Value, json};
use units::Nanos;
use units::show::{bytes, count};

use super::bench::check_size;
use super::table::significant;
use super::table::{table, time};
use crate::args::DiskShowArgs;
use crate::failure::Failure;
use crate::terminal::{Line, Style, Text, answer, json as put_json};

/// Time from a reply to the next request, as a program takes it.
const THINK: Nanos = Nanos(200_000);

pub fn list(as_json: bool) -> ExitCode {
    if as_json {
        let all: Vec<Value> = profiles()
            .iter()
            .map(|p| json!({"name": p.name, "about": p.about, "kind": p.kind()}))
            .collect();
        put_json(&Value::from(all).to_string());
        return ExitCode::SUCCESS;
    }
    let mut text = Text::from("Disks that there are models of (fathom disk show NAME says more):");
    profiles().iter().for_each(|p| text.line(format!("  {:<8} {}", p.name, p.about)));
    answer(&text);
    ExitCode::SUCCESS
}

pub fn show(args: &DiskShowArgs) -> Result<ExitCode, Failure> {
    let profile = args.like.profile()?;
    check_size(args.size, units::Bytes::default())?;
    let reached: Vec<(&Reach, u32, LoadResult)> = profile
        .reaches
        .iter()
        .flat_map(|reach| reach.depths.iter().map(move |depth| (reach, *depth)))
        .map(|(reach, depth)| {
            let load = load(&profile, reach, depth);
            (reach, depth, run(&profile, args.size.0, &load))
        })
        .collect();
    match args.json {
        true => put_json(&described(args, &profile, &reached).to_string()),
        false => answer(&page(args, &profile, &reached)),
    }
    Ok(ExitCode::SUCCESS)
}

/// A load that is long enough for three digits. Hard disks get requests as from a program, with time to think, and have filled
/// their caches before the measured time.
fn load(profile: &Profile, reach: &Reach, depth: u32) -> Load {
    let load = Load::of(reach.op, reach.shape, reach.block, depth);
    let hdd = profile.kind() == ModelKind::Hdd;
    let think = if hdd { THINK.0 } else { 0 };
    let ramp = if hdd && reach.op == Op::Write { 30_000_000_000 } else { 0 };
    let duration = if hdd { load.duration } else { 1_000_000_000 };
    Load { think, ramp, duration, ..load }
}

fn page(args: &DiskShowArgs, profile: &Profile, reached: &[(&Reach, u32, LoadResult)]) -> Text {
    let style = Style::of_stdout();
    let usual = disk::profile(profile.name);
    let mut text = Text::from(format!("{}: {}", args.like, profile.about));
    let head = |text: &mut Text, title: &str| {
        text.line("");
        text.line(style.dim(title));
    };
    head(&mut text, "Parameters: value, range");
    for (parameter, value) in profile.values() {
        let shown = parameter.show(value);
        let other = usual.and_then(|usual| {
            let (_, before) = usual.values().find(|(p, _)| p.name == parameter.name)?;
            (before != value).then(|| format!(" (of {}: {})", profile.name, parameter.show(before)))
        });
        let range = match parameter.quantity {
            Quantity::Switch | Quantity::Stroke => parameter.takes(),
            _ => {
                format!("{} to {}", parameter.show(parameter.least), parameter.show(parameter.most))
            }
        };
        let other = other.unwrap_or_default();
        text.line(format!("  {:<21} {shown}{other}; {range}", parameter.name));
        text.line(Line::from(format!("  {:<20}", "")).and(style.dim(parameter.about)));
    }
    if profile.values().next().is_none() {
        text.line("  none");
    }
    if !reached.is_empty() {
        head(&mut text, &format!("What it reaches, in model time, with {}", args.size));
        let rows: Vec<Vec<String>> = reached.iter().map(cells).collect();
        text.append(&table(&["", "depth", "IOPS", "throughput", "p50", "p99"], &rows));
    }
    if !profile.published.is_empty() {
        head(&mut text, "What is published of such drives");
        for published in profile.published {
            text.line(format!("  {}: {}", published.what, published.value));
            text.line(Line::from("   ").and(style.dim(published.source)));
        }
    }
    text
}

fn cells((reach, depth, reached): &(&Reach, u32, LoadResult)) -> Vec<String> {
    vec![
        reach.name.to_owned(),
        depth.to_string(),
        count(significant(reached.iops)),
        format!("{}/s", bytes(reached.throughput_bytes_per_s)),
        time(reached.latency_p50_ns as f64),
        time(reached.latency_p99_ns as f64),
    ]
}

fn described(
    args: &DiskShowArgs,
    profile: &Profile,
    reached: &[(&Reach, u32, LoadResult)],
) -> Value {
    let parameters: Vec<Value> = profile
        .values()
        .map(|(p, value)| {
            json!({
                "name": p.name, "value": value, "shown": p.show(value), "least": p.least, "most": p.most,
                "about": p.about,
            })
        })
        .collect();
    let reached: Vec<Value> = reached
        .iter()
        .map(|(reach, depth, figures)| json!({"load": reach.name, "depth": depth, "figures": figures}))
        .collect();
    json!({
        "schema": 1, "name": profile.name, "like": args.like, "about": profile.about, "kind": profile.kind(),
        "size": args.size, "parameters": parameters, "reached": reached, "published": profile.published,
    })
}
