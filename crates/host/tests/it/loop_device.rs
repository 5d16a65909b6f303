//! Loop devices of tests.

use std::fs::File;
use std::path::PathBuf;
use std::process::Command;

/// A loop device on a sparse file that goes with this value.
pub struct Loop {
    pub device: PathBuf,
    pub file: PathBuf,
    _folder: tempfile::TempDir,
}

impl Loop {
    /// `None`, and the reason on standard output, where this machine makes no loop devices.
    pub fn new(test: &str) -> Option<Self> {
        Self::of(test, 64 << 20)
    }

    /// The same, of so many bytes.
    pub fn of(test: &str, bytes: u64) -> Option<Self> {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("fathom-claims-test");
        File::create(&file).unwrap().set_len(bytes).unwrap();
        let output =
            Command::new("losetup").args(["--find", "--show", "--partscan"]).arg(&file).output();
        match output {
            Ok(output) if output.status.success() => {
                let device = PathBuf::from(String::from_utf8(output.stdout).unwrap().trim());
                Some(Self { device, file, _folder: folder })
            }
            other => {
                println!("SKIP {test}: no loop device: {other:?}");
                None
            }
        }
    }
}

impl Drop for Loop {
    fn drop(&mut self) {
        let _ = Command::new("losetup").arg("--detach").arg(&self.device).status();
    }
}
