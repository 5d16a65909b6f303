//! Devices for tests that run as root.

use std::process::Command;

/// A loop device over a sparse file; gone when dropped.
pub struct LoopDevice {
    pub path: String,
    _file: tempfile::NamedTempFile,
}

/// A loop device of `bytes`; `None` where none can be made.
pub fn loop_device(bytes: u64) -> Option<LoopDevice> {
    let file = tempfile::NamedTempFile::new().unwrap();
    file.as_file().set_len(bytes).unwrap();
    let output =
        Command::new("/sbin/losetup").args(["--find", "--show"]).arg(file.path()).output().ok()?;
    let path = String::from_utf8(output.stdout).unwrap().trim().to_owned();
    (output.status.success() && !path.is_empty()).then_some(LoopDevice { path, _file: file })
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        let _ = Command::new("/sbin/losetup").args(["--detach", &self.path]).status();
    }
}
