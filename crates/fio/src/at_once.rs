//! Checks which jobs of a run ran at the same time: jobs of one group do, and groups run one after the other, unless options or times say
//! otherwise.

use std::collections::{BTreeMap, BTreeSet};

use serde_json::Value;

use crate::driven::Options;

/// Largest difference between the starts of a group's jobs, as a fraction of the group's time.
const MAX_START_DIFFERENCE: f64 = 0.1;

/// Checks that the jobs of each group ran at the same time: only then are they one load.
///
/// # Errors
/// Fails with a sentence if options or times show that they did not.
pub(crate) fn check(jobs: &[(&Value, Options)]) -> Result<(), String> {
    let mut groups = BTreeMap::<u64, Vec<&(&Value, Options)>>::new();
    for job in jobs {
        groups.entry(job.0["groupid"].as_u64().unwrap_or(0)).or_default().push(job);
    }
    for group in groups.values() {
        let several = group.len() > 1 || many(&group[0].1);
        let delays: BTreeSet<_> = group
            .iter()
            .map(|(_, own)| own.get("startdelay").map_or("0", String::as_str))
            .collect();
        let drawn = delays.iter().any(|delay| delay.contains('-'));
        let waits = group.iter().any(|(_, own)| own.contains_key("wait_for"));
        let why = match (waits, delays.len() > 1 || several && drawn, began_apart(group)) {
            (true, ..) => "wait_for",
            (_, true, _) => "startdelay",
            (.., true) => "the times at which they began",
            _ => continue,
        };
        let names: Vec<_> = group.iter().filter_map(|(job, _)| job["jobname"].as_str()).collect();
        return Err(format!(
            "its jobs {} did not run at once, by {why}, yet are one group: run them behind a stonewall, which makes a stage of each, or each by itself",
            names.join(", ")
        ));
    }
    let apart = |own: &Options| own.contains_key("new_group") && !own.contains_key("stonewall");
    if groups.len() > 1 && jobs.iter().any(|(_, own)| apart(own)) {
        return Err(format!("new_group {GROUPS}"));
    }
    Ok(())
}

const GROUPS: &str = "makes groups that run at the same time, and so are not stages one after the other: run them without it, or with a stonewall";

/// Checks that groups, which ran for `ran_ms` milliseconds each, ran one after the other within the whole run of `whole_ms` milliseconds.
///
/// # Errors
/// Fails if they cannot have done so.
pub(crate) fn in_turn(ran_ms: &[u64], whole_ms: u64) -> Result<(), String> {
    let (sum, groups) = (ran_ms.iter().sum::<u64>(), ran_ms.len() as u64);
    if groups < 2 || sum <= whole_ms + 10 * groups {
        return Ok(());
    }
    Err(format!(
        "its groups ran for {sum} ms, all of them within {whole_ms} ms: new_group {GROUPS}"
    ))
}

fn many(own: &Options) -> bool {
    own.get("numjobs").is_some_and(|jobs| jobs != "1")
}

/// Tells whether jobs began apart, where fio says when (from 3.36 on).
fn began_apart(group: &[&(&Value, Options)]) -> bool {
    let starts: Vec<_> = group.iter().filter_map(|(job, _)| job["job_start"].as_u64()).collect();
    let longest = group.iter().map(|(job, _)| ran(job)).max().unwrap_or(0);
    let (first, last) = (starts.iter().min(), starts.iter().max());
    let apart = first.zip(last).map_or(0, |(first, last)| last - first);
    apart as f64 > MAX_START_DIFFERENCE * longest as f64 + 100.0
}

/// Returns how long a job ran, milliseconds.
fn ran(job: &Value) -> u64 {
    let sides = ["read", "write", "trim"].iter();
    sides.filter_map(|side| job[*side]["runtime"].as_u64()).max().unwrap_or(0)
}
