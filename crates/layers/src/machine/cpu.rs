//! CPU time of the whole machine, from `/proc/stat`.

use results::model::LayerFigures;

use super::ids::{CPU, TICK_S};
use crate::figures::Window;
use crate::{ParseError, Parsed};

/// Returns CPU seconds of the machine in a window: `busy_s`, the time of all CPUs except the time in which they were idle or the machine's host used
/// them for others (steal), and `ticks_s`, the time that clock ticks charged to some task. Idle time is read from the clock (`get_cpu_idle_time_us`);
/// charged time is sampled by ticks, and an emulated CPU loses many ticks.
pub fn machine_figures(window: &Window) -> LayerFigures {
    let grew = |names: &[&str]| {
        let ends = window.ends(CPU)?;
        names.iter().map(|name| ends.growth(name)).sum::<Option<f64>>()
    };
    let cpus = window.ends(CPU).and_then(|ends| ends.end(CPUS));
    let all = window.seconds(CPU).zip(cpus).map(|(seconds, cpus)| seconds * cpus);
    let unused = grew(&["idle_s", "iowait_s", "steal_s"]);
    let busy = all.zip(unused).map(|(all, unused)| (all - unused).max(0.0));
    let ticks = grew(&["user_s", "nice_s", "system_s", "irq_s", "softirq_s"]);
    [(BUSY, busy), (TICKS, ticks)].map(|(id, value)| (id.to_owned(), value)).into()
}

/// Figure of [`machine_figures`]: CPU seconds in which a CPU was not idle.
pub const BUSY: &str = "busy_s";
/// Figure of [`machine_figures`]: CPU seconds that clock ticks charged.
pub const TICKS: &str = "ticks_s";
/// Field with the number of CPUs.
const CPUS: &str = "cpus";

/// Names of the columns after `cpu`, in their order (proc(5)).
const COLUMNS: [&str; 8] =
    ["user_s", "nice_s", "system_s", "idle_s", "iowait_s", "irq_s", "softirq_s", "steal_s"];

/// Reads CPU seconds since boot by column, for all CPUs together, and the number of CPUs.
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
    let one = |line: &&str| {
        let number = line.strip_prefix("cpu").and_then(|rest| rest.split(' ').next());
        number.is_some_and(|number| number.parse::<u32>().is_ok())
    };
    let cpus = text.lines().filter(one).count();
    if cpus > 0 {
        parsed.numbers.insert(CPUS.to_owned(), Some(cpus as f64));
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
        assert_eq!(parsed.numbers["cpus"], Some(1.0));
        assert_eq!(parsed.numbers.len(), 9);
        assert!(parse_cpu("cpu0 1 2").is_err());
        assert!(parse_cpu("cpu  1 x").is_err());
    }

    #[test]
    fn a_cpu_that_is_not_idle_is_busy_whatever_the_ticks_have_charged() {
        let row = |at_ns: u64, mark: &str, texts: &str| {
            let fields = parse_cpu(texts).unwrap().numbers;
            let fields: Vec<_> = fields.iter().map(|(k, v)| (k.as_str(), v.unwrap())).collect();
            crate::figures::given::sample(at_ns, CPU, mark, &fields)
        };
        // Ten seconds of two CPUs: 12 s idle, 1 s waiting for I/O, 0.5 s stolen by the host; ticks charged 4 s of the other 6.5.
        let rows = [
            row(0, crate::figures::STAGE_START, "cpu  0 0 0 0 0 0 0 0\ncpu0 1\ncpu1 1\n"),
            row(
                10_000_000_000,
                crate::figures::STAGE_END,
                "cpu  100 0 300 1200 100 0 0 50\ncpu0 1\ncpu1 1\n",
            ),
        ];
        let figures = machine_figures(&Window::of_stage(&rows, 0, 10_000_000_000, u64::MAX));
        assert_eq!((figures[BUSY], figures[TICKS]), (Some(6.5), Some(4.0)));
        let nothing = machine_figures(&Window::default());
        assert_eq!((nothing[BUSY], nothing[TICKS]), (None, None));
    }
}
