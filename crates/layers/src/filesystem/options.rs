//! Options in words of the tools. They are checked so far that none can lead a tool to another device than the one below the layer.

use super::keys::MOUNT_OPTIONS;
use crate::settings::{SettingError, Settings};

/// Options that an experiment adds to those of the layer.
pub(crate) struct Options {
    /// Of the program that makes the file system.
    pub(crate) make: Vec<String>,
    /// Of the mount.
    pub(crate) mount: Vec<String>,
}

impl Options {
    pub(crate) fn read(settings: &Settings) -> Result<Self, SettingError> {
        let words = |key: &str, parted| {
            settings.words(key, parted, |words| {
                let make = key != MOUNT_OPTIONS.name;
                words.iter().all(|word| is_harmless(word)) && (!make || all_are_options(words))
            })
        };
        Ok(Self { make: words("mkfs_options", ' ')?, mount: words(MOUNT_OPTIONS.name, ',')? })
    }

    /// The key `extended_options` of mkfs.ext4.
    pub(crate) fn extended(settings: &Settings) -> Result<Vec<String>, SettingError> {
        settings.words("extended_options", ',', |words| words.iter().all(|word| is_harmless(word)))
    }

    /// The entries of [`crate::Layer::settings`] for them.
    pub(crate) fn settings(&self) -> [(String, String); 2] {
        [
            ("mkfs_options".to_owned(), self.make.join(" ")),
            (MOUNT_OPTIONS.name.to_owned(), self.mount.join(",")),
        ]
    }
}

/// Tells whether a word names neither a path nor a device (`logdev=`, `-J device=`, `rtdev=`).
fn is_harmless(word: &str) -> bool {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.:=,^".contains(c);
    !word.is_empty() && word.chars().all(plain) && !word.contains("dev")
}

/// Tells whether each word is an option, or the value of the one before it: a word of its own would be the device.
fn all_are_options(words: &[String]) -> bool {
    let is_option = |word: &str| word.starts_with('-');
    let led = words.windows(2).all(|two| is_option(&two[0]) || is_option(&two[1]));
    led && words.first().is_none_or(|word| is_option(word))
}
