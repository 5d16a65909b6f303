//! Contents of modelled disks that are kept from one machine to the next, each in a separate file.

use std::fs::File;
use std::os::fd::OwnedFd;

use ::disk::{Cut, CutStats};
use units::{Bytes, Seed};

use crate::files::nameless_file;
use crate::spec::VmSpec;
use crate::{Error, Result};

/// The files that modelled disks leave their contents in, where these are kept.
#[derive(Debug, Default)]
pub(crate) struct KeptContents(Vec<Contents>);

/// The file of one disk.
#[derive(Debug)]
struct Contents {
    role: String,
    /// Bytes of the disk.
    size: u64,
    file: File,
}

impl KeptContents {
    /// Makes a file for each modelled disk of a machine that keeps them; an empty one is an empty disk.
    pub(crate) fn make(spec: &VmSpec) -> Result<Self> {
        let kept = spec.disks.iter().filter(|disk| spec.keeps_contents && disk.model.is_some());
        let one = |disk: &crate::spec::Disk| {
            let file = nameless_file(spec.cache.dir())?;
            Ok(Contents { role: disk.role.clone(), size: disk.size.0, file })
        };
        kept.map(one).collect::<Result<_>>().map(Self)
    }

    /// Cuts the power of all disks, whose machine has ended; returns what each had at risk and what it lost, by role.
    pub(crate) fn cut_power(&mut self, seed: Seed) -> Result<Vec<(String, CutStats)>> {
        let one = |Contents { role, size, file }: &mut Contents| {
            let disk = (*size, Bytes(u64::MAX));
            let seed = seed.derive(role);
            let stats = ::disk::contents::cut_power(file, disk, Cut::default(), seed);
            Ok((
                role.clone(),
                stats.map_err(Error::system("cannot cut the power of a modelled disk"))?,
            ))
        };
        self.0.iter_mut().map(one).collect()
    }

    /// Returns the file of a disk, for another process.
    pub(crate) fn file_of(&self, role: &str) -> Result<Option<OwnedFd>> {
        let kept = self.0.iter().find(|kept| kept.role == role);
        let file = kept.map(|kept| kept.file.try_clone().map(OwnedFd::from)).transpose();
        file.map_err(Error::system("cannot duplicate a descriptor"))
    }
}
