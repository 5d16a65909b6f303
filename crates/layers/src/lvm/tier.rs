//! A volume on a slow device and a second one on a fast device, in one group: shared code of the layers that put the second in front of the first.

use std::collections::BTreeMap;

use units::Bytes;

use super::{EXTENT, Group, round_up, size_arguments, usable};
use crate::key::Key;
use crate::key::Values::Described;
use crate::kind::{Input, InputKind, needed};
use crate::layer::Place;
use crate::settings::{SettingError, Settings, size_text};
use crate::step::Step;

/// The input with the data.
pub(crate) const ORIGIN: &str = "origin";
/// The input with the cache.
pub(crate) const CACHE: &str = "cache";
/// Name of the cached volume in its group.
pub(crate) const VOLUME: &str = "main";
/// Name of the volume with the cached blocks and their metadata.
pub(crate) const FAST: &str = "fast";

/// The smallest cache, bytes.
const SMALLEST: u64 = 16 << 20;

/// Both inputs.
pub(crate) const INPUTS: [Input; 2] = [
    needed(ORIGIN, InputKind::Block, "the slow device, which holds all data"),
    needed(CACHE, InputKind::Block, "the fast device, which holds the cache"),
];

/// The size of the volume as a setting.
pub(crate) const SIZE: Key = Key {
    name: "size",
    values: Described([
        "all of the origin device",
        "a size; lvm rounds it up to a multiple of 4 MiB",
        "\"2G\"",
    ]),
    help: "Size of the cached volume.",
};

/// The size of the cache as a setting.
pub(crate) const CACHE_SIZE: Key = Key {
    name: "cache_size",
    values: Described(["all of the cache device", "a size from 16M on", "\"64M\""]),
    help: "Size of the cache, its metadata included.",
};

/// Sizes of the volume and of its cache, bytes; all of the device where no size is given.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TierSizes {
    volume: Option<u64>,
    cache: Option<u64>,
}

impl TierSizes {
    /// Reads the two settings.
    pub(crate) fn read(settings: &Settings) -> Result<Self, SettingError> {
        Ok(Self { volume: settings.size(SIZE.name)?, cache: settings.size(CACHE_SIZE.name)? })
    }

    /// Both as text.
    pub(crate) fn settings(&self) -> BTreeMap<String, String> {
        let text = |size: Option<u64>| size.map_or_else(|| "all".to_owned(), size_text);
        [(SIZE.name, text(self.volume)), (CACHE_SIZE.name, text(self.cache))]
            .map(|(key, value)| (key.to_owned(), value))
            .into()
    }

    /// Size of the volume, bytes.
    pub(crate) fn volume_bytes(&self, at: &Place) -> u64 {
        self.volume.map_or_else(|| usable(at.block(ORIGIN).1), round_up)
    }

    /// Size of the cache, bytes.
    pub(crate) fn cache_bytes(&self, at: &Place) -> u64 {
        self.cache.map_or_else(|| usable(at.block(CACHE).1), round_up)
    }

    /// Refuses sizes that the devices do not have.
    pub(crate) fn validate(&self, layer: &str, at: &Place) -> Result<(), SettingError> {
        let fits = |key: &str, input: &str, wanted: u64, least: u64| {
            let usable = usable(at.block(input).1);
            if (least..=usable).contains(&wanted) {
                return Ok(());
            }
            let help = if usable < least {
                format!("take a larger device: it needs {} that lvm can use", size_text(least))
            } else {
                format!(
                    "write {key} from \"{}\" to \"{}\", or take another device",
                    size_text(least),
                    size_text(usable)
                )
            };
            Err(SettingError::new(
                key,
                format!(
                    "{key} {} of layer '{layer}' does not fit its {input} device: lvm can use {} of it",
                    Bytes(wanted),
                    Bytes(usable)
                ),
                help,
            ))
        };
        fits(SIZE.name, ORIGIN, self.volume_bytes(at), EXTENT)?;
        fits(CACHE_SIZE.name, CACHE, self.cache_bytes(at), SMALLEST)?;
        let (cache, volume) = (self.cache_bytes(at), self.volume_bytes(at));
        if cache <= volume {
            return Ok(());
        }
        Err(SettingError::new(
            CACHE_SIZE.name,
            format!(
                "a cache of {} is larger than the volume of layer '{layer}', which has {}",
                Bytes(cache),
                Bytes(volume)
            ),
            format!("write cache_size = \"{}\" or less, or a larger size", size_text(volume)),
        ))
    }

    /// A step that makes the volume on the slow device.
    pub(crate) fn make_volume(&self, group: &Group, at: &Place, more: &[&str]) -> Step {
        let about = "make the volume on the slow device";
        linear(group, about, VOLUME, self.volume, at.block(ORIGIN).0, more)
    }

    /// A step that makes a volume on the fast device.
    pub(crate) fn make_fast(&self, group: &Group, at: &Place, more: &[&str]) -> Step {
        let about = "make the cache on the fast device";
        linear(group, about, FAST, self.cache, at.block(CACHE).0, more)
    }
}

/// A step that makes a linear volume on one of the group's devices.
fn linear(
    group: &Group,
    about: &str,
    name: &str,
    size: Option<u64>,
    device: &str,
    more: &[&str],
) -> Step {
    let [how, size] = match size {
        Some(_) => size_arguments(size.map(round_up)),
        // All free extents of one device, not of the group.
        None => ["--extents".to_owned(), "100%PVS".to_owned()],
    };
    let rest = ["--type", "linear", &how, &size, "--name", name, &group.name, device];
    group.create(about, &[more, &rest].concat(), name, &[name])
}
