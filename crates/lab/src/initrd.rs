//! The guest's initramfs: the cached root, then the program and its orders, in one nameless file in memory.

use std::fs::{self, File};
use std::io::{self, Write};
use std::path::Path;

use rustix::fs::MemfdFlags;

use crate::guest::{GuestConfig, MISSION, ORDER};
use crate::image::{Archive, Image, loadable_part};
use crate::{Error, Result};

/// Makes the initramfs; QEMU inherits the file.
pub(crate) fn make(
    image: &Image,
    program: &Path,
    config: &GuestConfig,
    mission: &[u8],
) -> Result<File> {
    let memory = rustix::fs::memfd_create("fathom-initrd", MemfdFlags::CLOEXEC)
        .map_err(Error::system("cannot make a file in memory"))?;
    let mut memory = File::from(memory);
    let root = image.root();
    let mut base = File::open(&root).map_err(Error::io("cannot open", &root))?;
    io::copy(&mut base, &mut memory).map_err(Error::io("cannot copy", &root))?;
    let appended = appended(program, config, mission)?;
    memory.write_all(&appended).map_err(Error::system("cannot write to a file in memory"))?;
    Ok(memory)
}

fn appended(program: &Path, config: &GuestConfig, mission: &[u8]) -> Result<Vec<u8>> {
    let binary = fs::read(program).map_err(Error::io("cannot read the program", program))?;
    let config = serde_json::to_vec(config).map_err(|error| Error::BadSpec {
        what: format!("the order for the guest cannot be written: {error}"),
        help: "report this".into(),
    })?;
    let mut archive = Archive::default();
    archive.file("init", 0o755, &loadable_part(binary))?;
    archive.file(ORDER, 0o644, &config)?;
    archive.file(MISSION, 0o600, mission)?;
    archive.finish()
}
