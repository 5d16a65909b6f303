//! Plain calls as a contestant: `fathom bench floor`, which does nothing but read.

use serde_json::Value;

use crate::Said;
use crate::case::{Access, Case};
use crate::child::Line;
use crate::ours::Fathom;
use crate::target::Target;

impl Fathom {
    /// The command line of plain calls that read what `case` reads, in its order, from as many threads as it has I/Os in flight.
    /// Without `millis` a single call, to know what starting costs.
    pub fn floor(&self, target: &Target, case: &Case, millis: Option<u64>) -> Line {
        let path = target.path.clone().unwrap_or_default();
        let mut arguments = ["bench".into(), "floor".into(), path].to_vec();
        let mut add = |name: &str, value: String| arguments.extend([name.to_owned(), value]);
        add("--size", target.size.to_string());
        add("--threads", case.depth.to_string());
        if let Some(millis) = millis {
            add("--duration", format!("{millis}ms"));
        }
        if case.access == Access::Sequential {
            arguments.push("--sequential".into());
        }
        if !target.direct {
            arguments.push("--buffered".into());
        }
        Line::new(&self.program, arguments)
    }
}

/// Reads what `fathom bench floor` prints.
pub fn parse(text: &str) -> Result<Said, String> {
    let value: Value = serde_json::from_str(text.trim()).map_err(|error| error.to_string())?;
    let number = |key: &str| value[key].as_u64().filter(|&n| n > 0);
    let (ios, duration_ns) = number("ios").zip(number("duration_ns")).ok_or("it has no reads")?;
    let iops = ios as f64 / (duration_ns as f64 / 1e9);
    Ok(Said { ios, iops, duration_ns, backend: Some("pread".into()), ..Said::default() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_names_what_the_case_reads_and_what_it_prints_is_read() {
        let fathom = Fathom { program: "/bin/fathom".into() };
        let target = Target::example();
        let case = Case { access: Access::Sequential, ..Case::example(&target) };
        assert_eq!(
            fathom.floor(&target, &case, Some(700)).to_string(),
            "/bin/fathom bench floor /dev/loop0 --size 268435456 --threads 32 --duration 700ms --sequential"
        );
        let said = parse("{\"ios\": 500, \"duration_ns\": 250000000}\n").unwrap();
        assert_eq!((said.ios, said.iops, said.latency_mean_ns), (500, 2000.0, None));
        for text in ["", "{}", "{\"ios\": 0, \"duration_ns\": 5}"] {
            assert!(parse(text).is_err(), "{text}");
        }
    }
}
