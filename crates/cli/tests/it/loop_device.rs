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

impl LoopDevice {
    /// Detaches the device from its file, as somebody might do in the middle of a run.
    pub fn detach(&mut self) {
        let path = std::mem::take(&mut self.path);
        let status = Command::new("/sbin/losetup").args(["--detach", &path]).status();
        assert!(status.unwrap().success(), "{path}");
    }
}

impl Drop for LoopDevice {
    fn drop(&mut self) {
        // A device that was detached may now belong to somebody else.
        if !self.path.is_empty() {
            let _ = Command::new("/sbin/losetup").args(["--detach", &self.path]).status();
        }
    }
}
