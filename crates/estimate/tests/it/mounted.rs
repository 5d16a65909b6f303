//! File systems that are mounted for a test.

use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::process::Command;

pub const MIB: u64 = 1 << 20;

/// A file system that is mounted for a test.
pub struct Mounted {
    pub name: &'static str,
    pub at: PathBuf,
    _folder: tempfile::TempDir,
}

impl Mounted {
    /// One of tmpfs, or of what `mkfs` makes in a file, mounted with more options, each after a comma; says why where that cannot be.
    pub fn new(name: &'static str, mkfs: &[&str], options: &str) -> Result<Self, String> {
        let folder = tempfile::tempdir().unwrap();
        let (at, disk) = (folder.path().join("at"), folder.path().join("disk"));
        fs::create_dir(&at).unwrap();
        File::create(&disk).unwrap().set_len(400 * MIB).unwrap();
        let run = |program: &str, args: &[&str], last: &Path| {
            let ended = Command::new(program).args(args).arg(&disk).arg(last).output();
            let ended = ended.map_err(|error| format!("{program}: {error}"))?;
            let message = String::from_utf8_lossy(&ended.stderr).into_owned();
            if ended.status.success() { Ok(()) } else { Err(format!("{program}: {message}")) }
        };
        if let [program, args @ ..] = mkfs {
            let ended = Command::new(program).args(args).arg(&disk).output();
            if !ended.as_ref().is_ok_and(|output| output.status.success()) {
                return Err(format!("{program}: {ended:?}"));
            }
            run("mount", &["-o", &format!("loop{options}")], &at)?;
        } else {
            run("mount", &["-t", "tmpfs", "-o", "size=400m"], &at)?;
        }
        Ok(Self { name, at, _folder: folder })
    }
}

impl Drop for Mounted {
    fn drop(&mut self) {
        let _ = Command::new("umount").arg(&self.at).status();
    }
}

/// All file systems that can be had; ext4 and tmpfs can be had wherever something can be mounted.
pub fn file_systems(test: &str) -> Vec<Mounted> {
    let kinds: [(&str, &[&str]); 4] = [
        ("tmpfs", &[]),
        ("ext4", &["mkfs.ext4", "-q"]),
        ("xfs", &["mkfs.xfs", "-q"]),
        ("btrfs", &["mkfs.btrfs", "-q"]),
    ];
    let mut found = Vec::new();
    for (name, mkfs) in kinds {
        match Mounted::new(name, mkfs, "") {
            Ok(mounted) => found.push(mounted),
            Err(why) if found.is_empty() => {
                println!("SKIP {test}: nothing can be mounted here: {why}");
                return found;
            }
            Err(why) => assert!(name == "xfs" || name == "btrfs", "{name}: {why}"),
        }
    }
    found
}
