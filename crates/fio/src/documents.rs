//! The JSON in the output of fio: one document, or, with `--status-interval`, one for each state of the run.

use serde_json::Value;

/// Times of one run may differ by this much beyond the seconds that `elapsed` counts in, milliseconds.
const SLACK_MS: u64 = 200;

/// Returns the last document. Lines that fio prints around the JSON are skipped.
///
/// # Errors
/// Fails if there is no JSON, if the JSON is cut off or malformed, or if it belongs to several runs.
pub(crate) fn last(text: &str) -> Result<Value, String> {
    let mut left = text;
    let mut last: Option<Value> = None;
    while let Some(begin) = begin(left) {
        let mut read = serde_json::Deserializer::from_str(&left[begin..]).into_iter::<Value>();
        let next = read.next().ok_or("it holds no JSON")?;
        let next = next.map_err(|error| format!("its JSON ends or breaks: {error}"))?;
        left = &left[begin + read.byte_offset()..];
        if let Some(before) = &last {
            goes_on(before, &next).map_err(|why| {
                format!("it holds several runs, or states of one run that look like several runs ({why}): give each run a separate file, and run it without --status-interval")
            })?;
        }
        last = Some(next);
    }
    last.ok_or_else(|| "it holds no JSON: fio needs --output-format=json+".to_owned())
}

/// Finds a brace that begins a line.
fn begin(text: &str) -> Option<usize> {
    text.match_indices('{').map(|(at, _)| at).find(|at| {
        let line = text[..*at].rsplit('\n').next().unwrap_or_default();
        line.trim().is_empty()
    })
}

/// Checks that `after` is a later state of the same run as `before`.
fn goes_on(before: &Value, after: &Value) -> Result<(), String> {
    if ["fio version", "global options"].iter().any(|key| before[*key] != after[*key]) {
        return Err("other options".to_owned());
    }
    let jobs = |of: &Value| of["jobs"].as_array().cloned().unwrap_or_default();
    let (earlier, later) = (jobs(before), jobs(after));
    if earlier.is_empty() || earlier.len() != later.len() {
        return Err("other jobs".to_owned());
    }
    for (one, next) in earlier.iter().zip(&later) {
        let same = ["jobname", "groupid", "job options", "job_start"];
        if same.iter().any(|key| one[*key] != next[*key]) {
            return Err("other jobs".to_owned());
        }
        for (side, key) in SIDES.iter().flat_map(|side| GROWING.map(|key| (side, key))) {
            if one[side][key].as_u64() > next[side][key].as_u64() {
                return Err(format!("{key} of '{side}' does not grow"));
            }
        }
    }
    in_time(before, after, &later[0]).ok_or_else(|| "its times are not those of one run".to_owned())
}

const SIDES: [&str; 4] = ["read", "write", "trim", "mixed"];
const GROWING: [&str; 3] = ["total_ios", "io_bytes", "runtime"];

/// Tells by the clock whether two documents belong to one run: both began at the same time, and the jobs' run time grew with the time in between.
fn in_time(before: &Value, after: &Value, job: &Value) -> Option<()> {
    let at = |of: &Value| of["timestamp_ms"].as_u64();
    let between = at(after)?.checked_sub(at(before)?)?;
    if job["job_start"].is_u64() {
        return Some(());
    }
    // A job that ran for longer than the time in between was running when the earlier state was printed.
    let longest = |of: &Value| {
        let jobs = of["jobs"].as_array()?.iter();
        jobs.flat_map(|job| SIDES.iter().filter_map(move |side| job[side]["runtime"].as_u64()))
            .max()
    };
    if ran(before) > 0 && longest(after)? > between {
        return Some(());
    }
    // fio rounds up to seconds, and prints no state before the first second is over.
    let elapsed = |of: &Value| of["jobs"][0]["elapsed"].as_u64().filter(|elapsed| *elapsed > 0);
    let begun = |of: &Value| at(of)?.checked_sub(elapsed(of)? * 1000);
    let together = begun(before)?.abs_diff(begun(after)?) < 1000 + SLACK_MS;
    let grown = ran(after).checked_sub(ran(before))?;
    (elapsed(before)? > 1 && together && 2 * grown + SLACK_MS >= between).then_some(())
}

/// Returns how long the jobs ran, milliseconds: the sum over groups, in which jobs run at the same time.
fn ran(document: &Value) -> u64 {
    let mut groups = std::collections::BTreeMap::<u64, u64>::new();
    for job in document["jobs"].as_array().into_iter().flatten() {
        let longest = SIDES.iter().filter_map(|side| job[side]["runtime"].as_u64()).max();
        let known = groups.entry(job["groupid"].as_u64().unwrap_or(0)).or_default();
        *known = longest.unwrap_or(0).max(*known);
    }
    groups.values().sum()
}
