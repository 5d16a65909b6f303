//! Reads fio's JSON, of which only the compared figures are taken.

use std::collections::BTreeMap;

use serde::Deserialize;

use crate::ReportedFigures;

#[derive(Deserialize)]
struct Document {
    jobs: Vec<Job>,
}

#[derive(Deserialize)]
struct Job {
    error: i64,
    read: Direction,
    write: Direction,
    job_runtime: u64,
    usr_cpu: f64,
    sys_cpu: f64,
    #[serde(default, rename = "job options")]
    options: BTreeMap<String, serde_json::Value>,
    #[serde(default)]
    iodepth_level: BTreeMap<String, f64>,
}

#[derive(Deserialize)]
struct Direction {
    total_ios: u64,
    iops: f64,
    runtime: u64,
    clat_ns: Latency,
    lat_ns: Latency,
}

#[derive(Deserialize)]
struct Latency {
    min: f64,
    max: f64,
    mean: f64,
    #[serde(default)]
    percentile: BTreeMap<String, f64>,
}

/// Reads fio's JSON of one job. fio may print notes before it: everything before the first brace is left out.
pub fn parse(text: &str) -> Result<ReportedFigures, String> {
    let from = text.find('{').ok_or("it holds no JSON")?;
    let document: Document =
        serde_json::from_str(&text[from..]).map_err(|error| error.to_string())?;
    let [job] = document.jobs.as_slice() else {
        return Err(format!("it reports {} jobs instead of one", document.jobs.len()));
    };
    let ios = job.read.total_ios + job.write.total_ios;
    let main = if job.read.total_ios >= job.write.total_ios { &job.read } else { &job.write };
    let percentile = |p: &str| main.clat_ns.percentile.get(p).copied();
    let cpu_s = (job.usr_cpu + job.sys_cpu) / 100.0 * job.job_runtime as f64 / 1e3;
    Ok(ReportedFigures {
        ios,
        iops: job.read.iops + job.write.iops,
        latency_mean_ns: (main.total_ios > 0).then_some(main.lat_ns.mean),
        latency_p50_ns: percentile("50.000000"),
        latency_min_ns: (main.total_ios > 0).then_some(main.lat_ns.min),
        latency_p99_ns: percentile("99.000000"),
        latency_p999_ns: percentile("99.900000"),
        latency_max_ns: (main.total_ios > 0).then_some(main.lat_ns.max),
        own_cpu_per_io_us: (ios > 0).then(|| cpu_s * 1e6 / ios as f64),
        duration_ns: job.read.runtime.max(job.write.runtime) * 1_000_000,
        errors: u64::from(job.error != 0),
        backend: None,
        at_full_depth: job.at_full_depth(),
    })
}

impl Job {
    /// fio counts, for each I/O it submits, how many are in flight then, in classes from one power of two to the next.
    fn at_full_depth(&self) -> Option<f64> {
        let depth: u32 = self.options.get("iodepth")?.as_str()?.parse().ok()?;
        let class = (depth.is_power_of_two() && depth < 64).then(|| depth.to_string())?;
        Some(self.iodepth_level.get(&class)? / 100.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn direction(ios: u64, iops: f64) -> String {
        let latency = r#"{"min": 211, "max": 5000, "mean": 247.5, "percentile": {"50.000000": 203, "99.000000": 322}}"#;
        format!(
            r#"{{"total_ios": {ios}, "iops": {iops}, "runtime": 1000, "clat_ns": {latency}, "lat_ns": {latency}}}"#
        )
    }

    fn document(error: i64, reads: u64, writes: u64) -> String {
        format!(
            r#"note: both iodepth >= 1 and synchronous I/O engine are selected
{{"fio version": "fio-3.33", "jobs": [{{"error": {error}, "read": {}, "write": {}, "job_runtime": 1000, "usr_cpu": 60.0, "sys_cpu": 20.0}}]}}"#,
            direction(reads, reads as f64),
            direction(writes, writes as f64)
        )
    }

    #[test]
    fn notes_before_the_json_are_no_hindrance() {
        let figures = parse(&document(0, 800_000, 0)).unwrap();
        assert_eq!((figures.ios, figures.iops, figures.errors), (800_000, 800_000.0, 0));
        assert_eq!((figures.latency_p50_ns, figures.latency_p99_ns), (Some(203.0), Some(322.0)));
        assert_eq!(figures.own_cpu_per_io_us, Some(1.0));
    }

    #[test]
    fn how_often_the_depth_was_full_is_told_where_its_classes_tell() {
        let with = |depth: &str| {
            let more = format!(
                r#""job options": {{"iodepth": "{depth}"}}, "iodepth_level": {{"16": 47.5, "32": 28.5, ">=64": 0.0}}, "read""#
            );
            let full =
                parse(&document(0, 100, 0).replacen("\"read\"", &more, 1)).unwrap().at_full_depth;
            full.map(|share| (share * 1000.0).round())
        };
        assert_eq!((with("32"), with("16")), (Some(285.0), Some(475.0)));
        assert_eq!((with("128"), with("20"), with("one")), (None, None, None));
        assert_eq!(parse(&document(0, 100, 0)).unwrap().at_full_depth, None);
    }

    #[test]
    fn both_directions_count_and_a_failure_shows() {
        let figures = parse(&document(5, 700, 300)).unwrap();
        assert_eq!((figures.ios, figures.iops, figures.errors), (1000, 1000.0, 1));
        assert_eq!(parse(&document(0, 0, 0)).unwrap().own_cpu_per_io_us, None);
    }

    #[test]
    fn what_is_no_result_is_refused_with_a_reason() {
        assert!(parse("fio: unknown option").unwrap_err().contains("no JSON"));
        assert!(parse(r#"{"jobs": []}"#).unwrap_err().contains("0 jobs"));
    }
}
