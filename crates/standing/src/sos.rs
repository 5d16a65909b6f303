//! Texts about a machine's devices out of a sosreport: what lsblk, dmsetup, vdostats and the kernel had said, under the names that sos gives.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};

use layers::standing::{ReadFrom, StandingMachine};

use crate::archive::Files;
use crate::lsblk::{self, Line};
use crate::mount::mounts;
use crate::node::{ATTRIBUTES, form_of_target, target, without_secret};
use crate::procfs::{memory, processors};
use crate::recorded::{Block, Recorded};

/// The reason why a sosreport cannot be looked at.
#[derive(Debug, thiserror::Error)]
pub enum SosError {
    /// There is nothing of a sosreport in it.
    #[error("{0} is not a sosreport: it holds no sos_commands with what lsblk or dmsetup said")]
    NotOne(PathBuf),
    /// The file is not an archive, or ends early.
    #[error("{path} is not a complete archive: {why}")]
    Damaged {
        /// The archive.
        path: PathBuf,
        /// The fault.
        why: String,
    },
    /// The system refused.
    #[error("Cannot read {path}")]
    Io {
        /// The archive.
        path: PathBuf,
        /// The system's error.
        source: io::Error,
    },
}

/// Tells whether a directory looks like an unpacked sosreport.
pub fn is_report(directory: &Path) -> bool {
    directory.join("sos_commands").is_dir()
}

/// Reads a sosreport, a directory or an archive (tar, packed by gzip or xz).
///
/// # Errors
/// When it cannot be read, or is not a sosreport.
pub fn read(path: &Path) -> Result<Recorded, SosError> {
    let files = if path.is_dir() {
        Files::Directory(path.to_owned())
    } else {
        Files::unpack(path).map_err(|source| match source.kind() {
            io::ErrorKind::NotFound | io::ErrorKind::PermissionDenied => {
                SosError::Io { path: path.to_owned(), source }
            }
            _ => SosError::Damaged { path: path.to_owned(), why: source.to_string() },
        })?
    };
    let report = Report { files };
    let read = report.recorded(path);
    if read.blocks.is_empty() { Err(SosError::NotOne(path.to_owned())) } else { Ok(read) }
}

struct Report {
    files: Files,
}

impl Report {
    /// The text that a command had printed, by the beginning of the name that sos gives its file.
    fn command(&self, folder: &str, begin: &str) -> Option<String> {
        let folder = format!("sos_commands/{folder}");
        let name = self.files.names(&folder).into_iter().find(|name| name.starts_with(begin))?;
        self.files.text(&format!("{folder}/{name}"))
    }

    /// The text that a command had printed, by the whole name of its file.
    fn exactly(&self, path: &str) -> Option<String> {
        self.files.text(&format!("sos_commands/{path}"))
    }

    fn recorded(&self, path: &Path) -> Recorded {
        let mut all = Recorded { of: self.name(path), ..Recorded::default() };
        let mut lacks = |name: &str, text: Option<String>| {
            if text.is_none() {
                all.missing.push(format!("{name}: not in this report"));
            }
            text.unwrap_or_default()
        };
        let info = lacks("dmsetup info -c", self.command("devicemapper", "dmsetup_info_-c"));
        let tables = lacks("dmsetup table", self.exactly("devicemapper/dmsetup_table"));
        let status = lacks("dmsetup status", self.exactly("devicemapper/dmsetup_status"));
        let pairs = self.exactly("block/lsblk_-O_-P").unwrap_or_default();
        let drawn =
            lacks("lsblk", self.exactly("block/lsblk").or_else(|| self.files.text("lsblk")));
        let table =
            self.files.text("proc/self/mountinfo").or_else(|| self.files.text("proc/mounts"));
        let table = lacks("/proc/self/mountinfo", table);
        all.mounts = mounts(&table);
        all.machine = self.machine(&mut all.missing);
        let mapped = mapped(&info);
        let lines = [lsblk::pairs(&pairs), lsblk::tree(&drawn)].concat();
        all.blocks = self.blocks(&mapped, &lines);
        for block in &mut all.blocks {
            self.texts(block, &tables, &status, &lines);
        }
        all
    }

    /// Returns every device that the report mentions, once, with the devices that it stands on according to lsblk.
    fn blocks(&self, mapped: &BTreeMap<String, String>, lines: &[Line]) -> Vec<Block> {
        let partitions = self.files.text("proc/partitions").unwrap_or_default();
        let mut found: Vec<Block> = Vec::new();
        for line in partitions.lines() {
            let words: Vec<&str> = line.split_whitespace().collect();
            let [major, minor, kib, name] = words[..] else { continue };
            let (Ok(kib), Ok(_)) = (kib.parse::<u64>(), major.parse::<u32>()) else { continue };
            let number = format!("{major}:{minor}");
            let (name, bytes) = (name.to_owned(), Some(kib << 10));
            found.push(Block { name, number, bytes, ..Block::default() });
        }
        let made = ["lvm", "crypt", "dm", "vdo", "mpath", "cache", "thin", "linear"];
        let is_mapped = |line: &Line| {
            mapped.values().any(|n| *n == line.number) || made.contains(&line.kind.as_str())
        };
        let kernel = |line: &Line| {
            let minor = line.number.split(':').nth(1).unwrap_or_default();
            if is_mapped(line) { format!("dm-{minor}") } else { line.name.clone() }
        };
        for line in lines {
            if !found.iter().any(|block| block.number == line.number) {
                let (name, number) = (kernel(line), line.number.clone());
                found.push(Block { name, number, ..Block::default() });
            }
        }
        for (name, number) in mapped {
            let minor = number.split(':').nth(1).unwrap_or_default();
            if !found.iter().any(|block| block.number == *number) {
                let (name, number) = (format!("dm-{minor}"), number.clone());
                found.push(Block { name, number, ..Block::default() });
            }
            let numbered = found.iter_mut().filter(|block| block.number == *number);
            numbered.for_each(|block| block.mapped = Some(name.clone()));
        }
        for line in lines {
            let below = line.on.as_ref().and_then(|on| {
                let parent = lines.iter().find(|other| other.name == *on)?;
                found.iter().find(|block| block.number == parent.number)
            });
            let Some(below) = below.map(|block| block.name.clone()) else { continue };
            for block in found.iter_mut().filter(|block| block.number == line.number) {
                if !block.below.contains(&below) && block.name != below {
                    block.below.push(below.clone());
                }
                if is_mapped(line) && block.mapped.is_none() {
                    block.mapped = Some(line.name.clone());
                }
            }
        }
        found
    }

    /// Gives a device the texts that the report holds about it.
    fn texts(&self, block: &mut Block, tables: &str, status: &str, lines: &[Line]) {
        for key in ATTRIBUTES {
            let text = self.files.text(&format!("sys/block/{}/{key}", block.name));
            block.texts.extend(text.map(|text| (key.to_owned(), Ok(text))));
        }
        let of_block: Vec<&Line> =
            lines.iter().filter(|line| line.number == block.number).collect();
        for (column, key) in [
            ("ROTA", "queue/rotational"),
            ("SCHED", "queue/scheduler"),
            ("PHYSEC", "queue/physical_block_size"),
            ("LOGSEC", "queue/logical_block_size"),
            ("ALIGNMENT", "alignment_offset"),
            ("MODEL", "device/model"),
            ("START", "start"),
        ] {
            let value =
                of_block.iter().find_map(|line| line.columns.get(column)).filter(|v| !v.is_empty());
            if let Some(value) = value {
                block.texts.entry(key.to_owned()).or_insert_with(|| Ok(value.clone()));
            }
        }
        if of_block.iter().any(|line| line.kind == "part") {
            block.texts.entry("start".to_owned()).or_insert_with(|| Ok(String::new()));
        }
        let Some(mapped) = block.mapped.clone() else { return };
        let of = |all: &str| {
            let lines =
                all.lines().filter_map(|line| line.strip_prefix(&mapped)?.strip_prefix(": "));
            lines.map(|line| format!("{}\n", without_secret(line))).collect::<String>()
        };
        let absent = || "not in this report".to_owned();
        let table = Some(of(tables)).filter(|table| !table.is_empty());
        let state = Some(of(status)).filter(|status| !status.is_empty());
        let form = table.as_deref().and_then(target).and_then(|(name, _)| form_of_target(name));
        for read in form.iter().flat_map(|(_, form)| form.reads) {
            match read.from {
                ReadFrom::Report(tool) => {
                    let text = self.printed_of(tool, &mapped);
                    block.texts.extend(text.map(|text| (read.from.key(), Ok(text))));
                }
                ReadFrom::Message(_) => drop(block.texts.insert(read.from.key(), Err(absent()))),
                _ => {}
            }
        }
        for (key, text) in [("table", table), ("status", state)] {
            block.texts.insert(key.to_owned(), text.ok_or_else(absent));
        }
    }

    /// The text that a tool had printed about one device: its line, or the lines that are indented below its name.
    fn printed_of(&self, tool: &str, mapped: &str) -> Option<String> {
        let mut found = String::new();
        for name in self.files.names("sos_commands/vdo").into_iter().filter(|n| n.starts_with(tool))
        {
            let text = self.exactly(&format!("vdo/{name}")).unwrap_or_default();
            let mut inside = false;
            for line in text.lines() {
                let first = line.split_whitespace().next().unwrap_or_default();
                let named = first.rsplit('/').next().unwrap_or(first) == mapped;
                inside = if line.starts_with(' ') { inside } else { named };
                if inside {
                    found.push_str(line);
                    found.push('\n');
                }
            }
        }
        (!found.is_empty()).then_some(found)
    }

    fn machine(&self, missing: &mut Vec<String>) -> StandingMachine {
        let kernel = self.command("kernel", "uname_-a").or_else(|| self.files.text("uname"));
        let log = self.command("kernel", "dmesg").or_else(|| self.command("general", "dmesg"));
        if log.is_none() {
            missing.push("the kernel's log: not in this report".to_owned());
        }
        let packages = self.files.text("installed-rpms").unwrap_or_default();
        let wanted =
            ["lvm2-", "vdo-", "kmod-kvdo-", "device-mapper-persistent-data-", "bcache-tools-"];
        let names = packages.lines().filter_map(|line| line.split_whitespace().next());
        let installed = names.filter(|name| {
            let digit = |rest: &str| rest.starts_with(|c: char| c.is_ascii_digit());
            wanted.iter().any(|begin| name.strip_prefix(begin).is_some_and(digit))
        });
        StandingMachine {
            kernel: kernel.and_then(|line| line.split_whitespace().nth(2).map(str::to_owned)),
            cpus: self.files.text("proc/cpuinfo").map(|text| processors(&text)).filter(|n| *n > 0),
            memory_bytes: self.files.text("proc/meminfo").as_deref().and_then(memory),
            versions: installed.map(|name| ("package".to_owned(), name.to_owned())).collect(),
            log: log.map(|text| text.lines().map(str::to_owned).collect()),
        }
    }

    /// The report in words: its machine and its path.
    fn name(&self, path: &Path) -> String {
        let host = self.files.text("hostname").or_else(|| self.command("host", "hostname"));
        let host =
            host.and_then(|text| text.lines().next().map(str::to_owned)).filter(|h| !h.is_empty());
        let of = host.map_or_else(
            || "a machine without a name".to_owned(),
            |host| format!("machine {host}"),
        );
        format!("{of}, as the report {} tells", path.display())
    }
}

/// Names of the device mapper with their numbers, from `dmsetup info -c`.
fn mapped(info: &str) -> BTreeMap<String, String> {
    let line = |line: &str| {
        let words: Vec<&str> = line.split_whitespace().collect();
        let [name, major, minor, ..] = words[..] else { return None };
        let (major, minor) = (major.parse::<u32>().ok()?, minor.parse::<u32>().ok()?);
        Some((name.to_owned(), format!("{major}:{minor}")))
    };
    info.lines().filter_map(line).collect()
}
