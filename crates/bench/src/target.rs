//! Targets of the load: made for the comparison and removed again, or the user's own, which is only read.

use std::fs;
use std::io::{Seek, SeekFrom};
use std::path::{Path, PathBuf};
use std::process::Command;

use serde::{Deserialize, Serialize};

use crate::BenchError;

/// The kind of a target.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum TargetKind {
    /// Nothing: the cost of the load generator itself.
    Null,
    /// A loop device over a file on tmpfs, with direct I/O.
    Loop,
    /// A compressed device in memory.
    Zram,
    /// A file on the file system of the scratch directory.
    File,
    /// A file on tmpfs.
    Tmpfs,
    /// A target that the user named.
    Own,
}

/// A target of the load.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Target {
    /// Its kind.
    pub kind: TargetKind,
    /// Its name in tables.
    pub name: String,
    /// Its path; `None` for nothing at all.
    pub path: Option<String>,
    /// Bytes of it that are used.
    pub size: u64,
    /// Tells whether it was made for the comparison, and may be written.
    pub made: bool,
    /// Tells whether the page cache is bypassed.
    pub direct: bool,
    /// Tells whether I/Os complete later, by an interrupt or another thread, and not within the submitting call.
    pub later: bool,
}

impl Target {
    /// The null target, of 16 GiB.
    pub fn null() -> Self {
        let name = "null".to_owned();
        Self {
            kind: TargetKind::Null,
            name,
            path: None,
            size: 16 << 30,
            made: false,
            direct: true,
            later: false,
        }
    }

    /// A device or file of the user's own, of `size` bytes. It is never written.
    pub fn of_user(path: &Path, size: u64) -> Self {
        let name =
            path.file_name().map_or_else(|| "own".into(), |n| n.to_string_lossy().into_owned());
        let later = !["zram", "ram", "pmem"].iter().any(|memory| name.starts_with(memory));
        let path = Some(path.display().to_string());
        Self { kind: TargetKind::Own, name, path, size, made: false, direct: true, later }
    }

    /// Returns the user's own target at `path`, which is never written.
    pub fn at(path: &Path) -> Result<Self, BenchError> {
        let unreadable = |source| BenchError::Unreadable { path: path.to_owned(), source };
        let end = fs::File::open(path).and_then(|mut file| file.seek(SeekFrom::End(0)));
        match end.map_err(unreadable)? {
            bytes if bytes >= MIN_TARGET_BYTES => Ok(Self::of_user(path, bytes)),
            bytes => Err(BenchError::Small { path: path.to_owned(), bytes }),
        }
    }

    /// A device that was made for the comparison elsewhere, and may be written.
    pub fn lent(name: &str, path: &str, size: u64) -> Self {
        Self { name: name.to_owned(), size, made: true, ..Self::of_user(Path::new(path), size) }
    }

    #[cfg(test)]
    pub(crate) fn example() -> Self {
        let (name, path) = ("loop".to_owned(), Some("/dev/loop0".to_owned()));
        Self {
            kind: TargetKind::Loop,
            name,
            path,
            size: 1 << 28,
            made: true,
            direct: true,
            later: true,
        }
    }
}

/// The targets that can be made, by the name that the user gives.
const MADE: [(&str, TargetKind); 5] = [
    ("null", TargetKind::Null),
    ("loop", TargetKind::Loop),
    ("zram", TargetKind::Zram),
    ("file", TargetKind::File),
    ("tmpfs", TargetKind::Tmpfs),
];
/// The least that a target of the user's own holds, bytes.
const MIN_TARGET_BYTES: u64 = 1 << 20;

/// A target with what must be removed when it is dropped.
#[derive(Debug)]
pub struct Made {
    /// The target.
    pub target: Target,
    undo: Vec<Undo>,
}

impl From<Target> for Made {
    /// A target that was there before and stays.
    fn from(target: Target) -> Self {
        Self { target, undo: Vec::new() }
    }
}

#[derive(Debug)]
enum Undo {
    File(PathBuf),
    Loop(String),
    Zram(String),
}

impl Drop for Made {
    fn drop(&mut self) {
        for undo in self.undo.drain(..).rev() {
            // A failure cannot be reported any more: the device then stays, and `losetup -a` or `zramctl` shows it.
            match undo {
                Undo::File(path) => drop(fs::remove_file(path)),
                Undo::Loop(device) => {
                    let _ = Command::new("losetup").args(["--detach", &device]).status();
                }
                Undo::Zram(number) => {
                    let _ = fs::write(format!("/sys/block/zram{number}/reset"), "1");
                    let _ = fs::write("/sys/class/zram-control/hot_remove", &number);
                }
            }
        }
    }
}

/// Makes targets of `size` bytes.
#[derive(Debug, Clone)]
pub struct TargetMaker {
    /// Bytes of each target.
    pub size: u64,
    /// Directory for files; its file system gives the target `file` its name.
    pub scratch: PathBuf,
    /// A directory on tmpfs.
    pub memory: PathBuf,
}

/// Directory where tmpfs is mounted on every Linux.
const MEMORY: &str = "/dev/shm";

impl TargetMaker {
    /// Makes targets of `size` bytes, files among them in `scratch`.
    pub fn new(size: u64, scratch: &Path) -> Self {
        Self { size, scratch: scratch.to_owned(), memory: MEMORY.into() }
    }

    /// Makes every target whose name is `wanted`. The texts say which ones this machine or this user cannot have, and why.
    pub fn make_all(&self, wanted: impl Fn(&str) -> bool) -> (Vec<Made>, Vec<String>) {
        let (mut made, mut left_out) = (Vec::new(), Vec::new());
        for (name, kind) in MADE.into_iter().filter(|(name, _)| wanted(name)) {
            match self.make(kind) {
                Ok(target) => made.push(target),
                Err(error) => {
                    let why = std::error::Error::source(&error)
                        .map_or_else(String::new, |cause| format!(": {cause}"));
                    left_out.push(format!("{name} is left out: {error}{why}"));
                }
            }
        }
        (made, left_out)
    }

    /// Makes the target of this kind; it is empty still. `Err` says why this machine or this user cannot have it.
    pub fn make(&self, kind: TargetKind) -> Result<Made, BenchError> {
        match kind {
            TargetKind::Null | TargetKind::Own => Ok(Target::null().into()),
            TargetKind::File => self.file(kind, &self.scratch),
            TargetKind::Tmpfs => self.file(kind, &self.memory),
            TargetKind::Loop => self.looped(),
            TargetKind::Zram => self.zram(),
        }
    }

    fn target(&self, kind: TargetKind, name: String, path: &Path) -> Target {
        let path = Some(path.display().to_string());
        let later = !matches!(kind, TargetKind::Zram | TargetKind::Tmpfs);
        Target { kind, name, path, size: self.size, made: true, direct: true, later }
    }

    fn file(&self, kind: TargetKind, folder: &Path) -> Result<Made, BenchError> {
        let system = file_system(folder).unwrap_or_else(|| "file".into());
        let memory = ["tmpfs", "ramfs"].contains(&system.as_str());
        if (kind == TargetKind::Tmpfs) != memory {
            let why = format!("{} is on {system}", folder.display());
            return Err(failed("use as a target", folder, std::io::Error::other(why)));
        }
        let path = self.backing(folder, &system)?;
        Ok(Made { target: self.target(kind, system, &path), undo: vec![Undo::File(path)] })
    }

    fn looped(&self) -> Result<Made, BenchError> {
        let backing = self.backing(&self.memory, "loop")?;
        let mut undo = vec![Undo::File(backing.clone())];
        let output = Command::new("losetup")
            .args(["--find", "--show", "--direct-io=on"])
            .arg(&backing)
            .output();
        let device = match output {
            Ok(output) if output.status.success() => {
                String::from_utf8_lossy(&output.stdout).trim().to_owned()
            }
            other => {
                let why = match other {
                    Ok(output) => String::from_utf8_lossy(&output.stderr).trim().to_owned(),
                    Err(error) => error.to_string(),
                };
                drop(Made { target: Target::null(), undo });
                return Err(failed(
                    "make a loop device over",
                    &backing,
                    std::io::Error::other(why),
                ));
            }
        };
        undo.push(Undo::Loop(device.clone()));
        Ok(Made { target: self.target(TargetKind::Loop, "loop".into(), Path::new(&device)), undo })
    }

    fn zram(&self) -> Result<Made, BenchError> {
        let control = Path::new("/sys/class/zram-control/hot_add");
        let number =
            fs::read_to_string(control).map_err(|e| failed("make a zram device by", control, e))?;
        let number = number.trim().to_owned();
        let device = format!("/dev/zram{number}");
        let made = Made {
            target: self.target(TargetKind::Zram, "zram".into(), Path::new(&device)),
            undo: vec![Undo::Zram(number.clone())],
        };
        let size = format!("/sys/block/zram{number}/disksize");
        fs::write(&size, self.size.to_string()).map_err(|e| failed("set", Path::new(&size), e))?;
        Ok(made)
    }

    /// Two files on tmpfs, for two contestants that each need what they wrote themselves.
    pub fn pair(&self) -> Result<[Made; 2], BenchError> {
        let one = |name: &str| -> Result<Made, BenchError> {
            let path = self.backing(&self.memory, name)?;
            let target = self.target(TargetKind::Tmpfs, name.into(), &path);
            Ok(Made { target, undo: vec![Undo::File(path)] })
        };
        Ok([one("verify-fathom")?, one("verify-fio")?])
    }

    /// An empty file of the right size.
    fn backing(&self, folder: &Path, name: &str) -> Result<PathBuf, BenchError> {
        let path = folder.join(format!("fathom-bench-{}-{name}", std::process::id()));
        fs::OpenOptions::new()
            .write(true)
            .create_new(true)
            .open(&path)
            .and_then(|file| file.set_len(self.size))
            .map_err(|error| failed("make the file", &path, error))?;
        Ok(path)
    }
}

fn failed(what: &'static str, target: &Path, source: std::io::Error) -> BenchError {
    BenchError::Target { what, target: target.display().to_string(), source }
}

/// The kind of the file system that `folder` is on.
fn file_system(folder: &Path) -> Option<String> {
    let folder = fs::canonicalize(folder).ok()?;
    let mounts = fs::read_to_string("/proc/self/mounts").ok()?;
    let mounted = mounts.lines().filter_map(|line| {
        let mut words = line.split(' ').skip(1);
        Some((words.next()?, words.next()?))
    });
    let above = mounted.filter(|(point, _)| folder.starts_with(point));
    above.max_by_key(|(point, _)| point.len()).map(|(_, kind)| kind.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_that_was_made_is_gone_when_its_target_is_dropped() {
        let folder = tempfile::tempdir().unwrap();
        let path = folder.path().to_owned();
        let maker = TargetMaker { size: 1 << 20, scratch: path.clone(), memory: path.clone() };
        let on_memory = file_system(&path).is_some_and(|kind| kind == "tmpfs");
        let kind = if on_memory { TargetKind::Tmpfs } else { TargetKind::File };
        let made = maker.make(kind).unwrap();
        let file = PathBuf::from(made.target.path.clone().unwrap());
        assert_eq!(fs::metadata(&file).unwrap().len(), 1 << 20);
        drop(made);
        assert!(!file.exists());
        let wrong = maker.make(if on_memory { TargetKind::File } else { TargetKind::Tmpfs });
        assert!(wrong.unwrap_err().to_string().contains("use as a target"));
    }

    #[test]
    fn devices_of_memory_complete_at_once_and_others_later() {
        assert!(!Target::of_user(Path::new("/dev/zram3"), 1).later);
        assert!(Target::of_user(Path::new("/dev/mapper/vdo"), 1).later);
        assert!(!Target::of_user(Path::new("/dev/sda"), 1).made);
    }
}
