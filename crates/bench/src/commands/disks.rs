//! `fathom-bench disks`: modelled disks in a guest compared with their models.

use std::process::ExitCode;

use crate::disks::{self, Compared, DEPTHS, Late, MOST_PERCENT};
use serde_json::json;
use units::show::{nanos, significant};

use crate::args::DisksArgs;
use cli::execute_own;
use cli::failure::Failure;
use cli::terminal::{Text, answer, json_line, say};

pub fn disks(args: &DisksArgs) -> Result<ExitCode, Failure> {
    // Mistakes in a disk are reported before anything is started.
    args.like.iter().try_for_each(|like| like.profile().map(|_| ()))?;
    if !args.lab {
        return models(args);
    }
    let folder = tempfile::tempdir().map_err(Failure::environment)?;
    let text = disks::experiment(&args.like, args.repeat, args.seconds);
    let experiment = ("modelled-disks.toml", text.as_str());
    let before = load();
    let result = match execute_own(experiment, folder.path(), args.out.as_deref(), &args.machine)? {
        Ok(result) => result,
        Err(code) => return Ok(code),
    };
    let after = load();
    let rows = disks::compared(&result, &args.like)?;
    let late = disks::late(&result, &args.like);
    let met = rows.iter().all(Compared::met);
    if args.json {
        json_line(&json!({
            "schema": 1, "rows": rows, "late": late, "most_percent": MOST_PERCENT, "met": met,
            "host": {"cpus": cpus(), "load_before": before, "load_after": after},
        }));
    } else {
        answer(&table(&rows, &late));
    }
    let shown =
        |load: &Option<[f64; 3]>| load.map_or("unknown".into(), |[one, ..]| one.to_string());
    say(&format!(
        "load of the host ({} CPUs) over a minute: {} before, {} after, the lab's own in it",
        cpus(),
        shown(&before),
        shown(&after)
    ));
    let word = if met { "reached" } else { "NOT reached" };
    say(&format!("goal: every median within {MOST_PERCENT} % of the model: {word}"));
    Ok(ExitCode::from(u8::from(!met)))
}

/// The models alone.
fn models(args: &DisksArgs) -> Result<ExitCode, Failure> {
    let mut text = Text::new();
    for like in &args.like {
        for depth in DEPTHS {
            let iops = significant(disks::model_iops(like, depth, None)?, 3);
            text.line(format!("{like}, random reads at depth {depth}: {iops} IOPS in model time"));
        }
    }
    answer(&text);
    say("--lab measures them in a guest");
    Ok(ExitCode::SUCCESS)
}

fn table(rows: &[Compared], late: &[Late]) -> Text {
    let mut text = Text::lines_of(
        "| disk | depth | guest's own time | model, IOPS | guest, IOPS | 95 % interval | off, % | |\n\
         | --- | ---: | ---: | ---: | ---: | --- | ---: | --- |",
    );
    let number = |value: Option<f64>| value.map_or("–".into(), |value| significant(value, 3));
    for row in rows {
        let found = &row.guest_iops;
        text.line(format!(
            "| {} | {} | {} | {} | {} | {} to {} | {} | {} |",
            row.like,
            row.depth,
            nanos(row.think_ns as f64),
            significant(row.model_iops, 3),
            number(found.median),
            number(found.low),
            number(found.high),
            row.off_percent.map_or("–".into(), |off| format!("{off:+.1}")),
            if row.met() { "met" } else { "MISSED" },
        ));
    }
    for Late { like, served } in late {
        let [half, most, latest] =
            [served.late_p50_ns, served.late_p99_ns, served.late_max_ns].map(|ns| nanos(ns as f64));
        let priority = served.priority.as_ref().map_or_else(
            || "with real-time priority".to_owned(),
            |why| format!("without real-time priority ({why})"),
        );
        text.line(format!(
            "{like}: {} replies, late by {half} (p50), {most} (p99), {latest} (max), {priority}",
            served.requests
        ));
    }
    text
}

/// Mean number of threads that ran or wanted to, over 1, 5 and 15 minutes.
fn load() -> Option<[f64; 3]> {
    let text = std::fs::read_to_string("/proc/loadavg").ok()?;
    let mut words = text.split_whitespace().map_while(|word| word.parse().ok());
    Some([words.next()?, words.next()?, words.next()?])
}

fn cpus() -> usize {
    std::thread::available_parallelism().map_or(1, std::num::NonZero::get)
}
