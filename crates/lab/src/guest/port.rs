//! The guest's end of the link: the virtio-serial port with the lab's name.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::link::PORT;
use crate::{Error, Result};

/// Time that the port may take to appear.
const PATIENCE: Duration = Duration::from_secs(5);

/// Opens the port; its number varies, its name does not.
pub(super) fn open() -> Result<File> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let opened = match find() {
            Some(node) => File::options()
                .read(true)
                .write(true)
                .open(&node)
                .map_err(Error::io("cannot open", &node)),
            None => {
                Err(Error::io("there is no virtio-serial port named", PORT)(ErrorKind::NotFound))
            }
        };
        match opened {
            Ok(port) => return Ok(port),
            Err(error) if Instant::now() > deadline => return Err(error),
            Err(_) => std::thread::sleep(Duration::from_millis(2)),
        }
    }
}

fn find() -> Option<PathBuf> {
    let list = fs::read_dir("/sys/class/virtio-ports").ok()?;
    list.flatten().find_map(|entry| {
        let name = fs::read_to_string(entry.path().join("name")).ok()?;
        (name.trim() == PORT).then(|| Path::new("/dev").join(entry.file_name()))
    })
}
