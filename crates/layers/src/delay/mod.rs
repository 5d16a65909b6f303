//! `delay`: a device whose I/Os wait before they are passed on: dm-delay, a tool for tests and experiments.

use std::collections::BTreeMap;

use toml::Table;
use units::Metric;

use crate::counter::counters;
use crate::dm::SECTOR;
use crate::key::Values::{Described, Number};
use crate::key::{Key, keys};
use crate::kind::{Chart, Kind, Parser, Series};
use crate::layer::{Layer, Place, RaisePlan, Restart};
use crate::on_purpose::{Node, RULES, needs};
use crate::probe::{Probe, Source};
use crate::settings::{SettingError, Settings};
use crate::{ParseError, Parsed};

/// Its word in an experiment.
const NAME: &str = "delay";
/// Parser of its status line: I/Os that wait.
const STATUS: &str = "delay.status";
/// Parser of its table line: each setting as text.
const TABLE: &str = "delay.table";

/// Classes of I/Os with separate delays: the setting, and the name in the status line.
const CLASSES: [(&str, &str); 3] =
    [("read_delay_ms", "reads"), ("write_delay_ms", "writes"), ("flush_delay_ms", "flushes")];
/// The longest wait, milliseconds.
const LONGEST_MS: u32 = 60_000;

const KEYS: &[Key] = keys! {
    CLASSES[0].0, Number(10, (0, LONGEST_MS), ["milliseconds,", ""]), "Time that each read waits before the device gets it.";
    CLASSES[1].0, Number(10, (0, LONGEST_MS), ["milliseconds,", ""]), "Time that each write waits.";
    CLASSES[2].0, Described(["that of writes", "milliseconds, from 0 to 60000", "0"]), "Time that each flush waits.";
};

/// Every number of the status line.
const COUNTERS: &[&[Metric]] = &[counters! { "status":
    "reads", Count, Level, "Reads that wait.";
    "writes", Count, Level, "Writes that wait.";
    "flushes", Count, Level, "Flushes that wait.";
}];

const CHARTS: &[Chart] = &[Chart {
    id: "waiting",
    title: "I/Os that are held back on purpose",
    help: "Requests that wait for their delay to end, at the moment of each reading.",
    series: &[
        Series { probe: "status", field: "reads", label: "reads" },
        Series { probe: "status", field: "writes", label: "writes" },
        Series { probe: "status", field: "flushes", label: "flushes" },
    ],
    unit: units::Unit::Count,
    rate: false,
}];

pub(crate) const KIND: Kind = Kind {
    keys: KEYS,
    parsers: &[Parser { id: STATUS, read: parse_status }, Parser { id: TABLE, read: parse_table }],
    recorded: &[(STATUS, include_str!("recorded/status")), (TABLE, include_str!("recorded/table"))],
    refuses_nowait: true,
    charts: CHARTS,
    counters: COUNTERS,
    needs: needs(&["dm-mod", "dm-delay"]),
    rules: RULES,
    ..Kind::new(
        NAME,
        "A device made slow on purpose, for tests and experiments: each I/O waits before it is handed on (dm-delay).",
        include_str!("manual.md"),
        |table| Ok(Box::new(Setup::read(table)?)),
    )
};

/// Milliseconds that reads, writes and flushes wait.
struct Setup([u32; CLASSES.len()]);

impl Setup {
    fn read(table: &Table) -> Result<Self, SettingError> {
        let s = Settings::new(NAME, table, KEYS)?;
        let (read, write) = (s.number(CLASSES[0].0)?, s.number(CLASSES[1].0)?);
        let flush = s.number_or(CLASSES[2].0, write, |ms| *ms <= LONGEST_MS)?;
        Ok(Self([read, write, flush]))
    }

    fn texts(&self) -> impl Iterator<Item = (&'static str, String)> {
        CLASSES.iter().zip(self.0).map(|((key, _), ms)| (*key, ms.to_string()))
    }

    fn node<'a>(&self, at: &Place<'a>) -> Node<'a> {
        let (device, bytes) = at.block("data");
        let classes = self.0.map(|ms| format!(" {device} 0 {ms}")).concat();
        Node {
            at: *at,
            table: format!("0 {} delay{classes}", bytes / SECTOR),
            parser: TABLE,
            wanted: self.texts().collect(),
        }
    }
}

impl Layer for Setup {
    fn settings(&self) -> BTreeMap<String, String> {
        self.texts().map(|(key, value)| (key.to_owned(), value)).collect()
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        let status = Source::DmStatus { node: at.tagged() };
        let probes = vec![Probe::each_second(at.name, "status", status, STATUS)];
        Ok(RaisePlan { probes, ..self.node(at).raise() })
    }

    fn restart(&self, at: &Place) -> Option<Restart> {
        Some(self.node(at).again())
    }
}

/// A status line, `START SECTORS delay READS WRITES FLUSHES`.
fn parse_status(text: &str) -> Result<Parsed, ParseError> {
    let wrong = |what| ParseError::form(STATUS, what, text);
    let (_, rest) = text.split_once(" delay ").ok_or_else(|| wrong("no target 'delay'"))?;
    let mut words = rest.split_whitespace();
    let mut parsed = Parsed::default();
    for (_, field) in CLASSES {
        let word = words.next().ok_or_else(|| wrong("fewer than 3 numbers"))?;
        let number = word.parse::<u32>().map_err(|_| wrong("no number"))?;
        parsed.numbers.insert(field.to_owned(), Some(f64::from(number)));
    }
    Ok(parsed)
}

/// A table line, `START SECTORS delay [DEVICE OFFSET MILLISECONDS]` for reads, writes and flushes.
fn parse_table(text: &str) -> Result<Parsed, ParseError> {
    let wrong = |what| ParseError::form(TABLE, what, text);
    let (_, rest) = text.split_once(" delay ").ok_or_else(|| wrong("no target 'delay'"))?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let mut parsed = Parsed::default();
    for (at, (key, _)) in CLASSES.iter().enumerate() {
        let ms = words.get(3 * at + 2).ok_or_else(|| wrong("fewer than 9 words"))?;
        parsed.texts.insert((*key).to_owned(), (*ms).to_owned());
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::on_device;

    #[test]
    fn what_waits_and_how_long_are_read_and_other_lines_are_refused() {
        let numbers = parse_status("0 8 delay 3 0 1").unwrap().numbers;
        assert_eq!((numbers["reads"], numbers["flushes"]), (Some(3.0), Some(1.0)));
        let line = "0 8 delay 254:0 0 30 254:0 0 5 254:0 0 0";
        let texts = parse_table(line).unwrap().texts;
        let found = CLASSES.map(|(key, _)| texts[key].as_str());
        assert_eq!(found, ["30", "5", "0"]);
        for text in ["", "0 8 linear 8:0 2048", "0 8 delay 254:0 0 30", "0 8 delay a b c"] {
            assert!(parse_status(text).is_err() && parse_table(text).is_err(), "{text}");
        }
    }

    #[test]
    fn each_class_waits_its_own_time_and_what_cannot_be_is_refused() {
        let inputs = on_device("{device.data}", 1 << 30);
        let at = Place { name: "d", run_tag: "0badcafe", inputs: &inputs };
        let raised = |text: &str| Setup::read(&text.parse().unwrap())?.raise(&at);
        let up = raised("read_delay_ms = 30\nwrite_delay_ms = 5").unwrap().up;
        assert_eq!(
            up[0].action.show(),
            "dmsetup create fathom_0badcafe_d --table '0 2097152 delay {device.data} 0 30 {device.data} 0 5 \
             {device.data} 0 5'"
        );
        assert_eq!(up[0].undo[0].show(), "dmsetup remove --retry fathom_0badcafe_d");
        assert!(up[1].action.show().starts_with("wait until read_delay_ms is 30"));
        let error = raised("read_delay_ms = 60001").unwrap_err();
        assert!(error.key == "read_delay_ms" && error.help.contains("0 to 60000"), "{error:?}");
    }
}
