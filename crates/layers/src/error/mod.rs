//! `error`: a device with a range that fails: dm-error and dm-flakey, a tool for tests and experiments.

use std::collections::BTreeMap;

use toml::Table;
use units::Bytes;

use crate::dm::SECTOR;
use crate::key::Values::{Described, OneOf, Size};
use crate::key::{Key, keys};
use crate::kind::{Kind, Parser};
use crate::layer::{Layer, Place, RaisePlan, Restart};
use crate::on_purpose::{Node, RULES, needs};
use crate::settings::{SettingError, Settings, size_text};
use crate::{ParseError, Parsed};

/// Its word in an experiment.
const NAME: &str = "error";
/// Parser of its table: each setting as text.
const TABLE: &str = "error.table";

/// The unit of the range, bytes.
const BLOCK: u64 = 4096;
const FAILURES: [&str; 3] = ["all", "reads", "writes"];

const KEYS: &[Key] = keys! {
    "from", Described(["the middle of the device", "a size in multiples of 4k", "\"16M\""]), "Start of the range that fails.";
    "length", Size(1 << 20, ["a size in multiples of 4k, from 4k on", "\"64k\""]), "Length of the range that fails.";
    "fails", OneOf(&FAILURES), "What fails in the range.";
};

pub(crate) const KIND: Kind = Kind {
    keys: KEYS,
    parsers: &[Parser { id: TABLE, read: parse_table }],
    recorded: &[(TABLE, include_str!("recorded/table"))],
    refuses_nowait: true,
    needs: needs(&["dm-mod", "dm-flakey"]),
    rules: RULES,
    ..Kind::new(
        NAME,
        "A device made faulty on purpose, for tests and experiments: a range of it fails (dm-error).",
        include_str!("manual.md"),
        |table| Ok(Box::new(Setup::read(table)?)),
    )
};

struct Setup {
    from: Option<u64>,
    length: u64,
    fails: String,
}

impl Setup {
    fn read(table: &Table) -> Result<Self, SettingError> {
        let s = Settings::new(NAME, table, KEYS)?;
        let setup =
            Self { from: s.size("from")?, length: s.bytes("length")?, fails: s.word("fails")? };
        for (key, value, least) in
            [("from", setup.from.unwrap_or(0), 0), ("length", setup.length, BLOCK)]
        {
            if !value.is_multiple_of(BLOCK) || value < least {
                let message = format!("{key} of layer 'error' cannot be {}", size_text(value));
                let nearest = size_text((value.next_multiple_of(BLOCK)).max(least));
                let help = format!("write a multiple of 4k, such as {key} = \"{nearest}\"");
                return Err(SettingError::new(key, message, help));
            }
        }
        Ok(setup)
    }

    /// The start of the range on a device of `bytes`.
    fn start(&self, bytes: u64) -> u64 {
        self.from.unwrap_or(bytes / 2 / BLOCK * BLOCK)
    }

    fn validate(&self, bytes: u64) -> Result<(), SettingError> {
        let (start, length) = (self.start(bytes), self.length);
        if start.checked_add(length).is_some_and(|end| end <= bytes) {
            return Ok(());
        }
        let message = format!(
            "a range of {} from {} on does not fit on a device of {}",
            size_text(length),
            size_text(start),
            Bytes(bytes)
        );
        let room = bytes.saturating_sub(start) / BLOCK * BLOCK;
        Err(if room == 0 {
            let help = format!("write from below \"{}\"", size_text(bytes / BLOCK * BLOCK));
            SettingError::new("from", message, help)
        } else {
            let help = format!("write length = \"{}\" or less", size_text(room));
            SettingError::new("length", message, help)
        })
    }

    fn node<'a>(&self, at: &Place<'a>) -> Node<'a> {
        let (device, bytes) = at.block("data");
        let (all, from, length) =
            (bytes / SECTOR, self.start(bytes) / SECTOR, self.length / SECTOR);
        // A flakey device that is never up can fail reads alone, or writes alone.
        let failing = match self.fails.as_str() {
            "all" => format!("{from} {length} error"),
            sort => format!("{from} {length} flakey {device} {from} 0 1 1 error_{sort}"),
        };
        let end = from + length;
        let before = (from > 0).then(|| format!("0 {from} linear {device} 0"));
        let after = (end < all).then(|| format!("{end} {} linear {device} {end}", all - end));
        let lines: Vec<String> = before.into_iter().chain([failing]).chain(after).collect();
        let wanted = [
            ("from", size_text(self.start(bytes))),
            ("length", size_text(self.length)),
            ("fails", self.fails.clone()),
        ];
        Node { at: *at, table: lines.join("\n"), parser: TABLE, wanted: wanted.into() }
    }
}

impl Layer for Setup {
    fn settings(&self) -> BTreeMap<String, String> {
        [
            ("from", self.from.map_or_else(|| "middle".to_owned(), size_text)),
            ("length", size_text(self.length)),
            ("fails", self.fails.clone()),
        ]
        .map(|(key, value)| (key.to_owned(), value))
        .into()
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        self.validate(at.block("data").1)?;
        Ok(self.node(at).raise())
    }

    fn restart(&self, at: &Place) -> Option<Restart> {
        Some(self.node(at).again())
    }
}

/// Reads the lines of a table; one line is `START SECTORS error` or a flakey line that is never up.
fn parse_table(text: &str) -> Result<Parsed, ParseError> {
    let wrong = |what| ParseError::form(TABLE, what, text);
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let fails = |line: &[&str]| matches!(line.get(2), Some(&("error" | "flakey")));
    let failing = lines.into_iter().find(|line| fails(line));
    let failing = failing.ok_or_else(|| wrong("no target 'error' or 'flakey'"))?;
    let size = |at: usize| {
        let sectors = failing.get(at).and_then(|word| word.parse::<u64>().ok());
        sectors.map(|sectors| size_text(sectors * SECTOR)).ok_or_else(|| wrong("no number"))
    };
    let sort = match (failing.contains(&"error_reads"), failing.contains(&"error_writes")) {
        (true, false) => "reads",
        (false, true) => "writes",
        _ => "all",
    };
    let mut parsed = Parsed::default();
    for (key, value) in [("from", size(0)?), ("length", size(1)?), ("fails", sort.to_owned())] {
        parsed.texts.insert(key.to_owned(), value);
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::on_device;

    #[test]
    fn the_range_that_fails_lies_between_what_works_and_is_found_in_the_table() {
        let inputs = on_device("254:0", 1 << 20);
        let at = Place { name: "e", run_tag: "0badcafe", inputs: &inputs };
        let node = |text: &str| Setup::read(&text.parse().unwrap()).unwrap().node(&at);
        let middle = node("length = \"4k\"");
        assert_eq!(
            middle.table,
            "0 1024 linear 254:0 0\n1024 8 error\n1032 1016 linear 254:0 1032"
        );
        let whole = node("from = 0\nfails = \"reads\"");
        assert_eq!(whole.table, "0 2048 flakey 254:0 0 0 1 1 error_reads");
        for node in [middle, whole, node("from = 8192\nlength = \"64k\"\nfails = \"writes\"")] {
            let texts = parse_table(&node.table).unwrap().texts;
            assert!(node.wanted.iter().all(|(key, value)| texts[*key] == *value), "{texts:?}");
        }
        assert!(parse_table("0 8 linear 8:0 0").is_err());
    }

    #[test]
    fn a_range_that_is_not_there_names_its_key_and_a_remedy() {
        let inputs = on_device("{device.data}", 1 << 20);
        let at = Place { name: "e", run_tag: "0badcafe", inputs: &inputs };
        for (text, key, remedy) in [
            ("from = 1000", "from", "\"4k\""),
            ("length = 0", "length", "\"4k\""),
            ("from = \"2M\"", "from", "below \"1M\""),
            ("length = \"600k\"", "length", "\"512k\" or less"),
        ] {
            let read = Setup::read(&text.parse().unwrap());
            let error = read.and_then(|setup| setup.raise(&at)).expect_err(text);
            assert!(error.key == key && error.help.contains(remedy), "{text}: {error:?}");
        }
    }
}
