//! Fathom's engine as a contestant: `fathom load ... --json`, the command a person would type, in the program that measures it.

use std::path::PathBuf;

use serde_json::Value;

use crate::case::{Access, Case, Mix};
use crate::child::Line;
use crate::target::Target;
use crate::{BenchError, ReportedFigures};

/// The first argument that makes this program behave as `fathom`.
pub const FATHOM: &str = "fathom";

/// The program that contains both `fathom` and the tools to measure it.
#[derive(Debug, Clone, PartialEq, Eq, serde::Serialize, serde::Deserialize)]
pub struct Fathom {
    /// The program.
    pub program: PathBuf,
}

impl Fathom {
    /// This very program.
    pub fn this_program() -> Result<Self, BenchError> {
        let program = std::env::current_exe();
        program
            .map(|program| Self { program })
            .map_err(|source| BenchError::Start { program: "/proc/self/exe".into(), source })
    }

    /// The command line of `fathom` with these words.
    pub fn command(&self, words: &[impl ToString]) -> Line {
        let words = words.iter().map(ToString::to_string);
        Line::new(&self.program, std::iter::once(FATHOM.to_owned()).chain(words).collect())
    }

    /// Returns the command line for `case`, driven by `backend`. Without `millis` it does a single I/O, to measure the cost of starting.
    pub fn line(&self, target: &Target, case: &Case, backend: &str, millis: Option<u64>) -> Line {
        let path = target.path.clone().unwrap_or_else(|| "null".into());
        let mut arguments = vec!["load".to_owned(), path];
        let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
        add("--size", target.size.to_string());
        add("--ops", ops(case));
        add("--block-size", "4k".into());
        add("--depth", case.depth.to_string());
        let pattern = match case.access {
            Access::Sequential | Access::Uniform => None,
            Access::Permutation => Some("permutation"),
            Access::Normal => Some("normal:5%"),
            Access::Zipf | Access::ZipfScattered => Some("zipf:1.2"),
        };
        if let Some(pattern) = pattern {
            add("--pattern", pattern.into());
        }
        match case.access {
            Access::Zipf => add("--hot", "contiguous".into()),
            Access::ZipfScattered => add("--hot", "scattered".into()),
            _ => {}
        }
        if backend != "auto" {
            add("--backend", backend.into());
        }
        match millis {
            Some(millis) => add("--duration", format!("{millis}ms")),
            None => add("--bytes", "4k".into()),
        }
        add("--seed", "1".into());
        if !target.direct {
            arguments.push("--buffered".into());
        }
        if case.mix != Mix::Reads {
            arguments.push("--destroy-data".into());
        }
        arguments.push("--json".into());
        self.command(&arguments)
    }

    /// The command line that writes every block of `target` once, with content that nothing can shrink.
    pub fn fill(&self, target: &Target) -> Line {
        let path = target.path.clone().unwrap_or_default();
        let size = target.size.to_string();
        let words = ["load", &path, "--size", &size, "--ops", "write=100", "--block-size", "128k"];
        let more = ["--depth", "8", "--passes", "1", "--seed", "2", "--destroy-data", "--json"];
        self.command(&[&words[..], &more].concat())
    }
}

fn ops(case: &Case) -> String {
    match (case.mix, case.access) {
        (Mix::Reads, Access::Sequential) => "read=100",
        (Mix::Writes, Access::Sequential) => "write=100",
        (Mix::Mixed, Access::Sequential) => "read=70,write=30",
        (Mix::Reads, _) => "randread=100",
        (Mix::Writes, _) => "randwrite=100",
        (Mix::Mixed, _) => "randread=70,randwrite=30",
    }
    .to_owned()
}

/// Reads the summary line among the JSON lines of `fathom load --json`.
pub fn parse(text: &str) -> Result<ReportedFigures, String> {
    let mut lines = text.lines().filter_map(|line| serde_json::from_str::<Value>(line).ok());
    let summary =
        lines.rfind(|line| line["event"] == "summary").ok_or("it holds no summary line")?;
    let operations = summary["operations"].as_object().ok_or("its summary has no operations")?;
    let sum = |key: &str| operations.values().filter_map(|op| op[key].as_u64()).sum::<u64>();
    let main = operations.values().max_by_key(|op| op["ios"].as_u64());
    let of_main = |key: &str| main.and_then(|op| op[key].as_f64());
    let errors = operations.values().filter_map(|op| op["errors"].as_object());
    let errors = errors.flat_map(|kinds| kinds.values().filter_map(Value::as_u64)).sum();
    let (ios, duration_ns) = (sum("ios"), summary["duration_ns"].as_u64().unwrap_or(0));
    if ios == 0 || duration_ns == 0 {
        return Err(format!("no I/O completed; ended by {}", summary["ended_by"]));
    }
    Ok(ReportedFigures {
        ios,
        iops: ios as f64 / (duration_ns as f64 / 1e9),
        latency_mean_ns: of_main("latency_mean_ns"),
        latency_p50_ns: of_main("latency_p50_ns"),
        latency_min_ns: of_main("latency_min_ns"),
        latency_p99_ns: of_main("latency_p99_ns"),
        latency_p999_ns: of_main("latency_p999_ns"),
        latency_max_ns: of_main("latency_max_ns"),
        duration_ns,
        errors,
        own_cpu_per_io_us: summary["cpu"]["per_io_us"].as_f64(),
        backend: summary["engine"]["backend"].as_str().map(str::to_owned),
        at_full_depth: None,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_summary_line_is_found_among_the_others_and_its_operations_add_up() {
        let text = r#"{"event":"started","backend":"io_uring"}
{"event":"summary","duration_ns":2000000000,"operations":{
"randread":{"ios":700,"errors":{},"latency_p50_ns":10,"latency_p99_ns":20,"latency_mean_ns":11.5},
"randwrite":{"ios":300,"errors":{"EIO":2},"latency_p50_ns":30,"latency_p99_ns":40,"latency_mean_ns":31.5}},
"cpu":{"user_s":0.1,"system_s":0.2,"per_io_us":1.5},"engine":{"backend":"io_uring"}}"#
            .replace(",\n\"", ",\"")
            .replace("{\n\"", "{\"");
        let figures = parse(&text).unwrap();
        assert_eq!((figures.ios, figures.iops, figures.errors), (1000, 500.0, 2));
        assert_eq!(figures.latency_p50_ns, Some(10.0));
        assert_eq!(figures.backend.as_deref(), Some("io_uring"));
    }

    #[test]
    fn a_load_without_a_summary_or_without_an_io_is_no_figure() {
        assert!(parse("error: no such file").unwrap_err().contains("no summary"));
        let empty = r#"{"event":"summary","duration_ns":5,"ended_by":"errors","operations":{"read":{"ios":0}}}"#;
        assert!(parse(empty).unwrap_err().contains("errors"));
    }
}
