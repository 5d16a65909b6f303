//! The settings of a mirror, read and checked.

use toml::Table;

use super::names::NAME;
use crate::key::Values::{Described, Size, Switch};
use crate::key::{Key, keys};
use crate::layer::Place;
use crate::lvm::{self, EXTENT};
use crate::members::{MemberSet, SIZE, power_of_two};
use crate::settings::{SettingError, Settings, size_text};

/// lvm's default size of a region, bytes.
pub(super) const REGION: u64 = 2 << 20;
/// The most regions that the kernel has bits for.
const MOST_REGIONS: u64 = 1 << 21;

pub(super) const KEYS: &[Key] = keys! {
    SIZE;
    "region_size", Size(REGION, ["a power of two from 4k to 1G", "\"512k\""]),
        "Bytes for which one bit records that members may differ; after a crash such regions are copied again.";
    "write_mostly", Described(["none", "inputs, separated by commas, not all of them", "\"member2\""]),
        "Members that are read only where no other member can be read.";
    "sync", Switch(true), "Whether the members are brought in sync first. Off: what was never written may differ from one read to the next.";
};

/// The settings of a mirror.
pub(super) struct Setup {
    pub(super) size: Option<u64>,
    pub(super) region_size: u64,
    pub(super) write_mostly: Vec<String>,
    pub(super) sync: bool,
}

impl Setup {
    pub(super) fn read(table: &Table) -> Result<Self, SettingError> {
        let s = Settings::new(NAME, table, KEYS)?;
        let size = s.size("size")?;
        lvm::at_least_an_extent(NAME, "size", size)?;
        let region = s.bytes("region_size")?;
        Ok(Self {
            size,
            region_size: power_of_two(NAME, "region_size", region, (4 << 10, 1 << 30))?,
            write_mostly: s.words("write_mostly", ',', |words| {
                words.iter().all(|word| word.starts_with("member") && !word.contains(' '))
            })?,
            sync: s.switch("sync")?,
        })
    }

    /// Bytes of the volume.
    pub(super) fn bytes(&self, members: &MemberSet) -> Result<u64, SettingError> {
        // Besides its copy each member holds an extent of metadata.
        members.volume_bytes(NAME, self.size, 1, EXTENT)
    }

    /// Refuses settings that the members cannot have.
    pub(super) fn validate(&self, at: &Place) -> Result<(), SettingError> {
        let members = MemberSet::of(at);
        let bytes = self.bytes(&members)?;
        let least = bytes.div_ceil(MOST_REGIONS).next_power_of_two();
        if self.region_size < least {
            return Err(SettingError::new(
                "region_size",
                format!(
                    "region_size {} is too small for a mirror of {}: the kernel has bits for {MOST_REGIONS} regions",
                    size_text(self.region_size),
                    size_text(bytes)
                ),
                format!("write region_size = \"{}\" or more", size_text(least)),
            ));
        }
        let is_strange = |word: &&String| !members.inputs.contains(&word.as_str());
        let strange = self.write_mostly.iter().find(is_strange);
        if strange.is_none() && self.write_mostly.len() < members.inputs.len() {
            return Ok(());
        }
        let message = strange.map_or_else(
            || "write_mostly names every member: none is left to read from".to_owned(),
            |word| {
                format!("write_mostly of layer 'raid1' names '{word}', which is none of its inputs")
            },
        );
        let help = format!("write some of: {}", members.inputs.join(", "));
        Err(SettingError::new("write_mostly", message, help))
    }
}
