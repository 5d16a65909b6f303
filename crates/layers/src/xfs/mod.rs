//! `xfs`: an XFS file system, mounted in a directory of its own.

use std::collections::BTreeMap;

use results::model::LayerFigures;
use toml::Table;
use units::{Basis, Better, Bytes, Metric, Test, Unit};

use crate::figures::{FigureFacts, ratio};
use crate::key::Key;
use crate::kind::{ActionKind, FillLevel, Kind, LayerNeeds, Parser};
use crate::layer::{ActionPlan, Asked, Layer, Offer, Place, RaisePlan};
use crate::probe::{Probe, Reading, Source};
use crate::settings::{SettingError, Settings, on_off};
use crate::step::{Action, Mark, Step};
use crate::{ParseError, Parsed};

/// Parser of [`Source::Space`]: numbers `blocks`, `free`, `size`.
const STATFS: &str = "filesystem.statfs";
/// The smallest device that mkfs.xfs takes (xfsprogs 5.19 and newer).
const SMALLEST: u64 = 300 << 20;

/// The place of the UUID in the superblock, which is the first thing on the device.
const UUID_AT: u64 = 32;

const KEYS: &[Key] = &[
    Key {
        name: "reflink",
        default: "on",
        allowed: "on or off",
        example: "false",
        help: "Whether files can share blocks.",
    },
    Key {
        name: "discard",
        default: "off",
        allowed: "on or off",
        example: "true",
        help: "Whether freed space is discarded at once (mount option discard).",
    },
];

const METRICS: &[Metric] = &[
    Metric {
        id: "filesystem_used_bytes",
        name: "space used",
        unit: Unit::Bytes,
        better: Better::Lower,
        basis: Basis::Level,
        test: Test::Paired,
        help: "Space that the file system counts as used, its own metadata included.",
    },
    Metric {
        id: "filesystem_used_percent",
        name: "share used",
        unit: Unit::Percent,
        better: Better::Neither,
        basis: Basis::Level,
        test: Test::Paired,
        help: "Space that is used, of all that the file system has.",
    },
];

pub(crate) const KIND: Kind = Kind {
    keys: KEYS,
    parsers: &[Parser { id: STATFS, read: parse_statfs }],
    recorded: &[(STATFS, include_str!("recorded/statfs"))],
    metrics: METRICS,
    fills: &[FillLevel { of: "file system", metric: "filesystem_used_percent", part: None }],
    actions: &[ActionKind {
        name: "grow",
        about: "Grows the file system to all of the device under it, which has grown before.",
        keys: &[],
        alone: true,
        loses: false,
        part: None,
    }],
    offers_files: true,
    needs: LayerNeeds {
        packages: &["xfsprogs"],
        modules: &["xfs"],
        tools: &["mkfs.xfs", "xfs_growfs"],
        by_hand: &[],
        guest_files: &[],
    },
    figures,
    ..Kind::new(
        "xfs",
        "An XFS file system: loads go to files in it, commands work in it.",
        include_str!("manual.md"),
        |table| Ok(Box::new(Xfs::read(table)?)),
    )
};

/// An XFS file system.
struct Xfs {
    reflink: bool,
    discard: bool,
}

impl Xfs {
    fn read(table: &Table) -> Result<Self, SettingError> {
        let s = Settings::new(KIND.name, table, KEYS)?;
        Ok(Self { reflink: s.switch("reflink", true)?, discard: s.switch("discard", false)? })
    }
}

impl Layer for Xfs {
    fn settings(&self) -> BTreeMap<String, String> {
        let entries = [("reflink", self.reflink), ("discard", self.discard)];
        entries.into_iter().map(|(key, on)| (key.to_owned(), on_off(on))).collect()
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        let (device, bytes) = at.block("data");
        if bytes < SMALLEST {
            return Err(SettingError::new(
                "on",
                format!("a device of {} is too small for layer 'xfs'", Bytes(bytes)),
                "mkfs.xfs needs 300M: take a larger device",
            ));
        }
        let directory = at.mount_directory();
        let uuid = at.uuid();
        let metadata = format!("reflink={},uuid={}", u8::from(self.reflink), hyphened(uuid));
        // Blocks of a new file system are not discarded: the device is empty already.
        let argv = ["mkfs.xfs", "-f", "-q", "-K", "-m", &metadata, device];
        let make = Step {
            about: "make the XFS file system".into(),
            action: Action::Command { argv: argv.map(str::to_owned).to_vec(), may_fail: false },
            // A signature that stayed would make the next run refuse the device.
            undo: vec![Action::Wipe {
                device: device.to_owned(),
                mark: Some(Mark { at: UUID_AT, bytes: uuid.to_vec() }),
            }],
            deadline_s: 120,
        };
        let mount = Step {
            about: "mount the XFS file system".into(),
            action: Action::Mount {
                device: device.to_owned(),
                directory: directory.clone(),
                filesystem: "xfs".into(),
                options: if self.discard { "discard".into() } else { String::new() },
            },
            undo: vec![Action::Unmount {
                directory: directory.clone(),
                device: Some(device.to_owned()),
            }],
            deadline_s: 120,
        };
        Ok(RaisePlan {
            up: vec![make, mount],
            nodes: Vec::new(),
            probes: vec![Probe {
                id: format!("{}.statfs", at.name),
                source: Source::Space { path: directory.clone() },
                parser: STATFS.into(),
                every_ms: 1000,
                reading: Reading::Edge,
            }],
            ready: Vec::new(),
            settle: vec![Step {
                about: "write out what the file system holds in memory".into(),
                action: Action::Flush { device: directory.clone() },
                undo: Vec::new(),
                deadline_s: 600,
            }],
            offer: Offer::Directory { path: directory, bytes },
            allocate: None,
            memory_bytes: 64 << 20,
            computed: Vec::new(),
        })
    }

    fn act(&self, at: &Place, _: &Asked) -> Result<ActionPlan, SettingError> {
        Ok(grow(at))
    }
}

/// A UUID as people and tools write it.
fn hyphened(uuid: [u8; 16]) -> String {
    let hex: String = uuid.iter().map(|byte| format!("{byte:02x}")).collect();
    [&hex[..8], &hex[8..12], &hex[12..16], &hex[16..20], &hex[20..]].join("-")
}

/// The steps that grow the file system.
fn grow(at: &Place) -> ActionPlan {
    let argv = vec!["xfs_growfs".to_owned(), at.mount_directory()];
    let step = Step {
        about: "grow the file system to all of its device".into(),
        action: Action::Command { argv, may_fail: false },
        undo: Vec::new(),
        deadline_s: 600,
    };
    ActionPlan { steps: vec![step], bytes: Some(at.block("data").1) }
}

/// A line `blocks N free N size N`.
fn parse_statfs(text: &str) -> Result<Parsed, ParseError> {
    let words: Vec<&str> = text.split_whitespace().collect();
    let mut parsed = Parsed::default();
    for pair in words.chunks(2) {
        let number = pair.get(1).and_then(|word| word.parse::<u64>().ok());
        let number = number.ok_or_else(|| ParseError::form(STATFS, "no number", text))?;
        parsed.numbers.insert(pair[0].to_owned(), Some(number as f64));
    }
    match ["blocks", "free", "size"].iter().all(|name| parsed.numbers.contains_key(*name)) {
        true => Ok(parsed),
        false => Err(ParseError::form(STATFS, "not 'blocks N free N size N'", text)),
    }
}

fn figures(facts: &FigureFacts) -> LayerFigures {
    let end = |field: &str| facts.ends("statfs").and_then(|ends| ends.end(field));
    let used = || Some((end("blocks")? - end("free")?) * end("size")?);
    let percent = || Some(100.0 * (1.0 - ratio(end("free"), end("blocks"))?));
    LayerFigures::from([
        ("filesystem_used_bytes".to_owned(), used()),
        ("filesystem_used_percent".to_owned(), percent()),
    ])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::on_device;

    fn raised(text: &str, bytes: u64) -> Result<RaisePlan, SettingError> {
        let inputs = on_device("{device.data}", bytes);
        let at = Place { name: "fs", run_tag: "0badcafe", inputs: &inputs };
        (KIND.parse)(&text.parse().unwrap()).unwrap().raise(&at)
    }

    #[test]
    fn it_is_mounted_where_the_run_can_be_told_by_the_name_and_unmounted_again() {
        let raised = raised("reflink = false\ndiscard = true", 1 << 30).unwrap();
        let shown: Vec<_> = raised.up.iter().map(|step| step.action.show()).collect();
        let made = "mkfs.xfs -f -q -K -m reflink=0,uuid=0badcafe-666d-8072-";
        assert!(shown[0].starts_with(made) && shown[0].ends_with(" {device.data}"), "{}", shown[0]);
        assert!(shown[1].contains("mount -t xfs -o discard {device.data} /run/fathom_0badcafe_fs"));
        assert_eq!(raised.up[1].undo.len(), 1);
        let directory = Offer::Directory { path: "/run/fathom_0badcafe_fs".into(), bytes: 1 << 30 };
        assert_eq!(raised.offer, directory);
    }

    #[test]
    fn a_device_that_is_too_small_is_refused() {
        let error = raised("", 200 << 20).unwrap_err();
        assert!(error.message.contains("200 MiB") && error.help.contains("300M"), "{error:?}");
    }

    #[test]
    fn only_a_whole_line_of_statfs_is_read() {
        assert_eq!(parse_statfs("blocks 9 free 4 size 4096\n").unwrap().numbers["free"], Some(4.0));
        for text in ["", "blocks 9", "blocks x free 4 size 1", "blocks 9 free"] {
            assert!(parse_statfs(text).is_err(), "{text}");
        }
    }
}
