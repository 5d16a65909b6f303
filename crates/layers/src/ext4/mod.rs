//! `ext4`: an ext4 file system, mounted in a separate directory.

use std::collections::BTreeMap;

use toml::Table;
use units::{Bytes, Metric};

use crate::counter::counters;
use crate::filesystem::{self, FileSystem, Flag, GROW, Options, STATFS, TRIM, keys, parse_statfs};
use crate::key::Values::{Described, Switch};
use crate::key::{Key, keys};
use crate::kind::{Kind, LayerNeeds, Parser};
use crate::layer::{ActionPlan, ActionRequest, Layer, Place, RaisePlan, Restart};
use crate::probe::{Probe, Source};
use crate::settings::{SettingError, Settings, on_off};
use crate::standing::{Recognised, Standing};
use crate::{ParseError, Parsed};

/// Parser of the file system's directory in sysfs.
const WRITES: &str = "ext4.writes";

/// The smallest device, bytes: on smaller ones mkfs.ext4 makes no journal.
const SMALLEST: Bytes = Bytes(32 << 20);

/// The place of the UUID in the superblock, which begins 1024 bytes from the start of the device.
const UUID_AT: u64 = 1024 + 0x68;

const KEYS: &[Key] = keys! {
    keys::DISCARD;
    "lazy_init", Switch(false),
        "Whether the kernel writes inode tables and journal after the mount, while loads run, as it does by default; off: mkfs writes them.";
    "extended_options", Described(["", "extended options of mkfs.ext4, joined with commas", "\"stride=16,stripe_width=64\""]),
        "Extended options (-E) besides nodiscard and lazy_init's.";
    keys::mkfs_options("\"-O ^has_journal\"");
    keys::MOUNT_OPTIONS;
};

/// Numbers of the directory in sysfs.
const COUNTERS: &[Metric] = counters! { "writes":
    "session_write_kbytes", Count, Counter, "KiB written to the device since the mount.";
    "lifetime_write_kbytes", Count, Counter, "KiB written to the device since the file system was made.";
    "delayed_allocation_blocks", Count, Level, "Blocks of data in memory that have no place on the device yet.";
};

pub(crate) const KIND: Kind = Kind {
    keys: KEYS,
    parsers: &[
        Parser { id: STATFS, read: parse_statfs },
        Parser { id: WRITES, read: parse_writes },
    ],
    recorded: &[
        (STATFS, include_str!("recorded/statfs")),
        (WRITES, include_str!("recorded/writes")),
    ],
    metrics: &filesystem::METRICS,
    counters: &[filesystem::COUNTERS, COUNTERS],
    charts: &[filesystem::CHART],
    fills: filesystem::FILLS,
    actions: &[GROW, TRIM],
    offers_files: true,
    needs: LayerNeeds {
        packages: &["e2fsprogs", "util-linux"],
        modules: &["ext4"],
        tools: &["mkfs.ext4", "resize2fs", "fstrim"],
        ..LayerNeeds::NONE
    },
    figures: filesystem::figures,
    standing: &[Standing::new(Recognised::FileSystem("ext4"))],
    ..Kind::new(
        "ext4",
        "An ext4 file system: loads go to files in it, commands work in it.",
        include_str!("manual.md"),
        |table| Ok(Box::new(Ext4::read(table)?)),
    )
};

/// Flags of mkfs.ext4 that an experiment may give. If there are several -E, it takes only the last: such options go into `extended_options`.
const FLAGS: &[Flag] = &[
    ("-C", &[]),
    ("-G", &[]),
    ("-I", &[]),
    ("-N", &[]),
    ("-O", &[]),
    ("-T", &[]),
    ("-g", &[]),
    ("-i", &[]),
    ("-m", &[]),
    ("-L", &[]),
];

/// An ext4 file system.
struct Ext4 {
    discard: bool,
    lazy_init: bool,
    extended: Vec<String>,
    options: Options,
}

impl Ext4 {
    fn read(table: &Table) -> Result<Self, SettingError> {
        let s = Settings::new(KIND.name, table, KEYS)?;
        let options = Options::read(&s, FLAGS)?;
        Ok(Self {
            discard: s.switch("discard")?,
            lazy_init: s.switch("lazy_init")?,
            extended: Options::extended(&s)?,
            options,
        })
    }

    /// Returns the file system to make and mount at `at`.
    fn file_system(&self, at: &Place) -> FileSystem {
        let lazy = u8::from(self.lazy_init);
        // Blocks of a new file system are not discarded: the device is empty already.
        let mut extended = format!("nodiscard,lazy_itable_init={lazy},lazy_journal_init={lazy}");
        self.extended.iter().for_each(|word| extended.extend([",", word]));
        // The block size is the same whatever the size of the device.
        let fixed = ["mkfs.ext4", "-F", "-q", "-b", "4096", "-U", &at.uuid_text(), "-E", &extended];
        let mut mount = filesystem::argv(if self.discard { &["discard"] } else { &[] });
        mount.extend(self.options.mount.iter().cloned());
        let sysfs = Source::FileSystem {
            filesystem: "ext4".into(),
            device: at.block("data").0.to_owned(),
            attribute: None,
        };
        FileSystem {
            word: "ext4",
            called: "the ext4",
            smallest: SMALLEST,
            make: [&filesystem::argv(&fixed)[..], &self.options.make].concat(),
            uuid_at: UUID_AT,
            mount,
            probes: vec![Probe::each_second(at.name, "writes", sysfs, WRITES)],
        }
    }
}

impl Layer for Ext4 {
    fn settings(&self) -> BTreeMap<String, String> {
        let own_settings = [
            ("discard".to_owned(), on_off(self.discard)),
            ("lazy_init".to_owned(), on_off(self.lazy_init)),
            ("extended_options".to_owned(), self.extended.join(",")),
        ];
        own_settings.into_iter().chain(self.options.settings()).collect()
    }

    fn raise(&self, at: &Place) -> Result<RaisePlan, SettingError> {
        self.file_system(at).raise(at)
    }

    fn restart(&self, at: &Place) -> Option<Restart> {
        Some(self.file_system(at).restart(at))
    }

    fn act(&self, at: &Place, request: &ActionRequest) -> Result<ActionPlan, SettingError> {
        Ok(filesystem::act(at, request, &["resize2fs", at.block("data").0]))
    }
}

fn parse_writes(text: &str) -> Result<Parsed, ParseError> {
    let names = ["session_write_kbytes", "lifetime_write_kbytes", "delayed_allocation_blocks"];
    filesystem::read_fields(WRITES, &names, text)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::layer::on_device;

    fn made(text: &str) -> Result<String, SettingError> {
        let inputs = on_device("/dev/x", 1 << 30);
        let at = Place { name: "fs", run_tag: "0badcafe", inputs: &inputs };
        let raised = (KIND.parse)(&text.parse().unwrap())?.raise(&at)?;
        Ok(raised.up.iter().map(|step| step.action.show()).collect::<Vec<_>>().join("\n"))
    }

    #[test]
    fn all_is_written_before_the_mount_unless_the_kernel_is_to_do_it_while_loads_run() {
        let shown = made("").unwrap();
        assert!(shown.contains("-E nodiscard,lazy_itable_init=0,lazy_journal_init=0 "), "{shown}");
        assert!(shown.contains("mount -t ext4 /dev/x"), "{shown}");
        let shown = made("lazy_init = true\ndiscard = true\nextended_options = \"stride=16,x\"");
        let shown = shown.unwrap();
        assert!(shown.contains("_itable_init=1,lazy_journal_init=1,stride=16,x "), "{shown}");
        assert!(shown.contains("mount -t ext4 -o discard /dev/x"), "{shown}");
    }

    #[test]
    fn extended_options_are_refused_where_they_would_replace_those_of_the_layer() {
        let error = made("mkfs_options = \"-m 0 -E stride=16\"").unwrap_err();
        assert!(error.message.contains("cannot be"), "{error:?}");
        assert!(made("extended_options = \"a b\"").is_err());
    }

    #[test]
    fn what_it_wrote_is_read_from_its_directory_in_sysfs() {
        let read = parse_writes("err 1\nlifetime_write_kbytes 537\nsession_write_kbytes 4\n");
        let read = read.unwrap().numbers;
        assert_eq!(read["session_write_kbytes"], Some(4.0));
        assert_eq!(read["delayed_allocation_blocks"], None);
    }
}
