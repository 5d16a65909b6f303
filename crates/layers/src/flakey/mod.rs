//! `flakey`: a device that fails from time to time: dm-flakey, a tool for tests and experiments.

use std::collections::BTreeMap;

use toml::Table;

use crate::dm::SECTOR;
use crate::key::Values::{Number, OneOf};
use crate::key::{Key, keys};
use crate::kind::{Kind, Parser};
use crate::layer::{Layer, Place, RaisePlan, Restart};
use crate::on_purpose::{Node, RULES, needs};
use crate::settings::{SettingError, Settings};
use crate::{ParseError, Parsed};

/// Its word in an experiment.
const NAME: &str = "flakey";
/// Parser of its table line: each setting as text.
const TABLE: &str = "flakey.table";

/// Ways in which I/Os fail while it is down: the setting's word, and the words in the table. Without words in the table, reads and writes fail.
const FAILURES: [(&str, &str); 4] = [
    ("all", ""),
    ("reads", " 1 error_reads"),
    ("writes", " 1 error_writes"),
    ("drop_writes", " 1 drop_writes"),
];
/// The longest interval, seconds.
const LONGEST_S: u32 = 86_400;

const KEYS: &[Key] = keys! {
    "up_s", Number(60, (0, LONGEST_S), ["seconds,", ""]), "Time for which it works, counted from when it was raised.";
    "down_s", Number(5, (0, LONGEST_S), ["seconds,", ", not both 0"]), "Time for which it fails after that, before it works again.";
    "fails", OneOf(&["all", "reads", "writes", "drop_writes"]),
        "What fails during down_s; drop_writes: writes report success and are lost.";
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
        "A device made faulty on purpose, for tests and experiments: it works and fails in turn (dm-flakey).",
        include_str!("manual.md"),
        |table| Ok(Box::new(Setup::read(table)?)),
    )
};

struct Setup {
    up_s: u32,
    down_s: u32,
    fails: String,
}

impl Setup {
    fn read(table: &Table) -> Result<Self, SettingError> {
        let s = Settings::new(NAME, table, KEYS)?;
        let setup =
            Self { up_s: s.number("up_s")?, down_s: s.number("down_s")?, fails: s.word("fails")? };
        if (setup.up_s, setup.down_s) == (0, 0) {
            return Err(SettingError::new(
                "down_s",
                "up_s and down_s of layer 'flakey' are both 0",
                "write up_s = 1 or more for a device that works, down_s = 1 or more for one that fails",
            ));
        }
        Ok(setup)
    }

    fn texts(&self) -> [(&'static str, String); 3] {
        [
            ("up_s", self.up_s.to_string()),
            ("down_s", self.down_s.to_string()),
            ("fails", self.fails.clone()),
        ]
    }

    fn node<'a>(&self, at: &Place<'a>) -> Node<'a> {
        let (device, bytes) = at.block("data");
        let failure = FAILURES.iter().find(|(word, _)| *word == self.fails);
        let failure = failure.map_or("", |(_, words)| words);
        let Self { up_s, down_s, .. } = self;
        let sectors = bytes / SECTOR;
        Node {
            at: *at,
            table: format!("0 {sectors} flakey {device} 0 {up_s} {down_s}{failure}"),
            parser: TABLE,
            wanted: self.texts().into(),
        }
    }
}

impl Layer for Setup {
    fn settings(&self) -> BTreeMap<String, String> {
        self.texts().map(|(key, value)| (key.to_owned(), value)).into()
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        Ok(self.node(at).raise())
    }

    fn restart(&self, at: &Place) -> Option<Restart> {
        Some(self.node(at).again())
    }
}

/// A table line, `START SECTORS flakey DEVICE OFFSET UP DOWN #FEATURES [FEATURE]...`.
fn parse_table(text: &str) -> Result<Parsed, ParseError> {
    let wrong = |what| ParseError::form(TABLE, what, text);
    let (_, rest) = text.split_once(" flakey ").ok_or_else(|| wrong("no target 'flakey'"))?;
    let words: Vec<&str> = rest.split_whitespace().collect();
    let [_, _, up, down, features @ ..] = &words[..] else {
        return Err(wrong("fewer than 4 words"));
    };
    let has = |word: &str| features.contains(&word);
    let fails = match (has("error_reads"), has("error_writes"), has("drop_writes")) {
        (_, _, true) => "drop_writes",
        (true, false, _) => "reads",
        (false, true, _) => "writes",
        _ => "all",
    };
    let mut parsed = Parsed::default();
    for (key, text) in [("up_s", *up), ("down_s", *down), ("fails", fails)] {
        parsed.texts.insert(key.to_owned(), text.to_owned());
    }
    Ok(parsed)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::on_device;

    #[test]
    fn each_failure_that_is_asked_for_is_found_in_the_table_that_asks_for_it() {
        let inputs = on_device("254:0", 4096);
        let at = Place { name: "f", run_tag: "0badcafe", inputs: &inputs };
        for (word, _) in FAILURES {
            let text = format!("up_s = 7\ndown_s = 3\nfails = \"{word}\"");
            let node = Setup::read(&text.parse().unwrap()).unwrap().node(&at);
            let texts = parse_table(&node.table).unwrap().texts;
            assert!(node.wanted.iter().all(|(key, value)| texts[*key] == *value), "{texts:?}");
        }
        // Written as by kernels that have a separate word for each.
        let both = "0 8 flakey 254:0 0 60 5 2 error_reads error_writes";
        assert_eq!(parse_table(both).unwrap().texts["fails"], "all");
        assert!(parse_table("0 8 flakey 254:0").is_err() && parse_table("0 8 linear").is_err());
    }

    #[test]
    fn a_device_that_neither_works_nor_fails_is_refused() {
        let read = |text: &str| Setup::read(&text.parse().unwrap()).err().unwrap();
        assert!(read("up_s = 0\ndown_s = 0").help.contains("up_s = 1 or more"));
        assert!(read("fails = \"some\"").help.contains("drop_writes"));
    }
}
