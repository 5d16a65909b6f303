//! The floor of a comparison: `fathom-bench floor`, a program that makes the same I/O calls as the engine and does nothing else.

use serde_json::Value;

use crate::ReportedFigures;
use crate::case::{Access, Case, Mix};
use crate::child::Line;
use crate::fathom_contestant::Fathom;
use crate::target::Target;

/// The backend that makes plain calls, one from each thread.
pub const PLAIN: &str = "sync";
/// The backend that keeps a ring at its depth.
pub const RING: &str = "io_uring";

/// Returns the backend whose calls the floor makes if the engine uses `backend`; `None` if the floor cannot make these calls.
pub fn backend_of(backend: &str) -> Option<&str> {
    [PLAIN, RING, "libaio"].contains(&backend).then_some(backend)
}

/// Returns the name that tables give to a floor that makes the calls of `backend`.
pub fn title(backend: &str) -> &'static str {
    match backend {
        RING => "an io_uring kept at its depth",
        "libaio" => "libaio's queue kept at its depth",
        _ => "plain calls alone",
    }
}

impl Fathom {
    /// Returns the command line of the floor that does the I/Os of `case` by `backend`, in the same order and with as many in flight. Without
    /// `millis` it makes only a first call, to measure the cost of starting.
    pub fn floor(&self, target: &Target, case: &Case, backend: &str, millis: Option<u64>) -> Line {
        let path = target.path.clone().unwrap_or_default();
        let mut arguments = ["floor".into(), path].to_vec();
        let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
        add("--size", target.size.to_string());
        add("--backend", backend.to_owned());
        add("--depth", case.depth.to_string());
        if let Some(millis) = millis {
            add("--duration", format!("{millis}ms"));
        }
        if case.access == Access::Sequential {
            arguments.push("--sequential".into());
        }
        if !target.direct {
            arguments.push("--buffered".into());
        }
        if case.mix == Mix::Writes {
            arguments.extend(["--write".into(), "--destroy-data".into()]);
        }
        Line::new(&self.program, arguments)
    }
}

/// Reads what `fathom-bench floor` prints.
pub fn parse(text: &str) -> Result<ReportedFigures, String> {
    let value: Value = serde_json::from_str(text.trim()).map_err(|error| error.to_string())?;
    let number = |key: &str| value[key].as_u64().filter(|&n| n > 0);
    let (ios, duration_ns) = number("ios").zip(number("duration_ns")).ok_or("it has no I/Os")?;
    let iops = ios as f64 / (duration_ns as f64 / 1e9);
    let backend = value["backend"].as_str().map(str::to_owned);
    Ok(ReportedFigures { ios, iops, duration_ns, backend, ..ReportedFigures::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_what_the_case_does_and_what_it_prints_is_read() {
        let fathom = Fathom { program: "/bin/fathom-bench".into() };
        let target = Target::example();
        let case = Case { access: Access::Sequential, ..Case::example(&target) };
        assert_eq!(
            fathom.floor(&target, &case, RING, Some(700)).to_string(),
            "/bin/fathom-bench floor /dev/loop0 --size 268435456 --backend io_uring --depth 32 --duration 700ms \
             --sequential"
        );
        let writes = Case { mix: Mix::Writes, ..case };
        let line = fathom.floor(&target, &writes, PLAIN, None).to_string();
        assert!(line.ends_with("--backend sync --depth 32 --sequential --write --destroy-data"));
        let figures =
            parse("{\"backend\":\"io_uring\",\"ios\":500,\"duration_ns\":250000000}\n").unwrap();
        assert_eq!((figures.ios, figures.iops, figures.latency_mean_ns), (500, 2000.0, None));
        assert_eq!(figures.backend.as_deref(), Some(RING));
        for text in ["", "{}", "{\"ios\": 0, \"duration_ns\": 5}"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
