//! One ladder of latency, for people and for programs.

use analysis::{LOAD, Ladder, Rung, RungLatency};
use serde_json::{Value, json};
use units::printable;
use units::show::{grouped, nanos};

use crate::wording::NONE;

/// Returns a ladder as an object: its rungs, and the one that made the 99th percentile.
pub fn json(ladder: &Ladder) -> Value {
    let made = ladder.made.as_ref();
    json!({
        "rungs": ladder.rungs.iter().map(rung).collect::<Vec<_>>(),
        "made": made.ok().map(|made| json!({"name": made.name, "adds_ns": made.adds_ns, "of_ns": made.of_ns})),
        "why_not": made.err(),
    })
}

fn rung(rung: &Rung) -> Value {
    let latency = |latencies: &RungLatency| json!({"ios": latencies.ios, "p50_ns": latencies.p50_ns, "p99_ns": latencies.p99_ns});
    json!({
        "name": rung.name,
        "is_load": rung.name == LOAD,
        "on": rung.on,
        "by": rung.by,
        "all": latency(&rung.all),
        "read": rung.read.as_ref().map(latency),
        "write": rung.write.as_ref().map(latency),
        "adds_ns": rung.adds_ns,
        "lost": rung.lost,
        "absent": rung.absent,
    })
}

/// The heads of the columns that [`cells`] fills.
pub const HEADS: [&str; 5] = ["I/Os", "p50", "p99", "adds", "reads, p99"];
/// The head of the last column.
pub const LAST: &str = "writes, p99";

/// Returns the contents of the columns for a rung.
pub fn cells(rung: &Rung) -> [String; 6] {
    let time = |ns: Option<f64>| ns.map_or_else(|| NONE.to_owned(), nanos);
    let part = |latencies: Option<RungLatency>| {
        let some = latencies.filter(|latencies| latencies.ios > 0);
        some.map_or_else(|| NONE.to_owned(), |latencies| time(latencies.p99_ns))
    };
    let adds = rung.adds_ns.map(|ns| match ns < 0.0 {
        true => format!("-{}", nanos(-ns)),
        false => format!("+{}", nanos(ns)),
    });
    [
        grouped(rung.all.ios),
        time(rung.all.p50_ns),
        time(rung.all.p99_ns),
        adds.unwrap_or_else(|| NONE.to_owned()),
        part(rung.read),
        part(rung.write),
    ]
}

/// Returns the depth of each rung: 0 for the uppermost.
pub fn depths(ladder: &Ladder) -> Vec<usize> {
    let mut depths = vec![0; ladder.rungs.len()];
    // Each rung comes before those below it.
    for at in 0..ladder.rungs.len() {
        for (under, rung) in ladder.rungs.iter().enumerate().skip(at + 1) {
            if ladder.rungs[at].on.contains(&rung.name) {
                depths[under] = depths[under].max(depths[at] + 1);
            }
        }
    }
    depths
}

/// Returns the rungs as lines of a table.
pub fn lines(ladder: &Ladder) -> Vec<String> {
    let mut rows = vec![{
        let heads = HEADS.into_iter().chain([LAST]).map(str::to_owned);
        [String::new()].into_iter().chain(heads).collect::<Vec<_>>()
    }];
    for (rung, depth) in ladder.rungs.iter().zip(depths(ladder)) {
        let name = format!("{:1$}{2}", "", 2 * depth, printable(&rung.name));
        rows.push([name].into_iter().chain(cells(rung)).collect());
    }
    let widths: Vec<usize> = (0..rows[0].len())
        .map(|column| rows.iter().map(|row| row[column].chars().count()).max().unwrap_or(0))
        .collect();
    let line = |row: &Vec<String>| {
        let cells = row.iter().zip(&widths).enumerate().map(|(at, (cell, width))| match at {
            0 => format!("{cell:<width$}"),
            _ => format!("{cell:>width$}"),
        });
        cells.collect::<Vec<_>>().join("  ").trim_end().to_owned()
    };
    let mut lines: Vec<String> = rows.iter().map(line).collect();
    lines.extend(
        ladder.rungs.iter().filter_map(|rung| {
            Some(format!("{}: {}", printable(&rung.name), rung.absent.as_ref()?))
        }),
    );
    lines
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rung(name: &str, on: &[&str], p99_ns: f64, adds_ns: f64) -> Rung {
        Rung {
            name: name.into(),
            on: on.iter().map(|name| (*name).to_owned()).collect(),
            by: None,
            all: RungLatency { ios: 12_000, p50_ns: Some(p99_ns / 2.0), p99_ns: Some(p99_ns) },
            read: None,
            write: None,
            adds_ns: Some(adds_ns),
            lost: 0,
            absent: None,
        }
    }

    #[test]
    fn rungs_are_lines_one_under_the_other_each_as_far_in_as_it_stands_below() {
        let mut far = rung("origin", &[], 1e6, 1e6);
        far.absent = Some("it is gone".into());
        let rungs =
            vec![rung(LOAD, &["cache"], 2e6, -5e5), rung("cache", &["origin"], 2.5e6, 1.5e6), far];
        let ladder = Ladder { rungs, made: Err("none".into()) };
        assert_eq!(depths(&ladder), [0, 1, 2]);
        let lines = lines(&ladder);
        assert_eq!(lines.len(), 5);
        assert!(
            lines[1].starts_with("the load    12,000") && lines[1].contains("-500 µs"),
            "{lines:#?}"
        );
        assert!(lines[3].starts_with("    origin  12,000"), "{lines:#?}");
        assert_eq!(lines[4], "origin: it is gone");
        let json = json(&ladder);
        assert_eq!((&json["rungs"][0]["is_load"], &json["made"]), (&json!(true), &Value::Null));
        assert_eq!(json["why_not"], "none");
    }
}
