//! `btrfs`: a btrfs file system on one device, mounted in a separate directory.

mod counters;

use std::collections::BTreeMap;

use toml::Table;
use units::Bytes;

use crate::filesystem::{self, FileSystem, Flag, GROW, Options, STATFS, TRIM, keys, parse_statfs};
use crate::key::Values::{Number, OneOf, Switch};
use crate::key::{Key, keys};
use crate::kind::{Kind, LayerNeeds, Parser};
use crate::layer::{ActionPlan, ActionRequest, Layer, Place, RaisePlan, Restart};
use crate::probe::{Probe, Source};
use crate::settings::{SettingError, Settings, on_off};
use crate::standing::{Recognised, Standing};

/// The smallest device that mkfs.btrfs 6 takes, rounded up.
const SMALLEST: Bytes = Bytes(128 << 20);

/// The place of the UUID in the superblock, which begins 64 KiB from the start of the device.
const UUID_AT: u64 = (64 << 10) + 0x20;

const KEYS: &[Key] = keys! {
    "compression", OneOf(&["off", "zstd", "lzo", "zlib"]), "How data is compressed (mount option compress).";
    "compression_level", Number(3, (1, 15), ["a whole number", " for zstd, 1 to 9 for zlib"]), "The level of zstd or zlib; lzo has none.";
    "compression_force", Switch(false),
        "Whether compression is tried for files that did not compress before, too (mount option compress-force).";
    "discard", OneOf(&["off", "sync", "async"]),
        "Whether freed space is discarded: not at all, with each commit, or later in the background. The kernel's own default is async.";
    keys::mkfs_options("\"-m single\"");
    keys::MOUNT_OPTIONS;
};

pub(crate) const KIND: Kind = Kind {
    keys: KEYS,
    parsers: &[
        Parser { id: STATFS, read: parse_statfs },
        Parser { id: counters::DATA, read: counters::parse_data },
        Parser { id: counters::METADATA, read: counters::parse_metadata },
        Parser { id: counters::SYSTEM, read: counters::parse_system },
    ],
    recorded: &[
        (STATFS, include_str!("recorded/statfs")),
        (counters::DATA, include_str!("recorded/data")),
        (counters::METADATA, include_str!("recorded/metadata")),
        (counters::SYSTEM, include_str!("recorded/system")),
    ],
    metrics: &counters::METRICS,
    counters: counters::COUNTERS,
    charts: &[filesystem::CHART, counters::CHART],
    fills: filesystem::FILLS,
    actions: &[GROW, TRIM],
    offers_files: true,
    needs: LayerNeeds {
        packages: &["btrfs-progs", "util-linux"],
        modules: &["btrfs"],
        tools: &["mkfs.btrfs", "btrfs", "fstrim"],
        ..LayerNeeds::NONE
    },
    figures: counters::figures,
    standing: &[Standing::new(Recognised::FileSystem("btrfs"))],
    ..Kind::new(
        "btrfs",
        "A btrfs file system: loads go to files in it, commands work in it.",
        include_str!("manual.md"),
        |table| Ok(Box::new(Btrfs::read(table)?)),
    )
};

/// Flags of mkfs.btrfs that an experiment may give.
const FLAGS: &[Flag] = &[
    ("-O", &[]),
    ("-R", &[]),
    ("-d", &[]),
    ("-m", &[]),
    ("-n", &[]),
    ("-s", &[]),
    ("--csum", &[]),
    ("-L", &[]),
];

/// A btrfs file system.
struct Btrfs {
    compression: String,
    level: u32,
    /// Tells whether the experiment gives the level.
    leveled: bool,
    force: bool,
    discard: String,
    options: Options,
}

impl Btrfs {
    fn read(table: &Table) -> Result<Self, SettingError> {
        let s = Settings::new(KIND.name, table, KEYS)?;
        Ok(Self {
            compression: s.word("compression")?,
            level: s.number("compression_level")?,
            leveled: table.contains_key("compression_level"),
            force: s.switch("compression_force")?,
            discard: s.word("discard")?,
            options: Options::read(&s, FLAGS)?,
        })
    }

    /// Returns the mount option for compression; none where compression is off.
    fn compress(&self) -> Result<Option<String>, SettingError> {
        let option = if self.force { "compress-force" } else { "compress" };
        match (self.compression.as_str(), self.level) {
            ("off", _) => Ok(None),
            ("lzo", level) if self.leveled => Err(SettingError::new(
                "compression_level",
                format!("lzo has no compression_level, and cannot have {level}"),
                "leave it out, or take compression = \"zstd\"",
            )),
            ("lzo", _) => Ok(Some(format!("{option}=lzo"))),
            ("zlib", level @ 10..) => Err(SettingError::new(
                "compression_level",
                format!("zlib has compression_level 1 to 9, not {level}"),
                "take one of these, or compression = \"zstd\"",
            )),
            (method, level) => Ok(Some(format!("{option}={method}:{level}"))),
        }
    }

    /// Returns the file system to make and mount at `at`.
    fn file_system(&self, at: &Place) -> Result<FileSystem, SettingError> {
        let uuid = at.uuid_text();
        // Blocks of a new file system are not discarded: the device is empty already.
        let fixed = filesystem::argv(&["mkfs.btrfs", "-f", "-q", "-K", "-U", &uuid]);
        let discard = match self.discard.as_str() {
            "off" => "nodiscard".to_owned(),
            mode => format!("discard={mode}"),
        };
        let mut mount: Vec<String> = self.compress()?.into_iter().collect();
        mount.push(discard);
        mount.extend(self.options.mount.iter().cloned());
        let allocation = |of: &str, parser: &str| {
            let path = format!("/sys/fs/btrfs/{uuid}/allocation/{of}");
            Probe::each_second(at.name, of, Source::Directory { path }, parser)
        };
        Ok(FileSystem {
            word: "btrfs",
            called: "the btrfs",
            smallest: SMALLEST,
            make: [fixed, self.options.make.clone()].concat(),
            uuid_at: UUID_AT,
            mount,
            probes: vec![
                allocation("data", counters::DATA),
                allocation("metadata", counters::METADATA),
                allocation("system", counters::SYSTEM),
            ],
        })
    }
}

impl Layer for Btrfs {
    fn settings(&self) -> BTreeMap<String, String> {
        let own_settings = [
            ("compression".to_owned(), self.compression.clone()),
            ("compression_level".to_owned(), self.level.to_string()),
            ("compression_force".to_owned(), on_off(self.force)),
            ("discard".to_owned(), self.discard.clone()),
        ];
        own_settings.into_iter().chain(self.options.settings()).collect()
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        self.file_system(at)?.raise(at)
    }

    fn restart(&self, at: &Place) -> Option<Restart> {
        self.file_system(at).ok().map(|file_system| file_system.restart(at))
    }

    fn act(&self, at: &Place, request: &ActionRequest) -> Result<ActionPlan, SettingError> {
        let directory = at.mount_directory();
        Ok(filesystem::act(at, request, &["btrfs", "filesystem", "resize", "max", &directory]))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::on_device;

    fn mounted(text: &str) -> Result<String, SettingError> {
        let inputs = on_device("/dev/x", 1 << 30);
        let at = Place { name: "fs", run_tag: "0badcafe", inputs: &inputs };
        Ok((KIND.parse)(&text.parse().unwrap())?.raise(&at)?.up[1].action.show())
    }

    #[test]
    fn nothing_is_discarded_or_compressed_unless_it_is_asked_for() {
        let shown = mounted("").unwrap();
        assert!(shown.contains("-o nodiscard /dev/x"), "the kernel's default is async: {shown}");
    }

    #[test]
    fn compression_has_the_level_that_its_method_takes() {
        for (text, options) in [
            ("compression = \"zstd\"", "compress=zstd:3,nodiscard"),
            ("compression = \"zstd\"\ncompression_level = 15", "compress=zstd:15,nodiscard"),
            ("compression = \"lzo\"\ndiscard = \"async\"", "compress=lzo,discard=async"),
            (
                "compression = \"zlib\"\ncompression_force = true\nmount_options = \"noatime\"",
                "compress-force=zlib:3,nodiscard,noatime",
            ),
        ] {
            let shown = mounted(text).unwrap();
            assert!(shown.contains(&format!("-o {options} /dev/x")), "{text}: {shown}");
        }
        let error = mounted("compression = \"lzo\"\ncompression_level = 3").unwrap_err();
        assert!(error.message.contains("lzo has no"), "{error:?}");
        let error = mounted("compression = \"zlib\"\ncompression_level = 12").unwrap_err();
        assert!(error.message.contains("1 to 9, not 12"), "{error:?}");
    }
}
