//! Packages unpacked into a directory: no maintainer script runs.

use std::fs;
use std::path::Path;
use std::process::Command;

use super::apt;
use crate::{Error, Result};

/// Unpacks the package in `archive` into a directory, which is made where it is not there.
pub(super) fn unpack(archive: &Path, into: &Path) -> Result<()> {
    fs::create_dir_all(into).map_err(Error::io("cannot make", into))?;
    let mut command = Command::new("dpkg-deb");
    command.arg("-x").arg(archive).arg(into);
    apt::output_of(command, "dpkg").map(drop)
}
