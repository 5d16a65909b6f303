//! `xfs`: an XFS file system, mounted in a separate directory.

use std::collections::BTreeMap;

use toml::Table;
use units::{Bytes, Metric};

use crate::counter::counters;
use crate::filesystem::{self, FileSystem, Flag, GROW, Options, STATFS, TRIM, keys, parse_statfs};
use crate::key::Values::Switch;
use crate::key::{Key, keys};
use crate::kind::{Kind, LayerNeeds, Parser};
use crate::layer::{ActionPlan, ActionRequest, Layer, Place, RaisePlan, Restart};
use crate::probe::{Probe, Source};
use crate::settings::{SettingError, Settings, on_off};
use crate::standing::{Recognised, Standing};
use crate::{ParseError, Parsed};

/// Parser of the file system's own `stats` in sysfs.
const STATS: &str = "xfs.stats";

/// The smallest device that mkfs.xfs takes (xfsprogs 5.19 and newer).
const SMALLEST: Bytes = Bytes(300 << 20);

/// The place of the UUID in the superblock, which is the first thing on the device.
const UUID_AT: u64 = 32;

const KEYS: &[Key] = keys! {
    "reflink", Switch(true), "Whether files can share blocks.";
    keys::FORMAT;
    keys::DISCARD;
    keys::mkfs_options("\"-d agcount=8\"");
    keys::MOUNT_OPTIONS;
};

/// Numbers of `stats` that are read: the field, its line, and its place in the line. Numbers of the line `xpc` have 64 bits, all others 32.
const FIELDS: [(&str, &str, usize); 9] = [
    ("extents_allocated", "extent_alloc", 0),
    ("blocks_allocated", "extent_alloc", 1),
    ("extents_freed", "extent_alloc", 2),
    ("blocks_freed", "extent_alloc", 3),
    ("log_writes", "log", 0),
    ("log_blocks", "log", 1),
    ("log_forces", "log", 3),
    ("write_bytes", "xpc", 1),
    ("read_bytes", "xpc", 2),
];

const COUNTERS: &[Metric] = counters! { "stats":
    "extents_allocated", Count, Counter, "Extents that were given to files or metadata.";
    "blocks_allocated", Count, Counter, "Blocks in these extents.";
    "extents_freed", Count, Counter, "Extents that were given back.";
    "blocks_freed", Count, Counter, "Blocks in these extents.";
    "log_writes", Count, Counter, "Writes to the log.";
    "log_blocks", Count, Counter, "Blocks of 512 bytes that were written to the log.";
    "log_forces", Count, Counter, "Times that something had to wait for the log.";
    "write_bytes", Bytes, Counter, "Bytes that programs wrote to files.";
    "read_bytes", Bytes, Counter, "Bytes that programs read of files.";
};

pub(crate) const KIND: Kind = Kind {
    keys: KEYS,
    parsers: &[Parser { id: STATFS, read: parse_statfs }, Parser { id: STATS, read: parse_stats }],
    recorded: &[(STATFS, include_str!("recorded/statfs")), (STATS, include_str!("recorded/stats"))],
    metrics: &filesystem::METRICS,
    counters: &[filesystem::COUNTERS, COUNTERS],
    charts: &[filesystem::CHART],
    fills: filesystem::FILLS,
    actions: &[GROW, TRIM],
    offers_files: true,
    needs: LayerNeeds {
        packages: &["xfsprogs", "util-linux"],
        modules: &["xfs"],
        tools: &["mkfs.xfs", "xfs_growfs", "fstrim"],
        ..LayerNeeds::NONE
    },
    figures: filesystem::figures,
    standing: &[Standing::new(Recognised::FileSystem("xfs"))],
    ..Kind::new(
        "xfs",
        "An XFS file system: loads go to files in it, commands work in it.",
        include_str!("manual.md"),
        |table| Ok(Box::new(Xfs::read(table)?)),
    )
};

/// Flags of mkfs.xfs that an experiment may give.
const FLAGS: &[Flag] = &[
    ("-b", &["size"]),
    ("-d", &["agcount", "agsize", "su", "sw", "sunit", "swidth"]),
    ("-i", &["size", "maxpct", "perblock", "sparse", "nrext64"]),
    ("-l", &["size", "su", "sunit", "version", "lazy-count"]),
    ("-m", &["crc", "finobt", "rmapbt", "bigtime", "inobtcount"]),
    ("-n", &["size", "version", "ftype"]),
    ("-s", &["size"]),
    ("-L", &[]),
];

/// An XFS file system.
struct Xfs {
    reflink: bool,
    discard: bool,
    format: Option<String>,
    options: Options,
}

/// The first kernel that mounts what mkfs.xfs makes by default, and the options for older kernels: flag, key and value.
const TODAYS: [u64; 2] = [6, 1];
const OLDER: [(&str, &str, &str); 4] = [
    ("-m", "bigtime", "0"),
    ("-m", "inobtcount", "0"),
    ("-m", "rmapbt", "0"),
    ("-i", "nrext64", "0"),
];

impl Xfs {
    fn read(table: &Table) -> Result<Self, SettingError> {
        let s = Settings::new(KIND.name, table, KEYS)?;
        let format = s.text(&keys::FORMAT, |text| filesystem::kernel_version(text).is_some())?;
        Ok(Self {
            format,
            reflink: s.switch("reflink")?,
            discard: s.switch("discard")?,
            options: Options::read(&s, FLAGS)?,
        })
    }

    /// Returns the flags of mkfs.xfs for the oldest kernel that must be able to mount it, without options that the experiment sets itself.
    fn format(&self) -> Vec<String> {
        let oldest = self.format.as_deref().and_then(filesystem::kernel_version);
        let sets = |key: &str| {
            let mut parts = self.options.make.iter().flat_map(|word| word.split(','));
            parts.any(|part| part.split('=').next() == Some(key))
        };
        let older = OLDER.iter().filter(|_| oldest.is_some_and(|oldest| oldest < TODAYS));
        let older = older.filter(|(_, key, _)| !sets(key));
        older
            .flat_map(|(flag, key, value)| [(*flag).to_owned(), format!("{key}={value}")])
            .collect()
    }

    /// Returns the file system to make and mount at `at`.
    fn file_system(&self, at: &Place) -> FileSystem {
        let uuid = at.uuid_text();
        let metadata = format!("reflink={},uuid={uuid}", u8::from(self.reflink));
        // Blocks of a new file system are not discarded: the device is empty already.
        let fixed = filesystem::argv(&["mkfs.xfs", "-f", "-q", "-K", "-m", &metadata]);
        let mut mount = filesystem::argv(if self.discard { &["discard"] } else { &[] });
        mount.extend(self.options.mount.iter().cloned());
        let stats = Source::FileSystem {
            filesystem: "xfs".into(),
            device: at.block("data").0.to_owned(),
            attribute: Some("stats/stats".into()),
        };
        FileSystem {
            word: "xfs",
            called: "the XFS",
            smallest: SMALLEST,
            make: [fixed, self.format(), self.options.make.clone()].concat(),
            uuid_at: UUID_AT,
            mount,
            probes: vec![Probe::each_second(at.name, "stats", stats, STATS)],
        }
    }
}

impl Layer for Xfs {
    fn settings(&self) -> BTreeMap<String, String> {
        let own_settings = [("reflink", self.reflink), ("discard", self.discard)];
        let own_settings = own_settings.into_iter().map(|(key, on)| (key.to_owned(), on_off(on)));
        let format = [(keys::FORMAT.name.to_owned(), self.format.clone().unwrap_or_default())];
        own_settings.chain(format).chain(self.options.settings()).collect()
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        self.file_system(at).raise(at)
    }

    fn restart(&self, at: &Place) -> Option<Restart> {
        Some(self.file_system(at).restart(at))
    }

    fn act(&self, at: &Place, request: &ActionRequest) -> Result<ActionPlan, SettingError> {
        Ok(filesystem::act(at, request, &["xfs_growfs", &at.mount_directory()]))
    }
}

/// Lines `name number number ...`.
fn parse_stats(text: &str) -> Result<Parsed, ParseError> {
    let number = |line: &str, at: usize| {
        let mut lines = text.lines().filter_map(|line| line.split_once(' '));
        let (_, numbers) = lines.find(|(name, _)| *name == line)?;
        numbers.split(' ').nth(at)?.parse::<f64>().ok()
    };
    let fields = FIELDS.map(|(name, line, at)| (name.to_owned(), number(line, at)));
    let parsed = Parsed { numbers: fields.into_iter().collect(), ..Parsed::default() };
    match parsed.numbers.values().any(Option::is_some) {
        true => Ok(parsed),
        false => Err(ParseError::form(STATS, "none of its counters", text)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::on_device;

    #[test]
    fn its_settings_go_to_mkfs_and_to_the_mount() {
        let inputs = on_device("{device.data}", 1 << 30);
        let at = Place { name: "fs", run_tag: "0badcafe", inputs: &inputs };
        let text = "reflink = false\ndiscard = true\nmkfs_options = \"-d agcount=8\"";
        let raised = (KIND.parse)(&text.parse().unwrap()).unwrap().raise(&at).unwrap();
        let shown: Vec<_> = raised.up.iter().map(|step| step.action.show()).collect();
        let made = "mkfs.xfs -f -q -K -m reflink=0,uuid=0badcafe-666d-8072-";
        assert!(shown[0].starts_with(made), "{}", shown[0]);
        assert!(shown[0].ends_with(" -d agcount=8 {device.data}"), "{}", shown[0]);
        assert!(shown[1].contains("mount -t xfs -o discard {device.data} /run/fathom_0badcafe_fs"));
    }

    #[test]
    fn a_file_system_for_an_old_kernel_is_made_without_what_that_does_not_know() {
        let made = |text: &str| {
            let inputs = on_device("{device.data}", 1 << 30);
            let at = Place { name: "fs", run_tag: "0badcafe", inputs: &inputs };
            let raised = (KIND.parse)(&text.parse().unwrap()).unwrap().raise(&at).unwrap();
            raised.up[0].action.show()
        };
        let old = made("format = \"5.10\"");
        assert!(old.contains("-m bigtime=0 -m inobtcount=0 -m rmapbt=0 -i nrext64=0"), "{old}");
        let with_options = made("format = \"5.10\"\nmkfs_options = \"-m rmapbt=1,finobt=1\"");
        assert!(
            !with_options.contains("rmapbt=0") && with_options.contains("bigtime=0"),
            "{with_options}"
        );
        for today in ["", "format = \"6.1\"", "format = \"6.12.107\""] {
            assert!(!made(today).contains("bigtime"), "{today}");
        }
        assert!((KIND.parse)(&"format = \"old\"".parse().unwrap()).is_err());
    }

    #[test]
    fn each_number_is_found_in_its_line() {
        let read = parse_stats("log 7 8 9 10 11\nlogs 1 2\nxpc 1 2 3\n").unwrap().numbers;
        assert_eq!((read["log_blocks"], read["write_bytes"]), (Some(8.0), Some(2.0)));
        assert_eq!(read["extents_allocated"], None);
        assert!(parse_stats("").is_err());
    }
}
