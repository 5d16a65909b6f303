//! CPU time of the whole machine, from the first line of `/proc/stat`.

use super::ids::{CPU, TICK_S};
use crate::{ParseError, Parsed};

/// Names of the columns after `cpu`, in their order (proc(5)).
const COLUMNS: [&str; 8] =
    ["user_s", "nice_s", "system_s", "idle_s", "iowait_s", "irq_s", "softirq_s", "steal_s"];

/// CPU seconds since boot by column, all CPUs together.
pub(crate) fn parse_cpu(text: &str) -> Result<Parsed, ParseError> {
    let line = text
        .lines()
        .find_map(|line| line.strip_prefix("cpu "))
        .ok_or_else(|| ParseError::form(CPU, "no line 'cpu'", text))?;
    let mut parsed = Parsed::default();
    for (name, word) in COLUMNS.iter().zip(line.split_whitespace()) {
        let ticks: u64 = word.parse().map_err(|_| ParseError::form(CPU, "no number", word))?;
        parsed.numbers.insert((*name).to_owned(), Some(ticks as f64 * TICK_S));
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_line_is_all_cpus_together() {
        let text = "cpu  225 0 150 99000 12 0 3 0 0 0\ncpu0 1 1 1 1 1 1 1 1 0 0\nintr 1\n";
        let parsed = parse_cpu(text).unwrap();
        assert_eq!(parsed.numbers["user_s"], Some(2.25));
        assert_eq!(parsed.numbers["idle_s"], Some(990.0));
        assert_eq!(parsed.numbers.len(), 8);
        assert!(parse_cpu("cpu0 1 2").is_err());
        assert!(parse_cpu("cpu  1 x").is_err());
    }
}
