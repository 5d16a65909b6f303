//! Writes to a device in runs: `writes N bytes N runs N dropped N`, or `absent: WHY`.

use super::ids::WRITE_RUNS;
use crate::probe::{NamedDevice, Probe, Reading, Source};
use crate::step::{Action, Step};
use crate::{ABSENT, ParseError, Parsed};

const FIELDS: [&str; 4] = ["writes", "bytes", "runs", "dropped"];
const FORM: &str = "not 'writes N bytes N runs N dropped N'";
/// The event of a request that goes to the device, merged and in the order that the scheduler gave it.
const EVENT: &str = "block:block_rq_issue";
/// Interval at which the kernel's buffers are emptied, milliseconds.
const EVERY_MS: u64 = 250;

/// Id of the probe of a device.
pub(super) fn probe_id(device: &str) -> String {
    format!("{WRITE_RUNS}.{device}")
}

/// Returns the step that records the writes to a device, in the run with this tag, and the probe that reads them.
pub fn record_writes(device: &NamedDevice, run_tag: &str) -> (Step, Probe) {
    let instance = format!("fathom_{run_tag}_writes_{}", device.name);
    let step = Step {
        about: format!("record the writes to {}", device.name),
        action: Action::Trace {
            instance: instance.clone(),
            event: EVENT.into(),
            writes_to: Some(device.path.clone()),
        },
        undo: vec![Action::Untrace { instance: instance.clone() }],
        deadline_s: 10,
    };
    let probe = Probe {
        id: probe_id(&device.name),
        source: Source::WriteRuns { instance },
        parser: WRITE_RUNS.into(),
        every_ms: EVERY_MS,
        reading: Reading::Edge,
    };
    (step, probe)
}

/// The four numbers; where they are not known, `None` with the reason under [`ABSENT`].
pub(crate) fn parse_write_runs(text: &str) -> Result<Parsed, ParseError> {
    let mut parsed = Parsed::default();
    let line = text.trim();
    if let Some(why) = line.strip_prefix("absent: ") {
        parsed.texts.insert(ABSENT.to_owned(), why.to_owned());
        parsed.numbers.extend(FIELDS.map(|field| (field.to_owned(), None)));
        return Ok(parsed);
    }
    let words: Vec<&str> = line.split(' ').collect();
    for (place, field) in FIELDS.into_iter().enumerate() {
        let number = match words.get(2 * place..2 * place + 2) {
            Some([name, number]) if *name == field => number.parse::<u64>().ok(),
            _ => None,
        };
        let number = number.ok_or_else(|| ParseError::form(WRITE_RUNS, FORM, line))?;
        parsed.numbers.insert(field.to_owned(), Some(number as f64));
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn counts_are_numbers_and_absent_ones_none_with_their_reason() {
        let numbers = parse_write_runs("writes 9 bytes 36864 runs 2 dropped 0\n").unwrap().numbers;
        assert_eq!((numbers["writes"], numbers["runs"]), (Some(9.0), Some(2.0)));
        let absent = parse_write_runs("absent: tracefs is not mounted\n").unwrap();
        assert_eq!(absent.numbers["runs"], None);
        assert_eq!(absent.texts[ABSENT], "tracefs is not mounted");
        for text in ["", "writes 9", "writes 9 bytes many runs 2 dropped 0", "runs 1 writes 2"] {
            assert!(parse_write_runs(text).is_err(), "{text}");
        }
    }
}
